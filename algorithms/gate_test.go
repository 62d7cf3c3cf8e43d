package algorithms

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"fedbayes/datasets"
	"fedbayes/internal/rng"
)

// mixWorker returns a worker of m and K starts of its network.
func mixWorker(t *testing.T, m *FedHBMix) (*Worker, [][]float32, []float32) {
	t.Helper()
	w := testWorker(t, erase(m))
	s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 3})
	return w, s.Prototypes, s.Gate
}

// gateOf64 returns log g(x) of the network of a gate in float64, for x [in].
func gateOf64(gamma []float64, x []float32, k int) []float64 {
	in := len(x)
	w1, b1 := gamma[:in*gateWidth], gamma[in*gateWidth:(in+1)*gateWidth]
	w2, b2 := gamma[(in+1)*gateWidth:len(gamma)-k], gamma[len(gamma)-k:]
	g := append([]float64{}, b2...)
	for h := range gateWidth {
		z := b1[h]
		for i, v := range x {
			z += float64(v) * w1[i*gateWidth+h]
		}
		for j := range k {
			g[j] += max(z, 0) * w2[h*k+j]
		}
	}
	floats.AddConst(-floats.LogSumExp(g), g)
	return g
}

// TestGates holds the weights of each gate against float64, on more examples than a batch has, and blends against the
// combination of the networks' probabilities. Both sum to 1.
func TestGates(t *testing.T) {
	const k = 3
	m := NewFedHBMix()
	m.Prototypes = k
	w, networks, gamma := mixWorker(t, m)
	for j, r := range networks {
		w.CPU.Scale(r, float32(1+3*j), r) // so that one is surer than the next
	}
	ex := testExamples(5, 2*testBatch+1)
	shares := []float64{0, 0.25, 0.75}
	for name, tt := range map[string]struct {
		gate gate
		want func(x []float32, p [][]float64) []float64
	}{
		"fixed": {fixed(shares), func([]float32, [][]float64) []float64 { return shares }},
		"sure": {sure(0.5), func(_ []float32, p [][]float64) []float64 {
			g := make([]float64, k)
			for j := range g {
				entropy := 0.0
				for _, v := range p[j] {
					entropy -= v * math.Log(v)
				}
				g[j] = math.Exp(-entropy / 0.5)
			}
			floats.Scale(1/floats.Sum(g), g)
			return g
		}},
		"learned": {learned(gamma), func(x []float32, _ [][]float64) []float64 {
			g := gateOf64(widened(gamma), x, k)
			for j := range g {
				g[j] = math.Exp(g[j])
			}
			return g
		}},
	} {
		got := make([]float32, 2*ex.Len()*testClasses)
		(&blend{networks, tt.gate}).Members(w, got, ex.X, 2, rng.Stream{})
		for i := range ex.Len() {
			x := ex.X[i*testIn : (i+1)*testIn]
			p := make([][]float64, k)
			for j, r := range networks {
				for c := range testClasses {
					p[j] = append(p[j], math.Exp(-loss64(widened(r), x, []float32{float32(c)}, 1)))
				}
			}
			g := tt.want(x, p)
			if math.Abs(floats.Sum(g)-1) > 1e-12 {
				t.Fatalf("%s: weights %v", name, g)
			}
			var sum float64
			for c := range testClasses {
				want := 0.0
				for j := range g {
					want += g[j] * p[j][c]
				}
				for _, l := range []float32{got[i*testClasses+c], got[(ex.Len()+i)*testClasses+c]} {
					if math.Abs(math.Exp(float64(l))-want) > 1e-5 {
						t.Fatalf("%s: example %d: p = %v of class %d, want %v", name, i, math.Exp(float64(l)), c, want)
					}
				}
				sum += math.Exp(float64(got[i*testClasses+c]))
			}
			if math.Abs(sum-1) > 1e-6 {
				t.Errorf("%s: example %d: probabilities sum to %v", name, i, sum)
			}
		}
	}
}

// TestGateLearns: two clients of unlike images, each of whom trains the gate on one target alone, teach their mean to tell
// the images apart.
func TestGateLearns(t *testing.T) {
	m := NewFedHBMix()
	w, _, gamma := mixWorker(t, m)
	var clients []*datasets.Examples
	for i, shift := range []float32{-1, 1} {
		ex := testExamples(uint64(i), 20)
		for at := 0; at < len(ex.X); at += testIn {
			ex.X[at] += 2 * shift
		}
		clients = append(clients, ex)
	}
	weight := func(client int) float64 {
		var sum float64
		logg := learned(gamma)(w, clients[client].X, make([][]float32, 2))
		for i := range clients[client].Len() {
			sum += math.Exp(logg[2*i+client]) / float64(clients[client].Len())
		}
		return sum
	}
	before := weight(0)
	for range 60 {
		var ups []Upload[[]float32]
		for i, ex := range clients {
			own := append([]float32{}, gamma...)
			target := []float64{1 - float64(i), float64(i)}
			if err := w.fitGate(own, target, ex, 1, 0.1); err != nil {
				t.Fatal(err)
			}
			ups = append(ups, Upload[[]float32]{Client: i, Examples: ex.Len(), Msg: own})
		}
		gamma = average(ups)
	}
	if a, b := weight(0), weight(1); a < 0.8 || b < 0.8 || before > 0.7 {
		t.Errorf("the right network has a weight of %.2f and %.2f (before: %.2f), want more than 0.8", a, b, before)
	}
}

// TestGateDiverges: a rate that is far too high is an error, not a NaN in the server's gate.
func TestGateDiverges(t *testing.T) {
	m := NewFedHBMix()
	w, _, gamma := mixWorker(t, m)
	if err := w.fitGate(gamma, []float64{1, 0}, testExamples(1, 40), 10, 1e38); err == nil {
		t.Error("no error")
	}
}
