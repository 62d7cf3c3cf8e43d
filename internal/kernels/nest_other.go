//go:build !amd64 || purego

package kernels

func (c *CPU) nested(m, n int, a []float32, aRow int, b []float32, s *nest, dst []float32, dstRow int, e epilogue) {
	nestedGeneric(m, n, a, aRow, b, s, dst, dstRow, e)
}
