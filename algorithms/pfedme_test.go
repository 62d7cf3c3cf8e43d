package algorithms

import (
	"math"
	"slices"
	"testing"

	"fedbayes/internal/rng"
)

// pfedme trains one client of n examples for a round, from the server's weights at the start.
func pfedme(t *testing.T, m *PFedMe, n, steps int) (theta, w, server []float32, rep Report) {
	t.Helper()
	wk, r := testWorker(t, erase(m)), rng.Stream{Seed: 8}
	server = m.Server(wk.Task, wk.CPU, r)
	c := m.Client(wk.Task, wk.CPU, server, r)
	w, rep, err := m.Train(t.Context(), wk, server, &c, testData(testExamples(8, n), steps, r), r)
	if err != nil {
		t.Fatal(err)
	}
	return c, w, server, rep
}

// pfedme64 is a client's round in float64.
func pfedme64(m *PFedMe, server []float64, data *Data) (theta, w []float64) {
	theta, w = slices.Clone(server), slices.Clone(server)
	v := make([]float64, len(w))
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	for range data.Steps {
		rows := data.Next(x, y)
		for range m.PersonalSteps {
			g := network64(theta, x, y, rows)
			for i := range theta {
				v[i] = m.Momentum*v[i] + g[i]/float64(rows) + m.Lambda*(theta[i]-w[i]) + m.WeightDecay*theta[i]
				theta[i] -= m.LR * v[i]
			}
		}
		for i := range w {
			w[i] -= m.LRGlobal * m.Lambda * (w[i] - theta[i])
		}
	}
	return theta, w
}

// TestPFedMeRound holds two rounds of two clients of unlike size, and the server between them, against float64.
func TestPFedMeRound(t *testing.T) {
	for name, change := range map[string]func(*PFedMe){
		"paper":         func(*PFedMe) {},
		"β":             func(m *PFedMe) { m.Beta = 2 },
		"decay":         func(m *PFedMe) { m.WeightDecay = 0.5 },
		"momentum":      func(m *PFedMe) { m.Momentum, m.LR = 0.9, 0.01 },
		"by data, K=1":  func(m *PFedMe) { m.Weighting, m.PersonalSteps, m.Beta = "data", 1, 0.5 },
		"convolutional": func(m *PFedMe) { *m = *NewPFedMeConv() },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewPFedMe()
			change(m)
			wk := testWorker(t, erase(m))
			s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
			want := widened(s)
			sizes := []int{7, 21}
			var states [][]float32
			var batches, reference []*Data
			for i, n := range sizes {
				ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2, Client: i}
				states = append(states, m.Client(wk.Task, wk.CPU, s, r))
				batches, reference = append(batches, testData(ex, 6, r)), append(reference, testData(ex, 6, r))
			}
			for range 2 {
				var ups []Upload[[]float32]
				sum, total := make([]float64, len(s)), 0.0
				for i, n := range sizes {
					theta, w := pfedme64(m, want, reference[i])
					up, _, err := m.Train(t.Context(), wk, s, &states[i], batches[i], rng.Stream{})
					if err != nil {
						t.Fatal(err)
					}
					near(t, "θ", states[i], theta, 5e-6)
					near(t, "w", up, w, 5e-6)
					ups = append(ups, Upload[[]float32]{Client: i, Examples: n, Msg: up})
					a := 1.0
					if m.Weighting == "data" {
						a = float64(n)
					}
					total += a
					for k := range sum {
						sum[k] += a * w[k]
					}
				}
				for k := range want {
					want[k] = (1-m.Beta)*want[k] + m.Beta*sum[k]/total
				}
				m.Aggregate(&s, ups)
				near(t, "server", s, want, 5e-6)
			}
		})
	}
}

// envelope64 returns min over θ of CE(θ) + λ/2·‖θ − w‖², by so many steps of gradient descent from w.
func envelope64(w []float64, x, y []float32, rows int, lambda, lr float64, steps int) float64 {
	theta := slices.Clone(w)
	for range steps {
		g := network64(theta, x, y, rows)
		for i := range theta {
			theta[i] -= lr * (g[i]/float64(rows) + lambda*(theta[i]-w[i]))
		}
	}
	f := loss64(theta, x, y, rows)
	for i := range theta {
		f += lambda / 2 * (theta[i] - w[i]) * (theta[i] - w[i])
	}
	return f
}

