package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "fedbayes/graph"
	"fedbayes/internal/kernels"
)

// divergence returns a program with KL(q ‖ w) of n values and a draw from w, and what to feed to it.
func divergence(t *testing.T, n int, fixed bool) (*Program, map[string][]float32) {
	t.Helper()
	p, err := Build(func(b *Builder) {
		q, w := b.Gaussian("q", n), Gaussian{}
		if fixed {
			w = b.FixedGaussian("w", n)
		} else {
			w = b.Gaussian("w", n)
		}
		kl := KL(q, w)
		b.Minimize("loss", Scale(kl, b.Scalar("beta")), q.Mu, q.Rho)
		b.Output("kl", kl)
		b.Output("draw", w.Draw(b.Input("noise", n)))
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(41, 42))
	return p, map[string][]float32{
		"q.mu": normals(r, n, 0, 1), "q.rho": normals(r, n, -1, 1), "w.mu": normals(r, n, 0, 1), "w.rho": normals(r, n, -1, 1),
		"noise": normals(r, n, 0, 1),
	}
}

func fed(p *Program, cpu *kernels.CPU, in map[string][]float32) *Executor {
	e := p.NewExecutor(cpu)
	for name, v := range in {
		e.Feed(name, v)
	}
	e.Set("beta", 0.3)
	return e
}

// found is what the runs of a divergence give.
func found(e *Executor) [][]float32 {
	var all [][]float32
	for _, v := range [][]float32{{e.Loss("loss")}, e.Fetch("kl"), e.Grad("q.mu"), e.Grad("q.rho"), e.Fetch("draw")} {
		all = append(all, slices.Clone(v))
	}
	return all
}

func agree(a, b [][]float32) bool { return slices.EqualFunc(a, b, slices.Equal[[]float32]) }

// TestFixedGaussian holds a divergence from a Gaussian that is fixed to that from one that is not, bit by bit.
func TestFixedGaussian(t *testing.T) {
	for _, isa := range kernels.Available() {
		for _, n := range []int{1, 16, 1100} {
			cpu := kernels.New(isa)
			p, in := divergence(t, n, true)
			moving, _ := divergence(t, n, false)
			e, want := fed(p, cpu, in), fed(moving, cpu, in)
			e.Run(1)
			want.Run(1)
			if !agree(found(e), found(want)) {
				t.Errorf("%s, %d values: %v, want %v", isa, n, found(e), found(want))
			}
		}
	}
}

// TestFixedOnce checks that what depends on a fixed input is computed once, and anew after each way to give it other values.
func TestFixedOnce(t *testing.T) {
	cpu := kernels.New(kernels.Best())
	p, in := divergence(t, 20, true)
	e := fed(p, cpu, in)
	for name, run := range map[string]func(){
		"Run":    func() { e.Run(1) },
		"RunFor": func() { e.RunFor("loss", 1); e.RunOutput("kl", 1); e.RunOutput("draw", 1) },
	} {
		for way, change := range map[string]func(){
			"the same slice":  func() { in["w.rho"][0]++; e.Feed("w.rho", in["w.rho"]) },
			"another slice":   func() { in["w.rho"] = slices.Repeat([]float32{in["w.rho"][0] - 2}, 20); e.Feed("w.rho", in["w.rho"]) },
			"Buffer":          func() { e.Buffer("w.rho")[3]-- },
			"q, and no other": func() { in["q.rho"][1]++; e.Set("beta", 0.3) },
		} {
			change()
			run()
			fresh := fed(p, cpu, in)
			fresh.Run(1)
			if !agree(found(e), found(fresh)) {
				t.Errorf("%s after a change by %s: %v, want %v", name, way, found(e), found(fresh))
			}
		}
		before := found(e)
		in["w.rho"][5]++
		run()
		if !agree(found(e), before) {
			t.Errorf("%s computed anew what was not fed", name)
		}
		e.Feed("w.rho", in["w.rho"])
	}
}

// TestFixedRows checks that an operation over examples sees as many as there are, though its input is fixed.
func TestFixedRows(t *testing.T) {
	p, err := Build(func(b *Builder) { b.Output("y", Square(b.Fixed("x", 3))) })
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewExecutor(kernels.New(kernels.Best()))
	e.Feed("x", []float32{2, 3, 4})
	e.Run(1)
	e.Run(3)
	if y := e.Fetch("y"); !slices.Equal(y, []float32{4, 9, 16}) {
		t.Errorf("squares %v, want 4, 9 and 16", y)
	}
}

// TestInPlace checks which operations write over their input: those that are alone to read it.
func TestInPlace(t *testing.T) {
	const batch, in, out = 4, 3, 2
	const n = in*out + out
	layer := func(x, w *Node) *Node { return Dense(x, Slice(w, 0, in, out), Slice(w, in*out, out), false) }
	for _, tt := range []struct {
		name   string
		logits func(b *Builder, x *Node, q Gaussian) *Node
		want   []string
	}{
		{"local", func(b *Builder, x *Node, q Gaussian) *Node {
			mean := layer(x, Reshape(q.Mu, n))
			return Perturb(mean, layer(Square(x), q.Variance()), b.Input("noise", batch, out), false)
		}, []string{"combine", "combine", "variance'"}},
		{"draw", func(b *Builder, x *Node, q Gaussian) *Node { // the gradient to θ is read for μ and for ρ
			return layer(x, q.Draw(b.Input("noise", n)))
		}, []string{"combine"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Build(func(b *Builder) {
				q := b.Gaussian("q", n)
				nll := CrossEntropy(tt.logits(b, b.Input("x", batch, in), q), b.Input("y", batch))
				kl := KL(q, b.FixedGaussian("w", n))
				b.Minimize("loss", Sum(nll, Scale(kl, b.Scalar("beta"))), q.Mu, q.Rho)
			})
			if err != nil {
				t.Fatal(err)
			}
			e := p.NewExecutor(kernels.New(kernels.Best()))
			for _, name := range []string{"q.mu", "q.rho", "w.mu", "w.rho", "x", "y", "noise"} {
				e.Buffer(name)
			}
			if got := slices.Sorted(slices.Values(e.InPlace(batch))); !slices.Equal(got, tt.want) {
				t.Errorf("%q write over an input, want %q", got, tt.want)
			}
		})
	}
}
