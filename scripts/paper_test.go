package scripts_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPaperMNIST runs the whole comparison at a size that takes no time; the regimes give way to its flags, so that they and
// the data sets are one. A second call runs nothing again.
func TestPaperMNIST(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	out, status := script(dir, "paper_mnist.sh 2 -- "+tiny)
	const methods = 11
	if status != 0 || strings.Contains(out, "done before") {
		t.Fatalf("status %d:\n%s", status, out)
	}
	out, status = script(dir, "paper_mnist.sh 2 -- "+tiny)
	if status != 0 || strings.Count(out, "done before") != 4*methods {
		t.Fatalf("status %d, want a run of each method kept for each table:\n%s", status, out)
	}
	if lines := read(t, filepath.Join(dir, "paper_mnist.csv")); len(lines) != 1+methods || !strings.HasPrefix(lines[0], "algo,run,algo,dataset,regime,") {
		t.Errorf("%d lines, want a header and %d: %v", len(lines), methods, lines[0])
	}
	table := strings.Join(read(t, filepath.Join(dir, "paper_mnist.md")), "\n")
	for _, want := range []string{
		`^\| mnist-sample \| custom, PM / GM \| paper \|\n`,
		`\n\| pfedbayes \| [0-9.]+ / [0-9.]+ \|  \|\n`,
		`\n\| bnfed \| . / \**[0-9.]+\** \|  \|\n`,
		`\n\| heurfedamp \| \**[0-9.]+\** / . \|  \|\n`,
		`\nLast round: pfedbayes 1, .*, bnfed 1, pfedgp 1, pfedme 1\. Bold: above pfedbayes in the same column\.$`,
	} {
		if !regexp.MustCompile(strings.ReplaceAll(want, " . ", " – ")).MatchString(table) {
			t.Errorf("no %s in\n%s", want, table)
		}
	}
}

func TestPaperTable(t *testing.T) {
	if _, err := exec.LookPath("awk"); err != nil {
		t.Skip("needs awk")
	}
	file := rows(t, `algo,dataset,regime,seed,round,pm_acc,gm_acc
pfedbayes,mnist,small,1,50,0.99,0.99
pfedbayes,mnist,small,1,100,0.90,0.80
pfedbayes,mnist,small,2,50,0.99,0.99
pfedbayes,mnist,small,2,100,0.92,0.80
local,mnist,small,1,100,0.91,
local,mnist,small,2,100,0.93,
fedavg,mnist,small,1,50,,0.7
fedavg,mnist,small,2,100,,0.79
pfedbayes,mnist,large,1,100,0.5,0.5
ditto,mnist,large,1,100,0.4,0.6
pfedbayes,mnist-sample,small,1,100,0.5,0.5
`)
	out, status := script("", "paper_table.sh "+file)
	want := `| mnist | small, PM / GM | paper | large, PM / GM | paper |
|---|---|---|---|---|
| pfedbayes | 91.00 ± 1.41 / 80.00 ± 0.00 | 94.13 ± 0.27 / 90.44 ± 0.45 | 50.00 / 50.00 | 98.79 ± 0.13 / 94.39 ± 0.32 |
| local | **92.00 ± 1.41** / – |  | – |  |
| fedavg | – / 79.00 (n = 1) | – / 87.38 ± 0.27 | – | – / 92.39 ± 0.24 |
| ditto | – |  | 40.00 / **60.00** |  |

| mnist-sample | small, PM / GM | paper |
|---|---|---|
| pfedbayes | 50.00 / 50.00 |  |

Last round: pfedbayes 100, local 100, fedavg 100, ditto 100. Bold: above pfedbayes in the same column.
`
	if status != 0 || out != want {
		t.Errorf("status %d, output\n%s\nwant\n%s", status, out, want)
	}
	for text, want := range map[string]string{
		"": "no row",
		"algo,dataset,regime,seed,round,pm_acc\n":                       "no column gm_acc",
		"algo,dataset,regime,seed,round,pm_acc,gm_acc\n":                "no row",
		"algo,dataset,regime,seed,round,pm_acc,gm_acc\na,b,c,1,2,0.5\n": "line 2 has 6 cells, want 7",
	} {
		file := rows(t, text)
		if out, status := script("", "paper_table.sh "+file); status != 2 || !strings.HasPrefix(out, "paper_table.sh: "+file+": "+want) {
			t.Errorf("%q: status %d, output %s, want 2 and %s", text, status, out, want)
		}
	}
}
