package priors

import (
	"math"
	"slices"

	"fedbayes/graph"
)

// A Mixture says where the weights of clients come from: near one of K prototypes, each as likely as another, which are
// networks themselves.
//
//	rⱼ ~ N(0, I)    θ ~ (1/K)·Σⱼ N(rⱼ, σ²·I)
//
// A client's posterior is a spike at weights m, the server's of a prototype one at rⱼ; beside σ their widths are nothing.
// What the clients' free energy has of the prototypes is, at a temperature T of 1,
//
//	F(m) = −T·log Σⱼ exp(aⱼ/T)    aⱼ = −‖m − rⱼ‖²/2σ²
//
// With 10⁵ weights the aⱼ differ by tens or more and the nearest prototype counts alone; a higher T lets others count too.
//
// Kim and Hospedales, FedHB: Hierarchical Bayesian Federated Learning. arXiv 2305.04979, 2023.
type Mixture struct {
	Prototypes [][]float32 // [K], of one layout
	Var        float64     // σ²
	Temper     float64     // T
}

// MixtureTerm returns the symbolic term F/T of weights w, for prototypes and the scalar s = 1/(σ²T), none of which has a
// gradient. That of F is (w − Σⱼ cⱼrⱼ)/σ², with c the responsibilities.
func MixtureTerm(w, s *graph.Node, prototypes ...*graph.Node) *graph.Node {
	return graph.SoftMinDistance(w, s, prototypes...)
}

// soft returns softmax(a/T) of weights m, and log Σⱼ exp(aⱼ/T). Distances can be huge; the largest of a is taken off.
func (p Mixture) soft(m []float32) (c []float64, logSum float64) {
	for _, r := range p.Prototypes {
		var squares float64
		for i, x := range m {
			d := float64(x) - float64(r[i])
			squares += d * d
		}
		c = append(c, -squares/(2*p.Var*p.Temper))
	}
	top, sum := slices.Max(c), 0.0
	for j := range c {
		c[j] = math.Exp(c[j] - top)
		sum += c[j]
	}
	for j := range c {
		c[j] /= sum
	}
	return c, top + math.Log(sum)
}

// Responsibilities returns how likely each prototype is the one of weights m, c = softmax(a/T).
func (p Mixture) Responsibilities(m []float32) []float64 {
	c, _ := p.soft(m)
	return c
}

// Energy returns F(m): how badly the prototypes explain weights m, in nats.
func (p Mixture) Energy(m []float32) float64 {
	_, logSum := p.soft(m)
	return -p.Temper * logSum
}

// abandoned is the sum of responsibilities below which a prototype is nobody's.
const abandoned = 1e-3

// Update returns the prototypes after a step of EM on the clients' weights, and the responsibilities that it went by,
// [client][prototype].
//
// The server minimises L = ½·Σⱼ‖rⱼ‖² + Σᵢ F(mᵢ). For any distributions c(·|i) over the prototypes, L is at most
//
//	Σⱼ (½‖rⱼ‖² + Σᵢ c(j|i)·‖mᵢ − rⱼ‖²/2σ²) + T·Σᵢⱼ c(j|i)·log c(j|i)
//
// and is that if c are the responsibilities. With these fixed, the bound is least where rⱼ + Σᵢ c(j|i)·(rⱼ − mᵢ)/σ² = 0,
//
//	rⱼ = Σᵢ c(j|i)·mᵢ / (σ² + Σᵢ c(j|i))
//
// so no step makes L larger, and a step that changes nothing is at a stationary point. For K = 1, r = Σᵢ mᵢ/(N + σ²).
//
// A prototype that is nobody's stays where it is. By the formula it would go to 0, a network without gradients.
func (p Mixture) Update(ms [][]float32) (next [][]float32, shares [][]float64) {
	for _, m := range ms {
		shares = append(shares, p.Responsibilities(m))
	}
	for j, r := range p.Prototypes {
		sum, total := make([]float64, len(r)), 0.0
		for i, m := range ms {
			if c := shares[i][j]; c != 0 {
				accumulate(sum, c, m)
				total += c
			}
		}
		moved := slices.Clone(r)
		if !(total < abandoned) { // not the opposite comparison, which would hide a NaN
			for k, x := range sum {
				moved[k] = float32(x / (p.Var + total))
			}
		}
		next = append(next, moved)
	}
	return next, shares
}

// Abandoned returns the prototypes that are nobody's by the clients' responsibilities.
func Abandoned(shares [][]float64) (which []int) {
	for j := range shares[0] {
		var total float64
		for _, c := range shares {
			total += c[j]
		}
		if total < abandoned {
			which = append(which, j)
		}
	}
	return which
}

// Twins returns the prototypes that equal an earlier one. Updates would never part them, as their responsibilities are
// equal too.
func (p Mixture) Twins() (which []int) {
	for j, r := range p.Prototypes {
		if slices.ContainsFunc(p.Prototypes[:j], func(q []float32) bool { return slices.Equal(q, r) }) {
			which = append(which, j)
		}
	}
	return which
}

// Reseed moves some prototypes, but not all, to the clients' weights that the others explain worst, one after the other.
func (p Mixture) Reseed(ms [][]float32, which []int) {
	others := p
	others.Prototypes = nil
	for j, r := range p.Prototypes {
		if !slices.Contains(which, j) {
			others.Prototypes = append(others.Prototypes, r)
		}
	}
	for _, j := range which {
		worst, most := 0, math.Inf(-1)
		for i, m := range ms {
			if e := others.Energy(m); e > most {
				worst, most = i, e
			}
		}
		p.Prototypes[j] = slices.Clone(ms[worst])
		others.Prototypes = append(others.Prototypes, p.Prototypes[j])
	}
}
