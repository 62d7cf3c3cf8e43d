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

// gateNames returns the inputs that hold the gates of a model, and their numbers of columns.
func gateNames(m *layers.Model) (names []string, columns []int) {
	for _, s := range m.Segments {
		if n := layers.Columns(s); n > 0 {
			names, columns = append(names, s.Name+".gate"), append(columns, n)
		}
	}
	return names, columns
}

// without64 returns weights without the columns that example i of a batch loses.
func without64(m *layers.Model, w []float64, gates map[string][]float64, i int) []float64 {
	w = slices.Clone(w)
	for _, s := range m.Segments {
		n := layers.Columns(s)
		if n == 0 {
			continue
		}
		out := s.Shape[len(s.Shape)-1]
		for k := range s.Size() {
			if gates[s.Name+".gate"][i*n+k/out%n] <= 0 {
				w[s.Offset+k] = 0
			}
		}
	}
	return w
}

// TestDropoutGradients checks networks of dense layers and one of convolutions, each example of which has columns of its own:
// the reference takes them from the weights.
func TestDropoutGradients(t *testing.T) {
	type reference interface {
		loss(x, y, w []float64, rows int) (loss, kink float64)
	}
	for _, a := range []struct {
		spec  string
		shape []int
		net   reference
	}{
		{"mlp:7", []int{3}, perceptron64{3, 7, 4}},
		{"mlp2:5,3", []int{7}, perceptron64{7, 5, 3, 4}},
		{"vgg:3,M,2", []int{5, 4, 2}, convnet64{h: 5, w: 4, c: 2, classes: 4, list: []int{3, 0, 2}}},
	} {
		m, err := layers.New(a.spec, a.shape, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []struct{ batch, rows int }{{1, 0}, {5, 0}, {5, 3}} {
			t.Run(fmt.Sprintf("%s/batch %d, %d rows", a.spec, s.batch, s.rows), func(t *testing.T) {
				live := s.batch
				if s.rows > 0 {
					live = s.rows
				}
				// loss is the sum over the examples of their own networks' losses.
				loss := func(v map[string][]float64) (sum, kink float64) {
					kink = math.Inf(1)
					for i := range live {
						l, k := a.net.loss(v["x"][i*m.In:(i+1)*m.In], v["y"][i:i+1], without64(m, v["w"], v, i), 1)
						sum, kink = sum+l, math.Min(kink, k)
					}
					return sum, kink
				}
				names, columns := gateNames(m)
				for seed := range uint64(2000) {
					r := rand.New(rand.NewPCG(seed, 6))
					c := graphtest.Case{
						Rows:   s.rows,
						Params: map[string][]float32{"w": draws(r, m.Size(), 0.7)},
						Data:   map[string][]float32{"x": draws(r, s.batch*m.In, 1), "y": make([]float32, s.batch)},
						Build: func(b *graph.Builder) {
							w, x, y := b.Param("w", m.Size()), b.Input("x", s.batch, m.In), b.Input("y", s.batch)
							b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Dropout(b, w)), y), w)
						},
						Loss: func(v map[string][]float64) float64 { l, _ := loss(v); return l },
					}
					at := map[string][]float64{"w": widen(c.Params["w"]), "x": widen(c.Data["x"]), "y": widen(c.Data["y"])}
					for i, name := range names {
						c.Data[name] = draws(r, s.batch*columns[i], 1)
						for k := range c.Data[name] {
							c.Data[name][k] += 0.7 // three quarters are kept
						}
						at[name] = widen(c.Data[name])
					}
					if _, kink := loss(at); kink < 1e-4 {
						continue
					}
					graphtest.Check(t, c)
					return
				}
				t.Fatal("no smooth point")
			})
		}
	}
}

