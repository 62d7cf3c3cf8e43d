package layers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// A text64 is the reference: a table of symbols, two layers of cells and a dense layer, with their weights in one vector.
type text64 struct{ steps, symbols, units int }

// loss returns the sum of the cross-entropies of rows examples, and how near a gate came to a kink.
func (n text64) loss(x, y, w []float64, rows int) (loss, kink float64) {
	take := func(k int) (part []float64) {
		part, w = w[:k], w[k:]
		return part
	}
	const values = 8
	table := take(n.symbols * values)
	cells := [][2][]float64{
		{take(values * 4 * n.units), take(n.units * 4 * n.units)},
		{take(n.units * 4 * n.units), take(n.units * 4 * n.units)},
	}
	head, bias := take(n.units*n.symbols), take(n.symbols)
	kink = math.Inf(1)
	hard := func(a float64) float64 {
		kink = math.Min(kink, math.Abs(math.Abs(a)-2.5))
		return math.Min(math.Max(0.2*a+0.5, 0), 1)
	}
	for r := range rows {
		var h, c [2][]float64
		for l := range h {
			h[l], c[l] = make([]float64, n.units), make([]float64, n.units)
		}
		for t := range n.steps {
			in := table[int(x[r*n.steps+t])*values:][:values]
			for l, uw := range cells {
				a := make([]float64, 4*n.units)
				for j := range a {
					for i, v := range in {
						a[j] += v * uw[0][i*4*n.units+j]
					}
					for i, v := range h[l] {
						a[j] += v * uw[1][i*4*n.units+j]
					}
				}
				for j := range n.units {
					c[l][j] = hard(a[n.units+j])*c[l][j] + hard(a[j])*math.Tanh(a[2*n.units+j])
					h[l][j] = hard(a[3*n.units+j]) * math.Tanh(c[l][j])
				}
				in = h[l]
			}
		}
		var sum, of float64
		for k := range n.symbols {
			z := bias[k]
			for i, v := range h[1] {
				z += v * head[i*n.symbols+k]
			}
			sum += math.Exp(z)
			if k == int(y[r]) {
				of = z
			}
		}
		loss += math.Log(sum) - of
	}
	return loss, kink
}

// TestLSTMGradients checks the network over point weights and over one draw, in whole and partly filled batches, and with the
// source of drawn outputs, which draws the weights of cells and symbols.
func TestLSTMGradients(t *testing.T) {
	net := text64{steps: 4, symbols: 5, units: 3}
	m, err := layers.New("lstm:3", []int{net.steps}, net.symbols)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{1, 0}, {3, 0}, {5, 2}} {
		batch, live := size[0], size[0]
		if size[1] > 0 {
			live = size[1]
		}
		for kind, source := range map[string]func(b *graph.Builder) (layers.Source, graph.Nodes){
			"point": func(b *graph.Builder) (layers.Source, graph.Nodes) {
				w := b.Param("q.mu", m.Size())
				return layers.Point(w), graph.Nodes{w}
			},
			"draw": func(b *graph.Builder) (layers.Source, graph.Nodes) {
				q := b.Gaussian("q", m.Size())
				return layers.Draw(q, b.Input("noise", m.Size())), graph.Nodes{q.Mu, q.Rho}
			},
		} {
			t.Run(fmt.Sprintf("batch %d, %d rows/%s", batch, live, kind), func(t *testing.T) {
				weights := func(v map[string][]float64) []float64 {
					w := slices.Clone(v["q.mu"])
					for i, e := range v["noise"] {
						w[i] += softplus(v["q.rho"][i]) * e
					}
					return w
				}
				c := graphtest.Case{
					Build: func(b *graph.Builder) {
						from, params := source(b)
						x, y := b.Input("x", batch, m.In), b.Input("y", batch)
						b.Minimize("loss", graph.CrossEntropy(m.Logits(x, from), y), params...)
					},
					Rows: size[1],
					Loss: func(v map[string][]float64) float64 {
						loss, _ := net.loss(v["x"], v["y"], weights(v), live)
						return loss
					},
				}
				r := rand.New(rand.NewPCG(7, 8))
				for kink := 0.0; kink < 1e-3; {
					c.Params = map[string][]float32{"q.mu": draws(r, m.Size(), 0.7)}
					c.Data = map[string][]float32{"x": symbols(r, batch*m.In, net.symbols), "y": symbols(r, batch, net.symbols)}
					v := map[string][]float64{"q.mu": widen(c.Params["q.mu"])}
					if kind == "draw" {
						c.Params["q.rho"], c.Data["noise"] = draws(r, m.Size(), 1), draws(r, m.Size(), 1)
						v["q.rho"], v["noise"] = widen(c.Params["q.rho"]), widen(c.Data["noise"])
					}
					_, kink = net.loss(widen(c.Data["x"]), widen(c.Data["y"]), weights(v), live)
				}
				graphtest.Check(t, c)
			})
		}
	}
}

func symbols(r *rand.Rand, n, all int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(all))
	}
	return v
}

// TestLSTMLocal: of a source that draws outputs, cells and symbols have draws of their weights, one for all examples and
// steps, and the dense layer has a noise for each example.
func TestLSTMLocal(t *testing.T) {
	m, err := layers.New("lstm:3", []int{4}, 5)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Build(func(b *graph.Builder) {
		b.Output("logits", m.Logits(b.Input("x", 2, m.In), layers.Local(b, b.Gaussian("q", m.Size()), "noise")))
	})
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewExecutor(kernels.New(kernels.Generic))
	var lengths []int
	for _, noise := range m.Noise(e, "noise") {
		lengths = append(lengths, len(noise))
	}
	if got, want := fmt.Sprint(lengths), fmt.Sprint([]int{5 * 8, 8 * 12, 3 * 12, 3 * 12, 3 * 12, 2 * 5}); got != want {
		t.Errorf("noise of %s values, want %s", got, want)
	}
}

// TestLSTMStart checks the start of each part: symbols of U(−1, 1), and cells of U(−1/√units, 1/√units).
func TestLSTMStart(t *testing.T) {
	m, err := layers.New("lstm:25", []int{80}, 86)
	if err != nil {
		t.Fatal(err)
	}
	w := m.InitUniform(rng.Stream{Seed: 1})
	for _, s := range m.Segments {
		a := 0.2
		if s.Name == "embedding.table" {
			a = 1
		}
		var most float64
		for _, v := range s.Of(w) {
			most = math.Max(most, math.Abs(float64(v)))
		}
		if most > a || most < a*(1-10/float64(s.Size())) {
			t.Errorf("%s: up to %v, want almost %v", s, most, a)
		}
	}
}
