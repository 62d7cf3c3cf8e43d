package graph

import (
	"gorgonia.org/tensor"

	"fedbayes/internal/kernels"
)

// MaxPool2D returns the largest value that the window sees at each place of images x [batch, height, width, channels]:
// [batch, places down, places across, channels]. Padding never wins, and NaN always does. The gradient goes to the value
// that won, to the first one of equals.
func MaxPool2D(x *Node, win Window) *Node {
	w := win.over("max-pool", x)
	s := x.Shape()
	shape := tensor.Shape{s[0], w.OH, w.OW, s[3]}
	k := maxPool{Window: w, channels: s[3], index: align(size(shape)), relu: rectified(x)}
	all := apply("max-pool", k, tensor.Shape{k.index + size(shape)}, x)
	return apply("max-pool.value", pooled{maxPool: k}, shape, all, x)
}

// rectified reports a convolution that ends with ReLU.
func rectified(x *Node) bool {
	o, ok := x.Op().(*op)
	if !ok {
		return false
	}
	k, ok := o.kernel.(conv)
	return ok && k.relu
}

// maxPool makes [values | where in its window each of them stood], the second part aligned.
type maxPool struct {
	terminal
	kernels.Window
	channels, index int
	relu            bool // the input is rectified: then the gradient is the one before ReLU, which saves a pass over it
}

// images returns the numbers of values of an image before and after the pooling.
func (k maxPool) images() (x, y int) { return k.H * k.W * k.channels, k.OH * k.OW * k.channels }

func (k maxPool) run(m *machine, out []float32, in [][]float32) {
	x, y := k.images()
	rows := min(m.rows, len(in[0])/x)
	m.cpu.MaxPool(out[:rows*y], out[k.index:][:rows*y], in[0][:rows*x], rows, k.channels, k.Window, k.relu)
}

// pooled is the first part of what maxPool makes, and its gradient.
type pooled struct{ maxPool }

func (k pooled) view(in []float32) []float32 { n := len(in) - k.index; return in[:n:n] }

func (k pooled) run(_ *machine, out []float32, in [][]float32) { copy(out, k.view(in[0])) }

func (pooled) wrt() []bool { return []bool{false, true} }

func (k pooled) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{{}, whole(apply("max-pool'", maxPoolGrad(k), in[1].Shape(), grad, in[0]))}
}

// beforeReLU reports a gradient that ReLU has been taken into account in already.
func beforeReLU(grad *Node) bool {
	o, ok := grad.Op().(*op)
	if !ok {
		return false
	}
	k, ok := o.kernel.(maxPoolGrad)
	return ok && k.relu
}

type maxPoolGrad struct{ maxPool }

func (k maxPoolGrad) run(m *machine, out []float32, in [][]float32) {
	x, y := k.images()
	rows := min(m.rows, len(out)/x)
	m.cpu.MaxPoolGrad(out[:rows*x], in[0][:rows*y], in[1][k.index:][:rows*y], rows, k.channels, k.Window)
}
