package results_test

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"fedbayes/internal/federation"
	"fedbayes/internal/results"
)

// TestPlainCells: whatever a folder is called, cutting a line at its commas gives the cells.
func TestPlainCells(t *testing.T) {
	for _, name := range []string{"a,b", `a"b`, " a", "a b", `\.`, "a\nb", "a\tb", ",", "ζ,ρ"} {
		dir := filepath.Join(t.TempDir(), name)
		r, err := results.Create(dir, false, results.Head{Algo: "toy", Model: "vgg:4,M,5", Regime: "x,y"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		record(t, r, evaluation(1, 0.5, 0.25))
		for _, file := range []string{"rounds.csv", "clients.csv"} {
			text := read(t, dir, file)
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
				if got, want := strings.Split(line, ","), rows[i]; fmt.Sprint(got) != fmt.Sprint(want) || len(got) != len(rows[0]) || strings.Contains(line, `"`) {
					t.Errorf("%q, %s: line %q", name, file, line)
				}
			}
		}
		if _, err := r.Finish(federation.Result{}, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestFresh: folders that are made at the same moment are different ones.
func TestFresh(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "results")
	var group sync.WaitGroup
	made := make([]string, 20)
	for i := range made {
		group.Go(func() {
			var err error
			if made[i], err = results.Fresh(parent, "run"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, dir := range made {
		if seen[dir] {
			t.Errorf("%s twice", dir)
		}
		seen[dir] = true
	}
	if !seen[filepath.Join(parent, "run")] || !seen[filepath.Join(parent, "run-20")] {
		t.Errorf("folders %v", made)
	}
}

// TestRace: of runs that want one folder at one moment, one gets it and the others are told.
func TestRace(t *testing.T) {
	for _, force := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "run")
		if force {
			if _, err := create(t, dir, false).Finish(federation.Result{}, nil); err != nil {
				t.Fatal(err)
			}
		}
		var group sync.WaitGroup
		var mu sync.Mutex
		var won []*results.Run
		for range 8 {
			group.Go(func() {
				r, err := results.Create(dir, force, head, nil)
				var held *results.Held
				if err != nil && !errors.As(err, &held) {
					t.Errorf("force %v: %v, want that it holds a run", force, err)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					won = append(won, r)
				}
			})
		}
		group.Wait()
		if len(won) != 1 {
			t.Fatalf("force %v: %d runs got the folder, want 1", force, len(won))
		}
		record(t, won[0], evaluation(1, 0.5, 0.5))
		if _, err := won[0].Finish(federation.Result{}, nil); err != nil {
			t.Errorf("force %v: %v", force, err)
		}
	}
}

// TestForceOverLiveRun: a run that goes on is not replaced.
func TestForceOverLiveRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	first := create(t, dir, false)
	record(t, first, evaluation(1, 0.5, 0.5))
	before := read(t, dir, "rounds.csv")
	_, err := results.Create(dir, true, head, nil)
	var held *results.Held
	if !errors.As(err, &held) || !held.Busy || !strings.Contains(err.Error(), "another run is writing there") {
		t.Skipf("no locks here: %v", err)
	}
	if got := read(t, dir, "rounds.csv"); got != before {
		t.Errorf("rounds.csv is %q, want %q", got, before)
	}
	if _, err := first.Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	create(t, dir, true)
}

// TestLost: a run whose files somebody removes or replaces says so at the next round, evaluation or end, and writes
// nothing into what is no longer its own.
func TestLost(t *testing.T) {
	for name, take := range map[string]func(dir string) error{
		"removed": func(dir string) error { return os.Remove(filepath.Join(dir, "rounds.csv")) },
		"folder":  os.RemoveAll,
		"replaced": func(dir string) error {
			file := filepath.Join(dir, "rounds.csv")
			return errors.Join(os.Remove(file), os.WriteFile(file, []byte("mine\n"), 0o644))
		},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		r := create(t, dir, false)
		record(t, r, evaluation(1, 0.5, 0.5))
		if err := take(dir); err != nil {
			t.Fatal(err)
		}
		if err := r.Round(2); !errors.Is(err, results.ErrLost) {
			t.Errorf("%s: Round: %v, want that the files are lost", name, err)
		}
		err := r.Evaluation(evaluation(2, 0.5, 0.5))
		if !errors.Is(err, results.ErrLost) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: Evaluation: %v, want that the files are lost", name, err)
		}
		if _, err := r.Finish(federation.Result{}, nil); !errors.Is(err, results.ErrLost) {
			t.Errorf("%s: Finish: %v, want that the files are lost", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "summary.json")); err == nil {
			t.Errorf("%s: summary.json was written", name)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "rounds.csv")); err == nil && string(text) != "mine\n" {
			t.Errorf("%s: wrote %q into another's file", name, text)
		}
	}
}

// TestInterruptedAtTheEnd: when all rounds are done and evaluated, a run is finished, and no sweep runs it again.
func TestInterruptedAtTheEnd(t *testing.T) {
	for _, test := range []struct {
		rounds int
		last   []federation.Evaluation
		want   string
	}{
		{2, []federation.Evaluation{evaluation(1, 0.5, 0.5), evaluation(2, 0.5, 0.5)}, "finished"},
		{3, []federation.Evaluation{evaluation(1, 0.5, 0.5), evaluation(2, 0.5, 0.5)}, "interrupted"},
		{2, []federation.Evaluation{evaluation(1, 0.5, 0.5)}, "interrupted"}, // and the second round without its evaluation
	} {
		h := head
		h.Rounds = test.rounds
		r, err := results.Create(t.TempDir(), false, h, nil)
		if err != nil {
			t.Fatal(err)
		}
		record(t, r, test.last...)
		if err := r.Round(2); err != nil {
			t.Fatal(err)
		}
		s, err := r.Finish(federation.Result{}, fmt.Errorf("stopped: %w", context.Canceled))
		if err != nil || s.Status != test.want || s.Error == "" || s.Drawn != nil {
			t.Errorf("%d of %d rounds: %+v (%v), want status %s", len(test.last), test.rounds, s, err, test.want)
		}
	}
}
