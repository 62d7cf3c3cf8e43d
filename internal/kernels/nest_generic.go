package kernels

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
