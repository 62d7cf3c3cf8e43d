package gp

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Variational is mean-field inference with q(f) = N(m, S) and q(ωₙ) = PG(1, cₙ). Each of its sweeps raises the evidence
// bound:
//
//	S = K − K(K+Ω⁻¹)⁻¹K,  m = Sκ,  cₙ = √(mₙ² + Sₙₙ),  ωₙ = E PG(1, cₙ)
//
// It ends when no c moves by more than Tolerance, or after Sweeps. It is deterministic.
//
// Wenzel et al., Efficient Gaussian Process Classification Using Pólya-Gamma Data Augmentation. AAAI 2019.
type Variational struct {
	Sweeps    int
	Tolerance float64
}

// Omegas implements [Inference], with the means of q(ω).
func (v Variational) Omegas(k *mat.SymDense, kappa []float64) [][]float64 {
	n := len(kappa)
	omega, c := make([]float64, n), make([]float64, n)
	for i := range omega {
		omega[i] = pgMean(0)
	}
	for range v.Sweeps {
		m, s := marginals(k, omega, kappa)
		var moved float64
		for i := range c {
			was := c[i]
			c[i] = math.Sqrt(m[i]*m[i] + s[i])
			moved = math.Max(moved, math.Abs(c[i]-was)) // NaN stays
			omega[i] = pgMean(c[i])
		}
		if moved <= v.Tolerance {
			break
		}
	}
	return [][]float64{omega}
}

// marginals returns m and the diagonal of S.
//
// With B = I + Ω^½KΩ^½ they are m = KΩ^½B⁻¹Ω^−½κ and S = Ω^−½(I − B⁻¹)Ω^−½: of B's inverse the diagonal is enough, and
// that are the rows of U⁻¹ squared.
func marginals(k *mat.SymDense, omega, kappa []float64) (m, s []float64) {
	n := len(omega)
	inv := invert(factor(k, omega))
	s, r := make([]float64, n), mat.NewVecDense(n, nil)
	for i, w := range omega {
		row := inv.RawRowView(i)[i:]
		s[i] = math.Max(1-floats.Dot(row, row), 0) / w
		r.SetVec(i, kappa[i]/math.Sqrt(w))
	}
	r.MulVec(inv.T(), r)
	r.MulVec(inv, r)
	for i, w := range omega {
		r.SetVec(i, r.AtVec(i)*math.Sqrt(w))
	}
	r.MulVec(k, r)
	return r.RawVector().Data, s
}
