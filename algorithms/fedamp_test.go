package algorithms

import (
	"maps"
	"math"
	"slices"
	"testing"

	"fedbayes/internal/rng"
)

// amp is FedAMP or HeurFedAMP.
type amp = Method[AMPServer, []float32, AMPDownload, []float32]

// amp64 is the message passing of either, in float64: the whole matrix ξ, then U = Ξ·W. A nil row is a client that the
// server does not know.
func amp64(w [][]float64, xi func(i, j int, known []int) float64) (u [][]float64) {
	var known []int
	for i := range w {
		if w[i] != nil {
			known = append(known, i)
		}
	}
	u = make([][]float64, len(w))
	for _, i := range known {
		row, off := make([]float64, len(w)), 0.0
		for _, j := range known {
			if j != i {
				row[j] = xi(i, j, known)
				off += row[j]
			}
		}
		scale := 1 / math.Max(1, off)
		row[i] = 1 - off*scale
		u[i] = make([]float64, len(w[i]))
		for _, j := range known {
			x := row[j]
			if j != i {
				x *= scale
			}
			for k := range u[i] {
				u[i][k] += x * w[j][k]
			}
		}
	}
	return u
}

func dot64(a, b []float64) (sum float64) {
	for k := range a {
		sum += a[k] * b[k]
	}
	return sum
}

func distance64(a, b []float64) float64 { return dot64(a, a) - 2*dot64(a, b) + dot64(b, b) }

// fedamp64 and heurfedamp64 return ξᵢⱼ for j ≠ i, before the guard.
func fedamp64(m *FedAMP, w [][]float64, alpha float64) func(i, j int, known []int) float64 {
	return func(i, j int, _ []int) float64 {
		return alpha / m.Sigma * math.Exp(-distance64(w[i], w[j])/m.Sigma)
	}
}

func heurfedamp64(m *HeurFedAMP, w [][]float64) func(i, j int, known []int) float64 {
	near := func(i, j int) float64 {
		return math.Exp(m.Sigma * dot64(w[i], w[j]) / math.Sqrt(dot64(w[i], w[i])*dot64(w[j], w[j])))
	}
	return func(i, j int, known []int) float64 {
		self, all := m.SelfWeight, 0.0
		if self == 0 {
			self = 1 / float64(len(known))
		}
		for _, h := range known {
			if h != i {
				all += near(i, h)
			}
		}
		return (1 - self) * near(i, j) / all
	}
}

