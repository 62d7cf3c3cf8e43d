package priors

import "math"

// A Natural is a diagonal Gaussian in its natural parameters h = μ/σ² and τ = 1/σ², or a factor of one. Where densities
// multiply, these add: a product is the sum of two, a ratio the difference, a power a multiple. A factor need not be a
// density itself, and its τ can be 0.
//
// They are in float64: τ is 10⁴ to 10⁹, and changes by little.
type Natural struct{ H, Tau []float64 }

// NewNatural returns the factor of n values that is 1 everywhere: h = τ = 0.
func NewNatural(n int) Natural { return Natural{make([]float64, n), make([]float64, n)} }

// Normal returns N(0, σ²) over n values.
func Normal(n int, sigma float64) Natural {
	p := NewNatural(n)
	for i := range p.Tau {
		p.Tau[i] = 1 / (sigma * sigma)
	}
	return p
}

// Natural returns g in natural parameters.
func (g Gaussian) Natural() Natural {
	n := NewNatural(len(g.Mu))
	for i, mu := range g.Mu {
		s := Sigma(g.Rho[i])
		n.Tau[i] = 1 / (s * s)
		n.H[i] = float64(mu) * n.Tau[i]
	}
	return n
}

// Gaussian returns n, all of whose precisions are positive, in moments: μ = h/τ, σ = 1/√τ.
func (n Natural) Gaussian() Gaussian {
	g := Gaussian{make([]float32, len(n.H)), make([]float32, len(n.H))}
	for i, tau := range n.Tau {
		g.Mu[i] = float32(n.H[i] / tau)
		g.Rho[i] = Rho(1 / math.Sqrt(tau))
	}
	return g
}

// Times returns the product n·m.
func (n Natural) Times(m Natural) Natural { return n.plus(1, m) }

// Over returns the ratio n/m.
func (n Natural) Over(m Natural) Natural { return n.plus(-1, m) }

// Power returns nᵃ.
func (n Natural) Power(a float64) Natural { return NewNatural(len(n.H)).plus(a, n) }

// Damped returns n^(1−δ)·m^δ, which goes the part δ of the way from n to m.
func (n Natural) Damped(delta float64, m Natural) Natural { return n.plus(delta, m.Over(n)) }

// plus returns n·mᵃ.
func (n Natural) plus(a float64, m Natural) Natural {
	p := NewNatural(len(n.H))
	for i := range p.H {
		p.H[i] = n.H[i] + a*m.H[i]
		p.Tau[i] = n.Tau[i] + a*m.Tau[i]
	}
	return p
}

// Floor raises precisions that are below tau to it, in place, and returns how many there were.
func (n Natural) Floor(tau float64) int {
	raised := 0
	for i, t := range n.Tau {
		if t < tau {
			n.Tau[i] = tau
			raised++
		}
	}
	return raised
}

// Site returns the factor that makes q of a cavity, q/cavity, with a precision of at least 0. Where q is less sure than the
// cavity it is taken to be as sure, with its own mean; raised says how often. So what is made of sites is never less sure
// than the prior that they were multiplied to.
func (n Natural) Site(cavity Natural) (site Natural, raised int) {
	site = n.Over(cavity)
	for i, tau := range site.Tau {
		if tau < 0 {
			site.H[i], site.Tau[i] = n.H[i]/n.Tau[i]*cavity.Tau[i]-cavity.H[i], 0
			raised++
		}
	}
	return site, raised
}

// Divergence returns KL(n ‖ m), in nats.
//
//	KL = ½ Σ τ_m/τ_n − 1 − log(τ_m/τ_n) + τ_m·(h_n/τ_n − h_m/τ_m)²
func (n Natural) Divergence(m Natural) float64 {
	var kl float64
	for i := range n.H {
		ratio, d := m.Tau[i]/n.Tau[i], n.H[i]/n.Tau[i]-m.H[i]/m.Tau[i]
		kl += (ratio - 1 - math.Log(ratio) + m.Tau[i]*d*d) / 2
	}
	return kl
}
