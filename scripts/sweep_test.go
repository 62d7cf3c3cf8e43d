// Package scripts_test runs the shell scripts.
package scripts_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"fedbayes/datasets"
)

// TestMain builds the program once, which the scripts would build each time.
func TestMain(m *testing.M) { os.Exit(withProgram(m)) }

func withProgram(m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "fedbayes")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "fedbayes.exe") // which every system runs
	if out, err := exec.Command("go", "build", "-o", program, "..").CombinedOutput(); err != nil {
		panic(string(out))
	}
	if err := os.Setenv("SWEEP_PROGRAM", program); err != nil {
		panic(err)
	}
	return m.Run()
}

// sweep runs a sweep of tiny runs from another working folder, with its results in dir.
func sweep(t *testing.T, dir, script string, seeds ...string) string {
	t.Helper()
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	args := append(append([]string{path}, seeds...), "--", "--rounds", "1", "--local-steps", "1", "--clients", "2",
		"--model", "mlp:4", "--train-per-class", "2", "--test-per-class", "2", "--quiet")
	cmd := exec.Command("sh", args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "SWEEP_DIR="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// TestSweepRefuses: what a sweep cannot run is said in a line, and leaves nothing.
func TestSweepRefuses(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	for line, want := range map[string]string{
		"sweep.sh":                               "usage: sweep.sh FLAG",
		"sweep.sh zeta":                          "usage: sweep.sh FLAG",
		"sweep_zeta.sh 01":                       `--seeds "01": want whole numbers`,
		"sweep_zeta.sh 1 x":                      `--seeds "1,x": want whole numbers`,
		"sweep_zeta.sh 1 -- --frobnicate":        "--frobnicate: sweep has no such flag",
		"sweep_zeta.sh 1 -- --seed 2":            "--seeds and --seed: want one of them",
		"paper_fmnist.sh 1 -- --dataset nothing": `--dataset "nothing": want one of`,
	} {
		cmd := exec.Command("sh", strings.Fields(line)...)
		cmd.Env = append(os.Environ(), "SWEEP_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, output %s, want status 2 and %s", line, err, out, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", line, left, err)
		}
	}
}

// TestPaperWantsData: the runs of the paper look where the user says, and do not put up with the sample.
func TestPaperWantsData(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	built, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(built))) // wherever the cache of data is
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(datasets.EnvDir, "")
	tests := map[string]string{"paper_fmnist.sh 1 -- --data-dir nowhere": "fashion-mnist: not found in nowhere/fashion-mnist "}
	if _, err := datasets.Find("fashion-mnist", ""); err != nil {
		tests["paper_fmnist.sh 1 -- --rounds 1 --local-steps 1 --model mlp:4"] = "fashion-mnist-sample, which is part of the program, stands in"
	}
	dir := t.TempDir()
	for line, want := range tests {
		cmd := exec.Command("sh", strings.Fields(line)...)
		cmd.Env = append(os.Environ(), "SWEEP_DIR="+dir)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v, output %s, want status 3 and %s", line, err, out, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", line, left, err)
		}
	}
}

// TestSweepDefaults: the user's flags go before the settings that a script gives, and a value with a comma makes one cell.
func TestSweepDefaults(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	cmd := exec.Command("sh", "sweep.sh", "model", "mlp:4,3", "1", "--", "--rounds", "2", "--rho", "-2", "--eval-every=1",
		"--", "quiet = true", "rounds = 800", "eval-every = 50", "clients = 2", "rho = -3")
	cmd.Env = append(os.Environ(), "SWEEP_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), " after 2 rounds ") {
		t.Fatalf("%v\n%s", err, out)
	}
	header, rows := joined(t, dir)
	if !strings.HasPrefix(header, "model,run,") || len(rows) != 2 || !strings.HasPrefix(rows[0], "mlp:4-3,model-mlp:4-3-seed-1,") {
		t.Errorf("header %s, rows %v", header, rows)
	}
}

// joined reads the file that a sweep leaves: its header and its rows.
func joined(t *testing.T, dir string) (header string, rows []string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "sweep_*.csv"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v (%v), want one joined CSV", found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	return lines[0], lines[1:]
}

func TestSweeps(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	for script, values := range map[string][]string{
		"sweep_zeta.sh": {"0.5", "1", "5", "10", "20"},
		"sweep_rho.sh":  {"-1", "-1.5", "-2", "-2.5", "-3"},
	} {
		flag := strings.TrimSuffix(strings.TrimPrefix(script, "sweep_"), ".sh")
		dir := t.TempDir()
		if script == "sweep_rho.sh" {
			t.Setenv("SWEEP_PROGRAM", "") // as a user has it
		}
		out := sweep(t, dir, script)
		if strings.Contains(out, "done before") {
			t.Errorf("%s: the first sweep skipped a cell:\n%s", script, out)
		}
		header, rows := joined(t, dir)
		if !strings.HasPrefix(header, flag+",run,algo,") || len(rows) != len(values) {
			t.Fatalf("%s: header %s and %d rows, want %s first and %d", script, header, len(rows), flag, len(values))
		}
		for i, v := range values {
			if !strings.HasPrefix(rows[i], v+",") {
				t.Errorf("%s: row %d is %s, want %s %s", script, i, rows[i], flag, v)
			}
		}
	}
}

// TestResumedSweep: an unfinished cell is run anew, the others are kept, and another seed is added to what is there.
func TestResumedSweep(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	sweep(t, dir, "sweep_zeta.sh", "2")
	cells, err := filepath.Glob(filepath.Join(dir, "*", "zeta-5-seed-2", "summary.json"))
	if err != nil || len(cells) != 1 {
		t.Fatalf("%v (%v), want one summary of the cell", cells, err)
	}
	if err := os.WriteFile(cells[0], []byte(`{"status": "interrupted"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	out := sweep(t, dir, "sweep_zeta.sh", "2", "3")
	if got := strings.Count(out, "done before"); got != 4 {
		t.Errorf("%d cells skipped, want 4:\n%s", got, out)
	}
	if _, rows := joined(t, dir); len(rows) != 10 {
		t.Errorf("%d rows for two seeds, want 10", len(rows))
	}
}
