package gp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Gibbs samples the exact posterior: in each of its chains, ω given f and f given ω in turn, from f = 0.
type Gibbs struct {
	Chains int
	Steps  int // draws of ω; the last of a chain counts
	Source Source
}

// Omegas implements [Inference], with the last draw of each chain.
func (g Gibbs) Omegas(k *mat.SymDense, kappa []float64) [][]float64 {
	prior := factorOf(k)
	chains := make([][]float64, g.Chains)
	for i := range chains {
		f, omega := make([]float64, len(kappa)), make([]float64, len(kappa))
		for step := range g.Steps {
			if step > 0 {
				f = g.process(k, prior, omega, kappa)
			}
			for j := range omega {
				omega[j] = pgDraw(f[j], g.Source)
			}
		}
		chains[i] = omega
	}
	return chains
}

// factorOf returns U of k = UᵀU.
func factorOf(k *mat.SymDense) blas64.Triangular {
	raw := k.RawSymmetric()
	raw.Data = slices.Clone(raw.Data)
	return cholesky(raw)
}

// process returns a draw of f given ω: one of the prior, moved by what the answers say of its error. With f₀ ~ N(0, K) and
// e ~ N(0, Ω⁻¹),
//
//	f = f₀ + K(K+Ω⁻¹)⁻¹(Ω⁻¹κ − f₀ − e)
func (g Gibbs) process(k *mat.SymDense, prior blas64.Triangular, omega, kappa []float64) []float64 {
	n := len(omega)
	f := g.normals(n)
	blas64.Trmv(blas.Trans, prior, blas64.Vector{N: n, Inc: 1, Data: f})
	r := g.normals(n)
	for i, w := range omega {
		r[i] = math.Sqrt(w) * (kappa[i]/w - f[i] - r[i]/math.Sqrt(w))
	}
	lapack64.Potrs(factor(k, omega), blas64.General{Rows: n, Cols: 1, Stride: 1, Data: r})
	for i, w := range omega {
		r[i] *= math.Sqrt(w)
	}
	blas64.Symv(1, k.RawSymmetric(), blas64.Vector{N: n, Inc: 1, Data: r}, 1, blas64.Vector{N: n, Inc: 1, Data: f})
	return f
}

func (g Gibbs) normals(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = g.Source.NormFloat64()
	}
	return v
}
