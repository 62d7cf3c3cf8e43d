package federation

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/state"
)

// A shelf is a keeper in memory. It copies what it is given, as a file does.
type shelf struct {
	kept    map[int]map[string]state.Tensor // by round and name
	rounds  []int                           // in the order of their snapshots
	restore int                             // round to go on from, 0 for none
	left    []string                        // names that nobody asked for
	fail    error
}

var _ Keeper = (*shelf)(nil)

func (s *shelf) Keep(snap *Snapshot) error {
	if s.fail != nil {
		return s.fail
	}
	if s.kept == nil {
		s.kept = map[int]map[string]state.Tensor{}
	}
	s.rounds = append(s.rounds, snap.Round)
	s.kept[snap.Round] = map[string]state.Tensor{}
	for _, t := range snap.Tensors() {
		v := reflect.ValueOf(t.Data)
		data := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(data, v)
		s.kept[snap.Round][t.Name] = state.Tensor{Name: t.Name, Shape: slices.Clone(t.Shape), Data: data.Interface()}
	}
	return nil
}

func (s *shelf) Restore(snap *Snapshot) error {
	if s.restore == 0 {
		return nil
	}
	saved := s.kept[s.restore]
	err := snap.Fill(func(name string) (state.Tensor, bool) {
		t, ok := saved[name]
		delete(saved, name)
		return t, ok
	})
	for name := range saved {
		s.left = append(s.left, name)
	}
	return err
}

// TestResumed stops runs of every method in the training of each of their rounds and goes on in new ones, which end as if
// there had been no stop: evaluations, draws at the end, states and bytes, bit for bit.
func TestResumed(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.EvalEvery, cfg.MC = 4, 2, 0
		unbroken, all, end := play(t, cfg, make(), toys(mixed...))
		want := spellRun(unbroken, all) + spellDrawn(end)
		for stop := 1; stop <= cfg.Rounds; stop++ {
			kept := &shelf{}
			cfg.Keeper, cfg.KeepEvery = kept, 100
			ctx, cancel := context.WithCancel(context.Background())
			m, first := watch(make()), new(diary)
			m.before = func(int) {
				if len(first.rounds) == stop-1 {
					cancel()
				}
			}
			_, err := Run(ctx, cfg, m, network(t), toys(mixed...), first)
			if !errors.Is(err, context.Canceled) || !slices.Equal(kept.rounds, []int{stop}) {
				t.Fatalf("stopped in round %d: %v, snapshots of rounds %v", stop, err, kept.rounds)
			}
			kept.restore = stop
			cfg.Workers = 3
			s, second, res := play(t, cfg, make(), toys(mixed...))
			if len(kept.left) > 0 {
				t.Fatalf("nobody asked for %v", kept.left)
			}
			if rounds := second.rounds; len(rounds) != cfg.Rounds-stop || len(rounds) > 0 && rounds[0] != stop+1 {
				t.Errorf("resumed after round %d, it did rounds %v", stop, rounds)
			}
			for _, e := range slices.Backward(first.evals) {
				second.evals = slices.Insert(second.evals, 0, e)
			}
			if got := spellRun(s, second) + spellDrawn(res); got != want {
				t.Errorf("stopped after round %d and resumed, it differs in %s", stop, difference(got, want))
			}
		}
	})
}

// spellDrawn is the evaluation with draws, but for its times.
func spellDrawn(res Result) string {
	if res.Drawn == nil {
		return "none drawn"
	}
	e := *res.Drawn
	e.Training, e.Scoring = 0, 0
	return "drawn\n" + spell(e)
}

// TestLonger goes on for more rounds after the last. The evaluation that a run had only because it ended is not one of a
// longer run.
func TestLonger(t *testing.T) {
	cfg := config()
	cfg.EvalEvery = 2
	m := func() algorithms.Algorithm { // with values of ρ that are raised to their floor
		return method(t, "pfedbayes", "", map[string]any{"rho": -15.0, "lr": 0.1})
	}
	for _, end := range []int{3, 4} {
		cfg.Rounds, cfg.Keeper = 7, nil
		unbroken, all, _ := play(t, cfg, m(), toys(mixed...))
		kept := &shelf{}
		cfg.Rounds, cfg.Keeper, cfg.KeepEvery = end, kept, 100
		_, first, _ := play(t, cfg, m(), toys(mixed...))
		kept.restore, cfg.Rounds = end, 7
		s, second, _ := play(t, cfg, m(), toys(mixed...))
		second.evals = append(first.evals[:1], second.evals...)
		if got, want := spellRun(s, second), spellRun(unbroken, all); got != want {
			t.Errorf("after round %d: %s", end, difference(got, want))
		}
	}
}

