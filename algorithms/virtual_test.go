package algorithms

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/internal/state"
	"fedbayes/layers"
	"fedbayes/priors"
)

// virtuals are settings that between them take the branches of a client's round.
var virtuals = map[string]func() *Virtual{
	"paper": NewVirtual,
	"code":  NewVirtualCode,
	"adam": func() *Virtual {
		m := NewVirtualCode()
		m.Optimizer, m.LR, m.KLWeight = "adam", 0.001, 0.1
		return m
	},
	"local alone, momentum, β": func() *Virtual {
		m := NewVirtual()
		m.Lateral, m.KLWeight, m.Momentum, m.LR = false, 0.01, 0.9, 0.01
		return m
	},
	"weights, lateral, sparse": func() *Virtual {
		m := NewVirtual()
		m.Estimator, m.Sparsity, m.Damping, m.Momentum = "weights", 50, 0.5, 0.5
		return m
	},
	"fitted": func() *Virtual {
		m := NewVirtual()
		m.Retain = "fitted"
		return m
	},
}

// The tests have a task of two clients.
var virtualExamples = []int{7, 6}

func virtualWorker(tb testing.TB, m *Virtual) *Worker {
	tb.Helper()
	task := testTask(tb)
	task.Examples = virtualExamples
	p, err := Compile(erase(m), task)
	if err != nil {
		tb.Fatal(err)
	}
	return p.NewWorker(kernels.New(kernels.Best()))
}

// born returns the states of a server and of the clients.
func born(m *Virtual, w *Worker) (s VirtualServer, cs []VirtualState) {
	s = m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
	for i := range w.Examples {
		cs = append(cs, m.Client(w.Task, w.CPU, s, rng.Stream{Seed: 1}.At(0, i+1)))
	}
	return s, cs
}

// TestVirtualRound holds two rounds of two clients against the formulas in float64: what they fit, what they send, their
// sites, their personal models and the server.
func TestVirtualRound(t *testing.T) {
	for name, variant := range virtuals {
		t.Run(name, func(t *testing.T) {
			m := variant()
			w := virtualWorker(t, m)
			s, cs := born(m, w)
			for round := 1; round <= 2; round++ {
				var ups []Upload[Change]
				wantH, wantTau := slices.Clone(s.Q.H), slices.Clone(s.Q.Tau)
				for i, n := range virtualExamples {
					ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2}.At(round, i)
					before, own := cs[i], cs[i].Private
					if m.Lateral && own == nil {
						own = w.newPrivateNet(m.Rho, r)
					}
					var start, cavity gaussian64
					var cavityH, cavityTau []float64
					for k, tau := range s.Q.Tau {
						h, c := s.Q.H[k]-before.Site.H[k], tau-before.Site.Tau[k]
						start.mu, start.rho = append(start.mu, s.Q.H[k]/tau), append(start.rho, float64(priors.Rho(1/math.Sqrt(tau))))
						cavity.mu, cavity.rho = append(cavity.mu, h/c), append(cavity.rho, float64(priors.Rho(1/math.Sqrt(c))))
						cavityH, cavityTau = append(cavityH, h), append(cavityTau, c)
					}
					fitted, c, gates := free64{m: m, cavity: cavity}.fit64(start, own, testData(ex, 5, r), r)

					up, rep, err := m.Train(t.Context(), w, m.Download(s, i), &cs[i], testData(ex, 5, r), r)
					if err != nil {
						t.Fatal(err)
					}
					if !(rep.Loss > 0) || !(rep.KL > 0) {
						t.Errorf("report %+v, want a positive loss and divergence", rep)
					}
					if m.Lateral {
						near(t, "c.mu", cs[i].Private.Phi.Mu, c.mu, tolerance)
						near(t, "c.rho", cs[i].Private.Phi.Rho, c.rho, tolerance)
						near(t, "gates", cs[i].Private.Gates, gates, tolerance)
					}
					h, tau := natural64(fitted)
					siteH, siteTau := make([]float64, len(h)), make([]float64, len(h))
					sent := map[int]bool{}
					up.each(func(k int, _, _ float64) { sent[k] = true })
					for k := range h {
						newH, newTau := h[k]-cavityH[k], tau[k]-cavityTau[k]
						if newTau < 0 {
							newH, newTau = fitted.mu[k]*cavityTau[k]-cavityH[k], 0
						}
						siteH[k], siteTau[k] = before.Site.H[k], before.Site.Tau[k]
						if sent[k] {
							siteH[k] += m.Damping * (newH - siteH[k])
							siteTau[k] += m.Damping * (newTau - siteTau[k])
						}
						wantH[k] += siteH[k] - before.Site.H[k]
						wantTau[k] += siteTau[k] - before.Site.Tau[k]
						h[k], tau[k] = cavityH[k]+siteH[k], cavityTau[k]+siteTau[k]
					}
					// A precision is as exact as the ρ that it comes from, of which 10⁻⁵ is 3·10⁻⁵ of it.
					relative(t, "site h", cs[i].Site.H, siteH, s.Q.Tau, tolerance)
					relative(t, "site τ", cs[i].Site.Tau, siteTau, s.Q.Tau, 2*tolerance)
					if m.Retain == "fitted" {
						near(t, "θ mu", cs[i].Theta.Mu, fitted.mu, tolerance)
						near(t, "θ rho", cs[i].Theta.Rho, fitted.rho, tolerance)
					} else {
						n := cs[i].Theta.Natural()
						relative(t, "θ h", n.H, h, tau, tolerance)
						relative(t, "θ τ", n.Tau, tau, tau, 2*tolerance)
					}
					if want := map[int]int{0: 53, 50: 15 + 3 + 18}[m.Sparsity]; len(sent) != want {
						t.Errorf("%d coordinates sent, want %d", len(sent), want)
					}
					ups = append(ups, Upload[Change]{Client: i, Examples: n, Msg: up})
				}
				m.Aggregate(&s, ups)
				relative(t, "server h", s.Q.H, wantH, s.Q.Tau, tolerance)
				relative(t, "server τ", s.Q.Tau, wantTau, s.Q.Tau, 4*tolerance)
			}
		})
	}
}

