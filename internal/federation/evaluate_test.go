package federation

import (
	"math"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
	"fedbayes/priors"
)

// TestPooledIsMerged scores the global model on the test examples of all clients at once, and merges personal scores by
// hand.
func TestPooledIsMerged(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.MC = 0
		clients := toys(mixed...)
		s, _, res := play(t, cfg, make(), clients)
		e := res.Last
		at := func(client int) rng.Stream { return rng.Stream{Seed: cfg.Seed, Purpose: rng.Eval}.At(e.Round, client) }
		if p := s.Global(s.server); p != nil {
			var all datasets.Examples
			for _, c := range clients {
				all.X, all.Y = append(all.X, c.Test.X...), append(all.Y, c.Test.Y...)
			}
			near(t, "global", e.Global.Report, score(t, s, p, &all, 0, at(0)))
		}
		for what, of := range map[string]func(Scores) *metrics.Report{
			"personal": func(s Scores) *metrics.Report { return s.Personal },
			"global":   func(s Scores) *metrics.Report { return s.Global },
		} {
			pooled := map[string]*Pooled{"personal": e.Personal, "global": e.Global}[what]
			if pooled == nil {
				continue
			}
			var correct, nll, brier, n, macro float64
			worst := math.Inf(1)
			for _, c := range e.Clients {
				r := of(c)
				m := float64(r.N)
				n, correct, nll, brier = n+m, correct+m*r.Accuracy, nll+m*r.NLL, brier+m*r.Brier
				macro += r.Accuracy / float64(len(clients))
				worst = min(worst, r.Accuracy)
			}
			for name, v := range map[string][2]float64{
				"N": {float64(pooled.N), n}, "accuracy": {pooled.Accuracy, correct / n}, "NLL": {pooled.NLL, nll / n},
				"Brier": {pooled.Brier, brier / n}, "macro": {pooled.Clients.Macro, macro}, "worst": {pooled.Clients.Worst, worst},
			} {
				if math.Abs(v[0]-v[1]) > 1e-12 {
					t.Errorf("%s: pooled %s is %v, and %v over the clients", what, name, v[0], v[1])
				}
			}
		}
		for _, c := range e.Clients {
			p := s.Personal(s.server, s.clients[c.Client], &clients[c.Client].Train)
			if p == nil {
				continue
			}
			near(t, "personal", *c.Personal, score(t, s, p, &clients[c.Client].Test, 0, at(c.Client+1)))
		}
	})
}

// score returns the scores of a predictor.
func score(t *testing.T, m algorithms.Algorithm, p algorithms.Predictor, on *datasets.Examples, mc int, at rng.Stream) metrics.Report {
	t.Helper()
	programs, err := algorithms.Compile(m, algorithms.Task{Net: network(t), Batch: batch})
	if err != nil {
		t.Fatal(err)
	}
	members, rows := max(mc, 1), len(on.Y)
	logp := make([]float32, members*rows*classes)
	p.Members(programs.NewWorker(kernels.New(kernels.Best())), logp, on.X, mc, at)
	var s metrics.Stat
	s.Add(logp, members, rows, classes, on.Y)
	return s.Report()
}

// near compares reports up to the order of summation.
func near(t *testing.T, what string, got, want metrics.Report) {
	t.Helper()
	for name, v := range map[string][2]float64{
		"N": {float64(got.N), float64(want.N)}, "accuracy": {got.Accuracy, want.Accuracy}, "NLL": {got.NLL, want.NLL},
		"Brier": {got.Brier, want.Brier}, "ECE": {got.ECE, want.ECE}, "entropy": {got.Entropy, want.Entropy},
	} {
		if math.Abs(v[0]-v[1]) > 1e-12 {
			t.Errorf("%s: %s is %v, want %v", what, name, v[0], v[1])
		}
	}
}

// TestGlobalDrawsAreShared gives all clients the same test examples: what differs then is the model, and its draws.
func TestGlobalDrawsAreShared(t *testing.T) {
	for _, mc := range []int{1, 3} {
		clients := toys(8, 8, 8, 8)
		for i := range clients {
			clients[i].Test = clients[0].Test
		}
		cfg := config()
		cfg.MC, cfg.PerRound = mc, 4
		_, d, _ := play(t, cfg, method(t, "pfedbayes", "paper", nil), clients)
		for _, e := range d.evals {
			first := e.Clients[0]
			for _, c := range e.Clients[1:] {
				if spell(c.Global) != spell(first.Global) {
					t.Errorf("mc %d: round %d: the global model scores differently at client %d", mc, e.Round, c.Client)
				}
				if spell(c.Personal) == spell(first.Personal) {
					t.Errorf("mc %d: round %d: clients 0 and %d have the same personal model", mc, e.Round, c.Client)
				}
			}
			if mc == 3 && !(e.Global.MutualInformation > 1e-6) {
				t.Errorf("round %d: mutual information %v of three draws", e.Round, e.Global.MutualInformation)
			}
			if mc == 1 && e.Global.MutualInformation != 0 {
				t.Errorf("round %d: mutual information %v of one draw", e.Round, e.Global.MutualInformation)
			}
		}
	}
}

