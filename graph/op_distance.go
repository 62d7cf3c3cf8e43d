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
	out[align(len(x))] = float32(squares(g) / 2)
}

// squares returns Σ v², in float64: of 10⁵ squares, float32 would lose the last digits.
func squares(v []float32) float64 {
	var a, b, c, d float64 // not an array, which would be kept in memory
	for ; len(v) >= 4; v = v[4:] {
		a += float64(v[0]) * float64(v[0])
		b += float64(v[1]) * float64(v[1])
		c += float64(v[2]) * float64(v[2])
		d += float64(v[3]) * float64(v[3])
	}
	for _, x := range v {
		a += float64(x) * float64(x)
	}
	return a + b + c + d
}
