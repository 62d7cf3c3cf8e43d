package graph_test

import (
	"fmt"
	"testing"
	"time"

	. "fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// BenchmarkVGGStep times a pFedBayes step of a Gaussian VGG on images of CIFAR-10's size, batch 100: noise, a draw, both
// gradients, four Adam updates. Each operation is timed within whole steps; the metrics are microseconds a step, and
// scripts/compare/vgg_step.py has the same step in PyTorch.
func BenchmarkVGGStep(b *testing.B) {
	const batch, classes = 100, 10
	channels := []int{3, 16, 32, 64, 128, 128}
	var l Layout
	var segments []Segment
	for i, out := range channels[1:] {
		segments = append(segments, l.Add(fmt.Sprint("w", i), 0, 3, 3, channels[i], out), l.Add(fmt.Sprint("b", i), 0, out))
	}
	segments = append(segments, l.Add("w", 0, 128, classes), l.Add("b", 0, classes))
	p, err := Build(func(b *Builder) {
		q, w := b.Gaussian("q", l.Size()), b.Gaussian("w", l.Size())
		th := q.Draw(b.Input("noise", l.Size()))
		z := b.Input("x", batch, 32, 32, 3)
		for i := 0; i < 10; i += 2 {
			z = Conv2D(z, segments[i].Node(th), segments[i+1].Node(th), Window{3, 3, 1, Same}, true)
			z = MaxPool2D(z, Window{2, 2, 2, Valid})
		}
		z = Dense(Reshape(z, batch, 128), segments[10].Node(th), segments[11].Node(th), false)
		kl := KL(q, w)
		b.Minimize("personal", Sum(Scale(CrossEntropy(z, b.Input("y", batch)), b.Scalar("a")), Scale(kl, b.Scalar("zeta"))), q.Mu, q.Rho)
		b.Minimize("global", kl, w.Mu, w.Rho)
	})
	if err != nil {
		b.Fatal(err)
	}
	for _, isa := range kernels.Available()[1:] {
		b.Run(isa.String(), func(b *testing.B) {
			cpu := kernels.New(isa)
			e, r, adam := p.NewExecutor(cpu), rng.Stream{Seed: 1}, NewAdam(1e-3)
			params := []string{"q.mu", "q.rho", "w.mu", "w.rho"}
			moments := make([]Moments, len(params))
			for i, name := range params {
				r.Normals(cpu, e.Buffer(name), i)
				cpu.Scale(e.Buffer(name), 0.1, e.Buffer(name))
			}
			r.Normals(cpu, e.Buffer("x"), 5)
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
