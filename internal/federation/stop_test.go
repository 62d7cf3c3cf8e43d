package federation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"fedbayes/algorithms"
)

// TestDivergence gives a learning rate beyond all numbers. The error names round, client and step, the same for any
// number of workers.
func TestDivergence(t *testing.T) {
	eachMethod(t, func(t *testing.T, name string, _ func() algorithms.Algorithm) {
		name, preset, _ := strings.Cut(name, "/")
		var want string
		for _, workers := range []int{1, 2, 5} {
			cfg := config()
			cfg.Workers, cfg.PerRound = workers, 5
			d := new(diary)
			m := method(t, name, preset, diverging(name, 1e30))
			_, err := Run(context.Background(), cfg, m, network(t), toys(4, 5, 6, 7, 8), d)
			var bad *algorithms.NonFinite
			if !errors.As(err, &bad) {
				t.Fatalf("%d workers: %v, want an *algorithms.NonFinite", workers, err)
			}
			if bad.Step < 1 || bad.Step > cfg.LocalSteps {
				t.Errorf("step %d of %d", bad.Step, cfg.LocalSteps)
			}
			round := len(d.rounds) + 1
			if at := fmt.Sprintf("round %d: client 0: step %d: ", round, bad.Step); !strings.HasPrefix(err.Error(), at) {
				t.Errorf("%q does not begin with %q", err, at)
			}
			if len(d.evals) != len(d.rounds) {
				t.Errorf("%d evaluations of %d whole rounds", len(d.evals), len(d.rounds))
			}
			if want == "" {
				want = err.Error()
			}
			if err.Error() != want {
				t.Errorf("%d workers: %q, and with one %q", workers, err, want)
			}
		}
	})
}

// diverging returns the settings with which a learning rate is not held back.
func diverging(name string, lr float64) map[string]any {
	set := map[string]any{"lr": lr}
	switch name { // a proximal term bounds the implicit step
	case "fedamp", "heurfedamp":
		set["lambda"] = 0.0
	case "fedhb-niw":
		set["prior-weight"] = 0.0
	case "fedhb-mix":
		set["optimizer"] = "adam"
	}
	return set
}

// TestDivergenceInEvaluation lets the last step of a round diverge, which no loss of the round can show.
func TestDivergenceInEvaluation(t *testing.T) {
	eachMethod(t, func(t *testing.T, name string, _ func() algorithms.Algorithm) {
		name, preset, _ := strings.Cut(name, "/")
		set := diverging(name, 1e38)
		switch name {
		case "pfedbayes":
			set["personal-steps"], set["update-order"] = 1, "simultaneous"
		case "pfedme":
			set["personal-steps"] = 1
		case "fedhb-mix":
			set["gate"] = "uniform" // whose targets would show it
		case "pfedgp":
			set["weight-decay"] = 1e9 // of embeddings that are large and finite, directions are as good as any
		}
		cfg := config()
		cfg.LocalSteps = 1
		d := new(diary)
		res, err := Run(context.Background(), cfg, method(t, name, preset, set), network(t), toys(4, 5, 6), d)
		var bad *algorithms.NonFinite
		if !errors.As(err, &bad) || bad.Step != 0 {
			t.Fatalf("%v, want an *algorithms.NonFinite of an evaluation", err)
		}
		if !strings.HasPrefix(err.Error(), "round 1: client ") || !strings.Contains(err.Error(), "model's predictions is NaN") {
			t.Errorf("%q", err)
		}
		if len(d.evals) != 1 || res.Last == nil {
			t.Errorf("the evaluation is not on record: %d, %v", len(d.evals), res.Last)
		}
	})
}

func TestRecorderErrors(t *testing.T) {
	full := errors.New("disk full")
	tests := []struct {
		name          string
		d             *diary
		rounds, evals int
	}{
		{"in a round", &diary{onRound: failAt(2, full)}, 2, 1},
		{"in an evaluation", &diary{onEval: func(e Evaluation) error { return failAt(2, full)(e.Round) }}, 2, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Run(context.Background(), config(), method(t, "fedavg", "", nil), network(t), toys(4, 5, 6), tt.d)
			if !errors.Is(err, full) {
				t.Errorf("%v, want %v", err, full)
			}
			if len(tt.d.rounds) != tt.rounds || len(tt.d.evals) != tt.evals {
				t.Errorf("told of %d rounds and %d evaluations, want %d and %d", len(tt.d.rounds), len(tt.d.evals), tt.rounds, tt.evals)
			}
		})
	}
}

