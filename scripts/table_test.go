package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
| one | 2 | 50.00 (n = 1) | 25.00 (n = 1) | 70.00 ± 14.14 | 40.00 ± 7.07 |
| two | 1 | – | – | – | 50.00 |
`
	if err != nil || string(got) != want {
		t.Errorf("error %v, output\n%s\nwant\n%s", err, got, want)
	}
	if out, err := exec.Command("sh", "table.sh").CombinedOutput(); err == nil {
		t.Errorf("no arguments: no error, output %s", out)
	}
}

// rows writes a CSV and returns its path.
func rows(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "runs.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTableSeeds: a seed counts if it reached a round of the table, and a value whose cells are not finished has a row.
func TestTableSeeds(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("needs awk")
	}
	file := rows(t, `zeta,seed,round,pm_acc,gm_acc
1,1,10,0.5,0.25
1,2,10,0.7,0.25
1,3,5,0.9,0.25
5,1,5,0.9,0.25
`)
	for _, cell := range []string{"zeta-1-seed-1", "zeta-0.5-seed-1", "zeta-0.5-seed-2", "rho--1-seed-1"} {
		if err := os.Mkdir(filepath.Join(filepath.Dir(file), cell), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	got, err := exec.Command("sh", "table.sh", file, "10").CombinedOutput()
	want := `| zeta | seeds | PM, round 10 | GM, round 10 |
|---|---|---|---|
| 1 | 2 | 60.00 ± 14.14 | 25.00 ± 0.00 |
| 5 | 0 | – | – |
| 0.5 | 0 | – | – |
`
	if err != nil || string(got) != want {
		t.Errorf("error %v, output\n%s\nwant\n%s", err, got, want)
	}
}

// TestTableRefuses: what would give wrong numbers gives none.
func TestTableRefuses(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("needs awk")
	}
	const header = "zeta,model,seed,round,pm_acc,gm_acc\n"
	for text, want := range map[string]string{
		"": "empty",
		header + `1,"mlp:50,20",1,10,0.5,0.25` + "\n":   "line 2 has a quote",
		header + "1,mlp:50,20,1,10,0.5,0.25\n":          "line 2 has 7 cells, want 6",
		header + "1,mlp,1,10,0.5\n":                     "line 2 has 5 cells, want 6",
		header + "1,mlp,1,10,0.5,0\n1,mlp,1,10,0.6,0\n": "line 3 is the second of zeta 1, seed 1, round 10",
		"zeta,seed,round,pm_acc\n":                      "no column gm_acc",
		"1,mlp,1,10,0.5,0.25\n":                         "no column seed",
	} {
		file := rows(t, text)
		cmd := exec.Command("sh", "table.sh", file, "10")
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		if got := stderr.String(); cmd.ProcessState.ExitCode() != 2 || stdout.Len() > 0 || !strings.HasPrefix(got, "table.sh: "+file+": "+want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%q: %v, stdout %q, stderr %q, want 2 and %s", text, cmd.ProcessState, stdout.String(), got, want)
		}
	}
	for _, round := range []string{"", "x", "1.5", "-1", "010"} {
		if out, err := exec.Command("sh", "table.sh", rows(t, header), round).CombinedOutput(); err == nil || !strings.Contains(string(out), "want a whole number") {
			t.Errorf("round %q: %v, output %s", round, err, out)
		}
	}
}
