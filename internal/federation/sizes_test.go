package federation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
)

// TestClientsWithoutExamples checks that they are never asked to train, are left as they were, and are still tested.
func TestClientsWithoutExamples(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.PerRound = 8, 4
		s, d, _ := play(t, cfg, make(), toys(0, 5, 0, 6, 0))
		for _, i := range []int{0, 2, 4} {
			if s.trained[i] > 0 {
				t.Errorf("client %d has no examples and trained in %d rounds", i, s.trained[i])
			}
			if got := spell(s.clients[i]); got != s.born[i] {
				t.Errorf("client %d has no examples and changed: %s", i, difference(got, s.born[i]))
			}
		}
		for _, ups := range s.ups {
			if len(ups) != 2 || ups[0].Client != 1 || ups[1].Client != 3 {
				t.Errorf("uploads %v, want those of clients 1 and 3", ups)
			}
		}
		for _, c := range d.evals[0].Clients {
			for _, r := range []*metrics.Report{c.Personal, c.Global} {
				if r != nil && r.N != c.Train+3 {
					t.Errorf("client %d: %d examples scored, want %d", c.Client, r.N, c.Train+3)
				}
			}
		}
	})
}

// TestEmptyClientsChangeNothing puts clients without examples behind the others: they must not count in the server.
func TestEmptyClientsChangeNothing(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		with, _, _ := play(t, cfg, make(), toys(5, 6, 7, 8, 0, 0))
		without, _, _ := play(t, cfg, make(), toys(5, 6, 7, 8))
		if got, want := spell(with.server), spell(without.server); got != want {
			t.Error(difference(got, want))
		}
	})
}

func TestNoExamplesAtAll(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		for _, clients := range [][]datasets.Client{toys(0), toys(0, 0, 0), nil} {
			res, err := Run(context.Background(), config(), make(), network(t), clients)
			if !errors.Is(err, ErrNoExamples) || res.Last != nil {
				t.Errorf("%d empty clients: %v, want ErrNoExamples", len(clients), err)
			}
		}
	})
}

func TestNoTestExamples(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		clients := toys(5, 6, 7)
		clients[1].Test = datasets.Examples{Dim: dim}
		_, _, res := play(t, config(), make(), clients)
		for _, p := range []*Pooled{res.Last.Personal, res.Last.Global} {
			if p != nil && (p.N != 8+10 || p.Clients.Clients != 2 || !(p.NLL > 0)) {
				t.Errorf("one client without test examples: %+v", *p)
			}
		}
		for i := range clients {
			clients[i].Test = datasets.Examples{Dim: dim}
		}
		_, _, res = play(t, config(), make(), clients)
		for _, p := range []*Pooled{res.Last.Personal, res.Last.Global} {
			if p != nil && (p.N != 0 || p.Clients.Clients != 0) {
				t.Errorf("no test examples: %+v", *p)
			}
		}
	})
}

// sizes are those at which batches are easily miscounted.
var sizes = []int{1, 3, batch - 1, batch, batch + 1}

// TestEveryExampleCounts changes one label at a time: the epoch's result must change with each, or rows were dropped.
func TestEveryExampleCounts(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.LocalEpochs, cfg.LocalSteps = 1, 1, 0
		for _, n := range sizes {
			clients := toys(n)
			train := func() string {
				s, d, _ := play(t, cfg, make(), clients)
				return spellRun(s, d)
			}
			want := train()
			for i := range n {
				label := clients[0].Train.Y[i]
				clients[0].Train.Y[i] = float32(int(label+1) % classes)
				if train() == want {
					t.Errorf("%d examples: nothing depends on example %d", n, i)
				}
				clients[0].Train.Y[i] = label
			}
		}
	})
}

// TestEpochs counts which examples a method is dealt.
func TestEpochs(t *testing.T) {
	for _, epochs := range []int{1, 3} {
		cfg := config()
		cfg.LocalEpochs, cfg.LocalSteps, cfg.Rounds, cfg.PerRound = epochs, 99, 2, len(sizes)
		clients := toys(sizes...)
		for i := range clients {
			for j := range clients[i].Train.Y {
				clients[i].Train.X[j*dim] = float32(j) // names the example
			}
		}
		m := dealt{Algorithm: method(t, "fedavg", "", nil), seen: map[int]map[int]int{}}
		cfg.Workers = 1
		play(t, cfg, m, clients)
		for i, n := range sizes {
			if ids := slices.Sorted(maps.Keys(m.seen[i])); len(ids) != n {
				t.Errorf("%d epochs, client of %d: dealt examples %v", epochs, n, ids)
			}
			for j, times := range m.seen[i] {
				if want := epochs * cfg.Rounds; times != want {
					t.Errorf("%d epochs, client of %d: example %d was dealt %d times, want %d", epochs, n, j, times, want)
				}
			}
		}
	}
}

// TestLocalSteps checks that a round goes on where the last one stopped, in the middle of an epoch.
func TestLocalSteps(t *testing.T) {
	cfg := config()
	cfg.LocalSteps, cfg.Rounds, cfg.Workers, cfg.PerRound = 2, 3, 1, 1 // 6 batches: two epochs of 4, 4 and 1
	clients := toys(2*batch + 1)
	for j := range clients[0].Train.Y {
		clients[0].Train.X[j*dim] = float32(j)
	}
	m := dealt{Algorithm: method(t, "fedavg", "", nil), seen: map[int]map[int]int{}}
	play(t, cfg, m, clients)
	if len(m.seen[0]) != 2*batch+1 {
		t.Errorf("dealt %v, want every example", m.seen[0])
	}
	for j, times := range m.seen[0] {
		if times != 2 {
			t.Errorf("example %d was dealt %d times in two epochs", j, times)
		}
	}
}

// dealt is a method that counts the examples of each client instead of training. It is for one worker.
type dealt struct {
	algorithms.Algorithm
	seen map[int]map[int]int // client, example
}

func (m dealt) Train(_ context.Context, _ *algorithms.Worker, d, _ any, data *algorithms.Data, r rng.Stream) (any, algorithms.Report, error) {
	if m.seen[r.Client] == nil {
		m.seen[r.Client] = map[int]int{}
	}
	x, y := make([]float32, batch*dim), make([]float32, batch)
	for range data.Steps {
		for row := range data.Next(x, y) {
			m.seen[r.Client][int(x[row*dim])]++
		}
	}
	return d, algorithms.Report{}, nil
}
