package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTable(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("needs awk")
	}
	file := filepath.Join(t.TempDir(), "runs.csv")
	rows := `algo,run,algo,seed,round,pm_acc,gm_acc
one,a,one,1,10,0.5,0.25
one,a,one,1,20,0.6,0.35
one,b,one,2,20,0.8,0.45
two,c,two,1,20,,0.5
`
	if err := os.WriteFile(file, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := exec.Command("sh", "table.sh", file, "10", "20").CombinedOutput()
	want := `| algo | seeds | PM, round 10 | GM, round 10 | PM, round 20 | GM, round 20 |
|---|---|---|---|---|---|
| one | 2 | 50.00 | 25.00 | 70.00 ± 14.14 | 40.00 ± 7.07 |
| two | 1 | – | – | – | 50.00 |
`
	if err != nil || string(got) != want {
		t.Errorf("error %v, output\n%s\nwant\n%s", err, got, want)
	}
	if out, err := exec.Command("sh", "table.sh").CombinedOutput(); err == nil {
		t.Errorf("no arguments: no error, output %s", out)
	}
}
