package kernels

// tile bounds the rows of a small matrix that are handled as one vector.
const tile = 2048

// period returns the number of rows of n values that fill whole blocks together.
func period(n int) int {
	k := 1
	for k*n%lanes != 0 {
		k *= 2
	}
	return k
}

// BiasReLU adds bias [n] to every row of y [rows, n] and then, if relu is set, raises what is negative to 0.
// NaN stays NaN.
func (c *CPU) BiasReLU(y, bias []float32, rows, n int, relu bool) {
	matrix("BiasReLU", rows, n, len(y))
	same("BiasReLU", n, len(bias))
	b, k := bias, 1
	if p := period(n); p > 1 && rows > 1 && p*n <= tile {
		// Rows are not whole blocks: the bias, repeated until it is, goes over several rows at once.
		var buf [tile]float32
		k = min(tile/n, rows+p-1) / p * p
		for i := range k {
			copy(buf[i*n:(i+1)*n], bias)
		}
		b = buf[:k*n]
	}
	for r := 0; r < rows; r += k {
		row := y[r*n : min(r+k, rows)*n]
		if relu {
			c.addReLU(row, b[:len(row)])
		} else {
			c.Add(row, row, b[:len(row)])
		}
	}
}

// addReLU sets y = max(y+b, 0).
func (c *CPU) addReLU(y, b []float32) {
	for i, n := 0, len(y); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, t block
			copy(s[:], y[i:j])
			copy(t[:], b[i:j])
			c.biasReLU(s[:], t[:])
			copy(y[i:j], s[:])
		} else {
			c.biasReLU(y[i:j], b[i:j])
		}
		i = j
	}
}

// ColSum sets dst [n] to the sum of the rows of g [rows, n].
func (c *CPU) ColSum(dst, g []float32, rows, n int) {
	matrix("ColSum", rows, n, len(g))
	same("ColSum", n, len(dst))
	clear(dst)
	k, r := period(n), 0
	if k*n <= tile {
		// Sum period with period, then fold the rows of the sum.
		var buf [tile]float32
		acc := buf[:k*n]
		for r+k <= rows {
			m := min((rows-r)/k, max(1, sumRows/k)) // periods
			clear(acc)
			c.sumRows(acc, g[r*n:], m, k*n)
			for i := range k {
				c.Add(dst, dst, acc[i*n:(i+1)*n])
			}
			r += m * k
		}
	}
	for ; r < rows; r++ {
		c.Add(dst, dst, g[r*n:(r+1)*n])
	}
}

// sumRows is the number of rows that are added up before they go to the total, which keeps rounding small when there
// are many: its error grows with rows/sumRows + sumRows instead of with rows.
const sumRows = 256
