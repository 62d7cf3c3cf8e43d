package layers

import (
	"fmt"

	"fedbayes/graph"
)

// Embedding gives each symbol a vector. A sequence is [steps, batch, values]; see [graph.Embedding].
type Embedding struct {
	Table graph.Segment // [symbols, values]
}

// Forward implements [Layer], for x [batch, steps].
func (e Embedding) Forward(x *graph.Node, from Source) *graph.Node {
	return graph.Embedding(x, from.Weights(e.Table))
}

// LSTM is a layer of memory cells, whose weights are the same at every step: those of a Gaussian are drawn once for a whole
// sequence. See [graph.LSTM].
type LSTM struct {
	Kernel    graph.Segment // [in, 4·units]
	Recurrent graph.Segment // [units, 4·units]
}

// NewLSTM returns a layer of cells whose weights are appended to l.
func NewLSTM(l *graph.Layout, name string, in, units int) LSTM {
	// Both have the units as their fan-in, by which PyTorch starts them alike.
	return LSTM{l.Add(name+".kernel", units, in, 4*units), l.Add(name+".recurrent", units, units, 4*units)}
}

// Forward implements [Layer], for a sequence x [steps, batch, in].
func (l LSTM) Forward(x *graph.Node, from Source) *graph.Node {
	return graph.LSTM(x, from.Weights(l.Kernel), from.Weights(l.Recurrent))
}

// Last takes the last step of a sequence.
type Last struct{}

// Forward implements [Layer], for a sequence x [steps, batch, values].
func (Last) Forward(x *graph.Node, _ Source) *graph.Node { return graph.Last(x) }

// Sizes of the network that reads text, and a bound of what its argument may ask for.
const (
	embedded = 8
	maxCells = 4096
)

// lstm makes a network that reads symbols, one after the other, and says which comes next: a vector of 8 for each, two layers
// of as many cells as its argument says, and a dense layer that gives the logits of the symbols from the last state.
//
// Corinzia et al., Variational Federated Multi-Task Learning. 2019, with 100 cells. Deviates: the dense layer has a bias, as that
// of every network here.
func lstm(shape []int, classes int, arg string) (*Model, error) {
	widths, err := numbers(arg, maxCells)
	if err != nil {
		return nil, err
	}
	if len(widths) != 1 {
		return nil, fmt.Errorf("%d numbers, want the cells of a layer", len(widths))
	}
	if len(shape) != 1 {
		return nil, fmt.Errorf("examples of shape %v, want text", shape)
	}
	m, units := &Model{In: shape[0], Classes: classes, Text: true}, widths[0]
	m.Layers = append(m.Layers,
		Embedding{m.Add("embedding.table", 1, classes, embedded)}, // a symbol meets one row
		NewLSTM(&m.Layout, "lstm1", embedded, units),
		NewLSTM(&m.Layout, "lstm2", units, units),
		Last{},
	)
	m.dense(units, nil)
	return m, nil
}
