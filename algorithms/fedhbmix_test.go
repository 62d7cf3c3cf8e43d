package algorithms

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"

	"fedbayes/datasets"
	"fedbayes/internal/rng"
)

// mixClients are two clients of unlike size, one of them without the last class and smaller than two batches.
func mixClients() []*datasets.Examples {
	small := testExamples(1, 7)
	for i, y := range small.Y {
		small.Y[i] = min(y, testClasses-2)
	}
	return []*datasets.Examples{small, testExamples(2, 21)}
}

// responsibilities64 are c(j) ∝ exp(−‖m − rⱼ‖²/2σ²T).
func responsibilities64(m *FedHBMix, w []float64, prototypes [][]float64) []float64 {
	c := make([]float64, len(prototypes))
	for j, r := range prototypes {
		c[j] = -math.Pow(floats.Distance(w, r, 2), 2) / (2 * m.Var * m.Temper)
	}
	floats.AddConst(-floats.LogSumExp(c), c)
	for j := range c {
		c[j] = math.Exp(c[j])
	}
	return c
}

// mix64 is a client's round in float64: its start is the prototype of least loss, or else one that is given.
func mix64(m *FedHBMix, prototypes [][]float64, start []float64, data *Data) []float64 {
	of := data.Of
	if start == nil {
		least := math.Inf(1)
		for _, r := range prototypes {
			if l := loss64(r, of.X, of.Y, of.Len()); l < least {
				start, least = r, l
			}
		}
	}
	w, v := slices.Clone(start), make([]float64, len(start))
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	kappa := 1 / (m.Var * float64(of.Len()))
	for range data.Steps {
		rows := data.Next(x, y)
		g, c := network64(w, x, y, rows), responsibilities64(m, w, prototypes)
		for i := range w {
			var mid float64
			for j := range c {
				mid += c[j] * prototypes[j][i]
			}
			if m.Momentum == 0 {
				w[i] = (w[i] - m.LR*g[i]/float64(rows) + m.LR*kappa*mid) / (1 + m.LR*kappa)
				continue
			}
			v[i] = m.Momentum*v[i] + g[i]/float64(rows) + kappa*(w[i]-mid)
			w[i] -= m.LR / (1 + m.LR*kappa) * v[i]
		}
	}
	return w
}

// gate64 trains a gate on a client's examples in float64, by finite differences.
func gate64(m *FedHBMix, gamma, targets []float64, of *datasets.Examples) []float64 {
	gamma = slices.Clone(gamma)
	for range m.GateEpochs {
		g := fd.Gradient(nil, func(gamma []float64) (loss float64) {
			for i := range of.Len() {
				loss -= floats.Dot(targets, gateOf64(gamma, of.X[i*testIn:(i+1)*testIn], len(targets))) / float64(of.Len())
			}
			return loss
		}, gamma, &fd.Settings{Formula: fd.Central})
		floats.AddScaled(gamma, -m.GateLR, g)
	}
	return gamma
}

