package graph

import (
	"fmt"

	"gorgonia.org/tensor"

	"fedbayes/internal/kernels"
)

// A Window is what a convolution or a pooling sees of an image at a time: KH × KW positions, moved in steps of Stride.
type Window struct {
	KH, KW int
	Stride int
	Pad    Padding
}

// Padding says how far a window may reach over the edges of an image. A positive number is that many positions on every
// side; zeros are seen there by a convolution, and nothing by a pooling.
type Padding int

const (
	// Valid keeps the window inside: (size − kernel)/stride + 1 places.
	Valid Padding = 0

	// Same makes as many places as there are positions, divided by the stride and rounded up. Where the padding that
	// this takes is odd, the bottom and the right have one more than the top and the left, as in TensorFlow.
	Same Padding = -1
)

// over returns the window over images [batch, height, width, channels].
func (w Window) over(op string, x *Node) kernels.Window {
	s := x.Shape()
	if s.Dims() != 4 {
		panic(fmt.Errorf("%s: an operand of shape %v, want [batch height width channels]", op, s))
	}
	if min(w.KH, w.KW, w.Stride) < 1 || w.Pad < Same || int(w.Pad) >= min(w.KH, w.KW) {
		panic(fmt.Errorf("%s: %+v: want sizes and stride ≥ 1 and a padding less than the sizes", op, w))
	}
	k := kernels.Window{H: s[1], W: s[2], KH: w.KH, KW: w.KW, Stride: w.Stride}
	k.OH, k.Top = w.Pad.places(k.H, k.KH, k.Stride)
	k.OW, k.Left = w.Pad.places(k.W, k.KW, k.Stride)
	if min(k.OH, k.OW) < 1 {
		panic(fmt.Errorf("%s: %+v does not fit into %v", op, w, s))
	}
	return k
}

// Places returns how many places a window has down and across images of height × width positions.
func (w Window) Places(height, width int) (down, across int) {
	down, _ = w.Pad.places(height, w.KH, w.Stride)
	across, _ = w.Pad.places(width, w.KW, w.Stride)
	return down, across
}

// places returns the number of places along a side of n positions, and the padding before it.
func (p Padding) places(n, kernel, stride int) (places, before int) {
	if p == Same {
		places = (n + stride - 1) / stride
		return places, max(0, (places-1)*stride+kernel-n) / 2
	}
	if n+2*int(p) < kernel {
		return 0, 0
	}
	return (n+2*int(p)-kernel)/stride + 1, int(p)
}

// Conv2D returns the convolution of images x [batch, height, width, in] with kernels w [KH, KW, in, out], plus b [out], and
// max(·, 0) of it if relu: [batch, places down, places across, out].
//
//	y[i, p, q, o] = b[o] + Σ x[i, p·Stride+ky−top, q·Stride+kx−left, c] · w[ky, kx, c, o]
//
// It is what the field calls a convolution, a correlation. The gradient of max(·, 0) at 0 is 0.
func Conv2D(x, w, b *Node, win Window, relu bool) *Node {
	g := kernels.Conv{Window: win.over("conv", x), In: x.Shape()[3]}
	if w.Dims() != 4 {
		panic(fmt.Errorf("conv: weights of shape %v, want [%d %d %d out]", w.Shape(), g.KH, g.KW, g.In))
	}
	g.Out = w.Shape()[3]
	want("conv", w, g.KH, g.KW, g.In, g.Out)
	want("conv", b, g.Out)
	return apply("conv", conv{convolution{g}, relu}, tensor.Shape{x.Shape()[0], g.OH, g.OW, g.Out}, x, w, b)
}

type convolution struct{ kernels.Conv }

// images returns the numbers of values of an image before and after the convolution.
func (k convolution) images() (x, y int) { return k.H * k.W * k.In, k.OH * k.OW * k.Out }

type conv struct {
	convolution
	relu bool
}

func (k conv) run(m *machine, out []float32, in [][]float32) {
	x, y := k.images()
	rows := min(m.rows, len(out)/y)
	m.cpu.Conv2D(out[:rows*y], in[0][:rows*x], in[1], in[2], rows, k.Conv, k.relu)
}

func (conv) wrt() []bool { return []bool{true, true, true} }

func (k conv) diff(in Nodes, out, grad *Node, need []bool) []part {
	x, w := in[0], in[1]
	if k.relu && !beforeReLU(grad) {
		_, y := k.images()
		grad = apply("relu'", reluGrad{cols: y}, out.Shape(), grad, out)
	}
	ps := make([]part, 3)
	if need[0] {
		ps[0] = whole(apply("conv'x", convGradX{convolution: k.convolution}, x.Shape(), grad, w))
	}
	if need[1] || need[2] {
		// One pass over the gradient makes both.
		n := size(w.Shape())
		both := apply("conv'w", convGradW{convolution: k.convolution}, tensor.Shape{n + k.Out}, x, grad)
		if need[1] {
			ps[1] = whole(Slice(both, 0, w.Shape()...))
		}
		if need[2] {
			ps[2] = whole(Slice(both, n, k.Out))
		}
	}
	return ps
}

type convGradX struct {
	terminal
	convolution
}

func (k convGradX) run(m *machine, out []float32, in [][]float32) {
	x, y := k.images()
	rows := min(m.rows, len(out)/x)
	m.cpu.ConvGradX(out[:rows*x], in[0][:rows*y], in[1], rows, k.Conv)
}

// convGradW makes [gradient of w | gradient of b].
type convGradW struct {
	terminal
	convolution
}

func (k convGradW) run(m *machine, out []float32, in [][]float32) {
	x, y := k.images()
	rows := min(m.rows, len(in[0])/x)
	n := len(out) - k.Out
	m.cpu.ConvGradW(out[:n], out[n:], in[0][:rows*x], in[1][:rows*y], rows, k.Conv)
}
