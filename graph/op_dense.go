package graph

import "gorgonia.org/tensor"

// Dense returns x·w + b, and max(·, 0) of it if relu, for x [batch, in], w [in, out] and b [out].
//
// Weights are [in, out] and not the other way round, so that the product reads w in place.
// The gradient of max(·, 0) at 0 is 0.
func Dense(x, w, b *Node, relu bool) *Node {
	k := dense{in: x.Shape()[1], out: w.Shape()[1], relu: relu}
	want("dense", w, k.in, k.out)
	want("dense", b, k.out)
	return apply("dense", k, tensor.Shape{x.Shape()[0], k.out}, x, w, b)
}

type dense struct {
	in, out int
	relu    bool
}

func (k dense) run(m *machine, out []float32, in [][]float32) {
	x, w, b := in[0], in[1], in[2]
	rows := min(m.rows, len(out)/k.out)
	m.cpu.GemmNN(rows, k.out, k.in, x, k.in, w, k.out, out, k.out)
	m.cpu.BiasReLU(out[:rows*k.out], b, rows, k.out, k.relu)
}

func (dense) wrt() []bool { return []bool{true, true, true} }

func (k dense) diff(in Nodes, out, grad *Node, need []bool) []part {
	x, w, b := in[0], in[1], in[2]
	if k.relu {
		grad = apply("relu'", reluGrad{cols: k.out}, out.Shape(), grad, out)
	}
	ps := make([]part, 3)
	if need[0] {
		ps[0] = whole(apply("dense'x", denseGradX{in: k.in, out: k.out}, x.Shape(), grad, w))
	}
	if need[1] {
		ps[1] = whole(apply("dense'w", denseGradW{in: k.in, out: k.out}, w.Shape(), x, grad))
	}
	if need[2] {
		ps[2] = whole(apply("dense'b", denseGradB{cols: k.out}, b.Shape(), grad))
	}
	return ps
}

// reluGrad lets the gradient of max(·, 0) through where the output is positive.
type reluGrad struct {
	terminal
	cols int
}

func (k reluGrad) run(m *machine, out []float32, in [][]float32) {
	n := min(m.rows, len(out)/k.cols) * k.cols
	m.cpu.ReLUGrad(out[:n], in[0][:n], in[1][:n])
}

type denseGradX struct {
	terminal
	in, out int
}

func (k denseGradX) run(m *machine, out []float32, in [][]float32) {
	rows := min(m.rows, len(out)/k.in)
	m.cpu.GemmNT(rows, k.in, k.out, in[0], k.out, in[1], k.out, out, k.in)
}

type denseGradW struct {
	terminal
	in, out int
}

func (k denseGradW) run(m *machine, out []float32, in [][]float32) {
	rows := min(m.rows, len(in[0])/k.in)
	m.cpu.GemmTN(k.in, k.out, rows, in[0], k.in, in[1], k.out, out, k.out)
}

type denseGradB struct {
	terminal
	cols int
}

func (k denseGradB) run(m *machine, out []float32, in [][]float32) {
	rows := min(m.rows, len(in[0])/k.cols)
	m.cpu.ColSum(out, in[0][:rows*k.cols], rows, k.cols)
}
