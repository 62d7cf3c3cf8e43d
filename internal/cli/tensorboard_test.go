package cli_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedbayes/internal/tensorboard/eventtest"
)

// tags are those of the columns of rounds.csv.
var tags = map[string]string{
	"pm_acc": "accuracy/pm", "gm_acc": "accuracy/gm", "pm_acc_worst": "accuracy/pm_worst", "gm_acc_worst": "accuracy/gm_worst",
	"pm_val_acc": "accuracy/pm_val", "gm_val_acc": "accuracy/gm_val",
	"pm_nll": "nll/pm", "gm_nll": "nll/gm", "pm_ece": "ece/pm", "gm_ece": "ece/gm",
	"train_loss": "train/loss", "kl": "train/kl", "bytes_up": "bytes/up", "bytes_down": "bytes/down",
	"train_seconds": "seconds/train", "eval_seconds": "seconds/eval",
	"dropped": "clients/dropped", "stragglers": "clients/stragglers", "empty_rounds": "clients/empty_rounds",
	"gm_norm": "weights/norm", "gm_sigma": "weights/sigma",
}

// wantEvents compares a folder of event files with the rounds.csv of its run, cell by cell.
func wantEvents(t *testing.T, events, run string) {
	t.Helper()
	_, all := eventtest.Read(t, events)
	all = slices.DeleteFunc(all, func(e eventtest.Event) bool { return len(e.Values) == 0 })
	rows := table(t, filepath.Join(run, "rounds.csv"))
	if len(all) != len(rows) {
		t.Fatalf("%s: steps %v, want those of %d rows", events, eventtest.Steps(all), len(rows))
	}
	for i, row := range rows {
		if row["round"] != strconv.Itoa(all[i].Step) {
			t.Errorf("%s: step %d, want %s", events, all[i].Step, row["round"])
		}
		for name, cell := range row {
			if slices.Contains([]string{"run", "algo", "dataset", "regime", "model", "seed", "round"}, name) {
				continue
			}
			got, ok := all[i].Values[tags[name]]
			delete(all[i].Values, tags[name])
			want, err := strconv.ParseFloat(cell, 64)
			near := want - float64(got) // the seconds of a cell have three digits
			if strings.HasSuffix(name, "_seconds") && near > -0.00051 && near < 0.00051 {
				want = float64(got)
			}
			if ok != (cell != "") || ok && (err != nil || got != float32(want)) {
				t.Errorf("%s: step %s: %s is %v (%t), want %q", events, row["round"], tags[name], got, ok, cell)
			}
		}
		if len(all[i].Values) > 0 {
			t.Errorf("%s: step %s: %v besides", events, row["round"], all[i].Values)
		}
	}
}

// TestTensorboard: a folder for each run, with the numbers of its rounds.csv and nothing else; a cell that is empty is not there.
func TestTensorboard(t *testing.T) {
	dir := t.TempDir()
	for _, flags := range []string{
		"--seeds 3,1 --out results/mine --val-fraction 0.4 --drop-rate 0.3 --straggler-rate 0.5",
		"--algo fedavg --out results/seed-2 --log-format json",
		"--algo local --out results/nobody --drop-rate 1",
	} {
		status, _, stderr := program(t, dir, append([]string{"train", "--tensorboard", "logs"}, strings.Fields(flags+tinyLabels)...)...)
		if status != 0 {
			t.Fatalf("%s: status %d, stderr %s", flags, status, stderr)
		}
	}
	for name, run := range map[string]string{"seed-3": "mine/seed-3", "seed-1": "mine/seed-1", "seed-2": "seed-2", "nobody": "nobody"} {
		wantEvents(t, filepath.Join(dir, "logs", name), filepath.Join(dir, "results", run))
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "logs", "*", "*")); len(found) != 4 {
		t.Errorf("%v, want a file in each of four folders", found)
	}
}

// TestTensorboardResumed: a run that is resumed goes on where it was, whatever it is called now, or elsewhere if it is told so.
func TestTensorboardResumed(t *testing.T) {
	dir := t.TempDir()
	logs, run := filepath.Join(dir, "logs"), filepath.Join(dir, "run")
	must(t, append([]string{"train", "--tensorboard", logs, "--out", run}, strings.Fields(tinyLabels)...)...)
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(run, moved); err != nil {
		t.Fatal(err)
	}
	resume(t, moved, "--rounds 4")
	wantEvents(t, filepath.Join(logs, "run"), moved)
	names, all := eventtest.Read(t, filepath.Join(logs, "run"))
	if len(names) != 2 || !slices.Equal(eventtest.Steps(all), []int{1, 2, 3, 4}) {
		t.Errorf("%v with steps %v", names, eventtest.Steps(all))
	}
	resume(t, moved, "--rounds 5 --tensorboard "+filepath.Join(dir, "others"))
	if _, all := eventtest.Read(t, filepath.Join(dir, "others", "run")); !slices.Equal(eventtest.Steps(all), []int{4, 5}) {
		t.Errorf("steps %v, want those from the checkpoint on", eventtest.Steps(all))
	}
	if c := object(t, filepath.Join(moved, "config.json")); c["settings"].(map[string]any)["tensorboard"] != filepath.Join(dir, "others") {
		t.Errorf("settings %v", c["settings"])
	}
	// One that had none gets some, and eval says nothing of them.
	alone, _ := train(t, tinyLabels)
	resume(t, alone, "--rounds 3 --tensorboard "+logs+"2")
	if _, all := eventtest.Read(t, filepath.Join(logs+"2", "run")); !slices.Equal(eventtest.Steps(all), []int{2, 3}) {
		t.Errorf("steps %v", eventtest.Steps(all))
	}
	before := contents(t, logs+"2")
	must(t, "eval", "--run", alone)
	wantSame(t, "eval", logs+"2", before)
}

