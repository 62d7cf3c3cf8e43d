package algorithms

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"fedbayes/internal/rng"
)

// StudentT predicts with draws of weights from a multivariate t, or with its mode:
//
//	u ~ χ²_ν    z ~ N(0, I)    θ = M0 + √(ν/u)·Scale⊙z
//
// One u serves all weights of a draw.
type StudentT struct {
	M0, Scale []float32
	Nu        float64
}

// Members implements [Predictor].
func (p StudentT) Members(w *Worker, dst, x []float32, m int, r rng.Stream) {
	if m == 0 {
		w.logProbs(dst, x, p.M0)
		return
	}
	slab := len(x) / w.Net.In * w.Net.Classes
	chi2 := distuv.ChiSquared{K: p.Nu, Src: r.For(rng.Eval).Rand()} // at step 0, where there are no normals
	for i := range m {
		r.For(rng.Eval).Normals(w.CPU, w.draw, i+1)
		w.CPU.Scale(w.draw, float32(math.Sqrt(p.Nu/chi2.Rand())), w.draw)
		w.CPU.Sample(w.draw, p.M0, p.Scale, w.draw)
		w.logProbs(dst[i*slab:(i+1)*slab], x, w.draw)
	}
}

// Random implements [Predictor].
func (StudentT) Random() bool { return true }
