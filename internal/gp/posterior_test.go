package gp

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestOneExample holds the posterior of one example against what can be worked out by hand.
func TestOneExample(t *testing.T) {
	const own, cross, omega, kappa = 8.001, 5.0, 0.2, 0.5
	p := condition(mat.NewSymDense(1, []float64{own}), []float64{omega}, []float64{kappa})
	mean, variance, _ := p.predict(mat.NewDense(1, 1, []float64{cross}), paper)
	within(t, "mean", mean[0], cross*kappa/omega/(own+1/omega), 1e-12)
	within(t, "variance", variance[0], own-cross*cross/(own+1/omega), 1e-12)
}

// TestPosterior holds predictions against formulas with an inverse, and marginals at the examples likewise.
func TestPosterior(t *testing.T) {
	for _, n := range []int{1, 2, 3, 17, 70} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := source(uint64(n))
			z, _ := clusters(r, n+5, 4, 2, 0.5)
			x := unit(z, 4)
			k, ks := jittered(paper, x[:n]), covariance(paper, x[n:], x[:n])
			omega, kappa := make([]float64, n), make([]float64, n)
			for i := range omega {
				omega[i], kappa[i] = 0.01+0.25*r.Float64(), float64(r.IntN(2))-0.5
			}
			mean, variance, _ := condition(k, omega, kappa).predict(ks, paper)
			wantMean, wantVariance := regression(k, ks, 8.001, omega, kappa)
			m, s := marginals(k, omega, kappa)
			for i := range mean {
				within(t, "mean", mean[i], wantMean[i], 1e-9)
				within(t, "variance", variance[i], wantVariance[i], 1e-9)
			}
			wantMean, wantVariance = regression(k, mat.DenseCopyOf(k), 8.001, omega, kappa)
			for i := range m {
				within(t, "marginal mean", m[i], wantMean[i], 1e-9)
				within(t, "marginal variance", s[i], wantVariance[i], 1e-9)
			}
		})
	}
}

// TestLogistic holds E σ(f) against a fine sum, and its slopes against differences.
func TestLogistic(t *testing.T) {
	for _, tt := range []struct{ mean, variance float64 }{{0, 1}, {1, 4}, {-3, 1}, {2, 8}, {-6, 0.001}, {30, 2}} {
		var want float64
		for i := -8000; i <= 8000; i++ {
			x := float64(i) / 1000
			want += math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) / 1000 / (1 + math.Exp(-tt.mean-math.Sqrt(tt.variance)*x))
		}
		yes, no := logistic(tt.mean, tt.variance)
		within(t, fmt.Sprintf("E σ at %v", tt), yes, want, 1e-4)
		within(t, "sum of both answers", yes+no, 1, 1e-12)
		_, mirrored := logistic(-tt.mean, tt.variance)
		within(t, "the mirrored answer", mirrored, yes, 1e-15)

		const h = 1e-5
		byMean, byVariance := slopes(tt.mean, tt.variance)
		up, _ := logistic(tt.mean+h, tt.variance)
		down, _ := logistic(tt.mean-h, tt.variance)
		within(t, "slope by mean", byMean, (up-down)/(2*h), 1e-8)
		up, _ = logistic(tt.mean, tt.variance+h)
		down, _ = logistic(tt.mean, tt.variance-h)
		within(t, "slope by variance", byVariance, (up-down)/(2*h), 1e-8)
	}
	// Where exp(E log σ(f)), which the public code has, is .526.
	yes, _ := logistic(1, 4)
	within(t, "E σ of N(1, 4)", yes, 0.648, 5e-4)
}

// TestNoCovariance checks that a process that knows nothing answers ½.
func TestNoCovariance(t *testing.T) {
	z, y := clusters(source(3), 12, 4, 2, 0.3)
	m := Model{Kernel: Kernel{Scale: 1e-9, Length: 1, Jitter: 1e-12}, Inference: Variational{Sweeps: 20}}
	dz := make([]float64, len(z))
	within(t, "NLL", m.Loss(dz, z, y, 6, 4), math.Ln2, 1e-6)
}