// TestVirtualOneClient checks that one client alone is Bayes by backprop whose prior is p(θ), to the bit: the personal step
// of pFedBayes with a w that stays as it is. Without damping the server then has what the client has, and the cavity of the
// next round is the prior again.
func TestVirtualOneClient(t *testing.T) {
	m := NewVirtualCode()
	m.Optimizer, m.LR, m.KLWeight, m.Damping, m.Retain = "adam", 0.001, 0.5, 1, "fitted"
	w := virtualWorker(t, m)
	s, cs := born(m, w)
	d := m.Download(s, 0)
	n := len(d.Q.H)
	prior, ones := priors.Normal(n, 1), priors.Constant(make([]float32, n), priors.Rho(1))
	s.Q = d.Q.to(priors.NewNatural(n), 1) // so that the download is exact
	c := cs[0]
	c.Site = s.Q.Over(prior)

	backprop := NewPFedBayes()
	backprop.LRGlobal, backprop.Likelihood, backprop.Zeta = 0, "mean", m.KLWeight
	q, r := PFedBayesState{Q: s.Q.Gaussian()}, rng.Stream{Seed: 3}.At(1, 0)
	if _, _, err := backprop.Train(t.Context(), testWorker(t, erase(backprop)), ones, &q, testData(testExamples(3, 10), 12, r), r); err != nil {
		t.Fatal(err)
	}
	up, _, err := m.Train(t.Context(), w, d, &c, testData(testExamples(3, 10), 12, r), r)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c.Theta, q.Q) || slices.Equal(c.Theta.Mu, s.Theta.Mu) {
		t.Error("q is not that of Bayes by backprop")
	}
	m.Aggregate(&s, []Upload[Change]{{Client: 0, Examples: 10, Msg: up}})
	want := q.Q.Natural()
	relative(t, "server h", s.Q.H, want.H, want.Tau, 1e-6)
	relative(t, "server τ", s.Q.Tau, want.Tau, want.Tau, 1e-6)
	relative(t, "cavity τ", s.Q.Over(c.Site).Tau, prior.Tau, s.Q.Tau, 1e-9)
}

// whole checks that the server's posterior is the product of the prior and all sites.
func whole(t *testing.T, s VirtualServer, cs []VirtualState) {
	t.Helper()
	product := priors.Normal(len(s.Q.H), 1)
	for _, c := range cs {
		product = product.Times(c.Site)
	}
	relative(t, "server h", s.Q.H, product.H, s.Q.Tau, 1e-9)
	relative(t, "server τ", s.Q.Tau, product.Tau, s.Q.Tau, 1e-9)
}