// TestFedAMPRounds holds rounds of some of four clients, in which α shrinks and clients join, against float64.
func TestFedAMPRounds(t *testing.T) {
	heur := NewHeurFedAMP()
	own := NewHeurFedAMP()
	wide, narrow := NewFedAMP(), NewFedAMP()
	for _, m := range []*FedAMP{&heur.FedAMP, &own.FedAMP, wide, narrow} {
		m.Lambda, m.Step, m.Decay, m.Every = 2, 4, 0.25, 2
	}
	wide.Sigma, narrow.Sigma, narrow.Step = 5, 0.05, 0.5 // rows beyond 1, and rows within
	own.Sigma, own.SelfWeight = 3, 0.3
	for name, tt := range map[string]struct {
		m    amp
		base *FedAMP
		xi   func(w [][]float64, alpha float64) func(i, j int, known []int) float64
	}{
		"wide":   {wide, wide, func(w [][]float64, a float64) func(i, j int, known []int) float64 { return fedamp64(wide, w, a) }},
		"narrow": {narrow, narrow, func(w [][]float64, a float64) func(i, j int, known []int) float64 { return fedamp64(narrow, w, a) }},
		"heur":   {heur, &heur.FedAMP, func(w [][]float64, _ float64) func(i, j int, known []int) float64 { return heurfedamp64(heur, w) }},
		"own":    {own, &own.FedAMP, func(w [][]float64, _ float64) func(i, j int, known []int) float64 { return heurfedamp64(own, w) }},
	} {
		t.Run(name, func(t *testing.T) {
			wk, m := testWorker(t, erase(tt.m)), tt.m
			s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
			start, w := widened(s.Start), make([][]float64, 4)
			for round, ids := range [][]int{{1, 3}, {0, 1}, {1, 2}, {0, 1, 2, 3}, {3}} {
				alpha := tt.base.Step * math.Pow(0.25, float64(round/2))
				var ups []Upload[[]float32]
				next := slices.Clone(w)
				for _, i := range ids {
					seen := slices.Clone(w)
					if seen[i] == nil {
						seen[i] = start
					}
					u := amp64(seen, tt.xi(seen, alpha))[i]
					down := m.Download(s, i)
					near(t, "download", down.U, u, 5e-6)

					r := rng.Stream{Seed: 2}.At(round, i)
					ex := testExamples(uint64(i), 5+3*i)
					c := m.Client(wk.Task, wk.CPU, s, r)
					up, _, err := m.Train(t.Context(), wk, down, &c, testData(ex, 4, r), r)
					if err != nil {
						t.Fatal(err)
					}
					next[i] = implicit64(u, testData(ex, 4, r), tt.base.LR, tt.base.Lambda/alpha)
					near(t, "upload", up, next[i], 5e-6)
					if !slices.Equal(c, up) {
						t.Error("the client does not keep what it sends")
					}
					ups = append(ups, Upload[[]float32]{Client: i, Examples: ex.Len(), Msg: up})
				}
				if t.Failed() {
					t.FailNow()
				}
				w = next
				m.Aggregate(&s, ups)
			}
		})
	}
}

// implicit64 returns the weights after steps w ← (w − η·g + η·c·u)/(1 + η·c) from u.
func implicit64(u []float64, data *Data, lr, c float64) []float64 {
	w := slices.Clone(u)
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	for range data.Steps {
		rows := data.Next(x, y)
		g := network64(w, x, y, rows)
		for k := range w {
			w[k] = (w[k] - lr*g[k]/float64(rows) + lr*c*u[k]) / (1 + lr*c)
		}
	}
	return w
}

// TestFedAMPIsGradientStep checks that the mix is W − α/2·∇Σ A(‖wᵢ − wⱼ‖²), by finite differences.
func TestFedAMPIsGradientStep(t *testing.T) {
	m := NewFedAMP()
	m.Sigma, m.Step = 3, 0.7
	s := AMPServer{W: [][]float32{{1, 0, -1}, {0.5, 2, 0}, {-1, 1, 1}}}
	total := func(w [][]float64) (sum float64) {
		for i := range w {
			for j := range i {
				sum += 1 - math.Exp(-distance64(w[i], w[j])/m.Sigma)
			}
		}
		return sum
	}
	w := [][]float64{widened(s.W[0]), widened(s.W[1]), widened(s.W[2])}
	const h = 1e-5
	for i := range w {
		want := slices.Clone(w[i])
		for k := range want {
			x := w[i][k]
			w[i][k] = x + h
			up := total(w)
			w[i][k] = x - h
			want[k] -= m.Step / 2 * (up - total(w)) / (2 * h)
			w[i][k] = x
		}
		near(t, "u", m.Download(s, i).U, want, 1e-6)
	}
}

