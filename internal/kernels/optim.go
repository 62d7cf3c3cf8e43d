package kernels

// An AdamStep is what Adam needs to know at one step.
type AdamStep struct {
	LR           float32 // learning rate
	Beta1, Beta2 float32 // decay of the two moments; 1−β is taken of these float32 values
	Eps          float32
	Correct1     float32 // 1/(1−β₁ˢ) at step s = 1, 2, …
	Correct2     float32 // 1/(1−β₂ˢ)
}

// Adam takes one step of p along its gradient g, with the moments m and v:
//
//	m ← β₁·m + (1−β₁)·g
//	v ← β₂·v + (1−β₂)·g²
//	p ← p − LR·(m·Correct1)/(√(v·Correct2) + Eps)
//
// Kingma and Ba, Adam: A Method for Stochastic Optimization. ICLR 2015. Algorithm 1.
func (c *CPU) Adam(p, m, v, g []float32, a AdamStep) {
	same("Adam", len(p), len(m), len(v), len(g))
	for i, n := 0, len(p); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var bp, bm, bv, bg block
			copy(bp[:], p[i:j])
			copy(bm[:], m[i:j])
			copy(bv[:], v[i:j])
			copy(bg[:], g[i:j])
			c.adam(bp[:], bm[:], bv[:], bg[:], &a)
			copy(p[i:j], bp[:])
			copy(m[i:j], bm[:])
			copy(v[i:j], bv[:])
		} else {
			c.adam(p[i:j], m[i:j], v[i:j], g[i:j], &a)
		}
		i = j
	}
}

// SGD takes one step of p along its gradient g with weight decay: p ← p − lr·(g + decay·p).
func (c *CPU) SGD(p, g []float32, lr, decay float32) {
	same("SGD", len(p), len(g))
	for i, n := 0, len(p); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var bp, bg block
			copy(bp[:], p[i:j])
			copy(bg[:], g[i:j])
			c.sgd(bp[:], bg[:], lr, decay)
			copy(p[i:j], bp[:])
		} else {
			c.sgd(p[i:j], g[i:j], lr, decay)
		}
		i = j
	}
}

// Momentum takes one step of p with the velocity v: v ← momentum·v + g + decay·p, then p ← p − lr·v.
func (c *CPU) Momentum(p, v, g []float32, lr, momentum, decay float32) {
	same("Momentum", len(p), len(v), len(g))
	for i, n := 0, len(p); i < n; {
		j := next(i, n)
		if j-i < lanes {
			var bp, bv, bg block
			copy(bp[:], p[i:j])
			copy(bv[:], v[i:j])
			copy(bg[:], g[i:j])
			c.momentum(bp[:], bv[:], bg[:], lr, momentum, decay)
			copy(p[i:j], bp[:])
			copy(v[i:j], bv[:])
		} else {
			c.momentum(p[i:j], v[i:j], g[i:j], lr, momentum, decay)
		}
		i = j
	}
}