// TestVirtualInvariant samples some of five clients, one of them without examples, in each of some rounds. Weights are so
// uncertain that clients lose precision, which is clipped.
func TestVirtualInvariant(t *testing.T) {
	for _, sparsity := range []int{0, 50, 90} {
		m := NewVirtual()
		m.Sparsity, m.Damping, m.LR, m.Rho, m.KLWeight = sparsity, 0.7, 0.5, -1, 1e-4
		w := virtualWorker(t, m)
		w.Examples = []int{7, 1, 0, 5, 9}
		s, cs := born(m, w)
		whole(t, s, cs)
		if share := cs[2].Site.Tau[0]; share != 0 {
			t.Errorf("a client without examples has a share of %v of the start", share)
		}
		r, clamped := rand.New(rand.NewPCG(51, 52)), 0
		for round := 1; round <= 8; round++ {
			var ups []Upload[Change]
			for i, n := range w.Examples {
				if n == 0 || r.IntN(2) == 0 {
					continue
				}
				at := rng.Stream{Seed: 4}.At(round, i)
				up, rep, err := m.Train(t.Context(), w, m.Download(s, i), &cs[i], testData(testExamples(uint64(i), n), 4, at), at)
				if err != nil {
					t.Fatal(err)
				}
				clamped += rep.Clamped
				ups = append(ups, Upload[Change]{Client: i, Examples: n, Msg: up})
			}
			if len(ups) > 0 {
				m.Aggregate(&s, ups)
			}
			whole(t, s, cs)
			if low := slices.Min(s.Q.Tau); low < 1-1e-9 {
				t.Fatalf("round %d: a precision of %v, less than the prior's", round, low)
			}
			for i, c := range cs {
				if low := slices.Min(c.Site.Tau); low < 0 || math.IsNaN(low) {
					t.Fatalf("round %d: the site of client %d has a precision of %v", round, i, low)
				}
			}
		}
		if clamped == 0 {
			t.Error("nothing was clipped")
		}
	}
}

// TestVirtualRefuses sends the server a change that takes more precision away than there is. It refuses that coordinate of
// the whole round, and when the clients of the round have been back, its posterior is again the product of their sites.
func TestVirtualRefuses(t *testing.T) {
	m := NewVirtual()
	w := virtualWorker(t, m)
	s, cs := born(m, w)
	before := s
	bad := make([]bool, len(s.Q.H))
	bad[3] = true
	factor := s.Q.Power(-2)
	ups := []Upload[Change]{{Client: 0, Msg: changeAt(s.Q.Power(0.1), nil)}, {Client: 1, Msg: changeAt(factor, bad)}}
	for i, u := range ups {
		cs[i].Site = u.Msg.to(cs[i].Site, 1)
	}
	m.Aggregate(&s, ups)
	if s.Q.Tau[3] != before.Q.Tau[3] || s.Q.H[3] != before.Q.H[3] || s.Q.Tau[4] == before.Q.Tau[4] {
		t.Errorf("τ %v and %v, were %v and %v, want the second alone to change", s.Q.Tau[3], s.Q.Tau[4], before.Q.Tau[3], before.Q.Tau[4])
	}
	for i := range ups {
		if undo := m.Download(s, i).Undo; len(undo.H) != 1 || undo.Mask[0] != 1<<3 {
			t.Errorf("client %d is to take back %+v, want coordinate 3", i, undo)
		}
	}
	ups = nil
	for i, n := range virtualExamples {
		at := rng.Stream{Seed: 5}.At(2, i)
		up, rep, err := m.Train(t.Context(), w, m.Download(s, i), &cs[i], testData(testExamples(uint64(i), n), 2, at), at)
		if err != nil || rep.Clamped == 0 {
			t.Fatalf("report %+v, error %v, want what was taken back to count", rep, err)
		}
		ups = append(ups, Upload[Change]{Client: i, Examples: n, Msg: up})
	}
	m.Aggregate(&s, ups)
	whole(t, s, cs)
	if undo := m.Download(s, 0).Undo; len(undo.H) > 0 {
		t.Errorf("still to take back: %+v", undo)
	}
}

