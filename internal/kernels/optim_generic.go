package kernels

import "math"

func adamGeneric(p, m, v, g []float32, a *AdamStep) {
	m, v, g = m[:len(p)], v[:len(p)], g[:len(p)]
	c1, c2 := 1-a.Beta1, 1-a.Beta2
	for i, x := range g {
		m1 := a.Beta1*m[i] + c1*x
		v1 := a.Beta2*v[i] + c2*(x*x)
		m[i], v[i] = m1, v1
		p[i] -= a.LR * (m1 * a.Correct1) / (float32(math.Sqrt(float64(v1*a.Correct2))) + a.Eps)
	}
}

func sgdGeneric(p, g []float32, lr, decay float32) {
	g = g[:len(p)]
	for i, x := range p {
		p[i] = x - lr*(g[i]+decay*x)
	}
}

func momentumGeneric(p, v, g []float32, lr, momentum, decay float32) {
	v, g = v[:len(p)], g[:len(p)]
	for i, x := range p {
		v[i] = momentum*v[i] + (g[i] + decay*x)
		p[i] = x - lr*v[i]
	}
}
