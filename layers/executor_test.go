package layers_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/layers"
)

const batch = 9

// bayesian returns a program with two losses over a draw from q: its data fit, and the divergence from w.
func bayesian(t *testing.T) (*graph.Program, *layers.Model) {
	t.Helper()
	m, err := layers.New("mlp2:13,7", []int{11}, 5)
	if err != nil {
		t.Fatal(err)
	}
	p, err := graph.Build(func(b *graph.Builder) {
		q, w := b.Gaussian("q", m.Size()), b.Gaussian("w", m.Size())
		x, y, noise := b.Input("x", batch, m.In), b.Input("y", batch), b.Input("noise", m.Size())
		kl := graph.KL(q, w)
		nll := graph.CrossEntropy(m.Logits(x, layers.Draw(q, noise)), y)
		b.Minimize("personal", graph.Sum(nll, kl), q.Mu, q.Rho)
		b.Minimize("global", kl, w.Mu, w.Rho)
	})
	if err != nil {
		t.Fatal(err)
	}
	return p, m
}

var gradients = []string{"q.mu", "q.rho", "w.mu", "w.rho"}

// fill feeds an executor with numbers of its own.
func fill(e *graph.Executor, m *layers.Model, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for _, name := range append([]string{"noise"}, gradients...) {
		e.Feed(name, draws(r, m.Size(), 0.5))
	}
	e.Feed("x", draws(r, batch*m.In, 1))
	y := make([]float32, batch)
	for i := range y {
		y[i] = float32(r.IntN(m.Classes))
	}
	e.Feed("y", y)
}

// outcome returns losses and gradients in one list.
func outcome(e *graph.Executor) []float32 {
	v := []float32{e.Loss("personal"), e.Loss("global")}
	for _, name := range gradients {
		v = append(v, e.Grad(name)...)
	}
	return v
}

// TestExecutorsShareAProgram runs several at once; each must give what it gives alone.
func TestExecutorsShareAProgram(t *testing.T) {
	p, m := bayesian(t)
	const executors, runs = 6, 20
	want := make([][]float32, executors)
	for i := range want {
		e := p.NewExecutor(kernels.New(kernels.Best()))
		fill(e, m, uint64(i))
		e.Run(batch)
		want[i] = outcome(e)
		for _, v := range want[i] {
			if math.IsNaN(float64(v)) {
				t.Fatalf("executor %d alone: NaN", i)
			}
		}
		if i > 0 && slices.Equal(want[i], want[0]) {
			t.Fatalf("executors 0 and %d give the same", i)
		}
	}
	var wg sync.WaitGroup
	for i := range want {
		wg.Go(func() {
			e := p.NewExecutor(kernels.New(kernels.Best()))
			fill(e, m, uint64(i))
			for run := range runs {
				switch run % 2 {
				case 0:
					e.Run(batch)
				default:
					e.RunFor("personal", batch)
					e.RunFor("global", batch)
				}
				if !slices.Equal(outcome(e), want[i]) {
					t.Errorf("executor %d: run %d differs from that of the executor alone", i, run)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestRunDoesNotAllocate(t *testing.T) {
	p, m := bayesian(t)
	for _, isa := range kernels.Available() {
		e := p.NewExecutor(kernels.New(isa))
		fill(e, m, 1)
		for name, run := range map[string]func(){
			"Run":                func() { e.Run(batch) },
			"Run of one example": func() { e.Run(1) },
			"RunFor":             func() { e.RunFor("personal", batch); e.RunFor("global", batch) },
		} {
			run()
			if n := testing.AllocsPerRun(20, run); n != 0 {
				t.Errorf("%s: %s allocates %v times", isa, name, n)
			}
		}
	}
}
