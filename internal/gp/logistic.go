package gp

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// hermite are the nodes and weights of Gauss–Hermite quadrature for E g(f), f ~ N(μ, v): Σ weight·g(μ + √v·node). Twenty
// nodes are good to 10⁻⁴ for σ at the variances of a kernel with scale 8.
var hermite = func() (h struct{ node, weight [20]float64 }) {
	quad.Hermite{}.FixedLocations(h.node[:], h.weight[:], math.Inf(-1), math.Inf(1))
	for i := range h.node {
		h.node[i] *= math.Sqrt2
		h.weight[i] /= math.Sqrt(math.Pi)
	}
	return h
}()

// logistic returns E σ(f) and E σ(−f) for f ~ N(mean, variance).
//
// Deviates: the public code has exp(E log σ(f)) for one side and what is left to 1 for the other, which is too low on the
// first; this is the probability.
func logistic(mean, variance float64) (yes, no float64) {
	std := math.Sqrt(variance)
	for i, x := range hermite.node {
		f := mean + std*x
		e := math.Exp(-math.Abs(f))
		near, far := hermite.weight[i]/(1+e), hermite.weight[i]*e/(1+e)
		if f < 0 {
			near, far = far, near
		}
		yes += near
		no += far
	}
	return yes, no
}

// slopes returns the derivatives of E σ(f) by the mean and by the variance, which must be positive.
func slopes(mean, variance float64) (byMean, byVariance float64) {
	std := math.Sqrt(variance)
	for i, x := range hermite.node {
		e := math.Exp(-math.Abs(mean + std*x))
		d := hermite.weight[i] * e / ((1 + e) * (1 + e))
		byMean += d
		byVariance += d * x / (2 * std)
	}
	return byMean, byVariance
}