// TestPersonalDrawsAreTheirOwn starts all clients from one Gaussian and trains none of them: only draws can differ.
func TestPersonalDrawsAreTheirOwn(t *testing.T) {
	clients := toys(8, 8, 8)
	for i := range clients {
		clients[i].Test = clients[0].Test
	}
	cfg := config()
	cfg.LocalSteps, cfg.Rounds = 0, 2
	_, d, _ := play(t, cfg, method(t, "pfedbayes", "paper", nil), clients)
	seen := map[string]bool{}
	for _, e := range d.evals {
		for _, c := range e.Clients {
			if text := spell(c.Personal); seen[text] {
				t.Errorf("round %d: client %d has the draws of another client or round", e.Round, c.Client)
			} else {
				seen[text] = true
			}
		}
	}
}

// TestMeanWeights checks that an evaluation without draws predicts with μ, and the one with draws that follows.
func TestMeanWeights(t *testing.T) {
	clients := toys(mixed...)
	cfg := config()
	cfg.MC, cfg.EvalEvery = 0, 3
	s, d, mean := play(t, cfg, method(t, "pfedbayes", "paper", nil), clients)
	var all datasets.Examples
	for _, c := range clients {
		all.X, all.Y = append(all.X, c.Test.X...), append(all.Y, c.Test.Y...)
	}
	mu := algorithms.Point(s.server.(*priors.Gaussian).Mu)
	near(t, "mean weights", mean.Last.Global.Report, score(t, s, mu, &all, 0, rng.Stream{}))

	if len(d.evals) != 1 || d.evals[0].MC != 0 {
		t.Errorf("recorded %d evaluations, want that of mean weights alone", len(d.evals))
	}
	if mean.Drawn == nil || mean.Drawn.MC != cfg.FinalMC {
		t.Fatal("no evaluation with draws after one of mean weights")
	}
	cfg.MC = cfg.FinalMC
	_, _, drawn := play(t, cfg, method(t, "pfedbayes", "paper", nil), clients)
	if drawn.Drawn != nil {
		t.Error("a second evaluation with draws")
	}
	a, b := *mean.Drawn, *drawn.Last
	a.Training, a.Scoring, b.Training, b.Scoring = 0, 0, 0, 0
	if got, want := spell(a), spell(b); got != want {
		t.Error("the draws after a run that was evaluated at mean weights differ: " + difference(got, want))
	}
	cfg.MC, cfg.FinalMC = 0, 0
	if _, _, res := play(t, cfg, method(t, "pfedbayes", "paper", nil), clients); res.Drawn != nil {
		t.Error("an evaluation with draws, and none was asked for")
	}
	for _, name := range []string{"fedavg", "local"} {
		cfg.MC, cfg.FinalMC = 0, 10
		if _, _, res := play(t, cfg, method(t, name, "", nil), clients); res.Drawn != nil {
			t.Errorf("%s: an evaluation with draws, and nothing to draw", name)
		}
	}
}

// TestDrawsConverge checks that many draws tend to the prediction of narrow Gaussians' means.
func TestDrawsConverge(t *testing.T) {
	cfg := config()
	cfg.MC = 2
	_, _, wide := play(t, cfg, method(t, "pfedbayes", "paper", map[string]any{"rho": -2.5}), toys(mixed...))
	_, _, narrow := play(t, cfg, method(t, "pfedbayes", "paper", map[string]any{"rho": -12.0}), toys(mixed...))
	if w, n := wide.Last.Global.MutualInformation, narrow.Last.Global.MutualInformation; !(n < w/1000) {
		t.Errorf("mutual information %v of draws where σ is near 0, %v where it is not", n, w)
	}
}

// TestReportsAreSummed checks what an evaluation says of training against what the clients' reports said.
func TestReportsAreSummed(t *testing.T) {
	cfg := config()
	cfg.Rounds = 2
	_, d, _ := play(t, cfg, method(t, "pfedbayes", "code", nil), toys(mixed...))
	for _, e := range d.evals {
		var loss, kl float64
		var clamped, n int
		for _, c := range e.Clients {
			if c.Train != mixed[c.Client] || c.Test != mixed[c.Client]+3 {
				t.Errorf("client %d has %d and %d examples, want %d and %d", c.Client, c.Train, c.Test, mixed[c.Client], mixed[c.Client]+3)
			}
			if !c.Trained {
				if spell(c.Report) != spell(algorithms.Report{}) {
					t.Errorf("client %d did not train and reports %+v", c.Client, c.Report)
				}
				continue
			}
			n, loss, kl, clamped = n+1, loss+c.Report.Loss, kl+c.Report.KL, clamped+c.Report.Clamped
		}
		if n != cfg.PerRound {
			t.Errorf("round %d: %d clients trained, want %d", e.Round, n, cfg.PerRound)
		}
		if math.Abs(e.Loss-loss/float64(n)) > 1e-12 || math.Abs(e.KL-kl/float64(n)) > 1e-9 || e.Clamped != clamped {
			t.Errorf("round %d: loss %v, divergence %v, clamped %d; want %v, %v, %d",
				e.Round, e.Loss, e.KL, e.Clamped, loss/float64(n), kl/float64(n), clamped)
		}
	}
}