// TestKept says when there are snapshots, and that they change nothing.
func TestKept(t *testing.T) {
	cfg := config()
	cfg.Rounds = 5
	m := func() algorithms.Algorithm { return method(t, "pfedbayes", "", nil) }
	plain, without, _ := play(t, cfg, m(), toys(mixed...))
	for every, want := range map[int][]int{1: {1, 2, 3, 4, 5}, 2: {2, 4, 5}, 5: {5}, 100: {5}} {
		kept := &shelf{}
		cfg.Keeper, cfg.KeepEvery = kept, every
		s, d, _ := play(t, cfg, m(), toys(mixed...))
		if !slices.Equal(kept.rounds, want) {
			t.Errorf("every %d: snapshots of rounds %v, want %v", every, kept.rounds, want)
		}
		if got, want := spellRun(s, d), spellRun(plain, without); got != want {
			t.Errorf("every %d: snapshots change the run in %s", every, difference(got, want))
		}
	}
	full := errors.New("disk full")
	cfg.Keeper, cfg.KeepEvery = &shelf{fail: full}, 2
	d := new(diary)
	if _, err := Run(context.Background(), cfg, m(), network(t), toys(mixed...), d); !errors.Is(err, full) || len(d.rounds) != 2 {
		t.Errorf("%v after %d rounds, want %v after 2", err, len(d.rounds), full)
	}
}

// TestNothingKept: a run that left the numbers keeps nothing of them, be it seen in training or in the evaluation.
func TestNothingKept(t *testing.T) {
	for _, steps := range []int{1, 3} {
		kept := &shelf{}
		cfg := config()
		cfg.LocalSteps, cfg.Keeper, cfg.KeepEvery = steps, kept, 1
		_, err := Run(context.Background(), cfg, method(t, "fedavg", "", map[string]any{"lr": 1e38}), network(t), toys(4, 5, 6))
		var bad *algorithms.NonFinite
		if !errors.As(err, &bad) || len(kept.rounds) != 0 {
			t.Errorf("%d steps: %v, snapshots of rounds %v", steps, err, kept.rounds)
		}
	}
	kept := &shelf{}
	cfg := config()
	cfg.Keeper, cfg.KeepEvery = kept, 1
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, cfg, method(t, "fedavg", "", nil), network(t), toys(4)); !errors.Is(err, context.Canceled) || len(kept.rounds) != 0 {
		t.Errorf("cancelled before its first round: %v, snapshots of rounds %v", err, kept.rounds)
	}
}

// TestForeignSnapshots: what does not fit is an error that says where, not a panic.
func TestForeignSnapshots(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(saved map[string]state.Tensor)
		want  string
	}{
		"missing tensor":  {func(saved map[string]state.Tensor) { delete(saved, "client.1.q.rho/dense1.bias") }, "client.1.q.rho/dense1.bias"},
		"missing number":  {func(saved map[string]state.Tensor) { delete(saved, "client.1.opt_q.mu.step") }, "client.1.opt_q.mu.step is missing"},
		"other shape":     {func(saved map[string]state.Tensor) { replace(saved, "server.mu/dense1.bias", []float32{1}, 1) }, "server.mu/dense1.bias is a []float32 of shape [1], want []float32 of [5]"},
		"other numbers":   {func(saved map[string]state.Tensor) { replace(saved, "server.mu/dense1.bias", make([]float64, 5), 5) }, "server.mu/dense1.bias is a []float64"},
		"fewer clients":   {func(saved map[string]state.Tensor) { replace(saved, "progress.pos", []int64{0}, 1) }, "round 1: mini-batches of 3 and 1 clients, want 3"},
		"no such example": {func(saved map[string]state.Tensor) { replace(saved, "progress.pos", []int64{0, 5, 0}, 3) }, "client 1 is at example 5 of 5"},
		"no such client":  {func(saved map[string]state.Tensor) { replace(saved, "progress.trained", []int64{0, 1, 3}, 3) }, "a report of client 3, and there are 3"},
		"fewer reports":   {func(saved map[string]state.Tensor) { replace(saved, "progress.kl", []float64{0}, 1) }, "reports of 3 clients"},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &shelf{}
			cfg := config()
			cfg.Rounds, cfg.Keeper, cfg.KeepEvery = 1, kept, 1
			clients := toys(4, 5, 6)
			play(t, cfg, method(t, "pfedbayes", "", nil), clients)
			test.spoil(kept.kept[1])
			kept.restore = 1
			_, err := Run(context.Background(), cfg, method(t, "pfedbayes", "", nil), network(t), clients)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

func replace(saved map[string]state.Tensor, name string, data any, shape ...int) {
	if _, ok := saved[name]; !ok {
		panic(fmt.Sprint("no tensor ", name))
	}
	saved[name] = state.Tensor{Name: name, Shape: shape, Data: data}
}
