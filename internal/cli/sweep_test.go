package cli_test

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// swept runs a sweep of tiny runs below dir and fails unless it succeeds.
func swept(t *testing.T, dir, flags string) (stdout string) {
	t.Helper()
	status, stdout, stderr := runArgs(append([]string{"sweep", "--out", dir}, strings.Fields(flags+tinyLabels)...)...)
	if status != 0 || stderr != "" {
		t.Fatalf("sweep %s: status %d, stdout\n%s\nstderr %s", flags, status, stdout, stderr)
	}
	return stdout
}

// joined reads the CSV that a sweep leaves.
func joined(t *testing.T, dir string) (header []string, rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, filepath.Base(dir)+".csv"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := csv.NewReader(strings.NewReader(string(text))).ReadAll() // which wants rows of one length
	if err != nil {
		t.Fatal(err)
	}
	return all[0], all[1:]
}

// TestSweep: each run is that of its flags alone, whatever runs beside it, and the CSV has the rows of all, in the order of
// the grid and of the seeds.
func TestSweep(t *testing.T) {
	one, three := filepath.Join(t.TempDir(), "all"), filepath.Join(t.TempDir(), "all")
	const grid = "--grid zeta=0.5,20 --grid rho=-1,-3 --seeds 2,1"
	swept(t, one, grid+" --jobs 1")
	stdout := swept(t, three, grid+" --jobs 3")
	if n := strings.Count(stdout, " after 2 rounds "); n != 8 {
		t.Errorf("%d lines of runs, want 8:\n%s", n, stdout)
	}
	header, rows := joined(t, three)
	if want := "zeta rho run algo dataset regime model seed round pm_acc gm_acc "; !strings.HasPrefix(strings.Join(header, " "), want) {
		t.Errorf("header %v, want %s…", header, want)
	}
	for _, zeta := range []string{"0.5", "20"} {
		for _, rho := range []string{"-1", "-3"} {
			for _, seed := range []string{"2", "1"} {
				name := "zeta-" + zeta + "-rho-" + rho + "-seed-" + seed
				alone, _ := train(t, "--zeta "+zeta+" --rho "+rho+" --seed "+seed+tinyLabels)
				want := timeless(t, alone)
				for _, dir := range []string{one, three} {
					if got := strings.NewReplacer("run:"+name, "run:run", name+",", "run,").Replace(timeless(t, filepath.Join(dir, name))); got != want {
						t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
					}
				}
				text, err := os.ReadFile(filepath.Join(three, name, "rounds.csv"))
				if err != nil {
					t.Fatal(err)
				}
				for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
					if want := zeta + "," + rho + "," + line; len(rows) == 0 || strings.Join(rows[0], ",") != want {
						t.Fatalf("%d rows left, and %s is not the next of them", len(rows), want)
					}
					rows = rows[1:]
				}
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("%d rows too many", len(rows))
	}
	table, err := os.ReadFile(filepath.Join(three, "all.md"))
	if err != nil || !strings.Contains(stdout, string(table)) {
		t.Errorf("%v; the table is not in the output:\n%s", err, table)
	}
	if want := "\n| 20 | -1 | 2 | " + meanOf(t, filepath.Join(three, "zeta-20-rho--1-seed-"), "best_pm") + " |"; !strings.Contains(string(table), want) {
		t.Errorf("no %q in\n%s", want, table)
	}
	if want := " | " + meanOf(t, filepath.Join(three, "zeta-20-rho--3-seed-"), "last_gm") + " |"; !strings.Contains(string(table), want) {
		t.Errorf("no %q in\n%s", want, table)
	}
}

// meanOf is the mean of an accuracy in summary.json of seeds 1 and 2, with the deviation of two numbers, half their distance
// times √2.
func meanOf(t *testing.T, start, name string) string {
	t.Helper()
	var v [2]float64
	for i := range v {
		v[i] = object(t, filepath.Join(fmt.Sprint(start, i+1), "summary.json"))[name].(map[string]any)["acc"].(float64)
	}
	return fmt.Sprintf("%.2f ± %.2f", 100*(v[0]+v[1])/2, 100*math.Abs(v[0]-v[1])/math.Sqrt2)
}

// TestSweepAgain: what is finished is kept, what is not is run anew, and further values and seeds are added.
func TestSweepAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "all")
	swept(t, dir, "--grid algo=fedavg,local --seeds 1,2")
	interrupted, killed := filepath.Join(dir, "algo-fedavg-seed-1"), filepath.Join(dir, "algo-local-seed-2")
	want := timeless(t, interrupted) + timeless(t, killed)
	if err := os.WriteFile(filepath.Join(interrupted, "summary.json"), []byte(`{"status": "interrupted"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"summary.json", "reliability.csv"} {
		if err := os.Remove(filepath.Join(killed, name)); err != nil {
			t.Fatal(err)
		}
	}
	kept := filepath.Join(dir, "algo-fedavg-seed-2")
	before := contents(t, kept)
	stdout := swept(t, dir, "--grid algo=fedavg,local --seeds 1,2 --workers 3")
	if strings.Count(stdout, ": done before, in ") != 2 || strings.Count(stdout, " of 2: ") != 2 {
		t.Errorf("output\n%s\nwant two runs kept, and two done", stdout)
	}
	wantSame(t, "the second sweep", kept, before)
	if got := timeless(t, interrupted) + timeless(t, killed); got != want {
		t.Errorf("done again, they are\n%s\nwant\n%s", got, want)
	}
	stdout = swept(t, dir, "--grid algo=local,fedprox --seeds 3")
	if strings.Contains(stdout, "done before") || !strings.Contains(stdout, "\n| local | 3 | ") || !strings.Contains(stdout, "\n| fedprox | 1 | ") || strings.Contains(stdout, "| fedavg |") {
		t.Errorf("output\n%s\nwant three seeds of local, which is in this sweep again, and one of fedprox", stdout)
	}
	_, rows := joined(t, dir)
	var seeds []string
	for _, row := range rows {
		if row[0] == "local" && row[7] == "2" {
			seeds = append(seeds, row[6])
		}
	}
	if !slices.Equal(seeds, []string{"3", "1", "2"}) || len(rows) != 2*4 {
		t.Errorf("%d rows, seeds of local %v", len(rows), seeds)
	}
}

// TestSweepSettings: a folder with other settings is refused; --force replaces the runs.
func TestSweepSettings(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "all")
	swept(t, dir, "--grid algo=fedavg,local")
	before := contents(t, dir)
	args := append([]string{"sweep", "--out", dir, "--grid", "algo=fedavg,local", "--lr", "0.25"}, strings.Fields(tinyLabels)...)
	status, stdout, stderr := runArgs(args...)
	want := "fedbayes: " + filepath.Join(dir, "algo-fedavg-seed-1") + ": it holds another run: --lr is 0.5 there, 0.25 here (name another folder with --out, or replace the run with --force)\n"
	if status != 2 || stdout != "" || stderr != want {
		t.Errorf("status %d, stdout %q, stderr\n%swant\n%s", status, stdout, stderr, want)
	}
	wantSame(t, "a refused sweep", dir, before)
	if status, _, stderr := runArgs(append(args, "--force")...); status != 0 {
		t.Errorf("--force: status %d, stderr %q", status, stderr)
	}
	if c := object(t, filepath.Join(dir, "algo-fedavg-seed-1", "config.json")); c["method"].(map[string]any)["lr"] != 0.25 {
		t.Errorf("method %v, want the new rate", c["method"])
	}
}

// TestSweepDiverges: a run that diverges is recorded as such, the others go on, and it is not run again.
func TestSweepDiverges(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "all")
	const flags = "--algo fedavg --grid lr=1e30,0.05 --seeds 1,2"
	stdout := swept(t, dir, flags)
	for _, want := range []string{": lr 1e30, seed 2: round 1: client 0: step 2: the negative log-likelihood is ", "\n| 1e30 | 0, 2 diverged | – | – | – |\n", "\n| 0.05 | 2 | "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
	if _, rows := joined(t, dir); len(rows) != 2+4 || strings.Join(rows[1], ",") != "1e30,lr-1e30-seed-2,fedavg,mnist-sample,custom,mlp:8,2"+strings.Repeat(",", 17) {
		t.Errorf("rows %v", rows)
	}
	if stdout := swept(t, dir, flags); strings.Count(stdout, "done before") != 4 {
		t.Errorf("again:\n%s", stdout)
	}
}

// TestSweepCollapses: so it is with one whose weights go to 0.
func TestSweepCollapses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "all")
	status, stdout, stderr := runArgs(append([]string{"sweep", "--grid", "prior-count=20,0", "--seeds", "1", "--out", dir}, strings.Fields(strings.Replace(dying, "--prior-count 20", "", 1))...)...)
	for _, want := range []string{": round 4: the global model has died: ", "\n| 20 | 0, 1 diverged | – | – | – | – |", "\n| 0 | 1 | "} {
		if !strings.Contains(stdout+stderr, want) {
			t.Errorf("status %d, no %q in\n%s%s", status, want, stdout, stderr)
		}
	}
	if status != 0 {
		t.Errorf("status %d", status)
	}
}

// TestSweepColumns: runs with columns of their own make one CSV, and what validation chose is in the table.
func TestSweepColumns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "all")
	stdout := swept(t, dir, "--algo fedavg --grid val-fraction=0,0.4")
	header, rows := joined(t, dir)
	at := slices.Index(header, "gm_val_acc")
	if at < 0 || len(rows) != 4 || rows[0][at] != "" || rows[2][at] == "" {
		t.Errorf("header %v, rows %v", header, rows)
	}
	chosen := object(t, filepath.Join(dir, "val-fraction-0.4-seed-1", "summary.json"))["validation"].(map[string]any)["best_gm"].(map[string]any)["acc"].(float64)
	for _, want := range []string{"| val-fraction | seeds | best GM | last GM | GM by validation | worst client, last GM |", fmt.Sprintf(" | %.2f | ", 100*chosen)} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %q in\n%s", want, stdout)
		}
	}
}

// TestSweepFolder: without --out, the same flags go to the same folder, whatever the values, the seeds and what changes no
// result; a file of settings is as good as flags.
func TestSweepFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := []string{
		"--grid rho=-1,-2 --rounds 1", "--grid rho=-3 --seeds 2 --jobs 1 --workers 1 --quiet --rounds 1", "--grid rho=-1 --seed 3 --config run.toml --rounds 1",
		"--grid rho=-2 --seeds 4 --config run.toml",
	}
	if err := os.WriteFile("run.toml", []byte("rho = -5\nseed = 7\nrounds = 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	short := strings.Replace(tinyLabels, "--rounds 2", "", 1)
	for _, line := range lines {
		if status, _, stderr := run("sweep " + line + short); status != 0 {
			t.Errorf("%s: status %d, stderr %q", line, status, stderr)
		}
	}
	dirs, _ := filepath.Glob("results/*")
	cells, _ := filepath.Glob("results/sweep_rho-*/rho--*-seed-*/summary.json")
	if len(dirs) != 1 || len(cells) != 5 {
		t.Errorf("folders %v, runs %v, want one with five", dirs, cells)
	}
	if status, _, stderr := run("sweep --grid rho=-1 --rounds 3" + short); status != 0 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	if dirs, _ := filepath.Glob("results/*"); len(dirs) != 2 {
		t.Errorf("folders %v, want another for other rounds", dirs)
	}
}

func TestSweepRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"":                                   "sweep: want --grid or --seeds, or both (fedbayes sweep --help has examples)",
		"--rounds 1":                         "sweep: want --grid or --seeds, or both (fedbayes sweep --help has examples)",
		"x":                                  `sweep: unexpected argument "x"`,
		"--grid zeta":                        `--grid "zeta": want a flag and its values, as zeta=0.5,1,5`,
		"--grid zeta=":                       `--grid "zeta=": want a flag and its values, as zeta=0.5,1,5`,
		"--grid zta=1":                       `--grid "zta=1": train has no such flag (did you mean zeta?)`,
		"--grid frobnicate=1":                `--grid "frobnicate=1": train has no such flag`,
		"--grid zeta=1,,2":                   `--grid "zeta=1,,2": want values with a comma between, each once (a hyphen stands for a comma within one, as mlp:200-100)`,
		"--grid zeta=1,2,1":                  `--grid "zeta=1,2,1": want values with a comma between, each once (a hyphen stands for a comma within one, as mlp:200-100)`,
		"--grid zeta=1,1.0":                  "zeta 1, seed 1 and zeta 1.0, seed 1: one run, want others",
		"--grid zeta=1 --grid zeta=2":        `--grid "zeta=2": zeta is there twice, want all its values in one list`,
		"--grid seed=1,2":                    `--grid "seed=1,2": want --seeds 1,2`,
		"--grid workers=1,2":                 `--grid "workers=1,2": no result depends on it`,
		"--grid out=a,b":                     `--grid "out=a,b": no result depends on it`,
		"--grid zeta=1 --zeta 2":             "--zeta: the grid has it too, want one of them",
		"--grid zeta=-1":                     "zeta -1, seed 1: --zeta -1: want a number ≥ 0",
		"--grid algo=pfedbayes,fedvag":       `algo fedvag, seed 1: --algo "fedvag": want one of {algos} (did you mean fedavg?)`,
		"--grid algo=pfedbayes,local --mc 1": "algo local, seed 1: --mc: local has no distribution to draw weights from",
		"--seeds 1,1":                        `--seeds "1,1": 1 is there twice`,
		"--seeds 1 --seed 1":                 "--seeds and --seed: want one of them",
		"--seeds 1 --jobs 0":                 "--jobs 0: want a whole number ≥ 1",
		"--seeds 1 --jobs x":                 `--jobs "x": want a whole number ≥ 1`,
		"--seeds 1 --seeds 2":                "--seeds: given 2 times, want it once",
		"--seeds 1 --resume x":               "--resume: sweep has no such flag (did you mean --regime?)",
		"--seeds 1 --print-config":           "--print-config: sweep has no such flag (fedbayes sweep --help lists them)",
		"--seeds 1 --zeta 1 --zeta 1":        "--zeta: given 2 times, want it once",
		"--seeds 1 --out -x":                 `--out "-x": want a folder (write ./-x for one of that name)`,
	} {
		want = registries().Replace(want)
		status, stdout, stderr := run("sweep " + line)
		if status != 2 || stdout != "" || stderr != "fedbayes: "+want+"\n" {
			t.Errorf("sweep %s: status %d, stdout %q, stderr\n%swant\nfedbayes: %s", line, status, stdout, stderr, want)
		}
	}
	// The data of every run are looked at before the first begins.
	status, stdout, stderr := run("sweep --grid regime=small,large --algo fedavg")
	if status != 3 || stdout != "" || !strings.HasPrefix(stderr, "fedbayes: regime large, seed 1: datasets: mnist-sample: labels: class 0 has 1000 images") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	wantEmpty(t)
}

// TestPrintCommands gives the commands to a shell, one by one, after which the sweep has nothing to do.
func TestPrintCommands(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs a shell")
	}
	t.Chdir(t.TempDir())
	const flags = "--grid model=mlp:8,mlp2:8-4 --seeds 1,2 --preset code"
	status, want, stderr := runArgs(append([]string{"sweep", "--out", "it's mine"}, strings.Fields(flags+strings.Replace(tinyLabels, " --model mlp:8", "", 1))...)...)
	if status != 0 {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	before := timeless(t, "it's mine/model-mlp2:8-4-seed-2")
	if err := os.Rename("it's mine/model-mlp2:8-4-seed-2", "elsewhere"); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"sweep", "--out", "it's mine", "--print-commands"}, strings.Fields(flags+strings.Replace(tinyLabels, " --model mlp:8", "", 1))...)
	status, commands, stderr := runArgs(args...)
	if status != 0 || stderr != "" || strings.Count(commands, "\n") != 1 || !strings.Contains(commands, " train --batch=8 ") {
		t.Fatalf("status %d, stdout\n%s\nstderr %q", status, commands, stderr)
	}
	cmd := exec.Command("sh", "-c", commands)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "seed 2") {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := timeless(t, "it's mine/model-mlp2:8-4-seed-2"); got != before {
		t.Errorf("the command's run is\n%s\nwant\n%s", got, before)
	}
	if _, commands, _ := runArgs(args...); commands != "" {
		t.Errorf("still to do:\n%s", commands)
	}
	status, got, stderr := runArgs(slices.DeleteFunc(args, func(a string) bool { return a == "--print-commands" })...)
	_, table, _ := strings.Cut(got, "\n\n")
	if _, tableBefore, _ := strings.Cut(want, "\n\n"); status != 0 || table != tableBefore || strings.Count(got, "done before") != 4 {
		t.Errorf("status %d, stdout\n%s\nstderr %q, want the table of\n%s", status, got, stderr, want)
	}
}

// TestSweepInterrupted stops a sweep with Ctrl-C after its first run, and starts it again: runs with a checkpoint go on, the
// others are done anew.
func TestSweepInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send")
	}
	long := strings.NewReplacer("--rounds 2", "--rounds 150", "--eval-every 1", "--eval-every 75").Replace(tinyLabels)
	whole := filepath.Join(t.TempDir(), "all")
	const grid = " --grid algo=fedavg,local --seeds 1,2,3 --jobs 2"
	if status, _, stderr := runArgs(append([]string{"sweep", "--out", whole}, strings.Fields(grid+long)...)...); status != 0 {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	for _, checkpoints := range []string{"0", "20"} {
		dir := filepath.Join(t.TempDir(), "all")
		args := append([]string{"sweep", "--out", dir, "--checkpoint-every", checkpoints}, strings.Fields(grid+long)...)
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		var stderr strings.Builder
		cmd.Stderr = &stderr
		pipe, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for out := bufio.NewScanner(pipe); out.Scan(); {
			if strings.HasPrefix(out.Text(), "1 of 6: ") {
				if err := cmd.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()
		want := regexp.MustCompile(`^fedbayes: interrupted after \d of 6 runs; what is finished is in .*, and the same command goes on\n$`)
		if got := cmd.ProcessState.ExitCode(); got != 130 || !want.MatchString(stderr.String()) {
			t.Fatalf("status %d, stderr %q, want 130 and %s", got, &stderr, want)
		}
		started := map[string]any{}
		found, _ := filepath.Glob(filepath.Join(dir, "*", "checkpoint", "*"))
		for _, path := range found {
			name := filepath.Dir(filepath.Dir(path))
			started[name] = object(t, filepath.Join(name, "config.json"))["started"]
		}
		if checkpoints != "0" && len(started) == 0 {
			t.Error("no checkpoint")
		}
		status, stdout, again := runArgs(args...)
		if status != 0 || !strings.Contains(stdout, "done before") || again != "" {
			t.Fatalf("again: status %d, stdout\n%s\nstderr %q", status, stdout, again)
		}
		for name, when := range started {
			if now := object(t, filepath.Join(name, "config.json"))["started"]; now != when {
				t.Errorf("%s began at %v, and was done anew at %v", name, when, now)
			}
		}
		cells, _ := filepath.Glob(filepath.Join(whole, "algo-*"))
		if len(cells) != 6 {
			t.Errorf("%d runs, want 6", len(cells))
		}
		for _, cell := range cells {
			if got, want := outcome(t, filepath.Join(dir, filepath.Base(cell))), outcome(t, cell); got != want {
				t.Errorf("--checkpoint-every %s: %s is\n%s\nwant\n%s", checkpoints, filepath.Base(cell), got, want)
			}
		}
	}
}
