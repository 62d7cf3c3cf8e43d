package algorithms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// gradient64 returns the gradient of the mean cross-entropy of the next mini-batch, as a function of the weights.
func gradient64(data *Data) func(th []float64) []float64 {
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	rows := data.Next(x, y)
	return func(th []float64) []float64 {
		g := network64(th, x, y, rows)
		for i := range g {
			g[i] /= float64(rows)
		}
		return g
	}
}

// along returns a + s·b.
func along(a []float64, s float64, b []float64) []float64 {
	c := slices.Clone(a)
	for i := range c {
		c[i] += s * b[i]
	}
	return c
}

// perfedavg64 is a client's round in float64.
func perfedavg64(m *PerFedAvg, server []float64, data *Data) []float64 {
	theta, rule := slices.Clone(server), optimizer64{lr: m.LR, beta: m.Momentum}
	for range data.Steps {
		g0, g1 := gradient64(data), gradient64(data)
		u := g1(along(theta, -m.InnerLR, g0(theta)))
		if m.Hessian == "free" {
			var norm float64
			for _, x := range u {
				norm += x * x
			}
			g2, delta := gradient64(data), 1e-3/math.Max(1, math.Sqrt(norm))
			up, down := g2(along(theta, delta, u)), g2(along(theta, -delta, u))
			u = along(along(u, -m.InnerLR/(2*delta), up), m.InnerLR/(2*delta), down)
		}
		rule.update(theta, u)
	}
	return theta
}

// TestPerFedAvgRound holds one round of two clients of unlike size against float64.
func TestPerFedAvgRound(t *testing.T) {
	for name, change := range map[string]func(*PerFedAvg){
		"first-order":  func(m *PerFedAvg) { m.LR, m.InnerLR = 0.1, 0.2 },
		"hessian-free": func(m *PerFedAvg) { m.LR, m.InnerLR, m.Hessian = 0.1, 0.2, "free" },
		"momentum":     func(m *PerFedAvg) { m.LR, m.InnerLR, m.Momentum = 0.02, 0.2, 0.9 },
		"by data":      func(m *PerFedAvg) { m.LR, m.InnerLR, m.Weighting = 0.1, 0.2, "data" },
		"paper":        func(*PerFedAvg) {},
	} {
		t.Run(name, func(t *testing.T) {
			m := NewPerFedAvg()
			change(m)
			w := testWorker(t, erase(m))
			s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
			var ups []Upload[[]float32]
			want := make([]float64, len(s))
			for i, n := range []int{7, 21} {
				ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2, Client: i}
				ref := perfedavg64(m, widened(s), testData(ex, 6, r))
				up, rep, err := m.Train(t.Context(), w, s, &None{}, testData(ex, 6, r), r)
				if err != nil {
					t.Fatal(err)
				}
				if !(rep.Loss > 0) {
					t.Errorf("loss %v", rep.Loss)
				}
				near(t, "upload", up, ref, 5e-6)
				ups = append(ups, Upload[[]float32]{Client: i, Examples: n, Msg: up})
				share := 0.5
				if m.Weighting == "data" {
					share = float64(n) / 28
				}
				want = along(want, share, ref)
			}
			m.Aggregate(&s, ups)
			near(t, "server", s, want, 5e-6)
		})
	}
}

// TestPerFedAvgWithoutAdaptation checks that α = 0 is FedAvg with the rate β, to the bit, on the mini-batches that u is
// taken from.
func TestPerFedAvgWithoutAdaptation(t *testing.T) {
	const steps = 5
	for hessian, batches := range map[string]int{"first-order": 2, "free": 3} {
		m, avg := NewPerFedAvg(), NewFedAvg()
		m.InnerLR, m.Hessian, m.LR = 0, hessian, 0.1
		avg.LR = m.LR
		r, ex := rng.Stream{Seed: 3}, testExamples(3, 21)
		w := testWorker(t, erase(m))
		s := m.Server(w.Task, w.CPU, r)
		got, rep, err := m.Train(t.Context(), w, s, &None{}, testData(ex, steps, r), r)
		if err != nil {
			t.Fatal(err)
		}
		want, data, loss := s, testData(ex, 1, r), 0.0
		for range steps {
			data.Next(w.Exec.Buffer("x"), w.Exec.Buffer("y"))
			one, rep, err := avg.Train(t.Context(), w, want, &None{}, data, r)
			if err != nil {
				t.Fatal(err)
			}
			want, loss = one, loss+rep.Loss/steps
			for range batches - 2 {
				data.Next(w.Exec.Buffer("x"), w.Exec.Buffer("y"))
			}
		}
		if !slices.Equal(got, want) || rep.Loss != loss {
			t.Errorf("%s: α = 0 differs from FedAvg, or the loss %v from %v", hessian, rep.Loss, loss)
		}
		if slices.Equal(got, s) {
			t.Errorf("%s: nothing was trained", hessian)
		}
	}
}

