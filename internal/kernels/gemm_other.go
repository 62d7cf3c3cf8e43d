//go:build !amd64 || purego

package kernels

func (c *CPU) gemmKernel(m, n, k int, a, b operand, dst []float32, ldd int) {
	c.gemmGeneric(m, n, k, a, b, dst, ldd)
}