// TestFedHBMixRound holds two rounds of two clients, and the server between them, against float64.
func TestFedHBMixRound(t *testing.T) {
	for name, change := range map[string]func(*FedHBMix){
		"two":      func(*FedHBMix) {},
		"one":      func(m *FedHBMix) { m.Prototypes = 1 },
		"three":    func(m *FedHBMix) { m.Prototypes, m.Gate = 3, "uniform" },
		"soft":     func(m *FedHBMix) { m.Var, m.Temper = 2, 4 },
		"passes":   func(m *FedHBMix) { m.GateEpochs = 2 },
		"strong":   func(m *FedHBMix) { m.Var = 0.001 },
		"momentum": func(m *FedHBMix) { m.Momentum = 0.9 },
		"personal": func(m *FedHBMix) { m.From = "personal" },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewFedHBMix()
			change(m)
			wk := testWorker(t, erase(m))
			s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
			var prototypes [][]float64
			for _, r := range s.Prototypes {
				prototypes = append(prototypes, widened(r))
			}
			gamma := widened(s.Gate)
			states, own := make([]FedHBMixClient, 2), make([][]float64, 2)
			var batches, reference []*Data
			for i, ex := range mixClients() {
				r := rng.Stream{Seed: 2, Client: i}
				batches, reference = append(batches, testData(ex, 6, r)), append(reference, testData(ex, 6, r))
			}
			for range 2 {
				var ups []Upload[FedHBMixUpload]
				var shares [][]float64
				nextGate := make([]float64, len(gamma))
				for i, data := range batches {
					up, rep, err := m.Train(t.Context(), wk, m.Download(s, i), &states[i], data, rng.Stream{})
					if err != nil {
						t.Fatal(err)
					}
					var start []float64
					if m.From == "personal" {
						start = own[i]
					}
					own[i] = mix64(m, prototypes, start, reference[i])
					near(t, "m", up.W, own[i], 5e-6)
					near(t, "state", states[i].W, own[i], 5e-6)
					if !(rep.Loss > 0 && rep.Loss < 3) {
						t.Errorf("loss %v", rep.Loss)
					}
					shares = append(shares, responsibilities64(m, own[i], prototypes))
					if m.gated() {
						fitted := gate64(m, gamma, shares[i], data.Of)
						near(t, "gate", up.Gate, fitted, 5e-6)
						floats.AddScaled(nextGate, float64(data.Examples())/28, fitted)
					}
					ups = append(ups, Upload[FedHBMixUpload]{Client: i, Examples: data.Examples(), Msg: up})
				}
				m.Aggregate(&s, ups)
				gamma = nextGate
				for j := range prototypes {
					next, total := make([]float64, len(own[0])), m.Var
					for i, c := range shares {
						floats.AddScaled(next, c[j], own[i])
						total += c[j]
						if math.Abs(states[i].Shares[j]-c[j]) > 1e-4 {
							t.Errorf("client %d: responsibilities %v, want %v", i, states[i].Shares, c)
						}
					}
					if total-m.Var >= 1e-3 {
						floats.ScaleTo(prototypes[j], 1/total, next)
					}
					near(t, "prototype", s.Prototypes[j], prototypes[j], 2e-5)
				}
				if m.gated() {
					near(t, "server's gate", s.Gate, gamma, 5e-6)
				} else if s.Gate != nil {
					t.Error("a gate that is no network has weights")
				}
			}
		})
	}
}

// TestFedHBMixIsFedProx: with one prototype, whole rounds are FedProx's with μ = 1/(σ²n) and its rate as the implicit step has
// it, on a server that shrinks the mean.
func TestFedHBMixIsFedProx(t *testing.T) {
	m := NewFedHBMix()
	m.Prototypes, m.LR = 1, 0.2
	wk := testWorker(t, erase(m))
	s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
	server := NewFedProx().Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
	states := make([]FedHBMixClient, 2)
	var batches, others []*Data
	for i, ex := range mixClients() {
		r := rng.Stream{Seed: 2, Client: i}
		batches, others = append(batches, testData(ex, 6, r)), append(others, testData(ex, 6, r))
	}
	for range 3 {
		var ups []Upload[FedHBMixUpload]
		sum := make([]float64, len(server))
		for i, data := range batches {
			up, _, err := m.Train(t.Context(), wk, m.Download(s, i), &states[i], data, rng.Stream{})
			if err != nil {
				t.Fatal(err)
			}
			ups = append(ups, Upload[FedHBMixUpload]{Client: i, Examples: data.Examples(), Msg: up})

			prox := NewFedProx()
			prox.Mu = 1 / (m.Var * float64(data.Examples()))
			prox.LR = m.LR / (1 + m.LR*prox.Mu)
			w, _, err := prox.Train(t.Context(), testWorker(t, erase(prox)), server, new(None), others[i], rng.Stream{})
			if err != nil {
				t.Fatal(err)
			}
			near(t, "client", up.W, widened(w), 1e-6)
			floats.Add(sum, widened(w))
		}
		m.Aggregate(&s, ups)
		for k, v := range sum {
			server[k] = float32(v / (2 + m.Var))
		}
		near(t, "server", s.Prototypes[0], widened(server), 1e-6)
	}
}

