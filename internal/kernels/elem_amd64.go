//go:build amd64 && !purego

package kernels

// The kernels by instruction set. Slices are whole blocks of 16 values (of 64 for normals), at least one.
// Calls are direct: through a function value, arguments would escape to the heap.

func (c *CPU) exp(dst, x []float32) {
	switch c.isa {
	case AVX512:
		expAVX512(dst, x)
	case AVX2:
		expAVX2(dst, x)
	default:
		expGeneric(dst, x)
	}
}

func (c *CPU) add(dst, a, b []float32) {
	switch c.isa {
	case AVX512:
		addAVX512(dst, a, b)
	case AVX2:
		addAVX2(dst, a, b)
	default:
		addGeneric(dst, a, b)
	}
}

func (c *CPU) mul(dst, a, b []float32) {
	switch c.isa {
	case AVX512:
		mulAVX512(dst, a, b)
	case AVX2:
		mulAVX2(dst, a, b)
	default:
		mulGeneric(dst, a, b)
	}
}

func (c *CPU) scale(dst, x []float32, a float32) {
	switch c.isa {
	case AVX512:
		scaleAVX512(dst, x, a)
	case AVX2:
		scaleAVX2(dst, x, a)
	default:
		scaleGeneric(dst, x, a)
	}
}

func (c *CPU) combine(dst, x, y []float32, a, b float32) {
	switch c.isa {
	case AVX512:
		combineAVX512(dst, x, y, a, b)
	case AVX2:
		combineAVX2(dst, x, y, a, b)
	default:
		combineGeneric(dst, x, y, a, b)
	}
}

func (c *CPU) axpy(dst, x []float32, a float32) {
	switch c.isa {
	case AVX512:
		axpyAVX512(dst, x, a)
	case AVX2:
		axpyAVX2(dst, x, a)
	default:
		axpyGeneric(dst, x, a)
	}
}

func (c *CPU) clampMin(x []float32, lo float32) int {
	switch c.isa {
	case AVX512:
		return clampMinAVX512(x, lo)
	case AVX2:
		return clampMinAVX2(x, lo)
	}
	return clampMinGeneric(x, lo)
}

func (c *CPU) biasReLU(y, b []float32) {
	switch c.isa {
	case AVX512:
		biasReLUAVX512(y, b)
	case AVX2:
		biasReLUAVX2(y, b)
	default:
		biasReLUGeneric(y, b)
	}
}

func (c *CPU) reluGrad(dst, g, y []float32) {
	switch c.isa {
	case AVX512:
		reluGradAVX512(dst, g, y)
	case AVX2:
		reluGradAVX2(dst, g, y)
	default:
		reluGradGeneric(dst, g, y)
	}
}

func (c *CPU) sumRows(acc, g []float32, rows, stride int) {
	switch c.isa {
	case AVX512:
		sumRowsAVX512(acc, g, rows, stride)
	case AVX2:
		sumRowsAVX2(acc, g, rows, stride)
	default:
		sumRowsGeneric(acc, g, rows, stride)
	}
}

func (c *CPU) softplus(sigma, dsigma, rho []float32) {
	switch c.isa {
	case AVX512:
		softplusAVX512(sigma, dsigma, rho)
	case AVX2:
		softplusAVX2(sigma, dsigma, rho)
	default:
		softplusGeneric(sigma, dsigma, rho)
	}
}

func (c *CPU) sample(theta, mu, sigma, eps []float32) {
	switch c.isa {
	case AVX512:
		sampleAVX512(theta, mu, sigma, eps)
	case AVX2:
		sampleAVX2(theta, mu, sigma, eps)
	default:
		sampleGeneric(theta, mu, sigma, eps)
	}
}

func (c *CPU) sampleGrad(drho, dtheta, eps, dsigma []float32) {
	switch c.isa {
	case AVX512:
		sampleGradAVX512(drho, dtheta, eps, dsigma)
	case AVX2:
		sampleGradAVX2(drho, dtheta, eps, dsigma)
	default:
		sampleGradGeneric(drho, dtheta, eps, dsigma)
	}
}

func (c *CPU) varianceGrad(drho, dvar, sigma, dsigma []float32) {
	switch c.isa {
	case AVX512:
		varianceGradAVX512(drho, dvar, sigma, dsigma)
	case AVX2:
		varianceGradAVX2(drho, dvar, sigma, dsigma)
	default:
		varianceGradGeneric(drho, dvar, sigma, dsigma)
	}
}

func (c *CPU) kl(sum *block, dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw []float32) {
	switch c.isa {
	case AVX512:
		klAVX512((*[lanes]float32)(sum), dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw)
	case AVX2:
		klAVX2((*[lanes]float32)(sum), dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw)
	default:
		klGeneric(sum, dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw)
	}
}

func (c *CPU) klTo(sum *block, dmq, drq, mq, sq, dq, mw, sw []float32) {
	switch c.isa {
	case AVX512:
		klToAVX512((*[lanes]float32)(sum), dmq, drq, mq, sq, dq, mw, sw)
	case AVX2:
		klToAVX2((*[lanes]float32)(sum), dmq, drq, mq, sq, dq, mw, sw)
	default:
		klToGeneric(sum, dmq, drq, mq, sq, dq, mw, sw)
	}
}

func (c *CPU) adam(p, m, v, g []float32, a *AdamStep) {
	lr, c1, c2 := a.LR*a.Correct1, 1-a.Beta1, 1-a.Beta2
	switch c.isa {
	case AVX512:
		adamAVX512(p, m, v, g, lr, a.Beta1, c1, a.Beta2, c2, a.Correct2, a.Eps)
	case AVX2:
		adamAVX2(p, m, v, g, lr, a.Beta1, c1, a.Beta2, c2, a.Correct2, a.Eps)
	default:
		adamGeneric(p, m, v, g, a)
	}
}

func (c *CPU) sgd(p, g []float32, lr, decay float32) {
	switch c.isa {
	case AVX512:
		sgdAVX512(p, g, lr, decay)
	case AVX2:
		sgdAVX2(p, g, lr, decay)
	default:
		sgdGeneric(p, g, lr, decay)
	}
}

func (c *CPU) momentum(p, v, g []float32, lr, momentum, decay float32) {
	switch c.isa {
	case AVX512:
		momentumAVX512(p, v, g, lr, momentum, decay)
	case AVX2:
		momentumAVX2(p, v, g, lr, momentum, decay)
	default:
		momentumGeneric(p, v, g, lr, momentum, decay)
	}
}

func (c *CPU) normals(dst []float32, keys *[20]uint32, ctr *[4]uint32) {
	switch c.isa {
	case AVX512:
		normalsAVX512(dst, keys, ctr)
	case AVX2:
		normalsAVX2(dst, keys, ctr)
	default:
		normalsGeneric(dst, keys, ctr)
	}
}
