package graph

// HalfWeightedSquares returns ½ Σ c⊙(x − a)² for vectors of one size. It has a gradient to x; a and the weights c are
// constants to it.
func HalfWeightedSquares(x, a, c *Node) *Node {
	n := size(x.Shape())
	for _, v := range []*Node{x, a, c} {
		want("half weighted squares", v, n)
	}
	return valued("half weighted squares", halfWeightedSquares{}, align(n), Nodes{x}, x, a, c)
}

type halfWeightedSquares struct{ terminal }

func (halfWeightedSquares) run(m *machine, out []float32, in [][]float32) {
	x, a, c := in[0], in[1], in[2]
	g := out[:len(x)]
	m.cpu.Combine(g, 1, x, -1, a)
	var sum [4]float64 // in float64, as for HalfSquaredDistance
	for ; len(g) >= 4; g, c = g[4:], c[4:] {
		for k := range sum {
			d := g[k]
			g[k] *= c[k]
			sum[k] += float64(g[k]) * float64(d)
		}
	}
	for k, d := range g {
		g[k] *= c[k]
		sum[0] += float64(g[k]) * float64(d)
	}
	out[align(len(x))] = float32((sum[0] + sum[1] + sum[2] + sum[3]) / 2)
}