// TestTensorboardKilled kills a run and those that resume it, each after some evaluations: there is no step twice, and none lost.
func TestTensorboardKilled(t *testing.T) {
	dir := t.TempDir()
	run, logs := filepath.Join(dir, "run"), filepath.Join(dir, "logs")
	args := append([]string{"train", "--out", run, "--tensorboard", logs, "--checkpoint-every", "3"}, strings.Fields(longer(40))...)
	kills := 0
	for _, lines := range []int{5, 4, 7, 3, 1000} {
		if killed, _ := killAfter(t, lines, args...); killed {
			kills++
		}
		paths, _ := filepath.Glob(filepath.Join(logs, "run", "*"))
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := eventtest.Parse(text); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		args = []string{"train", "--resume", run}
	}
	if kills < 2 { // on a slow machine a run can be over before it is killed
		t.Errorf("%d kills, want some", kills)
	}
	wantEvents(t, filepath.Join(logs, "run"), run)
	if _, all := eventtest.Read(t, filepath.Join(logs, "run")); len(eventtest.Steps(all)) != 40 {
		t.Errorf("steps %v, want 40", eventtest.Steps(all))
	}
}

// TestTensorboardSweep: the runs of a sweep have a folder each, and one does not take another sweep's.
func TestTensorboardSweep(t *testing.T) {
	dir := t.TempDir()
	args := append([]string{"sweep", "--tensorboard", "logs", "--grid", "algo=fedavg,local", "--seeds", "1,2"}, strings.Fields(tinyLabels)...)
	if status, _, stderr := program(t, dir, append(args, "--out", "a")...); status != 0 {
		t.Fatalf("status %d, stderr %s", status, stderr)
	}
	for _, name := range []string{"algo-fedavg-seed-1", "algo-fedavg-seed-2", "algo-local-seed-1", "algo-local-seed-2"} {
		wantEvents(t, filepath.Join(dir, "logs", name), filepath.Join(dir, "a", name))
	}
	status, stdout, stderr := program(t, dir, append(args, "--out", "b")...)
	want := "fedbayes: --tensorboard " + filepath.Join("logs", "algo-fedavg-seed-1") + " already holds event files: name another folder, or replace them with --force\n"
	if status != 2 || stdout != "" || stderr != want {
		t.Errorf("another sweep: status %d, stdout %q, stderr %q, want %q", status, stdout, stderr, want)
	}
	// A run that is done anew has its new steps alone.
	if err := os.Remove(filepath.Join(dir, "a", "algo-local-seed-2", "summary.json")); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := program(t, dir, append(args, "--out", "a", "--workers", "1")...); status != 0 {
		t.Fatalf("again: status %d, stderr %s", status, stderr)
	}
	wantEvents(t, filepath.Join(dir, "logs", "algo-local-seed-2"), filepath.Join(dir, "a", "algo-local-seed-2"))
}

// TestTensorboardRefused: what cannot be written is said before anything is trained, and leaves nothing.
func TestTensorboardRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, append([]string{"train", "--tensorboard", "logs", "--out", "a/mine"}, strings.Fields(tinyLabels)...)...)
	before := contents(t, ".")
	for flags, want := range map[string]string{
		"--tensorboard file --out x":                        "--tensorboard file: want a folder, this is a file",
		"--tensorboard file":                                "--tensorboard file: want a folder, this is a file",
		"--tensorboard file --resume a/mine":                "--resume a/mine: --tensorboard file: want a folder, this is a file",
		"--tensorboard logs --out b/mine":                   "--tensorboard " + filepath.Join("logs", "mine") + " already holds event files: name another folder, or replace them with --force",
		"--tensorboard logs --out b/mine --log-format json": "already holds event files",
	} {
		if !strings.Contains(flags, "--resume") {
			flags += tinyLabels
		}
		status, stdout, stderr := runArgs(append([]string{"train"}, strings.Fields(flags)...)...)
		if status != 2 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want 2 and %s", flags, status, stdout, stderr, want)
		}
		wantSame(t, flags, ".", before)
	}
	if runtime.GOOS == "linux" {
		status, stdout, stderr := runArgs(append([]string{"train", "--tensorboard", "/dev/fd/none", "--out", "x"}, strings.Fields(tinyLabels)...)...)
		if status != 1 || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fedbayes: event files: mkdir ") {
			t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
		}
		wantSame(t, "no folder", ".", before)
	}
	must(t, append([]string{"train", "--tensorboard", "logs", "--out", "b/mine", "--force"}, strings.Fields(tinyLabels)...)...)
	wantEvents(t, filepath.Join("logs", "mine"), "b/mine")
}