// TestVirtualStandsStill checks that δ = 0 changes nothing, and neither do no steps.
func TestVirtualStandsStill(t *testing.T) {
	for _, tt := range []struct {
		damping float64
		steps   int
	}{{0, 5}, {1, 0}} {
		m := NewVirtual()
		m.Damping = tt.damping
		w := virtualWorker(t, m)
		s, cs := born(m, w)
		r, before := rng.Stream{Seed: 6}.At(1, 0), cs[0]
		up, _, err := m.Train(t.Context(), w, m.Download(s, 0), &cs[0], testData(testExamples(6, 7), tt.steps, r), r)
		if err != nil {
			t.Fatal(err)
		}
		next := s
		m.Aggregate(&next, []Upload[Change]{{Client: 0, Examples: 7, Msg: up}})
		relative(t, "site τ", cs[0].Site.Tau, before.Site.Tau, s.Q.Tau, 1e-12)
		relative(t, "site h", cs[0].Site.H, before.Site.H, s.Q.Tau, 1e-12)
		relative(t, "server τ", next.Q.Tau, s.Q.Tau, s.Q.Tau, 1e-12)
		relative(t, "server h", next.Q.H, s.Q.H, s.Q.Tau, 1e-12)
	}
}

// TestVirtualWithoutDivergence checks that with β = 0 what a client fits depends on where it starts, and not on its cavity.
func TestVirtualWithoutDivergence(t *testing.T) {
	for beta, same := range map[float64]bool{0: true, 1e-3: false} {
		m := NewVirtual()
		m.KLWeight, m.Retain = beta, "fitted"
		w := virtualWorker(t, m)
		s, cs := born(m, w)
		cs[1].Site = cs[1].Site.Power(0.1)
		for i := range cs {
			r := rng.Stream{Seed: 7}.At(1, 0)
			if _, _, err := m.Train(t.Context(), w, m.Download(s, i), &cs[i], testData(testExamples(7, 7), 6, r), r); err != nil {
				t.Fatal(err)
			}
		}
		if got := reflect.DeepEqual(cs[0].Theta, cs[1].Theta); got != same {
			t.Errorf("β = %v: q is the same beside another cavity: %v, want %v", beta, got, same)
		}
	}
}

// TestVirtualPredictions checks that the server's model knows no private networks, and that with shut gates a client's is its
// q alone, in the mean and, with σ of next to nothing, in draws.
func TestVirtualPredictions(t *testing.T) {
	m := NewVirtual()
	m.Rho = rhoFloor
	w := virtualWorker(t, m)
	s, cs := born(m, w)
	if _, lone := m.Personal(s, cs[0], nil).(Bayes); !lone {
		t.Error("a client has a private network before its first round")
	}
	r := rng.Stream{Seed: 8}.At(1, 0)
	ex := testExamples(8, 7)
	if _, _, err := m.Train(t.Context(), w, m.Download(s, 0), &cs[0], testData(ex, 1, r), r); err != nil {
		t.Fatal(err)
	}
	if g, ok := m.Global(s).(Bayes); !ok || &g.Mu[0] != &s.Theta.Mu[0] {
		t.Errorf("the global model is a %T, want the server's posterior", m.Global(s))
	}
	for _, draws := range []int{0, 3} {
		predict := func(p Predictor) []float32 {
			dst := make([]float32, max(draws, 1)*7*testClasses)
			p.Members(w, dst, ex.X, draws, r)
			return dst
		}
		private := *cs[0].Private
		open := predict(together{cs[0].Theta, private})
		private.Gates = make([]float32, len(private.Gates))
		shut, alone := predict(together{cs[0].Theta, private}), predict(Bayes(cs[0].Theta))
		near(t, "log p with shut gates", shut, widened(alone), 1e-4)
		if slices.Equal(open, shut) {
			t.Error("gates make no difference")
		}
	}
}

// TestVirtualPrivateNet checks the start of a private network: gates that are uniform, weights of its own for each client.
func TestVirtualPrivateNet(t *testing.T) {
	net, err := layers.New("mlp:5000", []int{testIn}, testClasses)
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{Task: Task{Net: net}, CPU: kernels.New(kernels.Best())}
	a, b := w.newPrivateNet(-3, rng.Stream{Seed: 9}.At(1, 0)), w.newPrivateNet(-3, rng.Stream{Seed: 9}.At(1, 1))
	if slices.Equal(a.Phi.Mu, b.Phi.Mu) || slices.Equal(a.Gates, b.Gates) || a.Phi.Rho[7] != -3 {
		t.Error("two clients have one private network")
	}
	slices.Sort(a.Gates)
	for k, g := range a.Gates { // Kolmogorov's distance from the uniform distribution, at the level of 10⁻⁶
		if want := 0.1 * float64(k) / float64(len(a.Gates)); math.Abs(float64(g)-want) > 0.1*2.7/math.Sqrt(float64(len(a.Gates))) {
			t.Fatalf("gate %d of %d is %v, want about %v", k, len(a.Gates), g, want)
		}
	}
}

