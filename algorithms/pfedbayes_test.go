package algorithms

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"fedbayes/internal/rng"
	"fedbayes/priors"
)

// variants are settings that between them take the branches of a client's round, but for the closed-form server's.
var variants = map[string]func() *PFedBayes{
	"paper": NewPFedBayes,
	"code":  NewPFedBayesCode,
	"sgd": func() *PFedBayes {
		m := NewPFedBayes()
		m.Optimizer, m.LR, m.LRGlobal, m.Zeta = "sgd", 1e-4, 2e-4, 3
		return m
	},
	"momentum": func() *PFedBayes {
		m := NewPFedBayes()
		m.Optimizer, m.LR, m.LRGlobal, m.Momentum = "sgd", 1e-4, 2e-4, 0.9
		return m
	},
	"conv": NewPFedBayesConv,
	"q as received": func() *PFedBayes {
		m := NewPFedBayes()
		m.Start = "received"
		return m
	},
	"mean": func() *PFedBayes {
		m := NewPFedBayes()
		m.Optimizer, m.Likelihood, m.LR, m.LRGlobal = "sgd", "mean", 2e-3, 1e-3
		return m
	},
	"three draws": func() *PFedBayes {
		m := NewPFedBayes()
		m.Samples, m.NoiseScale = 3, 0.5
		return m
	},
	"two personal steps": func() *PFedBayes {
		m := NewPFedBayes()
		m.PersonalSteps = 2
		return m
	},
	"sequential, β, by data": func() *PFedBayes {
		m := NewPFedBayes()
		m.UpdateOrder, m.Beta, m.Weighting = "sequential", 0.5, "data"
		return m
	},
}

// tolerance bounds errors of parameters. Adam makes a step of a whole learning rate, 1e-3, of a gradient that is next to
// nothing, its rounding included; so they are bounded by a part of one step.
const tolerance = 5e-5

// TestRound holds one round of two clients, batches of four from seven and six examples, against float64.
func TestRound(t *testing.T) {
	for name, variant := range variants {
		t.Run(name, func(t *testing.T) {
			m := variant()
			w := testWorker(t, erase(m))
			s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
			var ups []Upload[priors.Gaussian]
			var want []gaussian64
			var examples []float64
			for i, n := range []int{7, 6} {
				ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2}.At(1, i)
				c := m.Client(w.Task, w.CPU, s, r)
				q, local := client64(m, s, c.Q, testData(ex, 5, r), r)
				up, rep, err := m.Train(t.Context(), w, s, &c, testData(ex, 5, r), r)
				if err != nil {
					t.Fatal(err)
				}
				near(t, "q.mu", c.Q.Mu, q.mu, tolerance)
				near(t, "q.rho", c.Q.Rho, q.rho, tolerance)
				near(t, "w.mu", up.Mu, local.mu, tolerance)
				near(t, "w.rho", up.Rho, local.rho, tolerance)
				if !(rep.Loss > 0) || !(rep.KL > 0) {
					t.Errorf("report %+v, want a positive loss and divergence", rep)
				}
				ups = append(ups, Upload[priors.Gaussian]{Client: i, Examples: n, Msg: up})
				want, examples = append(want, local), append(examples, float64(n))
			}
			next := server64(m, widen(s), want, examples)
			m.Aggregate(&s, ups)
			near(t, "server mu", s.Mu, next.mu, tolerance)
			near(t, "server rho", s.Rho, next.rho, tolerance)
		})
	}
}

// TestReceivedStart checks that with "received" what a client had before does not matter, and that without it it does.
func TestReceivedStart(t *testing.T) {
	for start, same := range map[string]bool{"shared": false, "received": true} {
		m := NewPFedBayes()
		m.Start = start
		w, ex, r := testWorker(t, erase(m)), testExamples(3, 7), rng.Stream{Seed: 3}.At(2, 0)
		s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 4})
		fresh, used := m.Client(w.Task, w.CPU, s, r), m.Client(w.Task, w.CPU, s, r)
		if _, _, err := m.Train(t.Context(), w, s, &used, testData(ex, 5, r), r); err != nil {
			t.Fatal(err)
		}
		for _, c := range []*PFedBayesState{&fresh, &used} {
			if _, _, err := m.Train(t.Context(), w, s, c, testData(ex, 5, r), r); err != nil {
				t.Fatal(err)
			}
		}
		if got := slices.Equal(fresh.Q.Mu, used.Q.Mu) && slices.Equal(fresh.Q.Rho, used.Q.Rho); got != same {
			t.Errorf("--start %s: a client's second round is that of a new client: %v, want %v", start, got, same)
		}
	}
}