// TestPerFedAvgGradient lets each mini-batch be all of a client's data. The step of the Hessian-free kind is then along the
// gradient of f(θ − α∇f(θ)), here taken from differences; that of the first-order kind is not.
func TestPerFedAvgGradient(t *testing.T) {
	const alpha, beta, h = 0.5, 0.5, 1e-5
	ex, r := testExamples(4, testBatch), rng.Stream{Seed: 4}
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	rows := testData(ex, 1, r).Next(x, y)
	worst := map[string]float64{}
	for _, hessian := range []string{"first-order", "free"} {
		m := NewPerFedAvg()
		m.InnerLR, m.LR, m.Hessian = alpha, beta, hessian
		w := testWorker(t, erase(m))
		s := m.Server(w.Task, w.CPU, r)
		up, _, err := m.Train(t.Context(), w, s, &None{}, testData(ex, 1, r), r)
		if err != nil {
			t.Fatal(err)
		}
		objective := func(th []float64) float64 {
			return loss64(along(th, -alpha/float64(rows), network64(th, x, y, rows)), x, y, rows)
		}
		for i := range s {
			one := make([]float64, len(s))
			one[i] = 1
			want := (objective(along(widened(s), h, one)) - objective(along(widened(s), -h, one))) / (2 * h)
			got := (float64(s[i]) - float64(up[i])) / beta
			worst[hessian] = math.Max(worst[hessian], math.Abs(got-want))
		}
	}
	// float32 rounds a gradient by 6e-8 or so, which α/2δ = 250 makes 1.5e-5.
	if !(worst["free"] < 5e-5) || !(worst["first-order"] > 0.01) {
		t.Errorf("off the gradient by up to %v, want under 5e-5 with the Hessian's product and over 0.01 without it", worst)
	}
}

// TestHessianProduct checks that differences are exact for a quadratic ½θᵀAθ + bᵀθ, whose Hessian is A, for short and
// long vectors.
func TestHessianProduct(t *testing.T) {
	const n = 21
	r := rand.New(rand.NewPCG(5, 6))
	var a [n][n]float64
	for i := range n {
		for j := range i + 1 {
			a[i][j] = r.NormFloat64()
			a[j][i] = a[i][j]
		}
	}
	random := func(scale float64) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(scale * r.NormFloat64())
		}
		return v
	}
	times := func(v []float32, b []float32) []float32 {
		out := make([]float32, n)
		for i := range n {
			sum := float64(b[i])
			for j := range n {
				sum += a[i][j] * float64(v[j])
			}
			out[i] = float32(sum)
		}
		return out
	}
	zero := make([]float32, n)
	for _, tt := range []struct {
		length    float64 // of a coordinate of u
		theta, b  []float32
		tolerance float64 // relative: at the origin there is nothing to cancel, elsewhere float32 is rounded before it is divided by δ
	}{
		{0.01, zero, zero, 1e-6}, {1, zero, zero, 1e-6}, {1000, zero, zero, 1e-6},
		{0.1, random(0.3), random(1), 5e-3}, {1, random(0.3), random(1), 5e-3}, {1000, random(0.3), random(1), 5e-3},
	} {
		u := random(tt.length)
		got, at, farthest := make([]float32, n), make([]float32, n), 0.0
		hessianProduct(kernels.New(kernels.Best()), got, at, tt.theta, u, func(at []float32) []float32 {
			var square float64
			for i := range at {
				square += math.Pow(float64(at[i])-float64(tt.theta[i]), 2)
			}
			farthest = math.Max(farthest, math.Sqrt(square))
			return times(at, tt.b)
		})
		want := times(u, zero)
		scale := float64(slices.Max(want))
		near(t, fmt.Sprintf("A·u for u of about %v", tt.length), got, widened(want), tt.tolerance*scale)
		if farthest > 1.001e-3 {
			t.Errorf("u of about %v: a gradient was taken %v away, want 0.001 at most", tt.length, farthest)
		}
	}
}

// TestPerFedAvgPersonal holds predictions against those of weights that were adapted in float64. What it is asked to predict
// has no part in them: examples that are predicted one at a time come out as they do together.
func TestPerFedAvgPersonal(t *testing.T) {
	test := testExamples(11, 9)
	for _, n := range []int{1, testBatch, 21} {
		for _, steps := range []int{0, 1, 3} {
			m := NewPerFedAvg()
			m.InnerLR, m.AdaptSteps = 0.3, steps
			w, r := testWorker(t, erase(m)), rng.Stream{Seed: 6, Round: 7, Client: 2}
			s, ex := m.Server(w.Task, w.CPU, r), testExamples(6, n)
			before := slices.Clone(s)

			data := &Data{Batches: &datasets.Batches{Of: ex, Size: testBatch, Stream: r, Epoch: r.Round}}
			theta := widened(s)
			for range steps {
				theta = along(theta, -m.InnerLR, gradient64(data)(theta))
			}
			adapted := make(Point, len(s))
			for i, x := range theta {
				adapted[i] = float32(x)
			}
			want, got, alone := make([]float32, 9*testClasses), make([]float32, 9*testClasses), make([]float32, 9*testClasses)
			adapted.Members(w, want, test.X, 0, r)
			p := m.Personal(s, None{}, ex)
			p.Members(w, got, test.X, 0, r)
			near(t, fmt.Sprintf("log p after %d steps on %d examples", steps, n), got, widened(want), 1e-5)
			for i := range 9 {
				p.Members(w, alone[i*testClasses:(i+1)*testClasses], test.X[i*testIn:(i+1)*testIn], 0, r)
			}
			if !slices.Equal(got, alone) {
				t.Errorf("%d steps on %d examples: predictions depend on what else is predicted", steps, n)
			}
			if !slices.Equal(s, before) {
				t.Error("a prediction changed the server's weights")
			}
		}
	}
}

// TestPerFedAvgWithoutExamples checks that a client with nothing to adapt to has the global model.
func TestPerFedAvgWithoutExamples(t *testing.T) {
	m := NewPerFedAvg()
	s := []float32{1, 2, 3}
	for _, train := range []*datasets.Examples{nil, testExamples(1, 0)} {
		if p, ok := m.Personal(s, None{}, train).(Point); !ok || !slices.Equal(p, s) {
			t.Errorf("%v examples: %v, want the server's weights", train, p)
		}
	}
}
