package federation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// shrinking returns settings with which a method's weights lose all but a small part in each round.
func shrinking(name string) map[string]any {
	if name == "fedhb-niw" {
		return map[string]any{"niw": "full", "prior-count": 50.0}
	}
	return map[string]any{"prototype-var": 50.0}
}

// length is ‖w‖, of the least of several.
func length(server any) float64 {
	var networks [][]float32
	switch s := server.(type) {
	case *algorithms.FedHBNIWState:
		networks = [][]float32{s.Q.M0}
	case *algorithms.FedHBMixState:
		networks = s.Prototypes
	}
	least := math.Inf(1)
	for _, w := range networks {
		squares := 0.0
		for _, x := range w {
			squares += float64(x) * float64(x)
		}
		least = min(least, math.Sqrt(squares))
	}
	return least
}

// A collapse is how a run ended whose weights went to 0.
type collapse struct {
	err   error
	norms []float64 // after each round
	evals []Evaluation
}

// collapsing runs a method on the toys to its end, which is to be before the last of ten rounds.
func collapsing(t *testing.T, name string, every int, keeper Keeper) collapse {
	t.Helper()
	cfg := config()
	cfg.Rounds, cfg.EvalEvery, cfg.KeepEvery = 10, every, 1
	if keeper != nil {
		cfg.Keeper = keeper
	}
	s := watch(method(t, name, "", shrinking(name)))
	var c collapse
	d := &diary{onRound: func(int) error { c.norms = append(c.norms, length(s.server)); return nil }}
	_, c.err = Run(context.Background(), cfg, s, network(t), toys(mixed...), d)
	c.evals = d.evals
	var dead *algorithms.Collapsed
	if !errors.As(c.err, &dead) || !algorithms.Diverged(c.err) {
		t.Fatalf("%v after %d rounds, want an *algorithms.Collapsed", c.err, len(d.rounds))
	}
	return c
}

// TestCollapse: a run ends after the first round that leaves less than a thousandth of the norm at the start, evaluated or
// not, and its evaluations have the norms of their rounds.
func TestCollapse(t *testing.T) {
	for _, name := range []string{"fedhb-niw", "fedhb-mix"} {
		t.Run(name, func(t *testing.T) {
			m := method(t, name, "", shrinking(name))
			born := length(m.Server(algorithms.Task{Net: network(t)}, kernels.New(config().ISA), rng.Stream{Seed: config().Seed}))
			c := collapsing(t, name, 1, nil)
			end := len(c.norms)
			for i, norm := range c.norms {
				if low := norm < born/1000; low != (i == end-1) {
					t.Errorf("round %d of %d: norm %v, and %v at the start", i+1, end, norm, born)
				}
				if got := c.evals[i].Vitals; got.Norm != norm || !math.IsNaN(got.Sigma) {
					t.Errorf("round %d: vitals %+v, want norm %v", i+1, got, norm)
				}
			}
			if end < 2 || len(c.evals) != end {
				t.Errorf("%d rounds, %d evaluations", end, len(c.evals))
			}
			want := fmt.Sprintf("round %d: the global model has died: the norm of its weights is %.3g, and was %.3g at the start (%s may help)",
				end, c.norms[end-1], born, m.Remedy())
			if c.err.Error() != want {
				t.Errorf("%q, want %q", c.err, want)
			}
			if other := collapsing(t, name, 100, nil); other.err.Error() != want || len(other.evals) != 0 {
				t.Errorf("without evaluations: %v, %d evaluations, want %q", other.err, len(other.evals), want)
			}
		})
	}
}

// TestCollapseResumed: nothing is kept of the round that ends a run, and a run from any earlier one ends there too.
func TestCollapseResumed(t *testing.T) {
	for _, name := range []string{"fedhb-niw", "fedhb-mix"} {
		kept := &shelf{}
		whole := collapsing(t, name, 2, kept)
		end := len(whole.norms)
		if len(kept.rounds) != end-1 {
			t.Fatalf("%s: snapshots of rounds %v, want all before %d", name, kept.rounds, end)
		}
		for stop := 1; stop < end; stop++ {
			again := &shelf{}
			collapsing(t, name, 2, again)
			again.restore = stop
			if c := collapsing(t, name, 2, again); c.err.Error() != whole.err.Error() || len(c.norms) != end-stop {
				t.Errorf("%s, from round %d on: %v after %d rounds, want %v", name, stop, c.err, len(c.norms), whole.err)
			}
		}
	}
}

// TestCollapseInterrupted: a run that is stopped when its last round is trained, and not evaluated yet, ends when it goes on.
func TestCollapseInterrupted(t *testing.T) {
	whole := collapsing(t, "fedhb-niw", 1, nil)
	end := len(whole.norms)
	cfg, kept := config(), &shelf{}
	cfg.Rounds, cfg.Keeper, cfg.KeepEvery = 10, kept, 100
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	d := &diary{onRound: func(round int) error {
		if round == end {
			cancel()
		}
		return nil
	}}
	_, err := Run(ctx, cfg, method(t, "fedhb-niw", "", shrinking("fedhb-niw")), network(t), toys(mixed...), d)
	if !errors.Is(err, context.Canceled) || !slices.Equal(kept.rounds, []int{end}) {
		t.Fatalf("%v, snapshots of rounds %v, want one of %d", err, kept.rounds, end)
	}
	kept.restore = end
	if c := collapsing(t, "fedhb-niw", 1, kept); c.err.Error() != whole.err.Error() || len(c.norms) != 0 || len(c.evals) != 1 {
		t.Errorf("%v after %d rounds and %d evaluations, want %v", c.err, len(c.norms), len(c.evals), whole.err)
	}
}

// A fading method loses its weights in every round, and knows no remedy.
type fading struct{ algorithms.Algorithm }

func (f fading) Aggregate(server any, ups []algorithms.Upload[any]) {
	f.Algorithm.Aggregate(server, ups)
	clear(*server.(*[]float32))
}

// TestFading: a method that its weights' norm does not end goes on.
func TestFading(t *testing.T) {
	_, d, _ := play(t, config(), fading{method(t, "fedavg", "", nil)}, toys(4, 5, 6))
	if len(d.rounds) != 3 || d.evals[2].Vitals.Norm != 0 {
		t.Errorf("%d rounds, the last with %+v", len(d.rounds), d.evals[2].Vitals)
	}
}
