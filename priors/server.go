package priors

import (
	"fmt"
	"math"
	"strings"
)

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

// ParseRule returns the rule of a name.
func ParseRule(name string) (Rule, error) {
	var names []string
	for _, r := range Rules() {
		if string(r) == name {
			return r, nil
		}
		names = append(names, string(r))
	}
	return "", fmt.Errorf("server rule %q, want one of %s", name, strings.Join(names, ", "))
}

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
	var sum float64
	for _, a := range weights {
		sum += a
	}
	to, from := r.space()
	blend := func(old float32, mean float64) float64 { return (1-beta)*to(old) + beta*mean }
	out := Gaussian{make([]float32, len(w.Mu)), make([]float32, len(w.Rho))}
	for i := range w.Mu {
		var mu, v float64
		for k, q := range qs {
			mu += weights[k] * float64(q.Mu[i])
			v += weights[k] * to(q.Rho[i])
		}
		mu /= sum
		if r == ClosedForm {
			// The spread of the means, around their mean: the difference of moments would cancel.
			for k, q := range qs {
				d := float64(q.Mu[i]) - mu
				v += weights[k] * d * d
			}
		}
		out.Rho[i] = from(blend(w.Rho[i], v/sum))
		out.Mu[i] = float32((1-beta)*float64(w.Mu[i]) + beta*mu)
	}
	return out
}

// space returns the maps from ρ to what the rule averages, and back.
func (r Rule) space() (to func(rho float32) float64, from func(v float64) float32) {
	switch r {
	case SigmaMean:
		return Sigma, Rho
	case VarMean, ClosedForm:
		return func(rho float32) float64 { s := Sigma(rho); return s * s },
			func(v float64) float32 { return Rho(math.Sqrt(v)) }
	case RhoMean:
		return func(rho float32) float64 { return float64(rho) }, func(v float64) float32 { return float32(v) }
	}
	panic("priors: no rule is named " + string(r))
}
