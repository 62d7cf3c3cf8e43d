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
	Layers  []Layer
}

// Logits returns [batch, Classes] for x [batch, In].
func (m *Model) Logits(x *graph.Node, from Source) *graph.Node {
	for _, l := range m.Layers {
		x = l.Forward(x, from)
	}
	return x
}

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
