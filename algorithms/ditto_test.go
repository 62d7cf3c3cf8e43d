package algorithms

import (
	"math"
	"slices"
	"testing"

	"fedbayes/internal/rng"
)

// ditto64 is a client's round in float64, all personal steps first: v moves, and w is returned. rule is the optimizer of v.
func ditto64(m *Ditto, server, v []float64, rule *optimizer64, data *Data) (w []float64) {
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	own := *data.Batches
	for range data.Steps {
		rows := own.Next(x, y)
		for range m.PersonalSteps {
			g := network64(v, x, y, rows)
			for i := range g {
				g[i] = g[i]/float64(rows) + m.Lambda*(v[i]-server[i])
			}
			rule.update(v, g)
		}
	}
	w = slices.Clone(server)
	sgd64(w, data, m.LRGlobal, m.Momentum, 0)
	return w
}

// TestDittoRound holds two rounds of two clients of unlike size, and the server between them, against float64.
func TestDittoRound(t *testing.T) {
	for name, change := range map[string]func(*Ditto){
		"paper":              func(*Ditto) {},
		"two rates":          func(m *Ditto) { m.LR, m.Lambda = 0.1, 0.3 },
		"momentum":           func(m *Ditto) { m.Momentum = 0.9 },
		"two personal steps": func(m *Ditto) { m.PersonalSteps, m.Weighting = 2, "uniform" },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewDitto()
			change(m)
			wk := testWorker(t, erase(m))
			s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
			server, sizes := widened(s), []int{7, 21}
			var states []LocalState
			var vs [][]float64
			var rules []*optimizer64
			var batches, reference []*Data
			for i, n := range sizes {
				ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2, Client: i}
				states = append(states, m.Client(wk.Task, wk.CPU, s, r))
				vs = append(vs, widened(s))
				rules = append(rules, &optimizer64{lr: m.LR, beta: m.Momentum})
				batches, reference = append(batches, testData(ex, 6, r)), append(reference, testData(ex, 6, r))
			}
			for range 2 {
				var ups []Upload[[]float32]
				next := make([]float64, len(s))
				for i, n := range sizes {
					w := ditto64(m, server, vs[i], rules[i], reference[i])
					up, _, err := m.Train(t.Context(), wk, s, &states[i], batches[i], rng.Stream{})
					if err != nil {
						t.Fatal(err)
					}
					near(t, "v", states[i].W, vs[i], 5e-6)
					near(t, "w", up, w, 5e-6)
					ups = append(ups, Upload[[]float32]{Client: i, Examples: n, Msg: up})
					share := 0.5
					if m.Weighting == "data" {
						share = float64(n) / 28
					}
					for k := range next {
						next[k] += share * w[k]
					}
				}
				m.Aggregate(&s, ups)
				server = next
				near(t, "server", s, server, 5e-6)
			}
		})
	}
}

// rounds plays m for some rounds with two clients and returns the server and what the clients keep.
func rounds[C any](t *testing.T, m Method[[]float32, C, []float32, []float32], n int) (s []float32, states []C) {
	t.Helper()
	w := testWorker(t, erase(m))
	s = m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
	var batches []*Data
	for i, n := range []int{7, 21} {
		r := rng.Stream{Seed: 2, Client: i}
		states = append(states, m.Client(w.Task, w.CPU, s, r))
		batches = append(batches, testData(testExamples(uint64(i), n), 6, r))
	}
	for range n {
		var ups []Upload[[]float32]
		for i, data := range batches {
			up, _, err := m.Train(t.Context(), w, m.Download(s, i), &states[i], data, rng.Stream{})
			if err != nil {
				t.Fatal(err)
			}
			ups = append(ups, Upload[[]float32]{Client: i, Examples: data.Examples(), Msg: up})
		}
		m.Aggregate(&s, ups)
	}
	return s, states
}

// TestDittoServer checks that the global model is FedAvg's, to the bit, whatever becomes of the personal ones.
func TestDittoServer(t *testing.T) {
	avg := NewFedAvg()
	avg.Momentum = 0.9
	want, _ := rounds(t, avg, 4)
	for _, lambda := range []float64{0, 1, 10} {
		m := NewDitto()
		m.LRGlobal, m.Momentum, m.Lambda, m.LR, m.PersonalSteps = avg.LR, avg.Momentum, lambda, 0.01, 2
		if s, _ := rounds(t, m, 4); !slices.Equal(s, want) {
			t.Errorf("λ = %v: the server differs from FedAvg's", lambda)
		}
	}
}

// TestDittoWithoutTerm checks that λ = 0 leaves the personal model alone: it is Local's, to the bit, momentum included.
func TestDittoWithoutTerm(t *testing.T) {
	m, local := NewDitto(), NewLocal()
	m.Lambda, m.LRGlobal, m.Momentum = 0, 0.01, 0.9
	local.Momentum = 0.9
	s, states := rounds(t, m, 4)
	for i, n := range []int{7, 21} {
		wk, r := testWorker(t, erase(local)), rng.Stream{Seed: 2, Client: i}
		c := LocalState{W: local.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})}
		if _, _, err := local.Train(t.Context(), wk, None{}, &c, testData(testExamples(uint64(i), n), 24, r), r); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(states[i].W, c.W) {
			t.Errorf("client %d: v differs from Local's weights", i)
		}
		if slices.Equal(states[i].W, s) {
			t.Errorf("client %d: v is the server's w", i)
		}
	}
}

// TestDittoStrongTerm checks that a huge λ keeps v at the weights that were received, from wherever it starts, and a small
// one does not.
func TestDittoStrongTerm(t *testing.T) {
	gap := func(lambda float64) (worst float64) {
		m := NewDitto()
		m.Lambda, m.LR = lambda, min(0.05, 1/lambda)
		wk, r := testWorker(t, erase(m)), rng.Stream{Seed: 9}
		s := m.Server(wk.Task, wk.CPU, r)
		c := m.Client(wk.Task, wk.CPU, s, r)
		for i := range c.W {
			c.W[i] += float32(i%3) - 1
		}
		w, _, err := m.Train(t.Context(), wk, s, &c, testData(testExamples(9, 10), 20, r), r)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(w, s) {
			t.Fatal("w did not move")
		}
		for i := range s {
			worst = math.Max(worst, math.Abs(float64(c.W[i]-s[i])))
		}
		return worst
	}
	if held, free := gap(1e7), gap(0.01); !(held < 1e-6) || !(free > 0.1) {
		t.Errorf("v is up to %v from the server with λ = 1e7 and %v with λ = 0.01, want under 1e-6 and over 0.1", held, free)
	}
}
