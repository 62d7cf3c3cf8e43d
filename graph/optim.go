package graph

import (
	"math"

	"fedbayes/internal/kernels"
)

// An Optimizer moves parameters against their gradient. It is a rule without state: what it remembers of a vector of
// parameters is a Moments, which lives with whoever owns the parameters.
type Optimizer interface {
	// Update does one step on p, given its gradient g and what is remembered of it.
	Update(cpu *kernels.CPU, s *Moments, p, g []float32)
}

// Moments is an optimizer's memory of one vector of parameters. The zero value is a start.
type Moments struct {
	Step int       // updates so far
	M, V []float32 // running means of the gradient and of its square; nil until an optimizer needs them
}

// Reset forgets everything but the memory that it lies in.
func (s *Moments) Reset() {
	s.Step = 0
	clear(s.M)
	clear(s.V)
}

// SGD is stochastic gradient descent.
//
//	v ← Momentum·v + g + Decay·p
//	p ← p − LR·v
type SGD struct{ LR, Momentum, Decay float32 }

// Update implements [Optimizer].
func (o SGD) Update(cpu *kernels.CPU, s *Moments, p, g []float32) {
	s.Step++
	if o.Momentum == 0 {
		cpu.SGD(p, g, o.LR, o.Decay)
		return
	}
	ensure(&s.M, len(p))
	cpu.Momentum(p, s.M, g, o.LR, o.Momentum, o.Decay)
}

// Adam is Adam with bias correction.
//
//	m ← β₁·m + (1−β₁)·g,  v ← β₂·v + (1−β₂)·g²
//	p ← p − LR·(m/(1−β₁ˢ)) / (√(v/(1−β₂ˢ)) + Eps)
//
// Kingma and Ba, Adam: A Method for Stochastic Optimization. ICLR 2015. Algorithm 1.
type Adam struct{ LR, Beta1, Beta2, Eps float32 }

// NewAdam returns Adam with the constants of its paper.
func NewAdam(lr float32) Adam { return Adam{LR: lr, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8} }

// Update implements [Optimizer].
func (o Adam) Update(cpu *kernels.CPU, s *Moments, p, g []float32) {
	s.Step++
	ensure(&s.M, len(p))
	ensure(&s.V, len(p))
	cpu.Adam(p, s.M, s.V, g, kernels.AdamStep{
		LR: o.LR, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps,
		Correct1: correction(o.Beta1, s.Step),
		Correct2: correction(o.Beta2, s.Step),
	})
}

// correction returns 1/(1−βˢ).
func correction(beta float32, step int) float32 {
	return float32(1 / (1 - math.Pow(float64(beta), float64(step))))
}

func ensure(v *[]float32, n int) {
	if *v == nil {
		*v = buffer(n)
	}
}
