package graph

import "gorgonia.org/tensor"

// Dot returns Σ x⊙g over the rows of a batch, for x and g of one shape [batch, …]. It has a gradient to x, which is g; to g
// it has none. As a loss it takes back through the graph a gradient that was computed outside of it.
func Dot(x, g *Node) *Node {
	want("dot", g, x.Shape()...)
	k := dot{cols: size(x.Shape()) / x.Shape()[0]}
	return apply("dot", k, tensor.ScalarShape(), x, g)
}

type dot struct{ cols int } // values of a row

func (k dot) run(m *machine, out []float32, in [][]float32) {
	x, g := in[0], in[1]
	var sum float64
	for i := range min(m.rows, len(x)/k.cols) * k.cols {
		sum += float64(x[i]) * float64(g[i])
	}
	out[0] = float32(sum)
}

func (dot) wrt() []bool { return []bool{true, false} }

func (dot) diff(in Nodes, _, grad *Node, _ []bool) []part { return []part{times(in[1], grad), {}} }
