package graph

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Sum returns the sum of scalars.
func Sum(terms ...*Node) *Node {
	for _, t := range terms {
		want("sum", t)
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return apply("sum", sum(len(terms)), tensor.ScalarShape(), terms...)
}

type sum int

func (sum) run(_ *machine, out []float32, in [][]float32) {
	var s float64
	for _, x := range in {
		s += float64(x[0])
	}
	out[0] = float32(s)
}

func (k sum) wrt() []bool {
	w := make([]bool, k)
	for i := range w {
		w[i] = true
	}
	return w
}

func (k sum) diff(_ Nodes, _, grad *Node, need []bool) []part {
	ps := make([]part, k)
	for i, ok := range need {
		if ok {
			ps[i] = whole(grad)
		}
	}
	return ps
}

// Scale returns s·x for a node x and a scalar s, which has no gradient: the weight of a term in a loss.
func Scale(x, s *Node) *Node {
	want("scale", s)
	return apply("scale", scaled{}, x.Shape(), x, s)
}

type scaled struct{}

func (scaled) run(m *machine, out []float32, in [][]float32) { m.cpu.Scale(out, in[1][0], in[0]) }

func (scaled) wrt() []bool { return []bool{true, false} }

func (scaled) diff(in Nodes, _, grad *Node, _ []bool) []part {
	if isOne(grad) && in[0].IsScalar() {
		return []part{whole(in[1]), {}}
	}
	return []part{times(grad, in[1]), {}}
}

// combine returns Σ scale·x in one pass for two parts, and one more for each further part.
func combine(parts []part) *Node {
	k := combination{scaled: make([]bool, len(parts))}
	var in Nodes
	for i, p := range parts {
		if !p.x.Shape().Eq(parts[0].x.Shape()) {
			panic(fmt.Errorf("gradients of shapes %v and %v for one node", parts[0].x.Shape(), p.x.Shape()))
		}
		in = append(in, p.x)
		if k.scaled[i] = p.scale != nil; k.scaled[i] {
			in = append(in, p.scale)
		}
	}
	return apply("combine", k, parts[0].x.Shape(), in...)
}

type combination struct {
	terminal
	scaled []bool // whether a part is followed by its scale
}

// over implements [inplace]: the first two parts are read before anything is written.
func (k combination) over() []int {
	if k.scaled[0] {
		return []int{0, 2}
	}
	return []int{0, 1}
}

func (k combination) run(m *machine, out []float32, in [][]float32) {
	next := func(i int) (x []float32, s float32) {
		x, s, in = in[0], 1, in[1:]
		if k.scaled[i] {
			s, in = in[0][0], in[1:]
		}
		return x, s
	}
	x, a := next(0)
	y, b := next(1)
	m.cpu.Combine(out, a, x, b, y)
	for i := 2; i < len(k.scaled); i++ {
		x, a := next(i)
		m.cpu.Axpy(out, a, x)
	}
}
