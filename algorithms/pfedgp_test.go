package algorithms

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"fedbayes/datasets"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// A question64 is a node of a tree of classes in float64: examples that are known, with κ = ±½ and ω, and targets with the
// right answer.
type question64 struct {
	known, targets []int
	kappa, omega   []float64
	truth          []bool
}

// embeddings64 returns directions of the hidden layer of the test network below its last layer.
func embeddings64(th []float64, ex *datasets.Examples, ids []int) (z [][]float64) {
	const in, hid = testIn, testHidden
	for _, id := range ids {
		h, norm := make([]float64, hid), 0.0
		for j := range h {
			h[j] = th[in*hid+j]
			for k := range in {
				h[j] += float64(ex.X[id*in+k]) * th[k*hid+j]
			}
			h[j] = math.Max(h[j], 0)
			norm += h[j] * h[j]
		}
		for j := range h {
			h[j] /= math.Sqrt(norm)
		}
		z = append(z, h)
	}
	return z
}

// kernel64 is the kernel of two examples.
func kernel64(m *PFedGP, a, b []float64, same bool) float64 {
	var d2 float64
	for i := range a {
		d2 += (a[i] - b[i]) * (a[i] - b[i])
	}
	k := m.Scale * math.Exp(-d2/(2*m.Length*m.Length))
	if same {
		k += 1e-3
	}
	return k
}

// kernels64 are K of the known examples and the covariances of the targets with them.
func (q question64) kernels64(m *PFedGP, z [][]float64) (k, ks *mat.Dense) {
	k, ks = mat.NewDense(len(q.known), len(q.known), nil), mat.NewDense(max(len(q.targets), 1), len(q.known), nil)
	for j, b := range q.known {
		for i, a := range q.known {
			k.Set(i, j, kernel64(m, z[a], z[b], i == j))
		}
		for i, a := range q.targets {
			ks.Set(i, j, kernel64(m, z[a], z[b], false))
		}
	}
	return k, ks
}

// infer64 finds ω by variational inference, written with inverses: S = (K⁻¹+Ω)⁻¹, m = Sκ, c = √(m²+S), ω = tanh(c/2)/2c.
func (q *question64) infer64(m *PFedGP, z [][]float64) {
	n := len(q.known)
	k, _ := q.kernels64(m, z)
	var kInv mat.Dense
	if err := kInv.Inverse(k); err != nil {
		panic(err)
	}
	q.omega = make([]float64, n)
	for i := range n {
		q.omega[i] = 0.25
	}
	c := make([]float64, n)
	for range m.Sweeps {
		p, s := mat.DenseCopyOf(&kInv), new(mat.Dense)
		for i, w := range q.omega {
			p.Set(i, i, p.At(i, i)+w)
		}
		if err := s.Inverse(p); err != nil {
			panic(err)
		}
		moved := 0.0
		for i := range n {
			mean := 0.0
			for j := range n {
				mean += s.At(i, j) * q.kappa[j]
			}
			now := math.Sqrt(mean*mean + s.At(i, i))
			moved, c[i] = math.Max(moved, math.Abs(now-c[i])), now
			q.omega[i] = math.Tanh(now/2) / (2 * now)
		}
		if moved <= 1e-2 {
			return
		}
	}
}

// answers64 returns the probability of yes for each target, E σ(f) as a fine sum.
func (q question64) answers64(m *PFedGP, z [][]float64) (yes []float64) {
	k, ks := q.kernels64(m, z)
	var inv mat.Dense
	for i, w := range q.omega {
		k.Set(i, i, k.At(i, i)+1/w)
	}
	if err := inv.Inverse(k); err != nil {
		panic(err)
	}
	for t := range q.targets {
		mean, variance := 0.0, m.Scale+1e-3
		for i := range q.known {
			for j := range q.known {
				mean += ks.At(t, i) * inv.At(i, j) * q.kappa[j] / q.omega[j]
				variance -= ks.At(t, i) * inv.At(i, j) * ks.At(t, j)
			}
		}
		p := 0.0
		for i := -160; i <= 160; i++ {
			x := float64(i) / 20
			p += math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) / 20 / (1 + math.Exp(-mean-math.Sqrt(variance)*x))
		}
		yes = append(yes, p)
	}
	return yes
}

