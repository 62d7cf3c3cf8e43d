//go:build !amd64 || purego

package kernels

func (p *product) compute(*CPU) { p.generic() }

func (c *CPU) flip(dst, src []float32, rows, cols int) { flipGeneric(dst, src, rows, cols) }
