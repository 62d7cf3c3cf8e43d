package kernels

// Softplus sets sigma = σ(ρ) = log(1+eᵖ) and dsigma = σ'(ρ) = 1/(1+e⁻ᵖ), both to 3 ulp.
// Below ρ = -87.33 both stay at e^-87.33, the smallest normal number, so that neither 1/σ nor log σ becomes infinite.
func (c *CPU) Softplus(sigma, dsigma, rho []float32) {
	same("Softplus", len(sigma), len(dsigma), len(rho))
	for i, n := 0, len(rho); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var s, d block
			copy(s[:], rho[i:j])
			c.softplus(s[:], d[:], s[:])
			copy(sigma[i:j], s[:])
			copy(dsigma[i:j], d[:])
		} else {
			c.softplus(sigma[i:j], dsigma[i:j], rho[i:j])
		}
		i = j
	}
}

// Sample sets theta = μ + σ⊙ε.
func (c *CPU) Sample(theta, mu, sigma, eps []float32) {
	same("Sample", len(theta), len(mu), len(sigma), len(eps))
	for i, n := 0, len(theta); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var m, s, e block
			copy(m[:], mu[i:j])
			copy(s[:], sigma[i:j])
			copy(e[:], eps[i:j])
			c.sample(m[:], m[:], s[:], e[:])
			copy(theta[i:j], m[:])
		} else {
			c.sample(theta[i:j], mu[i:j], sigma[i:j], eps[i:j])
		}
		i = j
	}
}

// SampleGrad sets drho = dθ⊙ε⊙σ', the gradient with respect to ρ of a loss whose gradient at θ = μ + σ(ρ)⊙ε is dθ.
func (c *CPU) SampleGrad(drho, dtheta, eps, dsigma []float32) {
	same("SampleGrad", len(drho), len(dtheta), len(eps), len(dsigma))
	for i, n := 0, len(drho); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var t, e, d block
			copy(t[:], dtheta[i:j])
			copy(e[:], eps[i:j])
			copy(d[:], dsigma[i:j])
			c.sampleGrad(t[:], t[:], e[:], d[:])
			copy(drho[i:j], t[:])
		} else {
			c.sampleGrad(drho[i:j], dtheta[i:j], eps[i:j], dsigma[i:j])
		}
		i = j
	}
}

// VarianceGrad sets drho = 2·dv⊙σ⊙σ', the gradient with respect to ρ of a loss whose gradient at v = σ(ρ)² is dv.
func (c *CPU) VarianceGrad(drho, dv, sigma, dsigma []float32) {
	same("VarianceGrad", len(drho), len(dv), len(sigma), len(dsigma))
	for i, n := 0, len(drho); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var v, s, d block
			copy(v[:], dv[i:j])
			copy(s[:], sigma[i:j])
			copy(d[:], dsigma[i:j])
			c.varianceGrad(v[:], v[:], s[:], d[:])
			copy(drho[i:j], v[:])
		} else {
			c.varianceGrad(drho[i:j], dv[i:j], sigma[i:j], dsigma[i:j])
		}
		i = j
	}
}

// klBlock is the number of values whose divergence is summed in 16 lanes of float32 before it goes to the float64 total.
const klBlock = 1024

// GaussianKL returns the divergence of two diagonal Gaussians q = N(mq, sq²) and w = N(mw, sw²),
//
//	KL(q ‖ w) = Σ log(sw/sq) + (sq² + (mq−mw)²)/(2·sw²) − 1/2,
//
// and sets its gradients with respect to (μq, ρq, μw, ρw), where σ = softplus(ρ). sq, dq and sw, dw are σ and its
// derivative by ρ, as Softplus gives them; σ is to be positive. Where q and w agree, value and gradients are exactly 0;
// where they almost do, they are as exact as the differences of their arguments. A ratio of σ, or of the distance to σ,
// beyond 1e19 gives +Inf.
//
// Summands are added in 16 lanes and blocks of fixed size, and the blocks in float64, on every instruction set alike.
func (c *CPU) GaussianKL(dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw []float32) float64 {
	n := len(mq)
	same("GaussianKL", n, len(dmq), len(drq), len(dmw), len(drw), len(sq), len(dq), len(mw), len(sw), len(dw))
	total := 0.0
	for i := 0; i < n; i += klBlock {
		j := min(i+klBlock, n)
		total += c.klOf(dmq[i:j], drq[i:j], dmw[i:j], drw[i:j], mq[i:j], sq[i:j], dq[i:j], mw[i:j], sw[i:j], dw[i:j])
	}
	return total
}

// klOf is GaussianKL of one block of at most klBlock values.
func (c *CPU) klOf(dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw []float32) float64 {
	var sum block
	n := len(mq) &^ (lanes - 1)
	if n > 0 {
		c.kl(&sum, dmq[:n], drq[:n], dmw[:n], drw[:n], mq[:n], sq[:n], dq[:n], mw[:n], sw[:n], dw[:n])
	}
	if n < len(mq) {
		var a, b, d, e, f, g block // the padding: KL(N(0, 1) ‖ N(0, 1)) = 0
		for k := range b {
			b[k], f[k] = 1, 1
		}
		copy(a[:], mq[n:])
		copy(b[:], sq[n:])
		copy(d[:], dq[n:])
		copy(e[:], mw[n:])
		copy(f[:], sw[n:])
		copy(g[:], dw[n:])
		c.kl(&sum, a[:], b[:], e[:], f[:], a[:], b[:], d[:], e[:], f[:], g[:])
		copy(dmq[n:], a[:])
		copy(drq[n:], b[:])
		copy(dmw[n:], e[:])
		copy(drw[n:], f[:])
	}
	return sum.total()
}

// GaussianKLTo is GaussianKL without the gradients with respect to w: the value and those to q are the same, to the bit.
func (c *CPU) GaussianKLTo(dmq, drq, mq, sq, dq, mw, sw []float32) float64 {
	n := len(mq)
	same("GaussianKLTo", n, len(dmq), len(drq), len(sq), len(dq), len(mw), len(sw))
	total := 0.0
	for i := 0; i < n; i += klBlock {
		j := min(i+klBlock, n)
		total += c.klToOf(dmq[i:j], drq[i:j], mq[i:j], sq[i:j], dq[i:j], mw[i:j], sw[i:j])
	}
	return total
}

// klToOf is GaussianKLTo of one block of at most klBlock values.
func (c *CPU) klToOf(dmq, drq, mq, sq, dq, mw, sw []float32) float64 {
	var sum block
	n := len(mq) &^ (lanes - 1)
	if n > 0 {
		c.klTo(&sum, dmq[:n], drq[:n], mq[:n], sq[:n], dq[:n], mw[:n], sw[:n])
	}
	if n < len(mq) {
		var a, b, d, e, f block // padded as in klOf
		for k := range b {
			b[k], f[k] = 1, 1
		}
		copy(a[:], mq[n:])
		copy(b[:], sq[n:])
		copy(d[:], dq[n:])
		copy(e[:], mw[n:])
		copy(f[:], sw[n:])
		c.klTo(&sum, a[:], b[:], a[:], b[:], d[:], e[:], f[:])
		copy(dmq[n:], a[:])
		copy(drq[n:], b[:])
	}
	return sum.total()
}

// total returns the sum of the lanes.
func (b *block) total() float64 {
	s := 0.0
	for _, v := range b {
		s += float64(v)
	}
	return s
}
