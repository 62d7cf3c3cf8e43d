package priors

import "fedbayes/graph"

// A NIW is a normal-inverse-Wishart distribution of the mean μ and the covariance Σ of networks, with a diagonal scale:
//
//	Σ ~ IW(diag V, n0)    μ | Σ ~ N(m0, Σ/l0)    E Σ⁻¹ = n0·(diag V)⁻¹
//
// Clients' networks are θᵢ ~ N(μ, Σ). A client's posterior of its own has, for each column of a weight matrix, all weights
// that leave one input unit, two spikes of width ε: at m with the probability p with which the column is kept, and at 0.
//
// Kim and Hospedales, FedHB: Hierarchical Bayesian Federated Learning. arXiv 2305.04979, 2023.
type NIW struct {
	M0, V  []float32 // [d]
	L0, N0 float64   // how many networks m0 and V are worth
}

// A NIWPrior is the distribution NIW(0, I, λ0, D+2) of μ and Σ before any network is seen, so that E Σ = I. D is the number
// of weights where they have one Σ. With 10⁵ of them n0 exceeds what data say by far, as it counts degrees of freedom of a
// full Σ that has d²/2. D is 1 where each weight has a NIW of its own, which a diagonal Σ amounts to.
type NIWPrior struct {
	Count float64 // λ0
	Dims  int     // D
}

// spike is ε.
const spike = 1e-4

// NIWTerm returns the symbolic term ½ Σ λₖ·(mₖ − m0ₖ)² for weights m. With λ = p·E Σ⁻¹ it is what E KL(qᵢ ‖ N(μ, Σ)) has
// of the place of a client's spikes, in nats. Neither m0 nor λ has a gradient.
func NIWTerm(m, m0, lambda *graph.Node) *graph.Node { return graph.HalfWeightedSquares(m, m0, lambda) }

// Start returns q(μ, Σ) before the first round, around a network that counts as one client.
func (p NIWPrior) Start(m0 []float32) NIW {
	v := make([]float32, len(m0))
	for k := range v {
		v[k] = 1
	}
	return NIW{m0, v, 1 + p.Count, p.counted(1)}
}

// counted returns n0 after so many networks.
func (p NIWPrior) counted(networks int) float64 { return float64(networks + p.Dims + 2) }

// Posterior returns the q(μ, Σ) that N clients with spikes at ms make of the prior. keep [d] is the probability with which
// a weight is kept.
//
// The server minimises KL(q ‖ prior) − Σᵢ E log N(θᵢ; μ, Σ), which is up to a constant
//
//	½ Σₖ { (ν0+N)·log vₖ + n0·Sₖ/vₖ + λ0/l0 + log l0 + N/l0 } + f(n0)    ν0 = D+2
//	Sₖ = 1 + λ0·m0ₖ² + Σᵢ E(θᵢₖ − m0ₖ)²    E(θᵢₖ − m0ₖ)² = p·(mᵢₖ − m0ₖ)² + (1−p)·m0ₖ² + ε²
//
// Its derivatives vanish where
//
//	m0: λ0·m0 = Σᵢ (p·mᵢ − m0)       m0 = p·Σᵢ mᵢ/(N+λ0)
//	v:  (ν0+N)/v = n0·S/v²           v = n0·S/(N+ν0)
//	l0: (λ0+N)/l0² = 1/l0            l0 = N+λ0
//
// and, with this v, n0 = N+ν0 by f′: the factor of S is 1. That is the conjugate update, with networks for observations.
// Since S ≥ 1, so is v.
func (p NIWPrior) Posterior(ms [][]float32, keep []float32) NIW {
	n, d := float64(len(ms)), len(keep)
	m0, s := make([]float64, d), make([]float64, d)
	for _, m := range ms {
		accumulate(m0, 1, m)
	}
	for k, kept := range keep {
		m0[k] = float64(kept) * m0[k] / (n + p.Count)
		s[k] = 1 + p.Count*m0[k]*m0[k]
	}
	for _, m := range ms {
		for k, kept := range keep {
			kept, away := float64(kept), float64(m[k])-m0[k]
			s[k] += kept*away*away + (1-kept)*m0[k]*m0[k] + spike*spike
		}
	}
	return NIW{narrowed(m0), narrowed(s), n + p.Count, p.counted(len(ms))}
}

func narrowed(v []float64) []float32 {
	out := make([]float32, len(v))
	for k, x := range v {
		out[k] = float32(x)
	}
	return out
}

// Precision returns E Σ⁻¹ of q, its diagonal.
func (q NIW) Precision() []float32 { return q.precision(q.N0) }

// ModePrecision returns Σ⁻¹ at the mode of q, where μ = m0 and Σ = diag V/(n0 + D + 2).
func (p NIWPrior) ModePrecision(q NIW) []float32 { return q.precision(q.N0 + float64(p.Dims) + 2) }

func (q NIW) precision(n float64) []float32 {
	out := make([]float32, len(q.V))
	for k, v := range q.V {
		out[k] = float32(n / float64(v))
	}
	return out
}

// Predictive returns the degrees of freedom ν and the factor b of the distribution of a new network,
//
//	θ ~ t_ν(m0, b·diag V)    ν = n0 − D + 1    b = (l0+1)/(l0·ν)
func (p NIWPrior) Predictive(q NIW) (nu, b float64) {
	nu = q.N0 - float64(p.Dims) + 1
	return nu, (q.L0 + 1) / (q.L0 * nu)
}
