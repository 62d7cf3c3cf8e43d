package algorithms

import (
	"math"
	"slices"

	"fedbayes/priors"
)

// A Change is a factor that a posterior is multiplied by, as a message: what is added to h and τ, in float32, at the
// coordinates that it has. Of other coordinates it says that nothing changes.
type Change struct {
	H, Tau []float32 // in ascending order of coordinate
	Mask   []byte    // a bit for each coordinate, set if the change has it; nil if it has all
}

// changeAt returns the change by a factor at the coordinates that keep names; nil stands for all. Where it takes precision
// away, it takes no more than the factor does: rounded up, it could leave a site that has none with less.
func changeAt(factor priors.Natural, keep []bool) Change {
	var c Change
	if keep != nil {
		c.Mask = make([]byte, (len(keep)+7)/8)
	}
	for i, tau := range factor.Tau {
		if keep != nil {
			if !keep[i] {
				continue
			}
			c.Mask[i/8] |= 1 << (i % 8)
		}
		t := float32(tau)
		if tau < 0 && float64(t) < tau {
			t = math.Nextafter32(t, 0)
		}
		c.H, c.Tau = append(c.H, float32(factor.H[i])), append(c.Tau, t)
	}
	return c
}

// each calls f for the coordinates of the change, in order.
func (c Change) each(f func(i int, h, tau float64)) {
	k := 0
	for i := 0; k < len(c.H); i++ {
		if c.Mask == nil || c.Mask[i/8]>>(i%8)&1 == 1 {
			f(i, float64(c.H[k]), float64(c.Tau[k]))
			k++
		}
	}
}

// to returns n times the a-th power of the change.
func (c Change) to(n priors.Natural, a float64) priors.Natural {
	n = n.Power(1)
	c.each(func(i int, h, tau float64) {
		n.H[i] += a * h
		n.Tau[i] += a * tau
	})
	return n
}

// only returns the change at some of its coordinates, and nothing if it has none of them.
func (c Change) only(at []bool) Change {
	factor, has := priors.NewNatural(len(at)), make([]bool, len(at))
	c.each(func(i int, h, tau float64) { factor.H[i], factor.Tau[i], has[i] = h, tau, at[i] })
	if !slices.Contains(has, true) {
		return Change{}
	}
	return changeAt(factor, has)
}
