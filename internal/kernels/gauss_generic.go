package kernels

import "math"

// softplusMin is the ln of the smallest normal number, rounded up.
const softplusMin = -87.33654

// softplus32 returns log(1+eᵖ) and 1/(1+e⁻ᵖ).
func softplus32(rho float32) (s, d float32) {
	x := -abs32(rho)
	if x < softplusMin {
		x = softplusMin
	}
	p, n := expCore(x)
	e := p * pow2(n)
	s = log1p01(e)
	if rho >= 0 {
		return rho + s, 1 / (1 + e)
	}
	return s, e / (1 + e)
}

// log1p01 returns log(1+e) for e in [0, 1]: 2·artanh(t/2) of t = 2e/(2+e).
func log1p01(e float32) float32 {
	t := e / (0.5*e + 1)
	z := t * t
	var p float32 = 0.1161246088505824 / 1024
	p = p*z + 0.10853230498709278/256
	p = p*z + 0.14296182397592277/64
	p = p*z + 0.1999985310341255/16
	p = p*z + 0.3333333366043575/4
	return t + t*(z*p)
}

func abs32(x float32) float32 { return math.Float32frombits(math.Float32bits(x) &^ (1 << 31)) }

func softplusGeneric(sigma, dsigma, rho []float32) {
	sigma, dsigma = sigma[:len(rho)], dsigma[:len(rho)]
	for i, v := range rho {
		sigma[i], dsigma[i] = softplus32(v)
	}
}

func sampleGeneric(theta, mu, sigma, eps []float32) {
	mu, sigma, eps = mu[:len(theta)], sigma[:len(theta)], eps[:len(theta)]
	for i := range theta {
		theta[i] = mu[i] + sigma[i]*eps[i]
	}
}

func sampleGradGeneric(drho, dtheta, eps, dsigma []float32) {
	dtheta, eps, dsigma = dtheta[:len(drho)], eps[:len(drho)], dsigma[:len(drho)]
	for i := range drho {
		drho[i] = dtheta[i] * eps[i] * dsigma[i]
	}
}

func varianceGradGeneric(drho, dvar, sigma, dsigma []float32) {
	dvar, sigma, dsigma = dvar[:len(drho)], sigma[:len(drho)], dsigma[:len(drho)]
	for i := range drho {
		half := dvar[i] * sigma[i] * dsigma[i]
		drho[i] = half + half
	}
}

// klGeneric adds the divergence of element i to lane i mod 16 of sum.
//
// With r = σq/σw − 1 and u = (μq−μw)/σw the divergence is r − log(1+r) + r²/2 + u²/2. Near r = 0 the first two terms
// are taken as one polynomial, so that nothing cancels and the sum cannot be negative.
func klGeneric(sum *block, dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw []float32) {
	n := len(mq)
	dmq, drq, dmw, drw = dmq[:n], drq[:n], dmw[:n], drw[:n]
	sq, dq, mw, sw, dw = sq[:n], dq[:n], mw[:n], sw[:n], dw[:n]
	for i := range mq {
		kl, u, a, iw := kl32(mq[i], sq[i], mw[i], sw[i])
		sum[i%lanes] += kl
		g := u * iw
		gw := -(a + u*u) * (iw * dw[i])
		dmq[i], drq[i] = g, a*(1/sq[i]*dq[i])
		dmw[i], drw[i] = 0-g, gw
	}
}

// klToGeneric is klGeneric without the gradients to w.
func klToGeneric(sum *block, dmq, drq, mq, sq, dq, mw, sw []float32) {
	n := len(mq)
	dmq, drq, sq, dq, mw, sw = dmq[:n], drq[:n], sq[:n], dq[:n], mw[:n], sw[:n]
	for i := range mq {
		kl, u, a, iw := kl32(mq[i], sq[i], mw[i], sw[i])
		sum[i%lanes] += kl
		dmq[i], drq[i] = u*iw, a*(1/sq[i]*dq[i])
	}
}

// kl32 returns the divergence of one element, u = (μq−μw)/σw, a = (σq/σw)² − 1 and 1/σw.
func kl32(mq, sq, mw, sw float32) (kl, u, a, iw float32) {
	iw = 1 / sw
	u = (mq - mw) * iw
	r := (sq - sw) * iw
	f, e := logSplit(sq * iw)
	if e == 0 {
		f = r
	}
	z := f * f
	kl = (r - f) - e*math.Ln2 + 0.5*(z+r*r+u*u) - f*z*logPoly(f)
	return kl, u, r * (r + 2), iw
}
