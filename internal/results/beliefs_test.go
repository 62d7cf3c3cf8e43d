package results_test

import (
	"path/filepath"
	"testing"

	"fedbayes/internal/federation"
	"fedbayes/internal/results"
)

// TestBeliefs: a row for each client and class, before the first evaluation as after it, and none of a client without beliefs.
func TestBeliefs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a,b")
	h := head
	h.Watches = true
	r, err := results.Create(dir, false, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := federation.Belief{Client: 0, Probability: []float64{0.25, 0.75}, Deviation: []float64{0.125, 0.125}}
	third := federation.Belief{Client: 2, Probability: []float64{1, 0}, Deviation: []float64{0, 0}}
	for _, b := range []federation.Beliefs{{Label: 1, Clients: []federation.Belief{first, third}}, {Round: 2, Label: 1, Clients: []federation.Belief{third}}} {
		if err := r.Beliefs(b); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.Finish(federation.Result{}, nil); err != nil {
		t.Fatal(err)
	}
	want := `run,round,client,class,probability,deviation,label
a-b,0,0,0,0.25,0.125,1
a-b,0,0,1,0.75,0.125,1
a-b,0,2,0,1,0,1
a-b,0,2,1,0,0,1
a-b,2,2,0,1,0,1
a-b,2,2,1,0,0,1
`
	if got := read(t, dir, "beliefs.csv"); got != want {
		t.Errorf("beliefs.csv:\n%swant\n%s", got, want)
	}
}
