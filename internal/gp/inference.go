package gp

import "gonum.org/v1/gonum/mat"

// An Inference finds the Pólya-Gamma variables of a question.
type Inference interface {
	// Omegas returns ω [n] for examples with covariance k [n, n] and answers kappa = ±½ [n]; several of them where
	// predictions are to be averaged over draws. It does not change k.
	Omegas(k *mat.SymDense, kappa []float64) [][]float64
}

// A Source gives random numbers; a *rand.Rand of math/rand/v2 is one.
type Source interface {
	IntN(n int) int
	Float64() float64     // of U[0, 1)
	NormFloat64() float64 // of N(0, 1)
	ExpFloat64() float64  // of Exp(1)
}
