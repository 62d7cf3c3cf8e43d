package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/internal/kernels"
)

// embedding64 returns [steps, rows, values] for x [rows, steps] and table [symbols, values].
func embedding64(x, table []float64, rows, steps, values int) (seq []float64) {
	for t := range steps {
		for i := range rows {
			at := int(x[i*steps+t]) * values
			seq = append(seq, table[at:at+values]...)
		}
	}
	return seq
}

// lstm64 returns the states [steps, rows, units] for x [steps, rows, in], w [in, 4·units] and u [units, 4·units], and how near
// a gate came to a kink.
func lstm64(x, w, u []float64, steps, rows, in, units int) (h []float64, kink float64) {
	h, kink = make([]float64, steps*rows*units), math.Inf(1)
	c := make([]float64, rows*units)
	for t := range steps {
		for i := range rows {
			z := make([]float64, 4*units)
			for j := range z {
				for k := range in {
					z[j] += x[(t*rows+i)*in+k] * w[k*4*units+j]
				}
				for k := range units {
					if t > 0 {
						z[j] += h[((t-1)*rows+i)*units+k] * u[k*4*units+j]
					}
				}
			}
			hard := func(v float64) float64 {
				kink = min(kink, math.Abs(math.Abs(v)-2.5))
				return math.Min(math.Max(0.2*v+0.5, 0), 1)
			}
			for j := range units {
				in, forget, candidate, out := hard(z[j]), hard(z[units+j]), math.Tanh(z[2*units+j]), hard(z[3*units+j])
				c[i*units+j] = forget*c[i*units+j] + in*candidate
				h[(t*rows+i)*units+j] = out * math.Tanh(c[i*units+j])
			}
		}
	}
	return h, kink
}

func TestEmbedding(t *testing.T) {
	for _, size := range [][5]int{{1, 1, 1, 1, 0}, {3, 5, 7, 4, 0}, {7, 4, 3, 17, 0}, {7, 4, 3, 17, 2}} {
		batch, steps, symbols, values, rows := size[0], size[1], size[2], size[3], size[4]
		live := batch
		if rows > 0 {
			live = rows
		}
		r := rand.New(rand.NewPCG(51, 52))
		x := labels(r, batch*steps, symbols)
		for i := live * steps; i < len(x); i++ {
			x[i] = float32(math.NaN()) // not to be read
		}
		graphtest.Check(t, graphtest.Case{
			Build: func(b *Builder) {
				table := b.Param("table", symbols*values)
				seq := Embedding(b.Input("x", batch, steps), Slice(table, 0, symbols, values))
				b.Minimize("loss", Sum(CrossEntropy(Last(seq), b.Input("y", batch)), HalfSquaredDistance(table, b.Input("a", symbols*values))), table)
			},
			Params: map[string][]float32{"table": normals(r, symbols*values, 0, 1)},
			Data:   map[string][]float32{"x": x, "y": labels(r, batch, values), "a": normals(r, symbols*values, 0, 1)},
			Rows:   rows,
			Loss: func(v map[string][]float64) (loss float64) {
				seq := embedding64(v["x"], v["table"], live, steps, values)
				for i, w := range v["table"] {
					loss += (w - v["a"][i]) * (w - v["a"][i]) / 2
				}
				return loss + crossEntropy64(seq[(steps-1)*live*values:], v["y"], live, values)
			},
		})
	}
}

func TestEmbeddingOfNoSymbol(t *testing.T) {
	p, err := Build(func(b *Builder) {
		b.Output("seq", Embedding(b.Input("x", 1, 2), b.Input("table", 3, 1)))
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []float32{-1, 3, 0.5, float32(math.NaN())} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasSuffix(got, ", want 0 to 2") {
					t.Errorf("symbol %v: %s", v, got)
				}
			}()
			e := p.NewExecutor(kernels.New(kernels.Generic))
			e.Feed("x", []float32{0, v})
			e.Feed("table", []float32{1, 2, 3})
			e.Run(1)
		}()
	}
}

