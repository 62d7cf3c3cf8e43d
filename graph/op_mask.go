package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Mask returns x where gate > 0 and 0 elsewhere, for x [batch, …, units] and gate [batch, units]: a unit that an example
// loses, it loses at every place of its image. It has a gradient to x; the gate is a constant to it.
func Mask(x, gate *Node) *Node {
	s := x.Shape()
	if s.Dims() < 2 {
		panic(fmt.Errorf("mask: an operand of shape %v, want [batch … units]", s))
	}
	k := mask{units: s[s.Dims()-1], size: size(s) / s[0]}
	want("mask", gate, s[0], k.units)
	return apply("mask", k, append(tensor.Shape{}, s...), x, gate)
}

type mask struct{ units, size int } // the second of a row of x

func (k mask) run(m *machine, out []float32, in [][]float32) {
	x, gate := in[0], in[1]
	rows := min(m.rows, len(gate)/k.units)
	if k.size == k.units {
		n := rows * k.units
		m.cpu.ReLUGrad(out[:n], x[:n], gate[:n]) // which lets through where its last argument is positive
		return
	}
	copy(out[:rows*k.size], x)
	for i := range rows {
		row := out[i*k.size : (i+1)*k.size]
		for u, g := range gate[i*k.units : (i+1)*k.units] {
			if g > 0 {
				continue
			}
			for at := u; at < k.size; at += k.units {
				row[at] = 0
			}
		}
	}
}

func (mask) wrt() []bool { return []bool{true, false} }

func (k mask) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{whole(Mask(grad, in[1])), {}}
}
