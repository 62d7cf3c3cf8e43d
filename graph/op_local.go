package graph

import (
	"math"

	"gorgonia.org/tensor"
)

// This file is about local reparameterisation: where weights are Gaussian, an affine map of x gives a Gaussian whose mean is
// the map with the weights' means, and whose variance is that of x² with the weights' variances. So outputs are drawn, each
// with a noise of its own for each example, and weights are not.
//
// Kingma et al., Variational Dropout and the Local Reparameterization Trick. NeurIPS 2015.

// Variance returns σ² [n].
//
//	∂/∂ρ = g⊙2σ⊙σ′
func (g Gaussian) Variance() *Node {
	return apply("variance", variance{}, tensor.Shape{size(g.Rho.Shape())}, g.Rho, g.sigma)
}

type variance struct{}

func (variance) run(m *machine, out []float32, in [][]float32) {
	s, _ := halves(in[1], len(out))
	m.cpu.Mul(out, s, s)
}

func (variance) wrt() []bool { return []bool{true, false} }

func (variance) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{whole(apply("variance'", varianceGrad{}, grad.Shape(), grad, in[1])), {}}
}

type varianceGrad struct{ terminal }

func (varianceGrad) over() []int { return []int{0} }

func (varianceGrad) run(m *machine, out []float32, in [][]float32) {
	s, d := halves(in[1], len(out))
	m.cpu.VarianceGrad(out, in[0], s, d)
}

// Square returns x² for a batch x [batch, …].
func Square(x *Node) *Node {
	return apply("square", square{cols: size(x.Shape()) / x.Shape()[0]}, x.Shape(), x)
}

type square struct{ cols int }

func (k square) run(m *machine, out []float32, in [][]float32) {
	n := min(m.rows, len(out)/k.cols) * k.cols
	m.cpu.Mul(out[:n], in[0][:n], in[0][:n])
}

func (square) wrt() []bool { return []bool{true} }

func (k square) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{whole(apply("square'", squareGrad{cols: k.cols}, grad.Shape(), grad, in[0]))}
}

type squareGrad struct {
	terminal
	cols int
}

func (k squareGrad) run(m *machine, out []float32, in [][]float32) {
	n := min(m.rows, len(out)/k.cols) * k.cols
	m.cpu.Mul(out[:n], in[0][:n], in[1][:n])
	m.cpu.Scale(out[:n], 2, out[:n])
}

// varianceFloor is added to variances, so that the gradient of a root is finite where all inputs of a unit are 0.
const varianceFloor = 1e-12

// Perturb returns m + √(v + 10⁻¹²)⊙ε, and max(·, 0) of it if relu, for means m, variances v ≥ 0 and noise ε of one shape
// [batch, …]. It has gradients to m and v.
//
//	∂/∂m = g    ∂/∂v = g⊙ε / 2√(v + 10⁻¹²)
func Perturb(mean, variance, noise *Node, relu bool) *Node {
	s := mean.Shape()
	want("perturb", variance, s...)
	want("perturb", noise, s...)
	return apply("perturb", perturb{cols: size(s) / s[0], relu: relu}, s, mean, variance, noise)
}

type perturb struct {
	cols int
	relu bool
}

func (k perturb) run(m *machine, out []float32, in [][]float32) {
	out = out[:min(m.rows, len(out)/k.cols)*k.cols]
	n := len(out)
	mean, variance, noise := in[0][:n], in[1][:n], in[2][:n]
	for i := range out {
		out[i] = mean[i] + root(variance[i])*noise[i]
	}
	if k.relu {
		rectify(out)
	}
}

func root(v float32) float32 { return float32(math.Sqrt(float64(v + varianceFloor))) }

// rectify raises what is negative to 0. NaN stays NaN.
func rectify(x []float32) {
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

func (perturb) wrt() []bool { return []bool{true, true, false} }

func (k perturb) diff(in Nodes, out, grad *Node, need []bool) []part {
	if k.relu {
		grad = apply("relu'", reluGrad{cols: k.cols}, out.Shape(), grad, out)
	}
	ps := []part{whole(grad), {}, {}}
	if need[1] {
		ps[1] = whole(apply("perturb'v", perturbGrad{cols: k.cols}, grad.Shape(), grad, in[1], in[2]))
	}
	return ps
}

type perturbGrad struct {
	terminal
	cols int
}

func (k perturbGrad) run(m *machine, out []float32, in [][]float32) {
	out = out[:min(m.rows, len(out)/k.cols)*k.cols]
	n := len(out)
	grad, variance, noise := in[0][:n], in[1][:n], in[2][:n]
	for i := range out {
		out[i] = grad[i] * noise[i] / (2 * root(variance[i]))
	}
}
