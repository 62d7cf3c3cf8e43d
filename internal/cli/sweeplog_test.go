package cli_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// described is an object of a sweep's stderr in short: its level, message, seed and grid.
func described(o map[string]any) string {
	grid, _ := o["grid"].(map[string]any)
	return strings.TrimSpace(fmt.Sprint(o["level"], " ", o["msg"], " ", o["seed"], " ", grid["lr"], " ", grid["algo"]))
}

// TestSweepJSON: with --log-format json stderr is objects, of each run that begins and ends, and stdout is as it is in text.
func TestSweepJSON(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"sweep", "--grid", "algo=fedavg", "--grid", "lr=0.05,1e30", "--seeds", "2,1", "--jobs", "1", "--test-per-class", "5000"},
		strings.Fields(tiny+" --train-per-class 5")...)
	_, want, text := program(t, dir, append(args, "--out", "all")...)
	if err := os.Rename(filepath.Join(dir, "all"), filepath.Join(dir, "text")); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := program(t, dir, append(args, "--out", "all", "--log-format", "json")...)
	if strings.Count(stdout, "\n") != strings.Count(want, "\n") || lastLine(stdout) != lastLine(want) || status != 0 {
		t.Errorf("status %d, stdout\n%s\nwant\n%s", status, stdout, want)
	}
	all := objects(t, stderr)
	var got []string
	for _, o := range all {
		got = append(got, described(o))
	}
	note := strings.TrimSuffix(strings.TrimPrefix(text, "note: "), "\n")
	if joined := strings.Join([]string{
		"WARN " + note + " <nil> <nil> <nil>",
		"INFO sweep <nil> <nil> <nil>",
		"INFO begun 2 0.05 fedavg", "INFO finished 2 0.05 fedavg", "INFO begun 1 0.05 fedavg", "INFO finished 1 0.05 fedavg",
		"INFO begun 2 1e+30 fedavg", "WARN failed 2 1e+30 fedavg", "INFO begun 1 1e+30 fedavg", "WARN failed 1 1e+30 fedavg",
		"INFO end <nil> <nil> <nil>",
	}, "\n"); note == "" || strings.Join(got, "\n") != joined {
		t.Fatalf("stderr\n%s\nwant\n%s", strings.Join(got, "\n"), joined)
	}
	for key, want := range map[string]any{"runs": 4.0, "done_before": 0.0, "jobs": 1.0, "out": "all"} {
		if all[1][key] != want {
			t.Errorf("%s is %v at the start, want %v", key, all[1][key], want)
		}
	}
	run := filepath.Join("all", "algo-fedavg-lr-0.05-seed-2")
	rows := table(t, filepath.Join(dir, run, "rounds.csv"))
	if o := all[3]; o["out"] != run || o["rounds"] != 2.0 || o["pm_acc"] != nil || fmt.Sprint(o["gm_acc"]) != rows[1]["gm_acc"] {
		t.Errorf("%v, want what is in %s", o, run)
	}
	if failure, _ := all[7]["error"].(string); !strings.HasPrefix(failure, "round 1: client 0: step 2: the negative log-likelihood is ") {
		t.Errorf("error %q", failure)
	}
	for key, want := range map[string]any{"status": "finished", "runs": 4.0, "diverged": 2.0, "csv": filepath.Join("all", "all.csv")} {
		if end := all[len(all)-1]; end[key] != want {
			t.Errorf("%s is %v at the end, want %v", key, end[key], want)
		}
	}
	status, _, stderr = program(t, dir, append(args, "--out", "all", "--log-format", "json", "--quiet")...)
	if status != 0 || stderr != "" {
		t.Errorf("quiet: status %d, stderr\n%s", status, stderr)
	}
	_, _, stderr = program(t, dir, append(args, "--out", "all", "--log-format", "json")...)
	if again := objects(t, stderr); len(again) != 2 || again[0]["done_before"] != 4.0 {
		t.Errorf("again:\n%s", stderr)
	}
}

// TestSweepJSONErrors: an error is one of the objects, the last, wherever it comes from.
func TestSweepJSONErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "run.toml"), []byte("log-format = \"json\"\nbatch = 8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		status int
		others string
		msg    string
	}{
		"--log-format json --grid zeta=-1":                  {2, "", "zeta -1, seed 1: --zeta -1: want a number ≥ 0"},
		"--log-format json --grid zta=1":                    {2, "", `--grid "zta=1": train has no such flag (did you mean zeta?)`},
		"--log-format json --grid regime=large --out x":     {3, "", "regime large, seed 1: datasets: mnist-sample: labels: class 0 has 1000 images"},
		"--config run.toml --seeds 1 --algo local --zeta 2": {2, "", "seed 1: --zeta: "},
		"--log-format json --grid log-format=text,json":     {2, "", `--grid "log-format=text,json": no result depends on it`},
	}
	if runtime.GOOS == "linux" {
		cases["--log-format json --seeds 1 --tensorboard /dev/fd/none --out y"+tinyLabels] = struct {
			status int
			others string
			msg    string
		}{1, "sweep begun failed end", "seed 1: event files: mkdir "}
	}
	for flags, want := range cases {
		status, stdout, stderr := program(t, dir, append([]string{"sweep"}, strings.Fields(flags)...)...)
		all := objects(t, stderr)
		var others []string
		for _, o := range all[:len(all)-1] {
			others = append(others, o["msg"].(string))
		}
		last := all[len(all)-1]
		if status != want.status || stdout != "" || strings.Join(others, " ") != want.others || last["level"] != "ERROR" ||
			!strings.HasPrefix(last["msg"].(string), want.msg) || last["status"] != float64(status) {
			t.Errorf("sweep %s: status %d, stdout %q, stderr\n%swant %+v", flags, status, stdout, stderr, want)
		}
	}
	status, _, stderr := program(t, dir, "sweep", "--log-format", "xml", "--seeds", "1")
	if want := `fedbayes: --log-format "xml": want one of text, json` + "\n"; status != 2 || stderr != want {
		t.Errorf("status %d, stderr %q, want %q", status, stderr, want)
	}
}

// TestSweepJSONInterrupted stops a sweep with Ctrl-C as its second run begins.
func TestSweepJSONInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to send")
	}
	args := append([]string{"sweep", "--log-format", "json", "--jobs", "1", "--grid", "rounds=1,100000000", "--out", filepath.Join(t.TempDir(), "all")},
		strings.Fields(strings.Replace(tinyLabels, "--rounds 2", "", 1))...)
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	for out := bufio.NewScanner(pipe); out.Scan(); {
		fmt.Fprintln(&stderr, out.Text())
		if strings.Contains(out.Text(), `"msg":"begun"`) && strings.Contains(out.Text(), `"rounds":100000000`) {
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	var got []string
	all := objects(t, stderr.String())
	for _, o := range all {
		got = append(got, o["msg"].(string))
	}
	last := got[len(got)-1]
	if want := "sweep begun finished begun interrupted end"; strings.Join(got[:len(got)-1], " ") != want || !strings.HasPrefix(last, "interrupted after 1 of 2 runs; ") {
		t.Errorf("stderr\n%s\nwant %s and the error", &stderr, want)
	}
	if end := all[len(all)-2]; end["status"] != "interrupted" || end["runs"] != 1.0 || cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("%v: %v", cmd.ProcessState, end)
	}
}
