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
	"fedbayes/layers"
)

// An example64 takes one example through the layers of a model, one by one and in float64, and notes how near it comes to a
// kink: of a ReLU, or of a pool whose largest values are near.
type example64 struct {
	x       []float64
	h, w, c int // of x, where it is an image
	kink    float64
}

// through takes the example through a layer without its ReLU, with weights w of the model's layout.
func (e *example64) through(l layers.Layer, w []float64) {
	of := func(s graph.Segment) []float64 { return w[s.Offset : s.Offset+s.Size()] }
	switch l := l.(type) {
	case layers.Shape:
		if len(l) == 3 {
			e.h, e.w, e.c = l[0], l[1], l[2]
		}
	case layers.Dense:
		y := slices.Clone(of(l.Bias))
		for i, v := range e.x {
			for j := range y {
				y[j] += v * of(l.Weight)[i*len(y)+j]
			}
		}
		e.x = y
	case layers.Conv: // 3×3, of the size of its input
		out := l.Bias.Size()
		y := make([]float64, e.h*e.w*out)
		for i := range y {
			p, q, o := i/out/e.w, i/out%e.w, i%out
			y[i] = of(l.Bias)[o]
			for k := range 9 {
				r, s := p+k/3-1, q+k%3-1
				if r < 0 || s < 0 || r >= e.h || s >= e.w {
					continue
				}
				for ch := range e.c {
					y[i] += e.x[(r*e.w+s)*e.c+ch] * of(l.Weight)[(k*e.c+ch)*out+o]
				}
			}
		}
		e.x, e.c = y, out
	case layers.Pool: // 2×2
		var y []float64
		for i := range e.h / 2 {
			for j := range e.w / 2 {
				for ch := range e.c {
					var v []float64
					for k := range 4 {
						v = append(v, e.x[((2*i+k/2)*e.w+2*j+k%2)*e.c+ch])
					}
					slices.Sort(v)
					if v[3] != 0 { // or they are the zeros of a ReLU
						e.kink = math.Min(e.kink, v[3]-v[2])
					}
					y = append(y, v[3])
				}
			}
		}
		e.x, e.h, e.w = y, e.h/2, e.w/2
	}
}

func (e *example64) relu() {
	for i, v := range e.x {
		e.kink = math.Min(e.kink, math.Abs(v))
		e.x[i] = math.Max(v, 0)
	}
}

// rectified reports whether a layer ends with ReLU, and weighted whether it has weights.
func rectified(l layers.Layer) bool {
	dense, _ := l.(layers.Dense)
	conv, _ := l.(layers.Conv)
	return dense.ReLU || conv.ReLU
}

func weighted(l layers.Layer) (s graph.Segment, ok bool) {
	switch l := l.(type) {
	case layers.Dense:
		return l.Weight, true
	case layers.Conv:
		return l.Weight, true
	}
	return s, false
}

func nll64(logits []float64, label int) float64 {
	var sum float64
	for _, z := range logits {
		sum += math.Exp(z)
	}
	return math.Log(sum) - logits[label]
}

// local64 is the negative log-likelihood of an example where layers draw their outputs. noise are those of example i.
func local64(m *layers.Model, x, mu, rho []float64, noise func(name string, n int) []float64, label int) (nll, kink float64) {
	e := &example64{x: x, kink: math.Inf(1)}
	variances := make([]float64, len(rho))
	for i, r := range rho {
		variances[i] = softplus(r) * softplus(r)
	}
	for _, l := range m.Layers {
		s, ok := weighted(l)
		if !ok {
			e.through(l, mu)
			continue
		}
		v := &example64{h: e.h, w: e.w, c: e.c}
		for _, x := range e.x {
			v.x = append(v.x, x*x)
		}
		e.through(l, mu)
		v.through(l, variances)
		eps := noise(s.Name, len(e.x))
		for i := range e.x {
			e.x[i] += math.Sqrt(v.x[i]+1e-12) * eps[i]
		}
		if rectified(l) {
			e.relu()
		}
	}
	return nll64(e.x, label), e.kink
}

