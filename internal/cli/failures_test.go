package cli_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestDropRate: clients that drop out send nothing, rounds.csv counts them, and so does a run that was stopped and went on.
func TestDropRate(t *testing.T) {
	flags := longer(8) + " --algo fedavg --drop-rate 0.5 --straggler-rate 0.5"
	whole, _ := train(t, flags+" --workers 1")
	rows := table(t, filepath.Join(whole, "rounds.csv"))
	last := rows[len(rows)-1]
	dropped, err := strconv.Atoi(last["dropped"])
	if err != nil || dropped < 8 || dropped > 24 {
		t.Errorf("%s clients dropped out of 8 rounds of 4 (%v), want about half", last["dropped"], err)
	}
	if down, up := strconv.Itoa(8*4*4*6370), strconv.Itoa((8*4-dropped)*4*6370); last["bytes_down"] != down || last["bytes_up"] != up {
		t.Errorf("%s bytes down and %s up, want %s and %s", last["bytes_down"], last["bytes_up"], down, up)
	}
	if last["stragglers"] == "0" || last["empty_rounds"] == "" {
		t.Errorf("%v", last)
	}
	trained := 0
	for _, row := range table(t, filepath.Join(whole, "clients.csv")) {
		if row["train_loss"] != "" {
			trained++
		}
	}
	if trained != 8*4-dropped {
		t.Errorf("%d clients trained, want %d", trained, 8*4-dropped)
	}
	want := outcome(t, whole)
	if other, _ := train(t, flags+" --workers 3"); outcome(t, other) != want {
		t.Errorf("with three workers it is\n%s\nwant\n%s", outcome(t, other), want)
	}
	dir, _ := train(t, strings.Replace(flags, "--rounds 8", "--rounds 3", 1))
	resume(t, dir, "--rounds 8")
	if got := outcome(t, dir); got != want {
		t.Errorf("resumed, it is\n%s\nwant\n%s", got, want)
	}
	plain, _ := train(t, longer(8)+" --algo fedavg")
	text, err := os.ReadFile(filepath.Join(plain, "rounds.csv"))
	if err != nil || strings.Contains(string(text), "dropped") || strings.Contains(string(text), "val_acc") {
		t.Errorf("rounds.csv of a run without (%v) begins %.300s", err, text)
	}
	for _, name := range []string{"drop-rate", "straggler-rate", "patience", "val-fraction"} {
		if v, ok := object(t, filepath.Join(plain, "config.json"))["settings"].(map[string]any)[name]; ok {
			t.Errorf("config.json has %s %v of a run without", name, v)
		}
	}
}

// TestNobody: rounds without a client that gets through keep the server's model and say so.
func TestNobody(t *testing.T) {
	dir, said := train(t, tinyLabels+" --drop-rate 1")
	for _, want := range []string{"round 1  no client got through, the server keeps its model\n", "round 2  no client"} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q:\n%s", want, said)
		}
	}
	rows := table(t, filepath.Join(dir, "rounds.csv"))
	if rows[0]["gm_acc"] != rows[1]["gm_acc"] || rows[1]["empty_rounds"] != "2" || rows[1]["train_loss"]+rows[1]["kl"] != "" || rows[1]["bytes_up"] != "0" {
		t.Errorf("%v", rows)
	}
	f := object(t, filepath.Join(dir, "summary.json"))["failures"].(map[string]any)
	if f["dropped"] != 8.0 || f["empty_rounds"] != 2.0 || f["stragglers"] != 0.0 {
		t.Errorf("summary.json: %v", f)
	}
	status, _, stderr := runArgs(strings.Fields("train --log-format json --drop-rate 1 --force --out " + dir + tinyLabels)...)
	empty := 0
	for _, o := range objects(t, stderr) {
		if o["msg"] == "no client got through, the server keeps its model" && o["round"] != nil && o["level"] == "WARN" {
			empty++
		}
	}
	if status != 0 || empty != 2 {
		t.Errorf("status %d, %d lines of empty rounds in\n%s", status, empty, stderr)
	}
}

