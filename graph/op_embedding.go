package graph

import (
	"fmt"
	"math"

	"gorgonia.org/tensor"
)

// A sequence is a node [steps, batch, values], time first, so that a step is one block. Of a batch with fewer examples the
// rows that hold some are packed: [steps, rows, values] stand in front, and nothing reads what is behind.
type sequence struct{ steps, batch int }

// rows returns how many examples of a step are computed.
func (k sequence) rows(m *machine) int { return min(m.rows, k.batch) }

func sequenceOf(op string, x *Node) (k sequence, values int) {
	s := x.Shape()
	if s.Dims() != 3 {
		panic(fmt.Errorf("%s: an operand of shape %v, want [steps batch values]", op, s))
	}
	return sequence{s[0], s[1]}, s[2]
}

// Embedding returns the sequence [steps, batch, values] of the rows of table [symbols, values] that x [batch, steps] names by
// their numbers. It has a gradient to the table. A number that is not one of 0, …, symbols−1 panics when it is run.
func Embedding(x, table *Node) *Node {
	if x.Dims() != 2 || table.Dims() != 2 {
		panic(fmt.Errorf("embedding: operands of shapes %v and %v, want [batch steps] and [symbols values]", x.Shape(), table.Shape()))
	}
	k := embedding{symbols{sequence{x.Shape()[1], x.Shape()[0]}, table.Shape()[0], table.Shape()[1]}}
	return apply("embedding", k, tensor.Shape{k.steps, k.batch, k.values}, x, table)
}

type symbols struct {
	sequence
	all, values int // rows and columns of the table
}

// each calls f with the place of each symbol of a batch in the sequence and in the table.
func (k symbols) each(rows int, x []float32, f func(at, of int)) {
	for t := range k.steps {
		for i := range rows {
			v := x[i*k.steps+t]
			if !(v >= 0 && v < float32(k.all) && v == float32(math.Trunc(float64(v)))) {
				panic(fmt.Errorf("embedding: symbol %v, want 0 to %d", v, k.all-1))
			}
			f((t*rows+i)*k.values, int(v)*k.values)
		}
	}
}

type embedding struct{ symbols }

func (k embedding) run(m *machine, out []float32, in [][]float32) {
	k.each(k.rows(m), in[0], func(at, of int) { copy(out[at:at+k.values], in[1][of:]) })
}

func (embedding) wrt() []bool { return []bool{false, true} }

func (k embedding) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{{}, whole(apply("embedding'", embeddingGrad{symbols: k.symbols}, in[1].Shape(), grad, in[0]))}
}

type embeddingGrad struct {
	terminal
	symbols
}

func (k embeddingGrad) run(m *machine, out []float32, in [][]float32) {
	clear(out)
	k.each(k.rows(m), in[1], func(at, of int) {
		for j, g := range in[0][at : at+k.values] {
			out[of+j] += g
		}
	})
}