// tree64 returns the questions about two or three classes: with three, the two whose means are nearest stay together.
// The order is that of the classes in path: it answers yes to the i-th question for the i-th of path.
func tree64(z [][]float64, y []float32, known int) (path []float32, qs []*question64) {
	means, count := map[float32][]float64{}, map[float32]float64{}
	for i, label := range y {
		if means[label] == nil {
			means[label] = make([]float64, len(z[i]))
			path = append(path, label)
		}
		count[label]++
		for j, v := range z[i] {
			means[label][j] += v
		}
	}
	slices.Sort(path)
	apart := func(a, b float32) (d float64) {
		for j := range means[a] {
			e := means[a][j]/count[a] - means[b][j]/count[b]
			d += e * e
		}
		return d
	}
	if len(path) == 3 {
		a, b, c := path[0], path[1], path[2]
		switch ab, ac, bc := apart(a, b), apart(a, c), apart(b, c); min(ab, ac, bc) {
		case ab:
			path = []float32{c, a, b}
		case ac:
			path = []float32{b, a, c}
		}
	}
	for i := range len(path) - 1 {
		q := new(question64)
		for j, label := range y {
			place := slices.Index(path, label)
			switch {
			case place < i:
			case j < known:
				q.known = append(q.known, j)
				q.kappa = append(q.kappa, map[bool]float64{true: 0.5, false: -0.5}[place == i])
			default:
				q.targets = append(q.targets, j)
				q.truth = append(q.truth, place == i)
			}
		}
		qs = append(qs, q)
	}
	return path, qs
}

// treeLoss64 is what a step descends along at embeddings z, and its cross-entropies summed.
func treeLoss64(m *PFedGP, qs []*question64, z [][]float64) (loss, sum float64) {
	for _, q := range qs {
		for t, yes := range q.answers64(m, z) {
			ce := -math.Log(yes)
			if !q.truth[t] {
				ce = -math.Log(1 - yes)
			}
			loss += ce / float64(len(q.targets))
			sum += ce
		}
	}
	return loss, sum
}

// gp64 is one round of a client: the gradient of each step by differences of the loss as a function of θ, with ω as it was
// inferred at the step's θ.
func gp64(m *PFedGP, start []float32, data *Data, r rng.Stream) (theta []float64, nll float64) {
	theta = widened(start)
	src, v := r.For(rng.Noise).Rand(), make([]float64, len(theta))
	for range data.Steps {
		ids, known := halves(byClass(data.Of), m.Context, src)
		y := labelsOf(data.Of, ids)
		z := embeddings64(theta, data.Of, ids)
		_, qs := tree64(z, y, known)
		for _, q := range qs {
			q.infer64(m, z)
		}
		_, sum := treeLoss64(m, qs, z)
		nll += sum / float64((len(ids)-known)*data.Steps)
		g := fd.Gradient(nil, func(th []float64) float64 {
			loss, _ := treeLoss64(m, qs, embeddings64(th, data.Of, ids))
			return loss
		}, theta, &fd.Settings{Formula: fd.Central})
		norm := 0.0
		for _, d := range g {
			norm += d * d
		}
		scale := math.Min(1, m.Clip/math.Sqrt(norm))
		for i := range theta {
			v[i] = m.Momentum*v[i] + scale*g[i] + m.WeightDecay*theta[i]
			theta[i] -= m.LR * v[i]
		}
	}
	return theta, nll
}