// TestEarlyStop: the end is where rounds.csv says that validation got no better, and a run that was stopped before goes on to it.
func TestEarlyStop(t *testing.T) {
	flags := longer(60) + " --train-per-class 20 --patience 3"
	flags = strings.Replace(flags, "--train-per-class 3 ", "", 1)
	whole, said := train(t, flags)
	rows := table(t, filepath.Join(whole, "rounds.csv"))
	pm, gm, since, end := -1.0, -1.0, 0, 0
	for i, row := range rows {
		since++
		if v := number(t, row["pm_val_acc"]); v > pm {
			pm, since = v, 0
		}
		if v := number(t, row["gm_val_acc"]); v > gm {
			gm, since = v, 0
		}
		if since == 3 {
			end = i + 1
			break
		}
	}
	if end == 0 || end != len(rows) || end == 60 {
		t.Fatalf("%d rows, and validation says to stop after %d", len(rows), end)
	}
	s := object(t, filepath.Join(whole, "summary.json"))
	best := s["validation"].(map[string]any)["best_pm"].(map[string]any)
	round := int(best["round"].(float64))
	if s["stopped_early"] != true || s["status"] != "finished" || best["val_acc"] != pm || best["acc"] != number(t, rows[round-1]["pm_acc"]) {
		t.Errorf("summary.json: %v", s)
	}
	last := lastLine(said)
	if !strings.Contains(last, " after "+strconv.Itoa(end)+" of 60 rounds, as validation got no better (best ") || !strings.Contains(last, "; by validation ") ||
		!strings.Contains(said, "  validation PM ") {
		t.Errorf("it says\n%s", said)
	}
	want := outcome(t, whole)
	for _, stop := range []int{1, end - 2, end - 1} {
		dir, _ := train(t, strings.Replace(flags, "--rounds 60", "--rounds "+strconv.Itoa(stop), 1))
		resume(t, dir, "--rounds 60")
		if got := outcome(t, dir); got != want {
			t.Errorf("stopped after %d rounds and resumed, it is\n%s\nwant\n%s", stop, got, want)
		}
	}
	before := contents(t, whole)
	if got, want := resume(t, whole, ""), whole+": finished, it stopped after "+strconv.Itoa(end)+" rounds as validation got no better\n"; got != want {
		t.Errorf("resumed once more, it says %q, want %q", got, want)
	}
	wantSame(t, "one more resume", whole, before)

	// A fifth of the training images of each label is taken away, and the test is as it was.
	c := object(t, filepath.Join(whole, "config.json"))["clients"].([]any)[0].(map[string]any)
	if c["train"] != 80.0 || c["val"] != 20.0 || c["test"] != 25.0 {
		t.Errorf("client: %v", c)
	}
}

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestRefusedFailures is about flags that would do nothing, or cannot.
func TestRefusedFailures(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]struct {
		status int
		text   string
	}{
		"--patience 3 --val-fraction 0":        {2, "--patience: it goes by validation, so want --val-fraction above 0"},
		"--patience -1":                        {2, "--patience -1: want a whole number ≥ 0"},
		"--val-fraction 1":                     {2, "--val-fraction 1: want a number ≥ 0 and ≤ 0.9"},
		"--drop-rate 1.5":                      {2, "--drop-rate 1.5: want a number ≥ 0 and ≤ 1"},
		"--straggler-rate 0.5 --local-steps 1": {2, "--straggler-rate: no effect with --local-steps 1, of which there are no fewer"},
		"--val-fraction 0.2 --train-per-class 1 --test-per-class 1": {3, "--val-fraction 0.2: of no label has a client enough training images to spare one"},
	} {
		status, stdout, stderr := run("train " + line)
		if status != want.status || stdout != "" || stderr != "fedbayes: "+want.text+"\n" {
			t.Errorf("%s: status %d, stdout %q, stderr %q, want %d and %q", line, status, stdout, stderr, want.status, want.text)
		}
	}
	wantEmpty(t)
}

// TestSplitOnRecord: config.json says that nothing overlaps, and how much of the test is of labels that were never trained on.
func TestSplitOnRecord(t *testing.T) {
	dir, _ := train(t, tiny+" --partition dirichlet --alpha 0.05")
	c := object(t, filepath.Join(dir, "config.json"))
	split := c["split"].(map[string]any)
	if split["images_of_two_clients"] != 0.0 || split["test_images_trained_on"] != 0.0 || split["images_of_no_client"] != 0.0 {
		t.Errorf("split: %v", split)
	}
	unseen, tests := 0.0, 0.0
	for _, client := range c["clients"].([]any) {
		client := client.(map[string]any)
		unseen += client["test_share_of_labels_never_trained_on"].(float64) * client["test"].(float64)
		tests += client["test"].(float64)
	}
	if got := split["test_share_of_labels_never_trained_on"].(float64); got < unseen/tests-1e-9 || got > unseen/tests+1e-9 {
		t.Errorf("%v of the test is of labels never trained on, and %v of %v by client", got, unseen, tests)
	}
}
