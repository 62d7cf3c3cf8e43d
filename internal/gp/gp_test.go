package gp

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// paper is the kernel of the public code.
var paper = Kernel{Scale: 8, Length: 1, Jitter: 1e-3}

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// clusters returns n embeddings [n, width] of classes in turn, around a centre of each class.
func clusters(r *rand.Rand, n, width, classes int, noise float64) (z []float64, y []float32) {
	centres := make([]float64, classes*width)
	for i := range centres {
		centres[i] = r.NormFloat64()
	}
	for i := range n {
		c := i % classes
		for j := range width {
			z = append(z, centres[c*width+j]+noise*r.NormFloat64())
		}
		y = append(y, float32(c))
	}
	return z, y
}

// within fails the test unless got is want within tol.
func within(t *testing.T, what string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %v, want %v within %v", what, got, want, tol)
	}
}

// covariance is the kernel written plainly, over all pairs of rows.
func covariance(k Kernel, x, y [][]float64) *mat.Dense {
	g := mat.NewDense(len(x), len(y), nil)
	for i := range x {
		for j := range y {
			var d2 float64
			for l := range x[i] {
				d2 += (x[i][l] - y[j][l]) * (x[i][l] - y[j][l])
			}
			g.Set(i, j, k.Scale*math.Exp(-d2/(2*k.Length*k.Length)))
		}
	}
	return g
}

// unit returns the rows of z divided by their norms.
func unit(z []float64, width int) (rows [][]float64) {
	for i := 0; i < len(z); i += width {
		var norm float64
		for _, v := range z[i : i+width] {
			norm += v * v
		}
		var row []float64
		for _, v := range z[i : i+width] {
			row = append(row, v/math.Sqrt(norm))
		}
		rows = append(rows, row)
	}
	return rows
}

// jittered returns the covariance of examples with themselves.
func jittered(k Kernel, x [][]float64) *mat.SymDense {
	g := covariance(k, x, x)
	s := mat.NewSymDense(len(x), nil)
	for i := range x {
		for j := range i {
			s.SetSym(i, j, g.At(i, j))
		}
		s.SetSym(i, i, g.At(i, i)+k.Jitter)
	}
	return s
}

// regression returns mean and variance of the process at points with covariances ks, by the formulas with an inverse:
// μ = kᵀ(K+Ω⁻¹)⁻¹Ω⁻¹κ and k** − kᵀ(K+Ω⁻¹)⁻¹k.
func regression(k *mat.SymDense, ks *mat.Dense, own float64, omega, kappa []float64) (mean, variance []float64) {
	n := len(omega)
	noisy := mat.DenseCopyOf(k)
	target := mat.NewVecDense(n, nil)
	for i, w := range omega {
		noisy.Set(i, i, noisy.At(i, i)+1/w)
		target.SetVec(i, kappa[i]/w)
	}
	var inv, half mat.Dense
	if err := inv.Inverse(noisy); err != nil {
		panic(err)
	}
	var alpha, mu mat.VecDense
	alpha.MulVec(&inv, target)
	mu.MulVec(ks, &alpha)
	half.Mul(ks, &inv)
	for i := range mu.Len() {
		mean = append(mean, mu.AtVec(i))
		variance = append(variance, own-mat.Dot(half.RowView(i), ks.RowView(i)))
	}
	return mean, variance
}

// fixed is an inference that knows ω: the same for all examples in each draw.
type fixed []float64

func (f fixed) Omegas(k *mat.SymDense, _ []float64) (omegas [][]float64) {
	n, _ := k.Dims()
	for _, w := range f {
		omega := make([]float64, n)
		for i := range omega {
			omega[i] = w / (1 + float64(i)/float64(n))
		}
		omegas = append(omegas, omega)
	}
	return omegas
}
