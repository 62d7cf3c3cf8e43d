package layers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/layers"
)

// A perceptron64 is the reference: in, hidden …, out, with weights [in, out] and then the bias of each layer in one
// vector.
type perceptron64 []int

// loss returns the sum of the cross-entropies of rows examples, and how near the hidden units came to their kink.
func (p perceptron64) loss(x, y, w []float64, rows int) (loss, kink float64) {
	kink = math.Inf(1)
	for r := range rows {
		h := x[r*p[0] : (r+1)*p[0]]
		w := w
		for l, out := range p[1:] {
			next := make([]float64, out)
			for j := range out {
				next[j] = w[len(h)*out+j]
				for i, v := range h {
					next[j] += v * w[i*out+j]
				}
				if l < len(p)-2 {
					kink = math.Min(kink, math.Abs(next[j]))
					next[j] = math.Max(next[j], 0)
				}
			}
			w = w[(len(h)+1)*out:]
			h = next
		}
		var sum float64
		for _, z := range h {
			sum += math.Exp(z)
		}
		loss += math.Log(sum) - h[int(y[r])]
	}
	return loss, kink
}

func softplus(x float64) float64 { return math.Log1p(math.Exp(x)) }

// draws returns n draws of N(0, std²).
func draws(r *rand.Rand, n int, std float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(std * r.NormFloat64())
	}
	return v
}

var architectures = []struct {
	spec  string
	shape []int
	net   perceptron64
}{
	{"mlp:7", []int{3}, perceptron64{3, 7, 2}},
	{"mlp:1", []int{1}, perceptron64{1, 1, 3}},
	{"mlp:17", []int{5, 2}, perceptron64{10, 17, 5}},
	{"mlp2:5,3", []int{7}, perceptron64{7, 5, 3, 4}},
	{"mlp:3,1,2", []int{2}, perceptron64{2, 3, 1, 2, 2}},
}

var shapes = []struct{ batch, rows int }{{1, 0}, {3, 0}, {17, 0}, {5, 3}, {5, 1}, {17, 16}}

// TestGradients checks every architecture over point weights and over a draw, in whole and partly filled batches.
func TestGradients(t *testing.T) {
	for _, a := range architectures {
		classes := a.net[len(a.net)-1]
		m, err := layers.New(a.spec, a.shape, classes)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range shapes {
			rows := s.rows
			if rows == 0 {
				rows = s.batch
			}
			t.Run(fmt.Sprintf("%s/batch %d, %d rows/point", a.spec, s.batch, rows), func(t *testing.T) {
				c := smooth(t, a.net, s.batch, rows, func(r *rand.Rand) (params map[string][]float32, noise, w []float32) {
					w = draws(r, m.Size(), 0.7)
					return map[string][]float32{"w": w}, nil, w
				})
				c.Rows = s.rows
				c.Build = func(b *graph.Builder) {
					w, x, y := b.Param("w", m.Size()), b.Input("x", s.batch, m.In), b.Input("y", s.batch)
					b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Point(w)), y), w)
				}
				c.Loss = func(v map[string][]float64) float64 {
					loss, _ := a.net.loss(v["x"], v["y"], v["w"], rows)
					return loss
				}
				graphtest.Check(t, c)
			})
			t.Run(fmt.Sprintf("%s/batch %d, %d rows/draw", a.spec, s.batch, rows), func(t *testing.T) {
				c := smooth(t, a.net, s.batch, rows, func(r *rand.Rand) (params map[string][]float32, noise, w []float32) {
					mu, rho, noise := draws(r, m.Size(), 0.5), draws(r, m.Size(), 1), draws(r, m.Size(), 1)
					w = make([]float32, m.Size())
					for i := range w {
						w[i] = mu[i] + float32(softplus(float64(rho[i])))*noise[i]
					}
					return map[string][]float32{"q.mu": mu, "q.rho": rho}, noise, w
				})
				c.Rows = s.rows
				c.Build = func(b *graph.Builder) {
					q, noise := b.Gaussian("q", m.Size()), b.Input("noise", m.Size())
					x, y := b.Input("x", s.batch, m.In), b.Input("y", s.batch)
					b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Draw(q, noise)), y), q.Mu, q.Rho)
				}
				c.Loss = func(v map[string][]float64) float64 {
					w := make([]float64, m.Size())
					for i := range w {
						w[i] = v["q.mu"][i] + softplus(v["q.rho"][i])*v["noise"][i]
					}
					loss, _ := a.net.loss(v["x"], v["y"], w, rows)
					return loss
				}
				graphtest.Check(t, c)
			})
		}
	}
}

// smooth returns a case with parameters, noise, examples and labels at which central differences are good: no hidden unit
// is near its kink, and the loss is not so small that they cancel. Rows beyond the filled ones hold NaN: they must not be
// read.
func smooth(t *testing.T, net perceptron64, batch, rows int, draw func(r *rand.Rand) (params map[string][]float32, noise, w []float32)) graphtest.Case {
	t.Helper()
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 3))
		params, noise, w := draw(r)
		x, y := draws(r, batch*net[0], 1), make([]float32, batch)
		for i := range y {
			y[i] = float32(r.IntN(net[len(net)-1]))
		}
		if loss, kink := net.loss(widen(x), widen(y), widen(w), rows); kink < 1e-4 || loss < 0.1*float64(rows) {
			continue
		}
		for i := range x[rows*net[0]:] {
			x[rows*net[0]+i] = float32(math.NaN())
		}
		c := graphtest.Case{Params: params, Data: map[string][]float32{"x": x, "y": y}}
		if noise != nil {
			c.Data["noise"] = noise
		}
		return c
	}
	t.Fatal("no smooth point")
	return graphtest.Case{}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
