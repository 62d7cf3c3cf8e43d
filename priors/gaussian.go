// Package priors has what ties a client's weights to the server's: regularisers as symbolic terms of a loss, and the
// updates that they give the server in closed form.
package priors

import (
	"math"
	"slices"

	"fedbayes/graph"
)

// A Gaussian is a diagonal Gaussian N(Mu, σ²) over the weights of a network, with σ = log(1+e^Rho).
type Gaussian struct{ Mu, Rho []float32 }

// Clone returns a copy that shares nothing with g.
func (g Gaussian) Clone() Gaussian { return Gaussian{slices.Clone(g.Mu), slices.Clone(g.Rho)} }

// Constant returns the Gaussian with means mu and one ρ for all weights.
func Constant(mu []float32, rho float32) Gaussian {
	r := make([]float32, len(mu))
	for i := range r {
		r[i] = rho
	}
	return Gaussian{mu, r}
}

// KL returns the symbolic term KL(q ‖ w) of two Gaussians in a graph, in nats. Its gradients to q and w are derived
// together with its value.
//
//	KL = Σ log σ_w − log σ_q + (σ_q² + (μ_q−μ_w)²)/(2σ_w²) − ½
func KL(q, w graph.Gaussian) *graph.Node { return graph.KL(q, w) }

// Divergence returns KL(q ‖ w) of two Gaussians, in nats and in float64.
func Divergence(q, w Gaussian) float64 {
	var kl float64
	for i := range q.Mu {
		sq, sw := Sigma(q.Rho[i]), Sigma(w.Rho[i])
		d := float64(q.Mu[i]) - float64(w.Mu[i])
		kl += math.Log(sw/sq) + (sq*sq+d*d)/(2*sw*sw) - 0.5
	}
	return kl
}

// Sigma returns σ = log(1+e^ρ), exact where e^ρ overflows and where it underflows.
func Sigma(rho float32) float64 {
	x := float64(rho)
	return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x)))
}

// Rho returns the ρ of a σ > 0, the inverse of Sigma.
func Rho(sigma float64) float32 {
	// e^−σ vanishes beside 1, and log(−expm1(−σ)) with it.
	if sigma > 40 {
		return float32(sigma)
	}
	return float32(sigma + math.Log(-math.Expm1(-sigma)))
}