// TestPFedGPRound holds a round of two clients of unlike size, with three classes and with two, and its predictions,
// against float64; once with a clip that bites.
func TestPFedGPRound(t *testing.T) {
	for _, most := range []float64{50, 0.3} {
		m := NewPFedGP()
		m.Context, m.Clip, m.LR = 3, most, 0.05
		w := testWorker(t, erase(m))
		s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
		if want := testIn*testHidden + testHidden; len(s) != want {
			t.Fatalf("the server has %d parameters, want the %d below the last layer", len(s), want)
		}
		two := testExamples(5, 20)
		for i := range two.Y {
			two.Y[i] = float32(2 * (i % 2))
		}
		var ups []Upload[[]float32]
		mean := make([]float64, len(s))
		for i, ex := range []*datasets.Examples{testExamples(4, 30), two} {
			r := rng.Stream{Seed: 2, Round: 1, Client: i}
			want, nll := gp64(m, s, testData(ex, 3, r), r)
			up, rep, err := m.Train(t.Context(), w, s, &None{}, testData(ex, 3, r), r)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "upload", up, want, 2e-5)
			near(t, "loss", []float32{float32(rep.Loss)}, []float64{nll}, 1e-4)
			ups = append(ups, Upload[[]float32]{Client: i, Examples: ex.Len(), Msg: up})
			for k := range want {
				mean[k] += want[k] / 2
			}
		}
		m.Aggregate(&s, ups)
		near(t, "server", s, mean, 2e-5)

		train, test := testExamples(6, 20), testExamples(7, 9) // more than two batches
		both := &datasets.Examples{X: slices.Concat(train.X, test.X), Y: slices.Concat(train.Y, test.Y), Dim: testIn}
		ids := make([]int, both.Len())
		for i := range ids {
			ids[i] = i
		}
		z := embeddings64(mean, both, ids)
		path, _ := tree64(z[:20], train.Y, 20)
		_, qs := tree64(z, both.Y, 20)
		want := make([]float64, test.Len()*testClasses)
		for i, q := range qs {
			q.targets = ids[20:]
			q.infer64(m, z)
			for t, yes := range q.answers64(m, z) {
				row := want[t*testClasses : (t+1)*testClasses]
				row[int(path[i])] += math.Log(yes)
				for _, rest := range path[i+1:] {
					row[int(rest)] += math.Log(1 - yes)
				}
			}
		}
		got := make([]float32, 2*len(want))
		m.Personal(s, None{}, train).Members(w, got, test.X, 2, rng.Stream{Seed: 1, Purpose: rng.Eval})
		near(t, "log p", got, want, 1e-3)
		near(t, "second member", got[len(want):], want, 1e-3)
	}
}

// TestPFedGPLearns trains one client with each inference: what it makes of other examples gets better than by chance.
func TestPFedGPLearns(t *testing.T) {
	for _, kind := range []string{"pg-vi", "gibbs", "ovr"} {
		t.Run(kind, func(t *testing.T) {
			m := NewPFedGP()
			m.GP, m.LR, m.Chains, m.GibbsEval = kind, 0.05, 5, 5
			w, r := testWorker(t, erase(m)), rng.Stream{Seed: 3}
			train, test := testExamples(1, 60), testExamples(2, 100)
			s := m.Server(w.Task, w.CPU, r)
			score := func(theta []float32) (nll float64) {
				logp := make([]float32, test.Len()*testClasses)
				m.Personal(theta, None{}, train).Members(w, logp, test.X, 0, r.For(rng.Eval))
				for i, y := range test.Y {
					nll -= float64(logp[i*testClasses+int(y)]) / float64(test.Len())
				}
				return nll
			}
			up, rep, err := m.Train(t.Context(), w, s, &None{}, testData(train, 40, r), r)
			if err != nil {
				t.Fatal(err)
			}
			before, after := score(s), score(up)
			if !(after < 0.9*before) || !(after < 0.7*math.Log(testClasses)) {
				t.Errorf("NLL of test examples %v, before training %v", after, before)
			}
			if !(rep.Loss > 0) || !math.IsNaN(rep.KL) {
				t.Errorf("report %+v, want a loss and no divergence", rep)
			}
			again, _, err := m.Train(t.Context(), w, s, &None{}, testData(train, 40, r), r)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(up, again) {
				t.Error("the same address gives another round")
			}
		})
	}
}

// TestPFedGPOneClass checks a client whose examples leave nothing to ask: only the weight decay moves θ, and the class is
// certain.
func TestPFedGPOneClass(t *testing.T) {
	for _, n := range []int{1, 5} {
		m := NewPFedGP()
		m.LR, m.WeightDecay = 0.05, 0.1
		w, r, ex := testWorker(t, erase(m)), rng.Stream{Seed: 4}, testExamples(1, n)
		for i := range ex.Y {
			ex.Y[i] = 1
		}
		s := m.Server(w.Task, w.CPU, r)
		up, rep, err := m.Train(t.Context(), w, s, &None{}, testData(ex, 1, r), r)
		if err != nil {
			t.Fatal(err)
		}
		want := widened(s)
		for i := range want {
			want[i] *= 1 - m.LR*m.WeightDecay
		}
		near(t, "upload", up, want, 1e-7)
		if rep.Loss != 0 {
			t.Errorf("loss %v, want 0", rep.Loss)
		}
		logp := make([]float32, testClasses)
		m.Personal(up, None{}, ex).Members(w, logp, ex.X[:testIn], 0, r.For(rng.Eval))
		near(t, "log p", logp, []float64{math.Log(1e-12), 0, math.Log(1e-12)}, 1e-3)
	}
}

