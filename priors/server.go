package priors

import "math"

// A Rule says in which space a server averages the Gaussians of its clients. They differ, because log(1+e^ρ) is convex:
// the mean of ρ has a smaller σ than the mean of σ, and that a smaller one than the root of the mean of σ².
type Rule string

// The rules. μ is averaged in all of them.
const (
	RhoMean    Rule = "rho-mean"    // the mean of ρ: Zhang et al. 2022, Algorithm 1
	SigmaMean  Rule = "sigma-mean"  // the mean of σ
	VarMean    Rule = "var-mean"    // the mean of σ²
	ClosedForm Rule = "closed-form" // the Gaussian w that minimises the mean of KL(qᵢ ‖ w)
)

// Rules lists them.
func Rules() []Rule { return []Rule{RhoMean, SigmaMean, VarMean, ClosedForm} }

// Average returns the weighted average of the clients' Gaussians, damped by beta towards w in the rule's space:
//
//	v ← (1−β)·v + β·Σ aᵢ·vᵢ / Σ aᵢ
//
// with v = (μ, ρ), (μ, σ) or (μ, σ²), and for the closed form
//
//	μ = Σ aᵢμᵢ    σ² = Σ aᵢ(σᵢ² + (μᵢ−μ)²)
//
// Sums are in float64 and in the order of qs. All slices have one length, and some weight is positive.
func (r Rule) Average(w Gaussian, qs []Gaussian, weights []float64, beta float64) Gaussian {
	n := len(w.Mu)
	var sum float64
	for _, a := range weights {
		sum += a
	}
	mu, v := make([]float64, n), make([]float64, n)
	for k, q := range qs {
		accumulate(mu, weights[k], q.Mu)
		r.accumulate(v, weights[k], q.Rho)
	}
	for i := range mu {
		mu[i] /= sum
	}
	if r == ClosedForm {
		// The spread of the means, around their mean: the difference of moments would cancel.
		for k, q := range qs {
			for i, x := range q.Mu {
				d := float64(x) - mu[i]
				v[i] += weights[k] * d * d
			}
		}
	}
	out := Gaussian{make([]float32, n), make([]float32, n)}
	for i := range mu {
		out.Mu[i] = float32((1-beta)*float64(w.Mu[i]) + beta*mu[i])
		v[i] = beta * v[i] / sum
	}
	if beta != 1 {
		r.accumulate(v, 1-beta, w.Rho)
	}
	r.rho(out.Rho, v)
	return out
}

// accumulate adds a·x to sum.
func accumulate(sum []float64, a float64, x []float32) {
	sum = sum[:len(x)]
	for i, x := range x {
		sum[i] += a * float64(x)
	}
}

// accumulate adds a·ρ to sum, or a·σ, or a·σ²: what the rule averages.
func (r Rule) accumulate(sum []float64, a float64, rho []float32) {
	switch r {
	case RhoMean:
		accumulate(sum, a, rho)
	case SigmaMean:
		for i, x := range rho {
			sum[i] += a * Sigma(x)
		}
	case VarMean, ClosedForm:
		for i, x := range rho {
			s := Sigma(x)
			sum[i] += a * s * s
		}
	default:
		panic("priors: no rule is named " + string(r))
	}
}

// rho undoes the rule's map from ρ.
func (r Rule) rho(dst []float32, v []float64) {
	for i, x := range v {
		switch r {
		case RhoMean:
			dst[i] = float32(x)
		case SigmaMean:
			dst[i] = Rho(x)
		default:
			dst[i] = Rho(math.Sqrt(x))
		}
	}
}