// TestPFedMeEnvelope takes so many personal steps that θ is the minimum. There ∇CE(θ) + λ(θ − w) = 0, which for a quadratic
// is θ = (A+λI)⁻¹(b+λw), and the step of w is one along the gradient of the envelope, here taken from differences.
func TestPFedMeEnvelope(t *testing.T) {
	m := NewPFedMe()
	m.Lambda, m.PersonalSteps, m.LR, m.LRGlobal = 5, 400, 0.1, 0.02
	theta, w, server, _ := pfedme(t, m, testBatch, 1)

	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	rows := testData(testExamples(8, testBatch), 1, rng.Stream{Seed: 8}).Next(x, y)
	at, minimum := widened(server), widened(theta)
	for i, g := range network64(minimum, x, y, rows) {
		if r := g/float64(rows) + m.Lambda*(minimum[i]-at[i]); math.Abs(r) > 1e-5 {
			t.Errorf("the gradient at θ has %v at %d, want 0", r, i)
		}
	}
	const h = 1e-5
	moved := 0.0
	for i := range at {
		f := func(step float64) float64 {
			p := slices.Clone(at)
			p[i] += step
			return envelope64(p, x, y, rows, m.Lambda, m.LR, 200)
		}
		want := (f(h) - f(-h)) / (2 * h)
		got := (at[i] - float64(w[i])) / m.LRGlobal
		if math.Abs(got-want) > 1e-5 {
			t.Errorf("w moved along %v at %d, want the envelope's gradient %v", got, i, want)
		}
		moved = math.Max(moved, math.Abs(want))
	}
	if moved < 0.01 {
		t.Errorf("the gradient is at most %v: nothing was tested", moved)
	}
}

// TestPFedMeWithoutTerm checks that λ = 0 leaves each client alone: θ is Local's, to the bit, and w stays where it is.
func TestPFedMeWithoutTerm(t *testing.T) {
	m := NewPFedMe()
	m.Lambda, m.PersonalSteps = 0, 1
	theta, w, server, rep := pfedme(t, m, 10, 20)
	local := NewLocal()
	local.LR = m.LR
	wk, r := testWorker(t, erase(local)), rng.Stream{Seed: 8}
	c := LocalState{W: slices.Clone(server)}
	_, want, err := local.Train(t.Context(), wk, None{}, &c, testData(testExamples(8, 10), 20, r), r)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(theta, c.W) || rep.Loss != want.Loss {
		t.Errorf("θ differs from Local's weights, or the loss %v from %v", rep.Loss, want.Loss)
	}
	if !slices.Equal(w, server) {
		t.Error("w moved although λ = 0")
	}
}

// TestPFedMeStrongTerm checks that a huge λ makes the personal model the global one, and that a small one does not.
func TestPFedMeStrongTerm(t *testing.T) {
	gap := func(lambda float64) (worst float64) {
		m := NewPFedMe()
		m.Lambda, m.LR, m.LRGlobal = lambda, min(0.09, 0.5/lambda), min(0.005, 0.5/lambda)
		theta, w, _, _ := pfedme(t, m, 10, 20)
		for i := range w {
			worst = math.Max(worst, math.Abs(float64(theta[i]-w[i])))
		}
		return worst
	}
	if held, free := gap(1e5), gap(1); !(held < 1e-4) || !(free > 0.05) {
		t.Errorf("θ is up to %v from w with λ = 1e5 and %v with λ = 1, want under 1e-4 and over 0.05", held, free)
	}
}

// TestPFedMeKeepsServer checks that with β = 0 the server stays where it is, whatever it is sent.
func TestPFedMeKeepsServer(t *testing.T) {
	m := NewPFedMe()
	m.Beta = 0
	_, w, server, _ := pfedme(t, m, 10, 20)
	s := slices.Clone(server)
	m.Aggregate(&s, []Upload[[]float32]{{Examples: 10, Msg: w}})
	if !slices.Equal(s, server) {
		t.Error("the server moved although β = 0")
	}
	m.Beta = 1
	m.Aggregate(&s, []Upload[[]float32]{{Examples: 10, Msg: w}})
	if !slices.Equal(s, w) || slices.Equal(w, server) {
		t.Error("with β = 1 and one client the server is not that client, or the client did not move")
	}
}

// TestPFedMePersonal checks that the personal model is θ and not the w that was sent, and shares memory with neither.
func TestPFedMePersonal(t *testing.T) {
	m := NewPFedMe()
	theta, w, server, _ := pfedme(t, m, 10, 20)
	if slices.Equal(theta, w) {
		t.Error("θ is w")
	}
	if p := m.Personal(server, theta, nil).(Point); !slices.Equal(p, theta) {
		t.Error("the personal model is not θ")
	}
	if &theta[0] == &w[0] || &theta[0] == &server[0] || &w[0] == &server[0] {
		t.Error("θ, w and the server share memory")
	}
}