// TestPFedGPWithoutExamples checks a client that has nothing to predict from.
func TestPFedGPWithoutExamples(t *testing.T) {
	m := NewPFedGP()
	w, r := testWorker(t, erase(m)), rng.Stream{Seed: 5}
	logp := make([]float32, testClasses)
	m.Personal(m.Server(w.Task, w.CPU, r), None{}, testExamples(1, 0)).Members(w, logp, make([]float32, testIn), 0, r.For(rng.Eval))
	third := -math.Log(testClasses)
	near(t, "log p", logp, []float64{third, third, third}, 1e-6)
}

// TestPFedGPContextEval checks that predictions rest on as many examples of a class as are asked for.
func TestPFedGPContextEval(t *testing.T) {
	m := NewPFedGP()
	w, r, ex, test := testWorker(t, erase(m)), rng.Stream{Seed: 6}, testExamples(1, 30), testExamples(2, 3)
	s := m.Server(w.Task, w.CPU, r)
	predict := func(most, round int) []float32 {
		m.ContextEval = most
		logp := make([]float32, 3*testClasses)
		m.Personal(s, None{}, ex).Members(w, logp, test.X, 0, r.For(rng.Eval).At(round, 1))
		return logp
	}
	near(t, "log p from all examples", predict(100, 1), widened(predict(100, 2)), 1e-5)
	if slices.Equal(predict(2, 1), predict(2, 2)) {
		t.Error("two examples of each class are the same at another address")
	}
	if !slices.Equal(predict(2, 1), predict(2, 1)) {
		t.Error("two examples of each class differ at one address")
	}
}

func TestPFedGPAccepts(t *testing.T) {
	for spec, ok := range map[string]bool{"mlp": true, "vgg:4,M": true, "vgg:M": false} {
		net, err := layers.New(spec, []int{4, 4}, 3)
		if err != nil {
			t.Fatal(err)
		}
		if err := NewPFedGP().Accepts(net); (err == nil) != ok {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// TestHalves checks sizes, that known examples and targets differ, and that the only example of a class is both.
func TestHalves(t *testing.T) {
	ex := &datasets.Examples{Y: []float32{7, 0, 7, 3, 7, 0, 7, 7, 0, 7, 7}, Dim: 1}
	classes := byClass(ex)
	for _, tt := range []struct{ n, known, targets int }{{1, 1 + 1 + 1, 1 + 1 + 1}, {2, 2 + 2 + 1, 2 + 1 + 1}, {50, 4 + 2 + 1, 3 + 1 + 1}} {
		ids, known := halves(classes, tt.n, rng.Stream{Seed: 1}.Rand())
		if known != tt.known || len(ids)-known != tt.targets {
			t.Errorf("up to %d: %d known and %d targets, want %d and %d", tt.n, known, len(ids)-known, tt.known, tt.targets)
		}
		seen := map[int]int{}
		for _, id := range ids {
			seen[id]++
		}
		for id, times := range seen {
			if only := id == 3; times > 1 != only {
				t.Errorf("up to %d: example %d of class %v comes %d times", tt.n, id, ex.Y[id], times)
			}
		}
		for _, part := range [][]int{ids[:known], ids[known:]} {
			y := labelsOf(ex, part)
			for _, class := range []float32{0, 3, 7} {
				if !slices.Contains(y, class) {
					t.Errorf("up to %d: labels %v without class %v", tt.n, y, class)
				}
			}
		}
	}
	if len(classes) != 3 || len(choose(classes[0], 3, rng.Stream{}.Rand())) != 3 {
		t.Errorf("classes %v", classes)
	}
}
