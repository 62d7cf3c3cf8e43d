package results_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
	"fedbayes/internal/results"
)

// TestReliability: a row for each bin of each model that there is, without draws and with; bins without predictions have
// no mean.
func TestReliability(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a,b")
	r := create(t, dir, false)
	last, drawn := evaluation(2, 0.5, 0.25), evaluation(2, 0.5, 0.25)
	last.Personal.Bins[14] = metrics.Bin{N: 4, Correct: 3, Confidence: 3.875}
	drawn.Personal, drawn.MC = nil, 10
	drawn.Global.Bins[1] = metrics.Bin{N: 2, Correct: 0, Confidence: 0.25}
	if _, err := r.Finish(federation.Result{Last: &last, Drawn: &drawn}, nil); err != nil {
		t.Fatal(err)
	}
	want := "run,round,model,mc,bin,count,confidence,accuracy\n"
	for _, model := range []string{"pm,0", "gm,0", "gm,10"} {
		for bin := range metrics.Bins {
			cells := "0,,"
			switch {
			case model == "pm,0" && bin == 14:
				cells = "4,0.96875,0.75"
			case model == "gm,10" && bin == 1:
				cells = "2,0.125,0"
			}
			want += fmt.Sprintf("a-b,2,%s,%d,%s\n", model, bin, cells)
		}
	}
	if got := read(t, dir, "reliability.csv"); got != want {
		t.Errorf("reliability.csv:\n%swant\n%s", got, want)
	}
	// It belongs to the run, and goes with it.
	create(t, dir, true)
	if _, err := os.Stat(filepath.Join(dir, "reliability.csv")); !os.IsNotExist(err) {
		t.Errorf("a run that replaced this one has its reliability.csv (%v)", err)
	}
}

// TestReliabilityAlone: a folder with this file alone holds a run. (TestLeftovers sees that a run without an evaluation
// leaves none.)
func TestReliabilityAlone(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "reliability.csv"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Create(dir, false, head, nil); err == nil || !strings.Contains(err.Error(), "already holds a run (reliability.csv)") {
		t.Errorf("%v, want that the folder holds a run", err)
	}
}
