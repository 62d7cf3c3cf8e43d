package kernels

// genericBlock is the number of rows of b that gemmGeneric keeps in the first-level cache, for n of a hundred or so.
const genericBlock = 64

// gemmGeneric is GEMM in plain Go, by updates of a row of dst with four rows of b. It wants m, n, k > 0.
func (c *CPU) gemmGeneric(m, n, k int, a, b operand, dst []float32, ldd int) {
	for i := range m {
		clear(dst[i*ldd:][:n])
	}
	for p0 := 0; p0 < k; p0 += genericBlock {
		kb := min(genericBlock, k-p0)
		block, ldb := b.data[p0*b.row:], b.row
		if b.col != 1 {
			block, ldb = c.scratch(kb*n), n
			for p := range kb {
				row := block[p*n:][:n]
				for j := range row {
					row[j] = b.data[j*b.col+p0+p]
				}
			}
		}
		for i := range m {
			row := dst[i*ldd:][:n]
			x, at := a.data[i*a.row+p0*a.col:], a.col
			p := 0
			for ; p+4 <= kb; p += 4 {
				addRows4(row, x[p*at], x[(p+1)*at], x[(p+2)*at], x[(p+3)*at],
					block[p*ldb:], block[(p+1)*ldb:], block[(p+2)*ldb:], block[(p+3)*ldb:])
			}
			for ; p < kb; p++ {
				x0 := x[p*at]
				for j, y := range block[p*ldb:][:n] {
					row[j] += x0 * y
				}
			}
		}
	}
}

// addRows4 adds x0·y0 + x1·y1 + x2·y2 + x3·y3 to dst.
func addRows4(dst []float32, x0, x1, x2, x3 float32, y0, y1, y2, y3 []float32) {
	n := len(dst)
	y0, y1, y2, y3 = y0[:n], y1[:n], y2[:n], y3[:n]
	for j := range dst {
		dst[j] += x0*y0[j] + x1*y1[j] + x2*y2[j] + x3*y3[j]
	}
}

// scratch returns n elements of c's scratch memory, their contents unspecified.
func (c *CPU) scratch(n int) []float32 {
	if cap(c.pack) < n {
		c.pack = make([]float32, n)
	}
	return c.pack[:n]
}