// TestClosedFormUploadsQ checks that with the closed-form server clients send their q, which is the reference's.
func TestClosedFormUploadsQ(t *testing.T) {
	m := NewPFedBayes()
	m.Rule = "closed-form"
	w := testWorker(t, erase(m))
	r, ex := rng.Stream{Seed: 3}, testExamples(3, 7)
	s := m.Server(w.Task, w.CPU, r)
	c := m.Client(w.Task, w.CPU, s, r)
	q, _ := client64(m, s, c.Q, testData(ex, 5, r), r)
	up, _, err := m.Train(t.Context(), w, s, &c, testData(ex, 5, r), r)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "upload mu", up.Mu, q.mu, tolerance)
	near(t, "upload rho", up.Rho, q.rho, tolerance)
	if &up.Mu[0] == &c.Q.Mu[0] {
		t.Error("the upload shares memory with the client's state")
	}
}

// train runs one round of a fresh client and returns what it keeps and what it sends.
func train(t *testing.T, m *PFedBayes, steps int) (q, w, s priors.Gaussian) {
	t.Helper()
	wk := testWorker(t, erase(m))
	r := rng.Stream{Seed: 4}.At(1, 0)
	s = m.Server(wk.Task, wk.CPU, r)
	c := m.Client(wk.Task, wk.CPU, s, r)
	w, _, err := m.Train(t.Context(), wk, s, &c, testData(testExamples(4, 10), steps, r), r)
	if err != nil {
		t.Fatal(err)
	}
	return c.Q, w, s
}

func TestNoStepsUploadTheDownload(t *testing.T) {
	q, w, s := train(t, NewPFedBayes(), 0)
	for name, g := range map[string]priors.Gaussian{"w": w, "q": q} {
		if !slices.Equal(g.Mu, s.Mu) || !slices.Equal(g.Rho, s.Rho) {
			t.Errorf("%s is not the server's after no steps", name)
		}
	}
}

// TestWithoutPriorAndNoise checks that ζ = 0 and no noise leave SGD on μ, which is Local to the bit, and ρ untouched.
func TestWithoutPriorAndNoise(t *testing.T) {
	m := NewPFedBayes()
	m.Zeta, m.NoiseScale, m.Optimizer, m.Likelihood, m.LR = 0, 0, "sgd", "mean", 0.1
	q, _, s := train(t, m, 30)

	local := NewLocal()
	local.LR = m.LR
	wk := testWorker(t, erase(local))
	c := LocalState{W: slices.Clone(s.Mu)}
	r := rng.Stream{Seed: 4}.At(1, 0)
	if _, _, err := local.Train(t.Context(), wk, None{}, &c, testData(testExamples(4, 10), 30, r), r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(q.Mu, c.W) {
		t.Error("μ differs from Local's weights")
	}
	if slices.Equal(q.Mu, s.Mu) {
		t.Error("nothing was trained")
	}
	if !slices.Equal(q.Rho, s.Rho) {
		t.Error("ρ moved without noise and prior")
	}
}

// TestWithoutPrior checks that ζ = 0 with noise is Bayes by backprop without a prior: q does not depend on w at all.
func TestWithoutPrior(t *testing.T) {
	m := NewPFedBayes()
	m.Zeta = 0
	wk := testWorker(t, erase(m))
	r := rng.Stream{Seed: 4}.At(1, 0)
	s := m.Server(wk.Task, wk.CPU, r)
	other := priors.Constant(make([]float32, len(s.Mu)), 1)
	a, b := m.Client(wk.Task, wk.CPU, s, r), m.Client(wk.Task, wk.CPU, s, r)
	for c, v := range map[*PFedBayesState]priors.Gaussian{&a: s, &b: other} {
		if _, _, err := m.Train(t.Context(), wk, v, c, testData(testExamples(4, 10), 10, r), r); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(a.Q.Mu, b.Q.Mu) || !slices.Equal(a.Q.Rho, b.Q.Rho) {
		t.Error("q depends on w although ζ = 0")
	}
}

// TestStrongPrior checks that a huge ζ keeps q at w, where none lets it go.
func TestStrongPrior(t *testing.T) {
	gap := func(zeta float64) (worst float64) {
		m := NewPFedBayes()
		m.Zeta, m.LR, m.LRGlobal = zeta, 1e-3, 1e-9
		q, _, s := train(t, m, 100)
		for i := range q.Mu {
			worst = math.Max(worst, math.Abs(float64(q.Mu[i]-s.Mu[i])))
		}
		return worst
	}
	if free, held := gap(0), gap(1e6); !(free > 0.05) || !(held < 0.005) {
		t.Errorf("q moved by up to %v without a prior and by up to %v with ζ = 1e6, want over 0.05 and under 0.005", free, held)
	}
}

// TestUpdateOrder checks that the two orders differ after a step, and by O(η²): a tenth of η leaves a hundredth.
func TestUpdateOrder(t *testing.T) {
	gap := func(eta float64) (worst float64) {
		var ws [2]priors.Gaussian
		for i, order := range []string{"simultaneous", "sequential"} {
			m := NewPFedBayes()
			m.Optimizer, m.UpdateOrder, m.LR, m.LRGlobal = "sgd", order, eta, eta
			_, ws[i], _ = train(t, m, 1)
		}
		for i := range ws[0].Mu {
			worst = math.Max(worst, math.Abs(float64(ws[0].Mu[i]-ws[1].Mu[i])))
		}
		return worst
	}
	large, small := gap(1e-2), gap(1e-3)
	if ratio := large / small; !(large > 1e-3) || ratio < 90 || ratio > 110 {
		t.Errorf("gaps %v and %v, ratio %v, want 100", large, small, ratio)
	}
}

// TestSwap checks permutation equivariance: clients that swap places with their data, their random numbers and their
// states swap what comes out, and the server does not notice.
func TestSwap(t *testing.T) {
	m := NewPFedBayes()
	wk := testWorker(t, erase(m))
	start := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 5})
	round := func(order []int) (priors.Gaussian, map[int]PFedBayesState) {
		s, states := start.Clone(), map[int]PFedBayesState{}
		var ups []Upload[priors.Gaussian]
		for place, i := range order {
			r := rng.Stream{Seed: 5}.At(1, i)
			c := m.Client(wk.Task, wk.CPU, s, r)
			up, _, err := m.Train(t.Context(), wk, s, &c, testData(testExamples(uint64(i), 9), 8, r), r)
			if err != nil {
				t.Fatal(err)
			}
			ups, states[i] = append(ups, Upload[priors.Gaussian]{Client: place, Examples: 9, Msg: up}), c
		}
		m.Aggregate(&s, ups)
		return s, states
	}
	s1, c1 := round([]int{0, 1})
	s2, c2 := round([]int{1, 0})
	if !slices.Equal(s1.Mu, s2.Mu) || !slices.Equal(s1.Rho, s2.Rho) {
		t.Error("the server depends on the order of the clients")
	}
	for i := range 2 {
		if !slices.Equal(c1[i].Q.Mu, c2[i].Q.Mu) || !slices.Equal(c1[i].Q.Rho, c2[i].Q.Rho) {
			t.Errorf("client %d depends on its place", i)
		}
	}
	if slices.Equal(c1[0].Q.Mu, c1[1].Q.Mu) {
		t.Error("the two clients are the same")
	}
}

