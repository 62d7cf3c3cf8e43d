package federation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/metrics"
)

// A lookout is a diary that is told of the example that is watched.
type lookout struct {
	diary
	told []Beliefs
	at   []int // the evaluations before each of them
}

var _ Watcher = (*lookout)(nil)

func (l *lookout) Beliefs(b Beliefs) error {
	l.told, l.at = append(l.told, b), append(l.at, len(l.evals))
	return nil
}

// TestWatched asks for beliefs of every method before the first round, in rounds with an evaluation and without one, and after
// the last. The run is the same as without, and the last beliefs are what the models say of the example.
func TestWatched(t *testing.T) {
	eachMethod(t, func(t *testing.T, name string, make func() algorithms.Algorithm) {
		cfg, kept, clients := config(), &shelf{}, toys(mixed...)
		rare := name == "fedhb-niw/paper" // which drops one column of a thousand
		cfg.Rounds, cfg.EvalEvery, cfg.Keeper, cfg.KeepEvery = 5, 2, kept, 100
		plain, without, _ := play(t, cfg, make(), clients)
		var first []Beliefs
		for _, workers := range []int{1, 3} {
			cfg.Workers, cfg.Watch = workers, &Watch{Owner: 2, Example: 1, Rounds: []int{0, 1, 4, 9}, MC: 3}
			s, l := watch(make()), new(lookout)
			if _, err := Run(context.Background(), cfg, s, network(t), clients, l); err != nil {
				t.Fatal(err)
			}
			if got, want := spellRun(s, &l.diary), spellRun(plain, without); got != want {
				t.Errorf("watched, the run differs in %s", difference(got, want))
			}
			var rounds []int
			for _, b := range l.told {
				rounds = append(rounds, b.Round)
				if b.Label != int(clients[2].Test.Y[1]) || len(b.Clients) != len(clients) {
					t.Errorf("round %d: label %d and %d clients", b.Round, b.Label, len(b.Clients))
				}
			}
			if !slices.Equal(rounds, []int{0, 1, 4, 5}) || !slices.Equal(l.at, []int{0, 0, 2, 3}) {
				t.Fatalf("beliefs of rounds %v after %v evaluations", rounds, l.at)
			}
			if first == nil {
				first = l.told
			}
			if got, want := spell(l.told), spell(first); got != want {
				t.Errorf("%d workers differ from one in %s", workers, difference(got, want))
			}
		}
		kept.restore = cfg.Rounds
		trained, err := Restore(cfg, kept, make(), network(t), clients)
		if err != nil {
			t.Fatal(err)
		}
		test := &clients[2].Test
		for i, b := range first[3].Clients {
			p := trained.PredictGlobal
			if trained.Personal(i) != nil {
				p = func(x []float32, mc int) []metrics.Prediction { return trained.PredictPersonal(i, x, mc) }
			}
			said := p(test.X[dim:2*dim], 3)[0]
			best := slices.Max(b.Probability)
			if i != b.Client || slices.Index(b.Probability, best) != said.Class || math.Abs(best-said.Confidence) > 1e-6 {
				t.Errorf("client %d believes %v, and predicts %+v", i, b.Probability, said)
			}
			if random := trained.run.random(); !rare && random != (slices.Max(b.Deviation) > 0) {
				t.Errorf("client %d: deviations %v of a model that draws: %v", i, b.Deviation, random)
			}
		}
	})
}

// TestWatchedResumed: what a run says that was stopped after some round, and the one that goes on, is what one says without a
// stop, but for the beliefs of the round at which it stopped, which come twice. TestKilled of the command line sees that no
// file has them twice.
func TestWatchedResumed(t *testing.T) {
	cfg := config()
	cfg.Rounds, cfg.Watch = 4, &Watch{Rounds: []int{0, 1, 3}, MC: 2}
	m := func() algorithms.Algorithm { return method(t, "pfedbayes", "", nil) }
	unbroken := new(lookout)
	if _, err := Run(context.Background(), cfg, m(), network(t), toys(4, 5, 6), unbroken); err != nil {
		t.Fatal(err)
	}
	for stop := 1; stop <= 3; stop++ {
		kept, short, rest := &shelf{}, new(lookout), new(lookout)
		cfg.Keeper, cfg.KeepEvery = kept, 100
		full := errors.New("enough")
		short.onRound = func(round int) error {
			if round > stop {
				return full
			}
			return nil
		}
		cfg.KeepEvery = 1
		if _, err := Run(context.Background(), cfg, m(), network(t), toys(4, 5, 6), short); !errors.Is(err, full) {
			t.Fatal(err)
		}
		kept.restore = stop
		if _, err := Run(context.Background(), cfg, m(), network(t), toys(4, 5, 6), rest); err != nil {
			t.Fatal(err)
		}
		before := slices.DeleteFunc(short.told, func(b Beliefs) bool { return b.Round >= stop })
		if got, want := spell(append(before, rest.told...)), spell(unbroken.told); got != want {
			t.Errorf("stopped after round %d: %s", stop, difference(got, want))
		}
	}
}

// TestWatchedInfinity: a client whose model left the numbers has no beliefs.
func TestWatchedInfinity(t *testing.T) {
	cfg, l := config(), new(lookout)
	cfg.LocalSteps, cfg.Watch = 1, &Watch{Rounds: []int{0, 1}}
	_, err := Run(context.Background(), cfg, method(t, "fedavg", "", map[string]any{"lr": 1e38}), network(t), toys(4, 5, 6), l)
	var bad *algorithms.NonFinite
	if !errors.As(err, &bad) || len(l.told) == 0 || len(l.told[0].Clients) != 3 {
		t.Errorf("%v, told %s", err, fmt.Sprint(l.told))
	}
}
