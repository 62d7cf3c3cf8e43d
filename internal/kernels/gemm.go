package kernels

import "fmt"

// GemmNN computes dst = a·b.
//
// All matrices are row-major: a is [m, k], b [k, n] and dst [m, n], with lda, ldb and ldd elements from one row to the
// next. m, n and k may be 0; an empty sum (k = 0) is 0. dst must not overlap a or b.
//
// AVX2 and AVX512 give the same bits for the same operands; Generic rounds differently.
func (c *CPU) GemmNN(m, n, k int, a []float32, lda int, b []float32, ldb int, dst []float32, ldd int) {
	checkShape("GemmNN", m, n, k)
	checkMatrix("GemmNN", "a", a, m, k, lda)
	checkMatrix("GemmNN", "b", b, k, n, ldb)
	checkMatrix("GemmNN", "dst", dst, m, n, ldd)
	c.gemm(m, n, k, operand{a, lda, 1}, operand{b, ldb, 1}, dst, ldd)
}

// GemmTN computes dst = aᵀ·b, with a [k, m], b [k, n] and dst [m, n]. All else is as in GemmNN.
func (c *CPU) GemmTN(m, n, k int, a []float32, lda int, b []float32, ldb int, dst []float32, ldd int) {
	checkShape("GemmTN", m, n, k)
	checkMatrix("GemmTN", "a", a, k, m, lda)
	checkMatrix("GemmTN", "b", b, k, n, ldb)
	checkMatrix("GemmTN", "dst", dst, m, n, ldd)
	c.gemm(m, n, k, operand{a, 1, lda}, operand{b, ldb, 1}, dst, ldd)
}

// GemmNT computes dst = a·bᵀ, with a [m, k], b [n, k] and dst [m, n]. All else is as in GemmNN.
func (c *CPU) GemmNT(m, n, k int, a []float32, lda int, b []float32, ldb int, dst []float32, ldd int) {
	checkShape("GemmNT", m, n, k)
	checkMatrix("GemmNT", "a", a, m, k, lda)
	checkMatrix("GemmNT", "b", b, n, k, ldb)
	checkMatrix("GemmNT", "dst", dst, m, n, ldd)
	c.gemm(m, n, k, operand{a, lda, 1}, operand{b, 1, ldb}, dst, ldd)
}

// operand is a matrix as the kernels read it: element (i, j) is data[i*row+j*col]. One of the strides is 1.
type operand struct {
	data     []float32
	row, col int
}

// gemm splits off the cases without products, so that the kernels may take the address of every operand.
func (c *CPU) gemm(m, n, k int, a, b operand, dst []float32, ldd int) {
	if m == 0 || n == 0 {
		return
	}
	if k == 0 {
		for i := range m {
			clear(dst[i*ldd:][:n])
		}
		return
	}
	c.gemmKernel(m, n, k, a, b, dst, ldd)
}

func checkShape(op string, m, n, k int) {
	if m < 0 || n < 0 || k < 0 {
		panic(fmt.Sprintf("kernels: %s: m, n, k = %d, %d, %d, want none negative", op, m, n, k))
	}
}

// checkMatrix wants data to hold rows of cols elements that start ld apart; the last row may end with its last element.
func checkMatrix(op, name string, data []float32, rows, cols, ld int) {
	if rows == 0 || cols == 0 {
		return
	}
	if ld < cols {
		panic(fmt.Sprintf("kernels: %s: %s has a leading dimension of %d, want at least %d", op, name, ld, cols))
	}
	if want := (rows-1)*ld + cols; len(data) < want {
		panic(fmt.Sprintf("kernels: %s: len(%s) = %d, want at least %d for [%d, %d] with a leading dimension of %d",
			op, name, len(data), want, rows, cols, ld))
	}
}

// balanced returns the smallest size of equal blocks that are as few as blocks of size most; n is positive.
func balanced(n, most int) int {
	blocks := (n + most - 1) / most
	return (n + blocks - 1) / blocks
}