// TestFedHBMixOrder: prototypes in another order are trained and moved to the same, in that order.
func TestFedHBMixOrder(t *testing.T) {
	m := NewFedHBMix()
	m.Gate, m.Temper = "uniform", 50
	wk := testWorker(t, erase(m))
	one := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
	two := FedHBMixState{Prototypes: [][]float32{one.Prototypes[1], one.Prototypes[0]}, Unclaimed: []int{0, 0}}
	for range 2 {
		var all [2][]Upload[FedHBMixUpload]
		for k, s := range []*FedHBMixState{&one, &two} {
			for i, ex := range mixClients() {
				up, _, err := m.Train(t.Context(), wk, m.Download(*s, i), new(FedHBMixClient), testData(ex, 6, rng.Stream{Client: i}), rng.Stream{})
				if err != nil {
					t.Fatal(err)
				}
				all[k] = append(all[k], Upload[FedHBMixUpload]{Client: i, Examples: ex.Len(), Msg: up})
			}
			m.Aggregate(s, all[k])
		}
		for i := range all[0] {
			near(t, "upload", all[1][i].Msg.W, widened(all[0][i].Msg.W), 1e-6)
		}
	}
	near(t, "first prototype", two.Prototypes[0], widened(one.Prototypes[1]), 1e-6)
	near(t, "second prototype", two.Prototypes[1], widened(one.Prototypes[0]), 1e-6)
	ex := testExamples(3, 5)
	var p, q [5 * testClasses]float32
	m.Global(one).Members(wk, p[:], ex.X, 0, rng.Stream{})
	m.Global(two).Members(wk, q[:], ex.X, 0, rng.Stream{})
	near(t, "prediction", q[:], widened(p[:]), 1e-5)
}

// TestFedHBMixSpread: prototypes start as other networks than the first, which is FedAvg's, and as near to it as is said.
func TestFedHBMixSpread(t *testing.T) {
	m := NewFedHBMix()
	m.Prototypes = 3
	wk, r := testWorker(t, erase(m)), rng.Stream{Seed: 1}
	far := m.Server(wk.Task, wk.CPU, r).Prototypes
	if !slices.Equal(far[0], NewFedAvg().Server(wk.Task, wk.CPU, r)) || slices.Equal(far[1], far[0]) || slices.Equal(far[1], far[2]) {
		t.Fatal("the first prototype is not FedAvg's start, or another is the same")
	}
	m.Spread = 0.01
	for j, near := range m.Server(wk.Task, wk.CPU, r).Prototypes {
		for i, v := range near {
			if d, want := float64(v-far[0][i]), 0.01*float64(far[j][i]-far[0][i]); math.Abs(d-want) > 1e-6 {
				t.Fatalf("prototype %d: weight %d is %v from that of the first, want %v", j, i, d, want)
			}
		}
	}
}

// TestFedHBMixStart: where a client starts that has no weights yet, and one that has some.
func TestFedHBMixStart(t *testing.T) {
	m := NewFedHBMix()
	wk := testWorker(t, erase(m))
	s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
	ex := testExamples(4, 21)
	learnt := slices.Clone(s.Prototypes[1])
	if _, err := m.descend(t.Context(), testWorker(t, erase(NewFedAvg())), learnt, wk.forgetful(0), testData(ex, 60, rng.Stream{})); err != nil {
		t.Fatal(err)
	}
	s.Prototypes[1] = learnt
	own := slices.Clone(s.Prototypes[0])
	own[0]++
	for _, tt := range []struct {
		from string
		own  []float32
		want []float32
	}{
		{"best-loss", nil, learnt}, {"nearest", nil, learnt}, {"personal", nil, learnt},
		{"best-loss", own, learnt}, {"nearest", own, s.Prototypes[0]}, {"personal", own, own},
	} {
		m.From = tt.from
		if got := m.start(wk, s.Prototypes, tt.own, ex); !slices.Equal(got, tt.want) {
			t.Errorf("%s, with weights of its own: %v: starts elsewhere", tt.from, tt.own != nil)
		}
	}
}