// lstms are layers of cells: batch, steps, inputs, units, rows of the batch (0 for all), and the size of arguments; large ones
// shut gates and open them wide.
var lstms = []struct {
	batch, steps, in, units, rows int
	scale                         float64
}{
	{1, 1, 1, 1, 0, 1}, {3, 1, 2, 4, 0, 1}, {2, 5, 3, 4, 0, 1}, {2, 2, 2, 17, 0, 0.5}, {5, 7, 2, 3, 2, 1}, {4, 3, 4, 5, 0, 3}, {4, 3, 4, 5, 3, 3},
}

// TestLSTM checks two layers of cells, with gradients to both kernels of each and to the sequence: of all steps, whose
// states the second layer reads, and of the last alone.
func TestLSTM(t *testing.T) {
	for _, s := range lstms {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			live := s.batch
			if s.rows > 0 {
				live = s.rows
			}
			nx, n1, u1, n2 := s.steps*s.batch*s.in, s.in*4*s.units, s.units*4*s.units, s.units*4*s.units
			forward := func(v map[string][]float64) (last []float64, kink float64) {
				w := v["w"]
				h, first := lstm64(v["x"], w[:n1], w[n1:n1+u1], s.steps, live, s.in, s.units)
				h, second := lstm64(h, w[n1+u1:n1+u1+n2], w[n1+u1+n2:], s.steps, live, s.units, s.units)
				return h[(s.steps-1)*live*s.units:], min(first, second)
			}
			r := rand.New(rand.NewPCG(53, 54))
			c := graphtest.Case{
				Build: func(b *Builder) {
					x, w := b.Param("x", nx), b.Param("w", n1+u1+2*n2)
					h := LSTM(Slice(x, 0, s.steps, s.batch, s.in), Slice(w, 0, s.in, 4*s.units), Slice(w, n1, s.units, 4*s.units))
					h = LSTM(h, Slice(w, n1+u1, s.units, 4*s.units), Slice(w, n1+u1+n2, s.units, 4*s.units))
					b.Minimize("loss", CrossEntropy(Last(h), b.Input("y", s.batch)), x, w)
				},
				Params: map[string][]float32{"x": nil, "w": nil},
				Data:   map[string][]float32{"y": labels(r, s.batch, s.units)},
				Rows:   s.rows,
				Loss: func(v map[string][]float64) float64 {
					last, _ := forward(v)
					return crossEntropy64(last, v["y"], live, s.units)
				},
			}
			for kink := 0.0; kink < 1e-3; { // where central differences are good
				c.Params["x"], c.Params["w"] = normals(r, nx, 0, 1), normals(r, n1+u1+2*n2, 0, s.scale)
				_, kink = forward(map[string][]float64{"x": widen(c.Params["x"]), "w": widen(c.Params["w"])})
			}
			graphtest.Check(t, c)
		})
	}
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// drawn returns a step of a text network: cells with Gaussian weights, drawn once for all steps.
func drawn(t testing.TB, batch, steps, symbols, values, units int) *Program {
	t.Helper()
	table, w, u := symbols*values, values*4*units, units*4*units
	p, err := Build(func(b *Builder) {
		q := b.Gaussian("q", table+w+u)
		th := q.Draw(b.Input("noise", table+w+u))
		seq := Embedding(b.Input("x", batch, steps), Slice(th, 0, symbols, values))
		h := LSTM(seq, Slice(th, table, values, 4*units), Slice(th, table+w, units, 4*units))
		b.Minimize("loss", CrossEntropy(Last(h), b.Input("y", batch)), q.Mu, q.Rho)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestLSTMRuns checks that runs of Gaussian cells leave no garbage, do not depend on those before them, and that a batch that
// is partly filled gives what a batch of its size does.
func TestLSTMRuns(t *testing.T) {
	const batch, live, steps, symbols, values, units = 9, 4, 6, 5, 3, 7
	const n = symbols*values + values*4*units + units*4*units
	r := rand.New(rand.NewPCG(55, 56))
	data := map[string][]float32{
		"q.mu": normals(r, n, 0, 0.5), "q.rho": normals(r, n, -2, 1), "noise": normals(r, n, 0, 1),
		"x": labels(r, batch*steps, symbols), "y": labels(r, batch, units),
	}
	large, small := drawn(t, batch, steps, symbols, values, units), drawn(t, live, steps, symbols, values, units)
	for _, isa := range kernels.Available() {
		e, alone := large.NewExecutor(kernels.New(isa)), small.NewExecutor(kernels.New(isa))
		for name, v := range data {
			e.Feed(name, v)
			if name == "x" || name == "y" {
				v = v[:len(v)*live/batch]
			}
			alone.Feed(name, v)
		}
		outcome := func(e *Executor, rows int) []float32 {
			e.Run(rows)
			return slices.Concat([]float32{e.Loss("loss")}, e.Grad("q.mu"), e.Grad("q.rho"))
		}
		first := outcome(e, batch)
		if part, want := outcome(e, live), outcome(alone, live); !slices.Equal(part, want) {
			t.Errorf("%s: %d rows of %d differ from a batch of %d", isa, live, batch, live)
		}
		if again := outcome(e, batch); !slices.Equal(first, again) {
			t.Errorf("%s: a run depends on the one before", isa)
		}
		if a := testing.AllocsPerRun(10, func() { e.Run(batch); e.Run(live) }); a != 0 {
			t.Errorf("%s: %v allocations a run", isa, a)
		}
	}
}

func TestLSTMErrors(t *testing.T) {
	for want, f := range map[string]func(b *Builder) *Node{
		"lstm: an operand of shape (2, 3), want [steps batch values]": func(b *Builder) *Node {
			return LSTM(b.Input("x", 2, 3), b.Input("w", 3, 8), b.Input("u", 2, 8))
		},
		"lstm: an operand of shape (3, 9), want [3 8]": func(b *Builder) *Node {
			return LSTM(b.Input("x", 1, 2, 3), b.Input("w", 3, 9), b.Input("u", 2, 8))
		},
		"lstm: an operand of shape (2, 9), want [2 8]": func(b *Builder) *Node {
			return LSTM(b.Input("x", 1, 2, 3), b.Input("w", 3, 8), b.Input("u", 2, 9))
		},
		"last: an operand of shape (2, 3), want [steps batch values]": func(b *Builder) *Node { return Last(b.Input("x", 2, 3)) },
		"embedding: operands of shapes (2) and (3, 1), want [batch steps] and [symbols values]": func(b *Builder) *Node {
			return Embedding(b.Input("x", 2), b.Input("table", 3, 1))
		},
	} {
		_, err := Build(func(b *Builder) { b.Output("out", f(b)) })
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// BenchmarkLSTM times a step of the network that reads Shakespeare: 80 characters, two layers of 100 cells, batches of 10.
func BenchmarkLSTM(b *testing.B) {
	const batch, steps, symbols, values, units = 10, 80, 86, 8, 100
	const table, w, u = symbols * values, values * 4 * units, units * 4 * units
	const n = table + w + u + 2*u + units*symbols + symbols
	p, err := Build(func(b *Builder) {
		th := b.Param("w", n)
		h := Embedding(b.Input("x", batch, steps), Slice(th, 0, symbols, values))
		h = LSTM(h, Slice(th, table, values, 4*units), Slice(th, table+w, units, 4*units))
		h = LSTM(h, Slice(th, table+w+u, units, 4*units), Slice(th, table+w+2*u, units, 4*units))
		z := Dense(Last(h), Slice(th, table+w+3*u, units, symbols), Slice(th, n-symbols, symbols), false)
		b.Minimize("loss", CrossEntropy(z, b.Input("y", batch)), th)
	})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(57, 58))
	for _, isa := range kernels.Available() {
		b.Run(isa.String(), func(b *testing.B) {
			e := p.NewExecutor(kernels.New(isa))
			e.Feed("w", normals(r, n, 0, 0.1))
			e.Feed("x", labels(r, batch*steps, symbols))
			e.Feed("y", labels(r, batch, symbols))
			for b.Loop() {
				e.Run(batch)
			}
		})
	}
}
