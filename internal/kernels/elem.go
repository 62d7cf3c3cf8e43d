package kernels

import "fmt"

// Every elementwise kernel works on whole blocks of 16 values, whatever the width of the vectors: AVX-512 takes a block
// in one register, AVX2 in two. The rest of a slice is copied into a padded block and goes through the same kernel, so
// that the value of an element depends neither on its place nor on the length and alignment of the slice.
//
// A destination may be one of the sources; slices must not overlap otherwise.

const (
	lanes = 16      // values in a block
	chunk = 1 << 14 // values in one call of a kernel: assembly cannot be preempted, so calls are kept short
)

type block [lanes]float32

// next returns the end of the run that starts at i of n values: whole blocks, at most a chunk of them, or else the rest.
func next(i, n int) int {
	if n-i < lanes {
		return n
	}
	return i + min(n-i, chunk)&^(lanes-1)
}

// same panics unless all lengths are n.
func same(name string, n int, lens ...int) {
	for _, l := range lens {
		if l != n {
			panic(fmt.Sprintf("kernels: %s: slices of %d and %d values, want equal lengths", name, n, l))
		}
	}
}

// matrix panics unless every slice holds a matrix [rows, n].
func matrix(name string, rows, n int, lens ...int) {
	if rows < 0 || n < 1 {
		panic(fmt.Sprintf("kernels: %s: matrix [%d, %d], want rows ≥ 0 and columns ≥ 1", name, rows, n))
	}
	same(name, rows*n, lens...)
}

// Exp sets dst = eˣ, to 1 ulp: denormal below -87.33, 0 below -103.97, +Inf above 88.72.
func (c *CPU) Exp(dst, x []float32) {
	same("Exp", len(dst), len(x))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var b block
			copy(b[:], x[i:j])
			c.exp(b[:], b[:])
			copy(dst[i:j], b[:])
		} else {
			c.exp(dst[i:j], x[i:j])
		}
		i = j
	}
}

// Add sets dst = a + b.
func (c *CPU) Add(dst, a, b []float32) {
	same("Add", len(dst), len(a), len(b))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, t block
			copy(s[:], a[i:j])
			copy(t[:], b[i:j])
			c.add(s[:], s[:], t[:])
			copy(dst[i:j], s[:])
		} else {
			c.add(dst[i:j], a[i:j], b[i:j])
		}
		i = j
	}
}

// Mul sets dst = a⊙b.
func (c *CPU) Mul(dst, a, b []float32) {
	same("Mul", len(dst), len(a), len(b))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, t block
			copy(s[:], a[i:j])
			copy(t[:], b[i:j])
			c.mul(s[:], s[:], t[:])
			copy(dst[i:j], s[:])
		} else {
			c.mul(dst[i:j], a[i:j], b[i:j])
		}
		i = j
	}
}

// Scale sets dst = a·x.
func (c *CPU) Scale(dst []float32, a float32, x []float32) {
	same("Scale", len(dst), len(x))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var b block
			copy(b[:], x[i:j])
			c.scale(b[:], b[:], a)
			copy(dst[i:j], b[:])
		} else {
			c.scale(dst[i:j], x[i:j], a)
		}
		i = j
	}
}

// Combine sets dst = a·x + b·y.
func (c *CPU) Combine(dst []float32, a float32, x []float32, b float32, y []float32) {
	same("Combine", len(dst), len(x), len(y))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, t block
			copy(s[:], x[i:j])
			copy(t[:], y[i:j])
			c.combine(s[:], s[:], t[:], a, b)
			copy(dst[i:j], s[:])
		} else {
			c.combine(dst[i:j], x[i:j], y[i:j], a, b)
		}
		i = j
	}
}

// Axpy adds a·x to dst.
func (c *CPU) Axpy(dst []float32, a float32, x []float32) {
	same("Axpy", len(dst), len(x))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, t block
			copy(s[:], dst[i:j])
			copy(t[:], x[i:j])
			c.axpy(s[:], t[:], a)
			copy(dst[i:j], s[:])
		} else {
			c.axpy(dst[i:j], x[i:j], a)
		}
		i = j
	}
}

// ClampMin raises the values of x that are below lo to lo, and returns how many there were. NaN stays NaN.
func (c *CPU) ClampMin(x []float32, lo float32) int {
	raised := 0
	for i, n := 0, len(x); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var b block
			for k := range b {
				b[k] = lo // the padding is not to be counted
			}
			copy(b[:], x[i:j])
			raised += c.clampMin(b[:], lo)
			copy(x[i:j], b[:])
		} else {
			raised += c.clampMin(x[i:j], lo)
		}
		i = j
	}
	return raised
}

// ReLUGrad sets dst to g where y > 0, and to 0 elsewhere: the gradient through y = ReLU(·). Where y is NaN so is dst.
func (c *CPU) ReLUGrad(dst, g, y []float32) {
	same("ReLUGrad", len(dst), len(g), len(y))
	for i, n := 0, len(dst); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, t block
			copy(s[:], g[i:j])
			copy(t[:], y[i:j])
			c.reluGrad(s[:], s[:], t[:])
			copy(dst[i:j], s[:])
		} else {
			c.reluGrad(dst[i:j], g[i:j], y[i:j])
		}
		i = j
	}
}
