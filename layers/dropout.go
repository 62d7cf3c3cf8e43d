package layers

import "fedbayes/graph"

// This file is about networks that lose columns of their weights: all weights that leave one input unit of a layer, of a
// convolution one input channel. Biases are never lost. A gate that is positive keeps its column.

// Dropout is the source of point weights w that lose columns of their own for each example of a batch. What is lost is
// taken from a layer's input, which is the same and costs less. What is kept stays as it is: nothing is divided by the
// probability of being kept.
//
// Gates are inputs of the program; see [Model.Gates].
func Dropout(b *graph.Builder, w *graph.Node) Source { return dropout{point{w}, b} }

type dropout struct {
	point
	b *graph.Builder
}

func (d dropout) Inputs(x *graph.Node, s graph.Segment) *graph.Node {
	return graph.Mask(x, d.b.Input(gate(s), x.Shape()[0], Columns(s)))
}

func gate(s graph.Segment) string { return s.Name + ".gate" }

// Gates returns the gates [batch, columns] of the layers of a program with a Dropout, in order, to be filled before each run;
// none of one without.
func (m *Model) Gates(e *graph.Executor) (gates [][]float32) {
	for _, s := range m.Segments {
		if e.Has(gate(s)) {
			gates = append(gates, e.Buffer(gate(s)))
		}
	}
	return gates
}

// Columns returns the number of columns of a segment, 0 of a bias.
func Columns(s graph.Segment) int {
	if len(s.Shape) < 2 {
		return 0
	}
	return s.Shape[len(s.Shape)-2]
}

// Drop takes from the weights w of a segment the columns whose gates are shut.
func Drop(w []float32, s graph.Segment, gates []float32) {
	out := s.Shape[len(s.Shape)-1]
	for i := range len(w) / out {
		if !(gates[i%len(gates)] > 0) {
			clear(w[i*out : (i+1)*out])
		}
	}
}
