package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Reshape returns x in another shape of as many values, as from [batch, height, width, channels] to [batch, inputs]. It is
// a view: nothing is copied.
func Reshape(x *Node, shape ...int) *Node {
	if n := size(tensor.Shape(shape)); n != size(x.Shape()) {
		panic(fmt.Errorf("reshape: %v to %v: %d values, want %d", x.Shape(), shape, n, size(x.Shape())))
	}
	return apply("reshape", reshape{}, shape, x)
}

type reshape struct{}

func (reshape) view(in []float32) []float32 { return in }

func (reshape) run(_ *machine, out []float32, in [][]float32) { copy(out, in[0]) }

func (reshape) wrt() []bool { return []bool{true} }

func (reshape) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{whole(Reshape(grad, in[0].Shape()...))}
}
