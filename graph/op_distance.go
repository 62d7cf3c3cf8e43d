package graph

// HalfSquaredDistance returns ½‖x − a‖² for vectors of one size. It has a gradient to x; the anchor a is a constant to it.
func HalfSquaredDistance(x, a *Node) *Node {
	n := size(x.Shape())
	want("half squared distance", x, n)
	want("half squared distance", a, n)
	return valued("half squared distance", halfSquaredDistance{}, align(n), Nodes{x}, x, a)
}

type halfSquaredDistance struct{ terminal }

func (halfSquaredDistance) run(m *machine, out []float32, in [][]float32) {
	x, a := in[0], in[1]
	g := out[:len(x)]
	m.cpu.Combine(g, 1, x, -1, a)
	// In float64: of 10⁵ squares, float32 would lose the last digits.
	var sum [4]float64
	for ; len(g) >= 4; g = g[4:] {
		for k := range sum {
			sum[k] += float64(g[k]) * float64(g[k])
		}
	}
	for _, d := range g {
		sum[0] += float64(d) * float64(d)
	}
	out[align(len(x))] = float32((sum[0] + sum[1] + sum[2] + sum[3]) / 2)
}