// lateral64 is that of an example where a shared network listens to a private one.
func lateral64(m *layers.Model, x, shared, private, gates []float64, label int) (nll, kink float64) {
	a, z := &example64{x: x, kink: math.Inf(1)}, &example64{x: x, kink: math.Inf(1)}
	for i, l := range m.Layers {
		a.through(l, private)
		z.through(l, shared)
		if _, ok := weighted(l); !ok {
			continue
		}
		if _, dense := l.(layers.Dense); dense && rectified(l) {
			a.relu()
		}
		if i == len(m.Layers)-1 {
			var sum float64
			for _, v := range a.x {
				sum += math.Exp(v)
			}
			for k, v := range a.x {
				a.x[k] = math.Exp(v) / sum
			}
		}
		for k, v := range a.x {
			z.x[k] += gates[k] * v
		}
		gates = gates[len(a.x):]
		if rectified(l) {
			z.relu()
		}
	}
	return nll64(z.x, label), math.Min(a.kink, z.kink)
}

// twice are architectures of dense layers and of all kinds.
var twice = []struct {
	spec  string
	shape []int
	units int
}{
	{"mlp:7", []int{3}, 7 + 4},
	{"mlp2:5,3", []int{7}, 5 + 3 + 4},
	{"vgg:3,M,2", []int{5, 4, 2}, 5*4*3 + 2*2*2 + 4},
}

// TestLocalGradients checks networks whose layers draw their outputs.
func TestLocalGradients(t *testing.T) {
	const batch = 3
	for _, a := range twice {
		m, err := layers.New(a.spec, a.shape, 4)
		if err != nil {
			t.Fatal(err)
		}
		for _, rows := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s/rows=%d", a.spec, rows), func(t *testing.T) {
				live := batch
				if rows > 0 {
					live = rows
				}
				smoothly(t, func(r *rand.Rand) (c graphtest.Case, kink float64) {
					c = graphtest.Case{
						Rows:   rows,
						Params: map[string][]float32{"q.mu": draws(r, m.Size(), 0.7), "q.rho": draws(r, m.Size(), 0.7)},
						Data:   map[string][]float32{"x": draws(r, batch*m.In, 1), "y": {0, 2, 1}},
						Build: func(b *graph.Builder) {
							q, x, y := b.Gaussian("q", m.Size()), b.Input("x", batch, m.In), b.Input("y", batch)
							b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Local(b, q, "noise")), y), q.Mu, q.Rho)
						},
					}
					e := &example64{x: make([]float64, m.In)}
					for _, l := range m.Layers {
						e.through(l, make([]float64, m.Size()))
						if s, ok := weighted(l); ok {
							c.Data["noise/"+s.Name] = draws(r, batch*len(e.x), 1)
						}
					}
					loss := func(v map[string][]float64) (loss, kink float64) {
						kink = math.Inf(1)
						for i := range live {
							nll, k := local64(m, v["x"][i*m.In:(i+1)*m.In], v["q.mu"], v["q.rho"], func(name string, n int) []float64 {
								return v["noise/"+name][i*n : (i+1)*n]
							}, int(v["y"][i]))
							loss, kink = loss+nll, math.Min(kink, k)
						}
						return loss, kink
					}
					c.Loss = func(v map[string][]float64) float64 { l, _ := loss(v); return l }
					_, kink = loss(widened(c))
					return c, kink
				})
			})
		}
	}
}

