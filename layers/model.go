package layers

import (
	"fmt"

	"fedbayes/graph"
)

// A Model is a classifier: layers over one flat vector of parameters.
type Model struct {
	graph.Layout
	Name    string
	In      int // values of an example
	Classes int
	Text    bool    // an example is a row of symbols, numbers below Classes, and its class is the symbol that comes next
	Layers  []Layer // the last is a Dense without ReLU
}

// Logits returns [batch, Classes] for x [batch, In].
func (m *Model) Logits(x *graph.Node, from Source) *graph.Node {
	return m.head().Forward(m.Features(x, from), from)
}

// Features returns what the last layer makes logits of, [batch, FeatureWidth], for x [batch, In]. It asks from for the
// first FeatureSize parameters only.
func (m *Model) Features(x *graph.Node, from Source) *graph.Node {
	for _, l := range m.Layers[:len(m.Layers)-1] {
		x = l.Forward(x, from)
	}
	return x
}

// FeatureWidth returns the number of features of an example.
func (m *Model) FeatureWidth() int { return m.head().Weight.Shape[0] }

// FeatureSize returns the number of parameters of the layers before the last, which are the first of the vector; 0 if
// there are no such layers with parameters.
func (m *Model) FeatureSize() int { return m.head().Weight.Offset }

// head returns the last layer, which gives the logits.
func (m *Model) head() Dense { return m.Layers[len(m.Layers)-1].(Dense) }

// dense appends dense layers of the widths given, and the one that gives the logits.
func (m *Model) dense(in int, widths []int) {
	for i, w := range append(widths, m.Classes) {
		name := fmt.Sprintf("dense%d", i+1)
		m.Layers = append(m.Layers, NewDense(&m.Layout, name, in, w, i < len(widths)))
		in = w
	}
}

// newMLP returns a perceptron with hidden layers of the widths given.
//
// Widths of 100 make the network 784-100-10 of Zhang et al. 2022, with 79,510 parameters.
func newMLP(in int, widths []int, classes int) *Model {
	m := &Model{In: in, Classes: classes}
	m.dense(in, widths)
	return m
}