// TestVirtualAdapt checks that a newcomer learns from where the server is, with the server's posterior for its cavity, and
// changes nothing of the server's.
func TestVirtualAdapt(t *testing.T) {
	m := NewVirtual()
	w := virtualWorker(t, m)
	s, _ := born(m, w)
	before := VirtualServer{Q: s.Q.Power(1), Theta: s.Theta.Clone()}
	at := rng.Stream{Seed: 10}.At(4, 2)
	stranger := m.Client(w.Task, w.CPU, s, newborn(at))
	if top := slices.Max(stranger.Site.Tau); top != 0 {
		t.Errorf("the site of a newcomer has a precision of %v, want 0", top)
	}
	m.Retain, m.Damping = "fitted", 1
	data := func() *Data { return testData(testExamples(10, 9), 20, at) }
	p, err := m.Adapt(t.Context(), w, s, data(), at)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s, before) {
		t.Error("the server changed")
	}
	if _, _, err := m.Train(t.Context(), w, m.Download(s, 2), &stranger, data(), at); err != nil {
		t.Fatal(err)
	}
	got := p.(together)
	near(t, "newcomer's μ", got.theta.Mu, widened(stranger.Theta.Mu), 1e-5)
	near(t, "newcomer's φ", got.Phi.Mu, widened(stranger.Private.Phi.Mu), 1e-5)
}

// TestVirtualPruning checks which coordinates are sent, and that nothing is pruned of the last layer.
func TestVirtualPruning(t *testing.T) {
	net := testTask(t).Net
	change, q := priors.NewNatural(net.Size()), priors.Normal(net.Size(), 1)
	for i := range change.H {
		change.H[i] = float64(1 - 2*(i%2))
	}
	first := net.Segments[0]
	for i := range first.Size() {
		change.H[i] *= float64(i + 1)
		q.Tau[i] = math.Pow(float64(i+1), 4) // so that the first are the farthest in units of σ
	}
	for _, sparsity := range []int{0, 50, 75, 90} {
		m := NewVirtual()
		m.Sparsity = sparsity
		kept := m.kept(net, change, q)
		if sparsity == 0 {
			if kept != nil {
				t.Error("coordinates are pruned at 0 %")
			}
			continue
		}
		n := first.Size() - first.Size()*sparsity/100
		for i := range first.Size() {
			if kept[i] != (i < n) {
				t.Errorf("%d %%: weight %d is kept: %v, want the first %d", sparsity, i, kept[i], n)
			}
		}
		if slices.Contains(kept[net.FeatureSize():], false) {
			t.Errorf("%d %%: the last layer is pruned", sparsity)
		}
		all := 0
		for _, k := range kept {
			if k {
				all++
			}
		}
		if got, want := state.Bytes(changeAt(change, kept)), int64(8*all+(net.Size()+7)/8); got != want {
			t.Errorf("%d %%: %d bytes, want 8 for each of %d coordinates and a bit for each of %d", sparsity, got, all, net.Size())
		}
	}
	if got, want := state.Bytes(changeAt(change, nil)), int64(8*net.Size()); got != want {
		t.Errorf("%d bytes of a whole change, want %d", got, want)
	}
}

// TestVirtualAccepts checks that networks without a lateral form are refused only where there are private networks.
func TestVirtualAccepts(t *testing.T) {
	net := &layers.Model{In: 2, Classes: 2, Layers: []layers.Layer{strange{}, layers.NewDense(new(graph.Layout), "dense", 2, 2, false)}}
	if err := NewVirtual().Accepts(net); err == nil || !strings.Contains(err.Error(), "strange has no lateral connections") {
		t.Errorf("error %v", err)
	}
	if err := NewVirtualCode().Accepts(net); err != nil {
		t.Error(err)
	}
}

type strange struct{}

func (strange) Forward(x *graph.Node, _ layers.Source) *graph.Node { return x }