// TestLateralGradients checks shared networks that listen to private ones, with gradients to both and to the gates.
func TestLateralGradients(t *testing.T) {
	const batch = 3
	for _, a := range twice {
		m, err := layers.New(a.spec, a.shape, 4)
		if err != nil {
			t.Fatal(err)
		}
		units, err := m.Units()
		if err != nil || units != a.units {
			t.Fatalf("%s: %d units, error %v, want %d", a.spec, units, err, a.units)
		}
		for _, rows := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s/rows=%d", a.spec, rows), func(t *testing.T) {
				live := batch
				if rows > 0 {
					live = rows
				}
				smoothly(t, func(r *rand.Rand) (c graphtest.Case, kink float64) {
					c = graphtest.Case{
						Rows:   rows,
						Params: map[string][]float32{"shared": draws(r, m.Size(), 0.7), "private": draws(r, m.Size(), 0.7), "gates": draws(r, units, 1)},
						Data:   map[string][]float32{"x": draws(r, batch*m.In, 1), "y": {0, 2, 1}},
						Build: func(b *graph.Builder) {
							shared, private, gates := b.Param("shared", m.Size()), b.Param("private", m.Size()), b.Param("gates", units)
							x, y := b.Input("x", batch, m.In), b.Input("y", batch)
							logits := m.Lateral(x, layers.Point(shared), layers.Point(private), gates)
							b.Minimize("loss", graph.CrossEntropy(logits, y), shared, private, gates)
						},
					}
					loss := func(v map[string][]float64) (loss, kink float64) {
						kink = math.Inf(1)
						for i := range live {
							nll, k := lateral64(m, v["x"][i*m.In:(i+1)*m.In], v["shared"], v["private"], v["gates"], int(v["y"][i]))
							loss, kink = loss+nll, math.Min(kink, k)
						}
						return loss, kink
					}
					c.Loss = func(v map[string][]float64) float64 { l, _ := loss(v); return l }
					_, kink = loss(widened(c))
					return c, kink
				})
			})
		}
	}
}

// smoothly checks the first case that is not near a kink.
func smoothly(t *testing.T, make func(r *rand.Rand) (c graphtest.Case, kink float64)) {
	t.Helper()
	for seed := range uint64(2000) {
		if c, kink := make(rand.New(rand.NewPCG(seed, 5))); kink > 1e-4 {
			graphtest.Check(t, c)
			return
		}
	}
	t.Fatal("no smooth point")
}

// widened returns parameters and data of a case in float64.
func widened(c graphtest.Case) map[string][]float64 {
	v := map[string][]float64{}
	for _, in := range []map[string][]float32{c.Params, c.Data} {
		for name, x := range in {
			v[name] = widen(x)
		}
	}
	return v
}

// TestShutGates checks that with gates of 0 the logits are those of the shared network alone.
func TestShutGates(t *testing.T) {
	for _, a := range twice {
		m, err := layers.New(a.spec, a.shape, 4)
		if err != nil {
			t.Fatal(err)
		}
		p, err := graph.Build(func(b *graph.Builder) {
			x, shared := b.Input("x", batch, m.In), layers.Point(b.Input("shared", m.Size()))
			b.Output("alone", m.Logits(x, shared))
			b.Output("lateral", m.Lateral(x, shared, layers.Point(b.Input("private", m.Size())), b.Input("gates", a.units)))
		})
		if err != nil {
			t.Fatal(err)
		}
		e, r := p.NewExecutor(kernels.New(kernels.Best())), rand.New(rand.NewPCG(7, 6))
		e.Feed("x", draws(r, batch*m.In, 1))
		e.Feed("shared", draws(r, m.Size(), 1))
		e.Feed("private", draws(r, m.Size(), 1))
		for _, open := range []bool{false, true} {
			if open {
				e.Feed("gates", draws(r, a.units, 1))
			} else {
				e.Feed("gates", make([]float32, a.units))
			}
			e.Run(batch)
			if got := slices.Equal(e.Fetch("alone"), e.Fetch("lateral")); got == open {
				t.Errorf("%s, gates open: %v: logits are those of the shared network: %v", a.spec, open, got)
			}
		}
	}
}

// A scale is a layer that multiplies its input by weights, and so is neither dense nor a convolution.
type scale struct{ layers.Dense }

