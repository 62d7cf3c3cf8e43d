package results_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
	"fedbayes/internal/results"
)

// Runs that go on from checkpoints are tested in internal/cli, where there are runs.

// TestResumeLiveRun: a run that goes on is not resumed by another process.
func TestResumeLiveRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	r := create(t, dir, false)
	record(t, r, evaluation(1, 0.5, 0.5))
	before := read(t, dir, "rounds.csv")
	_, _, err := results.Resume(dir, head, nil)
	var held *results.Held
	if !errors.As(err, &held) || !held.Busy {
		t.Skipf("no locks here: %v", err)
	}
	if got := read(t, dir, "rounds.csv"); got != before {
		t.Errorf("rounds.csv is %q, want %q", got, before)
	}
	if _, err := r.Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	// Its end leaves the folder free, and nothing to go on from.
	var unusable *checkpoint.Unusable
	if _, _, err := results.Resume(dir, head, nil); !errors.As(err, &unusable) {
		t.Errorf("%v, want an *Unusable", err)
	}
	if _, _, err := results.Resume(dir+"x", head, nil); !errors.As(err, &unusable) {
		t.Errorf("%v, want an *Unusable", err)
	}
}

// TestStrayCheckpoint: a folder with a checkpoint and nothing else is not taken for an empty one.
func TestStrayCheckpoint(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := checkpoint.Save(filepath.Join(dir, "checkpoint"), 1, nil, nil); err != nil {
		t.Fatal(err)
	}
	_, err := results.Create(dir, false, head, nil)
	var held *results.Held
	if !errors.As(err, &held) || !strings.Contains(err.Error(), "(checkpoint)") {
		t.Errorf("%v, want that it holds a checkpoint", err)
	}
	create(t, dir, true)
	if _, err := os.Stat(filepath.Join(dir, "checkpoint")); !os.IsNotExist(err) {
		t.Errorf("with force: %v, want that it is gone", err)
	}
}

func TestFinished(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int{
		`{"status": "finished", "rounds": 7}`:                     7,
		`{"status": "finished", "rounds": 7, "error": "Ctrl-C"}`:  0,
		`{"status": "interrupted", "rounds": 7, "error": "stop"}`: 0,
		`{"status": "finished", "ro`:                              0,
	} {
		if err := os.WriteFile(filepath.Join(dir, "summary.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, early := results.Finished(dir); got != want || early {
			t.Errorf("%s: %d rounds, want %d", text, got, want)
		}
	}
	if got, _ := results.Finished(filepath.Join(dir, "x")); got != 0 {
		t.Errorf("%d rounds of a run that is not there", got)
	}
}

func TestFactsDiffer(t *testing.T) {
	there := results.Facts{"a": "1", "b": "2", "c": "3"}
	here := results.Facts{"a": "1", "b": "4", "d": "5"}
	want := []string{"b is 2 there, 4 here", "c is 3 there, and not a setting here", "d is 5 here, and not a setting there"}
	if got := there.Differ(here); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := there.Differ(there); got != nil {
		t.Errorf("%q of what is the same", got)
	}
}
