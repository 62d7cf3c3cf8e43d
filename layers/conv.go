package layers

import "fedbayes/graph"

// Conv is a convolution with max(·, 0) after it if ReLU is set. Images are [batch, height, width, channels].
type Conv struct {
	Weight graph.Segment // [kernel height, kernel width, in, out]
	Bias   graph.Segment // [out]
	Window graph.Window
	ReLU   bool
}

// NewConv returns a convolution whose weights are appended to l.
func NewConv(l *graph.Layout, name string, win graph.Window, in, out int, relu bool) Conv {
	fanIn := win.KH * win.KW * in
	return Conv{l.Add(name+".weight", fanIn, win.KH, win.KW, in, out), l.Add(name+".bias", fanIn, out), win, relu}
}

// Forward implements [Layer], for x [batch, height, width, in].
func (c Conv) Forward(x *graph.Node, from Source) *graph.Node {
	conv := func(x, w, b *graph.Node, relu bool) *graph.Node { return graph.Conv2D(x, w, b, c.Window, relu) }
	return affine(conv).of(x, from, c.Weight, c.Bias, c.ReLU)
}

// Pool takes the largest value of each window and channel.
type Pool struct{ Window graph.Window }

// Forward implements [Layer], for x [batch, height, width, channels].
func (p Pool) Forward(x *graph.Node, _ Source) *graph.Node { return graph.MaxPool2D(x, p.Window) }

// Shape makes each example of a batch an array of these sizes: an image of a row, or a row of an image.
type Shape []int

// Forward implements [Layer], for x [batch, …] with as many values an example.
func (s Shape) Forward(x *graph.Node, _ Source) *graph.Node {
	return graph.Reshape(x, append([]int{x.Shape()[0]}, s...)...)
}