func (s scale) Forward(x *graph.Node, from layers.Source) *graph.Node {
	return graph.Dense(x, from.Weights(s.Weight), from.Weights(s.Bias), false)
}

// TestOtherLayers checks that the weights of a layer which is no affine map, as far as anyone knows, are drawn while the
// outputs of others are, and that it has no lateral form.
func TestOtherLayers(t *testing.T) {
	const batch, in, out = 2, 3, 2
	m := &layers.Model{In: in, Classes: out}
	m.Layers = append(m.Layers, scale{layers.NewDense(&m.Layout, "scale", in, in, false)}, layers.NewDense(&m.Layout, "dense", in, out, false))
	r := rand.New(rand.NewPCG(9, 6))
	graphtest.Check(t, graphtest.Case{
		Params: map[string][]float32{"q.mu": draws(r, m.Size(), 0.7), "q.rho": draws(r, m.Size(), 0.7)},
		Data: map[string][]float32{
			"x": draws(r, batch*in, 1), "y": {0, 1}, "noise/dense.weight": draws(r, batch*out, 1),
			"noise/scale.weight": draws(r, in*in, 1), "noise/scale.bias": draws(r, in, 1),
		},
		Build: func(b *graph.Builder) {
			q, x, y := b.Gaussian("q", m.Size()), b.Input("x", batch, in), b.Input("y", batch)
			b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Local(b, q, "noise")), y), q.Mu, q.Rho)
		},
		Loss: func(v map[string][]float64) (loss float64) {
			w := slices.Clone(v["q.mu"])
			for i, e := range slices.Concat(v["noise/scale.weight"], v["noise/scale.bias"]) {
				w[i] += softplus(v["q.rho"][i]) * e
			}
			for i := range batch {
				h := &example64{x: v["x"][i*in : (i+1)*in]}
				h.through(m.Layers[0].(scale).Dense, w)
				rest := &layers.Model{Layers: m.Layers[1:]}
				nll, _ := local64(rest, h.x, v["q.mu"], v["q.rho"], func(name string, n int) []float64 {
					return v["noise/"+name][i*n : (i+1)*n]
				}, int(v["y"][i]))
				loss += nll
			}
			return loss
		},
	})
	if _, err := m.Units(); err == nil || err.Error() != "a layer of type layers_test.scale has no lateral connections" {
		t.Errorf("error %v", err)
	}
}

// TestLocalDoesNotAllocate runs a step whose noise is filled by address, as a method does.
func TestLocalDoesNotAllocate(t *testing.T) {
	m, err := layers.New("vgg:3,M,2", []int{5, 4, 2}, 4)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Build(func(b *graph.Builder) {
		q, x, y := b.Gaussian("q", m.Size()), b.Input("x", batch, m.In), b.Input("y", batch)
		b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Local(b, q, "noise")), y), q.Mu, q.Rho)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, isa := range kernels.Available() {
		cpu := kernels.New(isa)
		e, r := p.NewExecutor(cpu), rand.New(rand.NewPCG(8, 6))
		e.Feed("q.mu", draws(r, m.Size(), 1))
		e.Feed("q.rho", draws(r, m.Size(), 1))
		copy(e.Buffer("x"), draws(r, batch*m.In, 1))
		clear(e.Buffer("y"))
		noise := m.Noise(e, "noise")
		if len(noise) != 3 || len(noise[0]) != batch*5*4*3 {
			t.Fatalf("noise of %d layers, want 3 of which the first has %d values", len(noise), batch*5*4*3)
		}
		step := func() {
			for k := range noise {
				cpu.Normals(noise[k], [2]uint32{1}, [4]uint32{0, uint32(k)})
			}
			e.Run(batch)
		}
		step()
		if n := testing.AllocsPerRun(20, step); n != 0 {
			t.Errorf("%s: a step allocates %v times", isa, n)
		}
	}
}