func failAt(round int, err error) func(int) error {
	return func(t int) error {
		if t == round {
			return err
		}
		return nil
	}
}

// TestRecordersInTurn checks order and number of calls, with two recorders.
func TestRecordersInTurn(t *testing.T) {
	var calls []string
	tell := func(who string) *diary {
		return &diary{
			onRound: func(round int) error { calls = append(calls, fmt.Sprint(who, " round ", round)); return nil },
			onEval:  func(e Evaluation) error { calls = append(calls, fmt.Sprint(who, " evaluation ", e.Round)); return nil },
		}
	}
	cfg := config()
	cfg.EvalEvery = 2
	if _, err := Run(context.Background(), cfg, method(t, "local", "", nil), network(t), toys(4, 5), tell("a"), tell("b")); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"a round 1", "b round 1",
		"a round 2", "b round 2", "a evaluation 2", "b evaluation 2",
		"a round 3", "b round 3", "a evaluation 3", "b evaluation 3",
	}
	if !slices.Equal(calls, want) {
		t.Errorf("calls %q, want %q", calls, want)
	}
}

// TestCancel ends the context in the middle of a round, and between a round and its evaluation.
func TestCancel(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		for _, workers := range []int{1, 3} {
			cfg := config()
			cfg.Workers = workers

			ctx, cancel := context.WithCancel(context.Background())
			s, d := watch(make()), new(diary)
			s.before = func(int) {
				if len(d.rounds) == 1 {
					cancel()
				}
			}
			res, err := Run(ctx, cfg, s, network(t), toys(4, 5, 6, 7), d)
			check(t, "in a round", res, err, d, 1, 1)
			if n := len(s.ups); n != 1 {
				t.Errorf("aggregated %d times, want once: the round was given up", n)
			}
			cancel()

			ctx, cancel = context.WithCancel(context.Background())
			d = &diary{onRound: func(round int) error {
				if round == 2 {
					cancel()
				}
				return nil
			}}
			res, err = Run(ctx, cfg, make(), network(t), toys(4, 5, 6, 7), d)
			check(t, "before an evaluation", res, err, d, 2, 1)

			res, err = Run(ctx, cfg, make(), network(t), toys(4, 5, 6, 7), new(diary))
			if !errors.Is(err, context.Canceled) || res.Last != nil {
				t.Errorf("before the run: %v", err)
			}
		}
	})
}

// check checks a run that was cancelled.
func check(t *testing.T, when string, res Result, err error, d *diary, rounds, evals int) {
	t.Helper()
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "round 2: ") {
		t.Errorf("%s: %v, want the second round to be cancelled", when, err)
	}
	if len(d.rounds) != rounds || len(d.evals) != evals {
		t.Errorf("%s: told of %d rounds and %d evaluations, want %d and %d", when, len(d.rounds), len(d.evals), rounds, evals)
	}
	for _, e := range d.evals {
		for _, c := range e.Clients {
			if c.Personal == nil && c.Global == nil {
				t.Errorf("%s: round %d: client %d was not scored", when, e.Round, c.Client)
			}
		}
	}
	if res.Last == nil || res.Last.Round != 1 {
		t.Errorf("%s: the last evaluation is not that of round 1", when)
	}
}

// TestEachReturnsTheLowestError lets every call fail, many times: which worker is faster must not be seen.
func TestEachReturnsTheLowestError(t *testing.T) {
	r := &run{workers: []*worker{{}, {}, {}, {}}}
	for range 50000 {
		err := r.each(context.Background(), 8, func(_ *worker, k int) error { return fmt.Errorf("call %d", k) })
		if err == nil || err.Error() != "call 0" {
			t.Fatalf("%v, want that of call 0", err)
		}
	}
}

func TestEachCallsOnceEach(t *testing.T) {
	for _, workers := range []int{1, 2, 9} {
		r := &run{workers: make([]*worker, workers)}
		for i := range r.workers {
			r.workers[i] = new(worker)
		}
		var calls [7]atomic.Int64
		if err := r.each(context.Background(), len(calls), func(_ *worker, k int) error { calls[k].Add(1); return nil }); err != nil {
			t.Fatal(err)
		}
		for k := range calls {
			if n := calls[k].Load(); n != 1 {
				t.Errorf("%d workers: %d calls for %d", workers, n, k)
			}
		}
	}
}