// TestRhoFloor checks that ρ stays above its floor, and that what was raised is counted.
func TestRhoFloor(t *testing.T) {
	m := NewPFedBayes()
	m.Rho, m.Zeta, m.LR = -14.999, 0, 0.01
	q, _, _ := train(t, m, 3)
	if low := slices.Min(q.Rho); low < rhoFloor {
		t.Errorf("ρ = %v, below the floor", low)
	}
	wk := testWorker(t, erase(m))
	r := rng.Stream{Seed: 4}
	s := m.Server(wk.Task, wk.CPU, r)
	c := m.Client(wk.Task, wk.CPU, s, r)
	if _, rep, err := m.Train(t.Context(), wk, s, &c, testData(testExamples(4, 10), 3, r), r); err != nil || rep.Clamped == 0 {
		t.Errorf("report %+v, error %v, want values of ρ that were raised", rep, err)
	}
}

// TestOptimizerState checks that the global optimizer forgets at a download or not, as it was told, and that the
// personal one never does.
func TestOptimizerState(t *testing.T) {
	for state, kept := range map[string]int{"reset": 0, "persist": 8} {
		m := NewPFedBayes()
		m.OptState = state
		wk := testWorker(t, erase(m))
		r := rng.Stream{Seed: 6}
		s := m.Server(wk.Task, wk.CPU, r)
		c := m.Client(wk.Task, wk.CPU, s, r)
		data := testData(testExamples(6, 10), 4, r)
		for round := range 2 {
			if _, _, err := m.Train(t.Context(), wk, s, &c, data, r.At(round, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if c.OptW.Mu.Step != kept || c.OptQ.Mu.Step != 8 {
			t.Errorf("%s: the client's optimizers count %d global and %d personal steps, want %d and 8", state, c.OptW.Mu.Step, c.OptQ.Mu.Step, kept)
		}
		if kept == 0 && wk.scratch[0].Step != 4 {
			t.Errorf("%s: %d global steps since the download, want 4", state, wk.scratch[0].Step)
		}
	}
}

// TestTrainStops checks that every method gives a round up between two steps when its context ends.
func TestTrainStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, e := range All() {
		m, err := New(e.Name, "")
		if err != nil {
			t.Fatal(err)
		}
		w, r := testWorker(t, m), rng.Stream{Seed: 1}
		s := m.Server(w.Task, w.CPU, r)
		c := m.Client(w.Task, w.CPU, s, r)
		data := testData(testExamples(1, 9), 1<<40, r)
		if _, _, err := m.Train(ctx, w, m.Download(s, 0), c, data, r); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: error %v, want that of the context", e.Name, err)
		}
	}
}
