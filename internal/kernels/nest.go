package kernels

// A product is dst[i, j] = Σ a[i·aRow + ·] · b[j + ·] for m rows and n columns, where the sum runs over a nest of loops. It is
// taken at a number of places, which a and dst move on to while b stays.
//
// A finished sum is added to what is there if acc is set, or to bias [n] if there is one, and then raised to 0 where it is
// negative if relu is set. All sizes are positive.
type product struct {
	m, n   int
	a, b   []float32
	dst    []float32
	aRow   int // elements from row to row
	dstRow int
	sum    nest

	places   int
	aPlace   int // elements from place to place
	dstPlace int

	acc  bool
	bias []float32
	relu bool
}

// A nest is three loops, the innermost first. Each has a number of turns, at least one, and the distances that a and b move
// on in a turn.
type nest [3]struct{ n, a, b int }

// generic computes p in plain Go.
func (p *product) generic() {
	for q := range p.places {
		for i := range p.m {
			row := p.dst[q*p.dstPlace+i*p.dstRow:][:p.n]
			if !p.acc {
				clear(row)
			}
			p.addTo(row, p.a[q*p.aPlace+i*p.aRow:])
			if p.bias != nil {
				addGeneric(row, row, p.bias)
			}
			if p.relu {
				clampMinGeneric(row, 0)
			}
		}
	}
}

// addTo adds the sums for one row of a to row.
func (p *product) addTo(row, a []float32) {
	in, mid, out := p.sum[0], p.sum[1], p.sum[2]
	for r := range out.n {
		for q := range mid.n {
			x, y, k := a[r*out.a+q*mid.a:], p.b[r*out.b+q*mid.b:], 0
			for ; k+4 <= in.n; k += 4 {
				addRows4(row, x[k*in.a], x[(k+1)*in.a], x[(k+2)*in.a], x[(k+3)*in.a],
					y[k*in.b:], y[(k+1)*in.b:], y[(k+2)*in.b:], y[(k+3)*in.b:])
			}
			for ; k < in.n; k++ {
				x0 := x[k*in.a]
				for j, v := range y[k*in.b:][:p.n] {
					row[j] += x0 * v
				}
			}
		}
	}
}

// flipGeneric writes the transpose of src [rows, cols] to dst.
func flipGeneric(dst, src []float32, rows, cols int) {
	for j := range cols {
		column := dst[j*rows:][:rows]
		for i := range column {
			column[i] = src[i*cols+j]
		}
	}
}
