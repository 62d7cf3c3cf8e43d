package graph_test

import (
	"testing"
	"time"

	. "fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// BenchmarkWhere says where the time of a pFedBayes step goes: batch 100, both gradients, four Adam updates. Each
// operation is timed on its own within whole steps, so that the caches are as a step leaves them; the metrics are
// microseconds a step.
func BenchmarkWhere(b *testing.B) {
	for model, shape := range map[string][]int{"mlp": {28, 28}, "vgg": {32, 32, 3}} {
		b.Run(model, func(b *testing.B) { benchmarkWhere(b, model, shape) })
	}
}

func benchmarkWhere(b *testing.B, model string, shape []int) {
	const batch = 100
	net, err := layers.New(model, shape, 10)
	if err != nil {
		b.Fatal(err)
	}
	p, err := Build(func(b *Builder) {
		q, w := b.Gaussian("q", net.Size()), b.Gaussian("w", net.Size())
		draw := layers.Draw(q, b.Input("noise", net.Size()))
		nll := CrossEntropy(net.Logits(b.Input("x", batch, net.In), draw), b.Input("y", batch))
		kl := priors.KL(q, w)
		b.Minimize("personal", Sum(Scale(nll, b.Scalar("a")), Scale(kl, b.Scalar("zeta"))), q.Mu, q.Rho)
		b.Minimize("global", kl, w.Mu, w.Rho)
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, isa := range kernels.Available() {
		b.Run(isa.String(), func(b *testing.B) {
			cpu := kernels.New(isa)
			e, r, adam := p.NewExecutor(cpu), rng.Stream{Seed: 1}, NewAdam(1e-3)
			params := []string{"q.mu", "q.rho", "w.mu", "w.rho"}
			moments := make([]Moments, len(params))
			for i, name := range params {
				r.Normals(cpu, e.Buffer(name), i)
				cpu.Scale(e.Buffer(name), 0.1, e.Buffer(name))
			}
			for i := range e.Buffer("x") {
				e.Buffer("x")[i] = float32(i%7) / 7
			}
			e.Buffer("y")
			e.Buffer("noise")
			e.Set("a", 1)
			e.Set("zeta", 10)
			names, run := e.Steps(batch)
			names = append([]string{"noise"}, append(names, "adam")...)
			run = append([]func(){func() { r.Normals(cpu, e.Buffer("noise"), 9) }}, append(run, func() {
				for i, name := range params {
					adam.Update(cpu, &moments[i], e.Buffer(name), e.Grad(name))
				}
			})...)
			spent := make([]time.Duration, len(run))
			for b.Loop() {
				for i, f := range run {
					began := time.Now()
					f()
					spent[i] += time.Since(began)
				}
			}
			total := map[string]time.Duration{}
			for i, name := range names {
				total[name] += spent[i]
				total["all"] += spent[i]
			}
			for name, d := range total {
				b.ReportMetric(d.Seconds()*1e6/float64(b.N), "µs-"+name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