// TestAMPMixes checks what both methods do with weights that are alike, alone, or far apart.
func TestAMPMixes(t *testing.T) {
	near, far := []float32{1, 0, 0, 0}, []float32{0, 0, 0, 9}
	sharp, heur := NewFedAMP(), NewHeurFedAMP()
	sharp.Sigma, heur.Sigma = 0.5, 1e6 // to the angles of a step away, as e^σ alone could not be written
	alone := NewHeurFedAMP()
	alone.SelfWeight = 1
	tests := []struct {
		name string
		m    amp
		w    [][]float32
		want [][]float32
	}{
		{"none known", sharp, nil, [][]float32{{5, 6, 7, 8}}},
		{"none known", heur, nil, [][]float32{{5, 6, 7, 8}}},
		{"one client", sharp, [][]float32{nil, far}, [][]float32{nil, far}},
		{"one client", heur, [][]float32{nil, far}, [][]float32{nil, far}},
		{"equal weights", sharp, [][]float32{far, far, nil, far}, [][]float32{far, far, nil, far}},
		{"equal weights", heur, [][]float32{far, far, nil, far}, [][]float32{far, far, nil, far}},
		{"two clusters", sharp, [][]float32{near, far, near, far}, [][]float32{near, far, near, far}},
		{"two clusters", heur, [][]float32{near, far, near, far}, [][]float32{near, far, near, far}},
		{"ξ = I", alone, [][]float32{near, far, {3, 3, 3, 3}}, [][]float32{near, far, {3, 3, 3, 3}}},
		{"no direction", NewHeurFedAMP(), [][]float32{{0, 0, 0, 0}, {2, 0, 0, 0}}, [][]float32{{1, 0, 0, 0}, {1, 0, 0, 0}}},
	}
	for _, tt := range tests {
		s := AMPServer{Start: []float32{5, 6, 7, 8}, W: tt.w}
		for i, want := range tt.want {
			if got := tt.m.Download(s, i).U; want != nil && !slices.Equal(got, want) {
				t.Errorf("%s, %T: u of client %d = %v, want %v", tt.name, tt.m, i, got, want)
			}
		}
	}
}

// TestAMPWeights checks the sums of rows: within 1 whatever α, and what HeurFedAMP leaves of a client's own weight.
func TestAMPWeights(t *testing.T) {
	own, others := []float32{1, 2, 3}, [][]float32{{1, 2, 4}, {2, 2, 3}, {-1, 0, 1}}
	sum := func(xi []float64) (sum float64) {
		for _, x := range xi {
			sum += x
		}
		return sum
	}
	m := NewFedAMP()
	m.Sigma = 2
	for alpha, want := range map[float64]float64{1e9: 1, 1: math.Exp(-0.5) + math.Exp(-6)/2, 0: 0} {
		if got := sum(m.weights(own, others, alpha)); math.Abs(got-want) > 1e-12 {
			t.Errorf("α = %v: Σξ = %v, want %v", alpha, got, want)
		}
	}
	heur := NewHeurFedAMP()
	heur.Sigma = 0
	if got := heur.weights(own, others); !slices.Equal(got, []float64{0.25, 0.25, 0.25}) {
		t.Errorf("σ = 0: ξ = %v, want a quarter each", got)
	}
	heur.Sigma, heur.SelfWeight = 50, 0.1
	if got := sum(heur.weights(own, others)); math.Abs(got-0.9) > 1e-12 {
		t.Errorf("Σξ = %v, want 0.9", got)
	}
	if xi := heur.weights(own, others); !(xi[0] > xi[1] && xi[1] > xi[2]) {
		t.Errorf("ξ = %v, want the smaller angle to weigh more", xi)
	}
}

// TestFedAMPMixesByDefault: at distances as on MNIST, where squares of clients' differences sum to 0.1 … 2, the defaults
// must mix. A σ that is too small leaves each client alone without a sign of it.
func TestFedAMPMixesByDefault(t *testing.T) {
	mass := func(m *FedAMP, squared float64) (sum float64) {
		own, other := make([]float32, 79510), make([]float32, 79510)
		for k := range other {
			other[k] = float32(math.Sqrt(squared / float64(len(other))))
		}
		for _, x := range m.weights(own, [][]float32{other, other}, m.alpha(AMPServer{})) {
			sum += x
		}
		return sum
	}
	for _, squared := range []float64{0.1, 2} {
		if got := mass(NewFedAMP(), squared); got < 0.1 {
			t.Errorf("squared distance %v: others weigh %v in a mix", squared, got)
		}
	}
	alone := NewFedAMP()
	alone.Sigma = 1e-6
	if got := mass(alone, 0.1); got != 0 {
		t.Errorf("σ = 1e-6: others weigh %v, want 0", got)
	}
}

