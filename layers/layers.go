// Package layers has the networks: layers, and the models made of them.
//
// A layer does not own weights. It names segments of its model's flat parameter vector (a graph.Layout) and asks a
// Source for them when it is built into a graph. So one network serves point weights (FedAvg), draws from a Gaussian
// (pFedBayes) and whatever else can give a segment a node:
//
//	m, err := layers.New("mlp", []int{28, 28}, 10)
//	q := b.Gaussian("q", m.Size())
//	logits := m.Logits(b.Input("x", 100, m.In), layers.Draw(q, b.Input("noise", m.Size())))
package layers

import "fedbayes/graph"

// A Source gives the weights of one forward pass.
type Source interface {
	// Weights returns the node of a segment, of the segment's shape.
	Weights(s graph.Segment) *graph.Node

	// Inputs returns what the layer of the weights s sees of its input x.
	Inputs(x *graph.Node, s graph.Segment) *graph.Node
}

// Point is the source of weights that are a vector of numbers, of a model's layout.
func Point(w *graph.Node) Source { return point{w} }

// Draw is the source of one draw θ = μ + σ⊙ε from a Gaussian over the weights; all layers share the draw.
func Draw(q graph.Gaussian, noise *graph.Node) Source { return point{q.Draw(noise)} }

type point struct{ w *graph.Node }

func (p point) Weights(s graph.Segment) *graph.Node { return s.Node(p.w) }

func (point) Inputs(x *graph.Node, _ graph.Segment) *graph.Node { return x }

// A Layer maps a batch to a batch.
type Layer interface {
	Forward(x *graph.Node, from Source) *graph.Node
}

// Dense is x·W + b, with max(·, 0) after it if ReLU is set.
type Dense struct {
	Weight graph.Segment // [in, out]
	Bias   graph.Segment // [out]
	ReLU   bool
}

// NewDense returns a dense layer whose weights are appended to l.
func NewDense(l *graph.Layout, name string, in, out int, relu bool) Dense {
	return Dense{l.Add(name+".weight", in, in, out), l.Add(name+".bias", in, out), relu}
}

// Forward implements [Layer], for x [batch, in].
func (d Dense) Forward(x *graph.Node, from Source) *graph.Node {
	return affine(graph.Dense).of(x, from, d.Weight, d.Bias, d.ReLU)
}