// TestOpenGates checks that gates that are all open change no bit of a loss or a gradient.
func TestOpenGates(t *testing.T) {
	const batch = 9
	for _, tt := range []struct {
		spec  string
		shape []int
	}{{"mlp2:13,7", []int{11}}, {"vgg:3,M,2", []int{5, 4, 2}}} {
		m, err := layers.New(tt.spec, tt.shape, 4)
		if err != nil {
			t.Fatal(err)
		}
		run := func(source func(b *graph.Builder, w *graph.Node) layers.Source) (gates int, got []float32) {
			p, err := graph.Build(func(b *graph.Builder) {
				w, x, y := b.Param("w", m.Size()), b.Input("x", batch, m.In), b.Input("y", batch)
				b.Minimize("loss", graph.CrossEntropy(m.Logits(x, source(b, w)), y), w)
			})
			if err != nil {
				t.Fatal(err)
			}
			cpu, r := kernels.New(kernels.Best()), rand.New(rand.NewPCG(1, 7))
			e := p.NewExecutor(cpu)
			e.Feed("w", draws(r, m.Size(), 0.5))
			e.Feed("x", draws(r, batch*m.In, 1))
			e.Feed("y", make([]float32, batch))
			all := m.Gates(e)
			for _, g := range all {
				rng.Stream{}.Gates(cpu, g, 1, 0)
			}
			e.Run(batch - 2)
			return len(all), append([]float32{e.Loss("loss")}, e.Grad("w")...)
		}
		without, want := run(func(_ *graph.Builder, w *graph.Node) layers.Source { return layers.Point(w) })
		with, got := run(layers.Dropout)
		if names, _ := gateNames(m); without != 0 || with != len(names) {
			t.Errorf("%s: gates of %d layers with dropout and of %d without, want %d and none", tt.spec, with, without, len(names))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: all gates are open, and the loss or its gradient is another", tt.spec)
		}
	}
}

// TestDropoutMean checks that a linear layer gives p·(x·W) + b in the mean over many masks, whether they are taken from its
// input or columns from its weights.
func TestDropoutMean(t *testing.T) {
	const in, out, n, p = 7, 5, 10000, 0.8
	var l graph.Layout
	layer := layers.NewDense(&l, "linear", in, out, false)
	m := &layers.Model{Layout: l, In: in, Classes: out, Layers: []layers.Layer{layer}}
	program, err := graph.Build(func(b *graph.Builder) {
		b.Output("y", m.Logits(b.Input("x", n, in), layers.Dropout(b, b.Input("w", l.Size()))))
	})
	if err != nil {
		t.Fatal(err)
	}
	cpu, r := kernels.New(kernels.Best()), rand.New(rand.NewPCG(1, 8))
	e := program.NewExecutor(cpu)
	x, w := draws(r, in, 1), draws(r, l.Size(), 1)
	copies := make([]float32, 0, n*in)
	for range n {
		copies = append(copies, x...)
	}
	e.Feed("x", copies)
	e.Feed("w", w)
	gates := m.Gates(e)[0]
	rng.Stream{Seed: 1}.Gates(cpu, gates, p, 0)
	e.Run(n)
	y := e.Fetch("y")

	mean, mean2 := make([]float64, out), make([]float64, out)
	for i := range n {
		left := slices.Clone(w)
		layers.Drop(layer.Weight.Of(left), layer.Weight, gates[i*in:(i+1)*in])
		for o := range out {
			got, want := float64(y[i*out+o]), float64(left[in*out+o])
			for k := range in {
				want += float64(x[k]) * float64(left[k*out+o])
			}
			if math.Abs(got-want) > 1e-5 {
				t.Fatalf("example %d: output %d is %v, and %v with the columns taken from the weights", i, o, got, want)
			}
			mean[o], mean2[o] = mean[o]+got/n, mean2[o]+want/n
		}
	}
	for o := range out {
		want, variance := float64(w[in*out+o]), 0.0
		for k := range in {
			part := float64(x[k]) * float64(w[k*out+o])
			want, variance = want+p*part, variance+p*(1-p)*part*part
		}
		if tol := 5 * math.Sqrt(variance/n); math.Abs(mean[o]-want) > tol || math.Abs(mean2[o]-want) > tol {
			t.Errorf("output %d is %v in the mean, %v by columns, want %v within %v", o, mean[o], mean2[o], want, tol)
		}
	}
}

// TestDropConvolution checks that a lost channel takes its weights from every place of a kernel.
func TestDropConvolution(t *testing.T) {
	var l graph.Layout
	s := layers.NewConv(&l, "conv", graph.Window{KH: 2, KW: 1, Stride: 1}, 3, 2, false).Weight
	w := make([]float32, s.Size())
	for i := range w {
		w[i] = float32(i + 1)
	}
	layers.Drop(w, s, []float32{1, 0, -1})
	if want := []float32{1, 2, 0, 0, 0, 0, 7, 8, 0, 0, 0, 0}; !slices.Equal(w, want) {
		t.Errorf("left %v, want %v", w, want)
	}
}
