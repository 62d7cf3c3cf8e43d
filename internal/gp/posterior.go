package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// A posterior is a process given the answers κ = ±½ at n examples and their Pólya-Gamma variables ω. With Ω = diag ω and
// A = (K + Ω⁻¹)⁻¹, the process at a point whose covariances with the examples are k is
//
//	N(k·α, k** − kᵀAk),  α = AΩ⁻¹κ,  A = RRᵀ
type posterior struct {
	alpha []float64
	root  *mat.Dense // R [n, n], upper triangular
}

// condition returns the posterior.
//
// A = Ω^½B⁻¹Ω^½ with B = I + Ω^½KΩ^½ = UᵀU, whose eigenvalues are no less than 1, so R = Ω^½U⁻¹.
func condition(k *mat.SymDense, omega, kappa []float64) posterior {
	root := invert(factor(k, omega))
	r := make([]float64, len(omega))
	for i, w := range omega {
		floats.Scale(math.Sqrt(w), root.RawRowView(i))
		r[i] = kappa[i] / w
	}
	var h, alpha mat.VecDense
	h.MulVec(root.T(), mat.NewVecDense(len(r), r))
	alpha.MulVec(root, &h)
	return posterior{alpha.RawVector().Data, root}
}

// factor returns U, upper triangular, of I + Ω^½KΩ^½ = UᵀU; NaN if k is.
func factor(k *mat.SymDense, omega []float64) blas64.Triangular {
	n := len(omega)
	b := blas64.Symmetric{Uplo: blas.Upper, N: n, Stride: n, Data: make([]float64, n*n)}
	s := make([]float64, n)
	for i, w := range omega {
		s[i] = math.Sqrt(w)
	}
	raw := k.RawSymmetric()
	for i := range n {
		row := b.Data[i*n : (i+1)*n]
		for j := i; j < n; j++ {
			row[j] = s[i] * s[j] * raw.Data[i*raw.Stride+j]
		}
		row[i]++
	}
	return cholesky(b)
}

// cholesky returns U of b = UᵀU in place of b; NaN if b is not positive definite, which it is but for NaN.
func cholesky(b blas64.Symmetric) blas64.Triangular {
	u, ok := lapack64.Potrf(b)
	if !ok {
		floats.AddConst(math.NaN(), u.Data)
	}
	return u
}

// invert returns U⁻¹ in place of U, with zeros below the diagonal. Diagonals of U are positive.
func invert(u blas64.Triangular) *mat.Dense {
	lapack64.Trtri(u)
	for i := range u.N {
		clear(u.Data[i*u.Stride:][:i])
	}
	return mat.NewDense(u.N, u.N, u.Data)
}

// predict returns means and variances at points whose covariances with the examples are the rows of ks [m, n], and ks·R,
// whose rows have the squared norms kᵀAk. No variance is below that of the jitter, which the examples say nothing about.
func (p posterior) predict(ks mat.Matrix, kernel Kernel) (mean, variance []float64, v *mat.Dense) {
	var mu mat.VecDense
	mu.MulVec(ks, mat.NewVecDense(len(p.alpha), p.alpha))
	v = new(mat.Dense)
	v.Mul(ks, p.root)
	variance = make([]float64, mu.Len())
	for i := range variance {
		row := v.RawRowView(i)
		variance[i] = max(kernel.variance()-floats.Dot(row, row), kernel.Jitter)
	}
	return mu.RawVector().Data, variance, v
}
