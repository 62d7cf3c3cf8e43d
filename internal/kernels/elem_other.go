//go:build !amd64 || purego

package kernels

func (c *CPU) exp(dst, x []float32) { expGeneric(dst, x) }

func (c *CPU) add(dst, a, b []float32)                    { addGeneric(dst, a, b) }
func (c *CPU) mul(dst, a, b []float32)                    { mulGeneric(dst, a, b) }
func (c *CPU) scale(dst, x []float32, a float32)          { scaleGeneric(dst, x, a) }
func (c *CPU) combine(dst, x, y []float32, a, b float32)  { combineGeneric(dst, x, y, a, b) }
func (c *CPU) axpy(dst, x []float32, a float32)           { axpyGeneric(dst, x, a) }
func (c *CPU) clampMin(x []float32, lo float32) int       { return clampMinGeneric(x, lo) }
func (c *CPU) biasReLU(y, b []float32)                    { biasReLUGeneric(y, b) }
func (c *CPU) reluGrad(dst, g, y []float32)               { reluGradGeneric(dst, g, y) }
func (c *CPU) sumRows(acc, g []float32, rows, stride int) { sumRowsGeneric(acc, g, rows, stride) }

func (c *CPU) softplus(sigma, dsigma, rho []float32)      { softplusGeneric(sigma, dsigma, rho) }
func (c *CPU) sample(theta, mu, sigma, eps []float32)     { sampleGeneric(theta, mu, sigma, eps) }
func (c *CPU) sampleGrad(drho, dtheta, eps, ds []float32) { sampleGradGeneric(drho, dtheta, eps, ds) }
func (c *CPU) varianceGrad(drho, dvar, s, ds []float32)   { varianceGradGeneric(drho, dvar, s, ds) }
func (c *CPU) kl(sum *block, dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw []float32) {
	klGeneric(sum, dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw)
}
func (c *CPU) klTo(sum *block, dmq, drq, mq, sq, dq, mw, sw []float32) {
	klToGeneric(sum, dmq, drq, mq, sq, dq, mw, sw)
}

func (c *CPU) adam(p, m, v, g []float32, a *AdamStep) { adamGeneric(p, m, v, g, a) }
func (c *CPU) sgd(p, g []float32, lr, decay float32)  { sgdGeneric(p, g, lr, decay) }
func (c *CPU) momentum(p, v, g []float32, lr, momentum, decay float32) {
	momentumGeneric(p, v, g, lr, momentum, decay)
}

func (c *CPU) normals(dst []float32, keys *[20]uint32, ctr *[4]uint32) {
	normalsGeneric(dst, keys, ctr)
}
