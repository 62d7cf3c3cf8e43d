package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// A Gaussian is a diagonal Gaussian N(μ, σ²) in the graph, with σ = softplus(ρ) = log(1+e^ρ); all vectors have one size.
type Gaussian struct {
	Mu, Rho *Node

	// sigma is [σ | σ′], σ′ = sigmoid(ρ) being the derivative of σ. Draws and divergences share it. They take Rho too
	// and send their gradients straight there, so it has none of its own.
	sigma *Node
	fixed bool
}

// Gaussian declares the parameters name.mu and name.rho of n values each.
func (b *Builder) Gaussian(name string, n int) Gaussian {
	return NewGaussian(b.Param(name+".mu", n), b.Param(name+".rho", n))
}

// FixedGaussian is Gaussian of parameters that are [Builder.Fixed]. Nothing has a gradient to them.
func (b *Builder) FixedGaussian(name string, n int) Gaussian {
	g := NewGaussian(b.Fixed(name+".mu", n), b.Fixed(name+".rho", n))
	g.fixed = true
	return g
}

// NewGaussian returns the Gaussian of two vectors.
func NewGaussian(mu, rho *Node) Gaussian {
	n := size(mu.Shape())
	want("gaussian", mu, n)
	want("gaussian", rho, n)
	return Gaussian{Mu: mu, Rho: rho, sigma: apply("softplus", softplus{}, tensor.Shape{align(n) + n}, rho)}
}

type softplus struct{}

func (softplus) steady() {}

func (softplus) run(m *machine, out []float32, in [][]float32) {
	s, d := halves(out, len(in[0]))
	m.cpu.Softplus(s, d, in[0])
}

// halves splits [σ | σ′].
func halves(v []float32, n int) (sigma, dsigma []float32) { return v[:n], v[align(n) : align(n)+n] }

func (k softplus) diff(_ Nodes, _, _ *Node, _ []bool) []part { return []part{{}} }
func (k softplus) wrt() []bool                               { return []bool{false} }

// Draw returns θ = μ + σ⊙ε for noise ε [n].
//
//	∂/∂μ = g    ∂/∂ρ = g⊙ε⊙σ′
func (g Gaussian) Draw(noise *Node) *Node {
	n := size(g.Mu.Shape())
	want("draw", noise, n)
	return apply("draw", draw{}, tensor.Shape{n}, g.Mu, g.Rho, g.sigma, noise)
}

type draw struct{}

func (draw) run(m *machine, out []float32, in [][]float32) {
	s, _ := halves(in[2], len(out))
	m.cpu.Sample(out, in[0], s, in[3])
}

func (draw) wrt() []bool { return []bool{true, true, false, false} }

func (draw) diff(in Nodes, _, grad *Node, need []bool) []part {
	ps := make([]part, 4)
	ps[0] = whole(grad)
	if need[1] {
		ps[1] = whole(apply("draw'ρ", drawGrad{}, grad.Shape(), grad, in[3], in[2]))
	}
	return ps
}

type drawGrad struct{ terminal }

func (drawGrad) run(m *machine, out []float32, in [][]float32) {
	_, d := halves(in[2], len(out))
	m.cpu.SampleGrad(out, in[0], in[1], d)
}

// KL returns KL(q ‖ w) in nats, summed over the coordinates, and has gradients to both, or to q alone where w is fixed.
//
//	KL = Σ log σ_w − log σ_q + (σ_q² + (μ_q−μ_w)²)/(2σ_w²) − ½
func KL(q, w Gaussian) *Node {
	n := size(q.Mu.Shape())
	if size(w.Mu.Shape()) != n {
		panic(fmt.Errorf("kl: Gaussians over %d and %d values", n, size(w.Mu.Shape())))
	}
	if w.fixed {
		return valued("kl", gaussianKLTo{}, 2*align(n), Nodes{q.Mu, q.Rho}, q.Mu, q.sigma, w.Mu, w.sigma)
	}
	return valued("kl", gaussianKL{}, 4*align(n), Nodes{q.Mu, q.Rho, w.Mu, w.Rho}, q.Mu, q.sigma, w.Mu, w.sigma)
}

type gaussianKL struct{ terminal }

func (gaussianKL) run(m *machine, out []float32, in [][]float32) {
	n := len(in[0])
	var grads [4][]float32
	for i := range grads {
		grads[i] = out[i*align(n):][:n]
	}
	sq, dq := halves(in[1], n)
	sw, dw := halves(in[3], n)
	out[4*align(n)] = float32(m.cpu.GaussianKL(grads[0], grads[1], grads[2], grads[3], in[0], sq, dq, in[2], sw, dw))
}

type gaussianKLTo struct{ terminal }

func (gaussianKLTo) run(m *machine, out []float32, in [][]float32) {
	n := len(in[0])
	dmu, drho := halves(out, n)
	sq, dq := halves(in[1], n)
	sw, _ := halves(in[3], n)
	out[2*align(n)] = float32(m.cpu.GaussianKLTo(dmu, drho[:n], in[0], sq, dq, in[2], sw))
}