// TestFedHBMixServer is about prototypes that are nobody's, which stay unless they are to be moved, and about twins.
func TestFedHBMixServer(t *testing.T) {
	upload := func(w ...float32) Upload[FedHBMixUpload] {
		return Upload[FedHBMixUpload]{Examples: 5, Msg: FedHBMixUpload{W: w}}
	}
	near0, near1 := []Upload[FedHBMixUpload]{upload(0, 1), upload(0, 9)}, []Upload[FedHBMixUpload]{upload(99, 0)}
	for name, tt := range map[string]struct {
		reseed    bool
		second    []float32
		rounds    [][]Upload[FedHBMixUpload]
		want      []float32 // the second prototype
		unclaimed int
	}{
		"stays":                        {false, []float32{99, 0}, [][]Upload[FedHBMixUpload]{near0, near0}, []float32{99, 0}, 4},
		"is claimed":                   {false, []float32{99, 0}, [][]Upload[FedHBMixUpload]{near0, near1}, []float32{99 / 1.1, 0}, 0},
		"may be of one not sampled":    {true, []float32{99, 0}, [][]Upload[FedHBMixUpload]{near0}, []float32{99, 0}, 2},
		"moves to the worst explained": {true, []float32{99, 0}, [][]Upload[FedHBMixUpload]{near0, near0}, []float32{0, 9}, 4},
		"is a twin":                    {false, []float32{0, 0}, [][]Upload[FedHBMixUpload]{near0}, []float32{0, 9}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewFedHBMix()
			m.Gate, m.Reseed, m.Temper = "uniform", tt.reseed, 3 // so that twins are near both
			s := FedHBMixState{Prototypes: [][]float32{{0, 0}, tt.second}, Clients: 3, Unclaimed: []int{0, 0}}
			for _, ups := range tt.rounds {
				m.Aggregate(&s, ups)
			}
			if !slices.Equal(s.Prototypes[1], tt.want) || s.Unclaimed[1] != tt.unclaimed {
				t.Errorf("prototypes %v, unclaimed %v: want the second at %v, unclaimed %d", s.Prototypes, s.Unclaimed, tt.want, tt.unclaimed)
			}
		})
	}
}

// TestFedHBMixGlobal: with one prototype every gate is the network itself, to the bit; "client" goes by a client's
// responsibilities, and without any is uniform.
func TestFedHBMixGlobal(t *testing.T) {
	ex := testExamples(6, 9)
	said := func(w *Worker, p Predictor) []float32 {
		dst := make([]float32, ex.Len()*testClasses)
		p.Members(w, dst, ex.X, 0, rng.Stream{})
		return dst
	}
	for _, gate := range []string{"network", "uniform", "entropy", "client"} {
		m := NewFedHBMix()
		m.Prototypes, m.Gate = 1, gate
		w, networks, gamma := mixWorker(t, m)
		if got := said(w, m.Global(FedHBMixState{Prototypes: networks, Gate: gamma})); gamma != nil || !slices.Equal(got, said(w, Point(networks[0]))) {
			t.Errorf("%s: of one prototype, another prediction than its own", gate)
		}
	}
	m := NewFedHBMix()
	m.Gate = "client"
	w, networks, _ := mixWorker(t, m)
	s, known := FedHBMixState{Prototypes: networks}, FedHBMixClient{Shares: []float64{0, 1}}
	if !slices.Equal(said(w, m.GlobalFor(s, known)), said(w, Point(networks[1]))) {
		t.Error("a client that is all the second prototype's is not predicted for by it")
	}
	m.Gate = "uniform"
	want := said(w, m.Global(s))
	if !slices.Equal(said(w, m.GlobalFor(s, known)), want) {
		t.Error("uniform: goes by the client")
	}
	m.Gate = "client"
	if !slices.Equal(said(w, m.GlobalFor(s, FedHBMixClient{})), want) {
		t.Error("a client of whom nothing is known: not uniform")
	}
	if !slices.Equal(said(w, m.Personal(s, FedHBMixClient{}, nil)), want) {
		t.Error("a client that has not trained does not predict with the global model")
	}
}

// TestFedHBMixFar: prototypes at a squared distance of 10⁹ from each other leave a client's numbers finite.
func TestFedHBMixFar(t *testing.T) {
	m := NewFedHBMix()
	w, networks, gamma := mixWorker(t, m)
	for i := range networks[1] {
		networks[1][i] += 5e3
	}
	for _, from := range []string{"best-loss", "nearest", "personal"} {
		m.From = from
		own := FedHBMixClient{W: slices.Clone(networks[0])}
		up, rep, err := m.Train(t.Context(), w, FedHBMixDownload{networks, gamma}, &own, testData(testExamples(7, 7), 6, rng.Stream{}), rng.Stream{})
		if err != nil || !(rep.Loss < 10) {
			t.Fatalf("%s: loss %v (%v)", from, rep.Loss, err)
		}
		s := FedHBMixState{Prototypes: networks, Gate: gamma, Unclaimed: []int{0, 0}}
		m.Aggregate(&s, []Upload[FedHBMixUpload]{{Examples: 7, Msg: up}})
		for _, v := range slices.Concat(append(s.Prototypes, s.Gate, own.W)...) {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("%s: a weight of %v", from, v)
			}
		}
		if !slices.Equal(own.Shares, []float64{1, 0}) {
			t.Errorf("%s: responsibilities %v, want 1 and 0", from, own.Shares)
		}
	}
}
