//go:build !amd64 || purego

package kernels

func (c *CPU) maxPool(y, index, x []float32, v *views, least float32) {
	maxPoolGeneric(y, index, x, v, 0, least)
}

func (c *CPU) maxPoolGrad(dx, dy, index []float32, v *views) { maxPoolGradGeneric(dx, dy, index, v, 0) }
