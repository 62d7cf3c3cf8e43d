package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Slice returns the part of a flat vector that starts at offset and has a shape. It is a view: nothing is copied.
func Slice(v *Node, offset int, shape ...int) *Node {
	k := slice{offset, tensor.Shape(shape).TotalSize(), size(v.Shape())}
	if v.Dims() != 1 || offset < 0 || k.n <= 0 || offset+k.n > k.of {
		panic(fmt.Errorf("slice: %v at %d of a vector of shape %v", shape, offset, v.Shape()))
	}
	return apply("slice", k, shape, v)
}

type slice struct{ offset, n, of int }

func (k slice) view(in []float32) []float32 { return in[k.offset : k.offset+k.n : k.offset+k.n] }

func (k slice) run(_ *machine, out []float32, in [][]float32) { copy(out, k.view(in[0])) }

func (k slice) wrt() []bool { return []bool{true} }

func (k slice) diff(_ Nodes, _, grad *Node, _ []bool) []part {
	return []part{{x: grad, offset: k.offset, of: k.of}}
}

// embed is the gradient of one slice alone: its input at its place in a vector of zeros.
type embed struct {
	terminal
	offset int
}

func (k embed) run(_ *machine, out []float32, in [][]float32) {
	clear(out)
	copy(out[k.offset:], in[0])
}

// packed is the gradient of a vector that was cut into slices: their gradients, one after the other. An executor lets
// the operations that make them write into its output, and there is nothing left to do.
type packed struct{ terminal }

func pack(parts []part) *Node {
	var in Nodes
	for _, p := range parts {
		in = append(in, p.x)
	}
	return apply("pack", packed{}, tensor.Shape{parts[0].of}, in...)
}

func (packed) run(_ *machine, out []float32, in [][]float32) {
	for _, x := range in {
		if &x[0] != &out[0] {
			copy(out, x)
		}
		out = out[len(x):]
	}
}