// TestFedAMPStep checks the schedule of α, and that it ends above 0.
func TestFedAMPStep(t *testing.T) {
	m := NewFedAMP()
	m.Step, m.Decay, m.Every = 1e4, 0.1, 30
	for round, want := range map[int]float64{0: 1e4, 29: 1e4, 30: 1e3, 89: 100, 1 << 40: alphaFloor} {
		if got := float64(m.Download(AMPServer{Start: []float32{1}, Round: round}, 0).Alpha); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("α after %d rounds is %v, want %v", round, got, want)
		}
	}
}

// ampRound trains a client from u and returns what it sends.
func ampRound(t *testing.T, m amp, u []float32, alpha float32) []float32 {
	t.Helper()
	wk, r := testWorker(t, erase(m)), rng.Stream{Seed: 9}
	c := make([]float32, len(u))
	up, _, err := m.Train(t.Context(), wk, AMPDownload{u, alpha}, &c, testData(testExamples(9, 9), 20, r), r)
	if err != nil {
		t.Fatal(err)
	}
	return up
}

// TestFedAMPIsProximal checks that a client's round is Local's from uᵢ for λ = 0 and FedProx's around uᵢ for others, to the
// bit, with FedProx's rate for implicit steps.
func TestFedAMPIsProximal(t *testing.T) {
	r := rng.Stream{Seed: 9}
	m := NewFedAMP()
	u := m.Descent.Server(testTask(t), nil, r)
	m.Lambda = 0
	c := LocalState{W: slices.Clone(u)}
	local := NewLocal()
	local.Descent = m.Descent
	if _, _, err := local.Train(t.Context(), testWorker(t, erase(local)), None{}, &c, testData(testExamples(9, 9), 20, r), r); err != nil {
		t.Fatal(err)
	}
	if got := ampRound(t, m, u, 1); !slices.Equal(got, c.W) {
		t.Error("λ = 0 differs from Local's descent from the mix")
	}
	m.Lambda = 6
	prox := NewFedProx()
	prox.Descent, prox.Mu = m.Descent, 3
	prox.LR /= 1 + 3*m.LR
	want, _, err := prox.Train(t.Context(), testWorker(t, erase(prox)), u, &None{}, testData(testExamples(9, 9), 20, r), r)
	if err != nil {
		t.Fatal(err)
	}
	if got := ampRound(t, m, u, 2); !slices.Equal(got, want) {
		t.Error("λ/α = 3 differs from FedProx with μ = 3")
	}
}

// TestFedAMPStiff checks that a proximal term far stiffer than 2/η holds clients at their mixes and does not throw them off.
func TestFedAMPStiff(t *testing.T) {
	for _, momentum := range []float64{0, 0.9} {
		m := NewFedAMP()
		m.Momentum, m.Lambda = momentum, 1e6
		u := m.Descent.Server(testTask(t), nil, rng.Stream{Seed: 9})
		near(t, "upload", ampRound(t, m, u, alphaFloor), widened(u), 1e-6)
	}
}

func TestFedAMPIdle(t *testing.T) {
	still, shrinks, free := NewHeurFedAMP(), NewHeurFedAMP(), NewHeurFedAMP()
	shrinks.Decay, free.Lambda = 0.5, 0
	for _, tt := range []struct {
		m    amp
		want []string
	}{
		{NewFedAMP(), []string{"step-every"}},
		{still, []string{"step-every"}},
		{shrinks, nil},
		{free, []string{"step", "step-decay", "step-every"}},
	} {
		if got := slices.Sorted(maps.Keys(tt.m.Idle())); !slices.Equal(got, tt.want) {
			t.Errorf("%T: idle %v, want %v", tt.m, got, tt.want)
		}
	}
}
