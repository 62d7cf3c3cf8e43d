package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	. "fedbayes/graph"
	"fedbayes/internal/kernels"
)

// TestBuildErrors checks that what is wrong with a graph is said by Build, with the name of it.
func TestBuildErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func(b *Builder)
		want string
	}{
		{"nothing", func(*Builder) {}, "nothing was declared"},
		{"name taken", func(b *Builder) { b.Param("w", 3); b.Param("w", 3) }, "w: the name is taken"},
		{"empty shape", func(b *Builder) { b.Input("x", 3, 0) }, "x: shape [3 0]"},
		{"unused input", func(b *Builder) {
			w := b.Param("w", 3)
			b.Input("x", 2)
			b.Minimize("loss", HalfSquaredDistance(w, b.Input("a", 3)), w)
		}, "no loss, gradient or output needs it"},
		{"unused operation", func(b *Builder) {
			w := b.Param("w", 4)
			Slice(w, 0, 2)
			b.Minimize("loss", HalfSquaredDistance(w, b.Input("a", 4)), w)
		}, "no loss, gradient or output needs it"},
		{"slice too long", func(b *Builder) { Slice(b.Param("w", 3), 1, 3) }, "slice: [3] at 1 of a vector of shape (3)"},
		{"dense of other width", func(b *Builder) {
			Dense(b.Input("x", 2, 3), b.Input("w", 4, 5), b.Input("b", 5), false)
		}, "dense: an operand of shape (4, 5), want [3 5]"},
		{"labels of other batch", func(b *Builder) { CrossEntropy(b.Input("z", 2, 3), b.Input("y", 3)) }, "cross-entropy: an operand of shape (3), want [2]"},
		{"divergence of two sizes", func(b *Builder) { KL(b.Gaussian("q", 3), b.Gaussian("w", 4)) }, "kl: Gaussians over 3 and 4 values"},
		{"noise of other size", func(b *Builder) { b.Gaussian("q", 3).Draw(b.Input("e", 4)) }, "draw: an operand of shape (4), want [3]"},
		{"no anchors", func(b *Builder) { SoftMinDistance(b.Param("w", 3), b.Scalar("s")) }, "soft minimum distance: 0 anchors, want 1 to 64"},
		{"anchor of other size", func(b *Builder) {
			SoftMinDistance(b.Param("w", 3), b.Scalar("s"), b.Input("a", 3), b.Input("c", 4))
		}, "soft minimum distance: an operand of shape (4), want [3]"},
		{"sum of vectors", func(b *Builder) { Sum(b.Param("w", 3)) }, "sum: an operand of shape (3), want []"},
		{"loss is no scalar", func(b *Builder) { w := b.Param("w", 3); b.Minimize("loss", w, w) }, "objective loss: a loss of shape (3), want a scalar"},
		{"two gradients", func(b *Builder) {
			w := b.Param("w", 3)
			d := HalfSquaredDistance(w, b.Input("a", 3))
			b.Minimize("one", d, w)
			b.Minimize("two", d, w)
		}, "objective two: w has a gradient of another objective"},
		{"gradient of what is fixed", func(b *Builder) {
			w := b.FixedGaussian("w", 3)
			b.Minimize("loss", KL(b.Gaussian("q", 3), w), w.Mu)
		}, "objective loss: w.mu is fixed"},
		{"objective twice", func(b *Builder) {
			w, v := b.Param("w", 3), b.Param("v", 3)
			b.Minimize("one", HalfSquaredDistance(w, b.Input("a", 3)), w)
			b.Minimize("one", HalfSquaredDistance(v, b.Input("c", 3)), v)
		}, "objective one: declared twice"},
		{"no way to the parameter", func(b *Builder) {
			w := b.Param("w", 3)
			b.Minimize("loss", HalfSquaredDistance(b.Param("v", 3), b.Input("a", 3)), w)
		}, "objective loss: the loss does not depend on w"},
		{"not a parameter", func(b *Builder) {
			q := b.Gaussian("q", 3)
			th := q.Draw(b.Input("e", 3))
			b.Minimize("loss", HalfSquaredDistance(th, b.Input("a", 3)), th)
		}, "is not a parameter"},
		{"output twice", func(b *Builder) { w := b.Param("w", 3); b.Output("w2", w); b.Output("w2", w) }, "w2: the output is declared twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(tt.f)
			if err == nil || !strings.HasPrefix(err.Error(), "graph: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want graph: …%s", err, tt.want)
			}
		})
	}
}

// TestTwoObjectives checks that the gradients of two losses over shared parts come from one graph and keep apart: each
// Gaussian gets the gradient of its own loss, and RunFor computes one of them alone.
func TestTwoObjectives(t *testing.T) {
	const n = 20
	p, err := Build(func(b *Builder) {
		q, w := b.Gaussian("q", n), b.Gaussian("w", n)
		kl := KL(q, w)
		b.Minimize("personal", Scale(kl, b.Scalar("zeta")), q.Mu, q.Rho)
		b.Minimize("global", kl, w.Mu, w.Rho)
		b.Output("kl", kl)
		b.Output("draw", q.Draw(w.Mu))
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	e := p.NewExecutor(kernels.New(kernels.Best()))
	in := map[string][]float32{
		"q.mu": normals(r, n, 0, 1), "q.rho": normals(r, n, -1, 1), "w.mu": normals(r, n, 0, 1), "w.rho": normals(r, n, -1, 1),
	}
	for name, v := range in {
		e.Feed(name, v)
	}
	e.Set("zeta", 10)
	e.Run(1)
	if kl, loss := e.Loss("global"), e.Loss("personal"); kl != e.Value("kl") || math.Abs(float64(loss-10*kl)) > 1e-4*float64(loss) {
		t.Errorf("losses %v and %v, want 10·kl and kl = %v", loss, kl, e.Value("kl"))
	}
	both := map[string][]float32{}
	for name := range in {
		both[name] = slices.Clone(e.Grad(name))
	}
	for i := range n {
		// The divergence depends on μ_q − μ_w alone.
		if q, w := both["q.mu"][i], both["w.mu"][i]; math.Abs(float64(q+10*w)) > 1e-4*math.Abs(float64(q)) {
			t.Fatalf("gradients of μ: personal %v, global %v, want −10 times the other", q, w)
		}
	}
	in["w.mu"][0]++ // the executor reads what it was fed in place
	e.RunFor("global", 1)
	if e.Grad("w.mu")[0] == both["w.mu"][0] {
		t.Error("RunFor did not compute the global gradient anew")
	}
	if !slices.Equal(e.Grad("q.mu"), both["q.mu"]) {
		t.Error("RunFor computed the gradient of another objective")
	}
	draw, kl := e.Fetch("draw")[0], e.Value("kl")
	in["q.mu"][0]++
	e.RunOutput("draw", 1)
	if e.Fetch("draw")[0] == draw || e.Value("kl") != kl {
		t.Error("RunOutput left its output as it was, or computed another")
	}
}

// TestProgrammersErrors checks that names and sizes that do not fit panic, and say what they are.
func TestProgrammersErrors(t *testing.T) {
	p, err := Build(func(b *Builder) {
		w := b.Param("w", 3)
		b.Minimize("loss", Scale(HalfSquaredDistance(w, b.Input("a", 3)), b.Scalar("s")), w)
	})
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewExecutor(kernels.New(kernels.Best()))
	for want, f := range map[string]func(){
		"nothing is named x":      func() { e.Feed("x", nil) },
		"2 values for w":          func() { e.Feed("w", make([]float32, 2)) },
		"w is not a scalar":       func() { e.Set("w", 1) },
		"no gradient of a":        func() { e.Grad("a") },
		"no objective is named l": func() { e.RunFor("l", 1) },
		"no output is named w":    func() { e.RunOutput("w", 1) },
		"was not fed":             func() { e.Run(1) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("panic %q, want %q in it", got, want)
				}
			}()
			f()
		}()
	}
}

// TestOptimizers holds ten steps of each rule against float64.
func TestOptimizers(t *testing.T) {
	const n = 50
	for _, tt := range []struct {
		name string
		rule Optimizer
		step func(s int, p, m, v, g float64) (float64, float64, float64)
	}{
		{"sgd", SGD{LR: 0.1}, func(_ int, p, m, v, g float64) (float64, float64, float64) { return p - 0.1*g, m, v }},
		{"decay", SGD{LR: 0.1, Decay: 0.5}, func(_ int, p, m, v, g float64) (float64, float64, float64) {
			return p - 0.1*(g+0.5*p), m, v
		}},
		{"momentum", SGD{LR: 0.1, Momentum: 0.9, Decay: 0.5}, func(_ int, p, m, v, g float64) (float64, float64, float64) {
			m = 0.9*m + g + 0.5*p
			return p - 0.1*m, m, v
		}},
		{"adam", NewAdam(0.1), func(s int, p, m, v, g float64) (float64, float64, float64) {
			m, v = 0.9*m+0.1*g, 0.999*v+0.001*g*g
			a, b := 1-math.Pow(0.9, float64(s)), 1-math.Pow(0.999, float64(s))
			return p - 0.1*(m/a)/(math.Sqrt(v/b)+1e-8), m, v
		}},
	} {
		for _, isa := range kernels.Available() {
			t.Run(tt.name+"/"+isa.String(), func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				p := normals(r, n, 0, 1)
				want, m, v := make([]float64, n), make([]float64, n), make([]float64, n)
				for i := range p {
					want[i] = float64(p[i])
				}
				var mo Moments
				cpu := kernels.New(isa)
				for s := 1; s <= 10; s++ {
					g := normals(r, n, 0, 1)
					tt.rule.Update(cpu, &mo, p, g)
					for i := range p {
						want[i], m[i], v[i] = tt.step(s, want[i], m[i], v[i], float64(g[i]))
					}
				}
				for i := range p {
					if math.Abs(float64(p[i])-want[i]) > 1e-5 {
						t.Fatalf("p[%d] = %v, want %v", i, p[i], want[i])
					}
				}
				if mo.Step != 10 {
					t.Errorf("%d steps counted", mo.Step)
				}
			})
		}
	}
}

func ExampleBuild() {
	p, err := Build(func(b *Builder) {
		w := b.Param("w", 2)
		b.Minimize("loss", Scale(HalfSquaredDistance(w, b.Input("a", 2)), b.Scalar("mu")), w)
	})
	if err != nil {
		panic(err)
	}
	e := p.NewExecutor(kernels.New(kernels.Best()))
	w, a := []float32{3, 5}, []float32{1, 2}
	e.Feed("w", w)
	e.Feed("a", a)
	e.Set("mu", 10)
	e.Run(1)
	fmt.Println(e.Loss("loss"), e.Grad("w"))
	// Output: 65 [20 30]
}
