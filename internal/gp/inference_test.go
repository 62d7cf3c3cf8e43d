package gp

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestPGMean(t *testing.T) {
	for _, z := range []float64{0, 1e-5, 0.0009999, 0.0010001, 0.5, 3, 8, 100} {
		// PG(1, z) is a sum of exponentials over 2π²((k−½)² + z²/4π²).
		var want float64
		const terms = 200000
		for k := 1; k <= terms; k++ {
			h := float64(k) - 0.5
			want += 1 / (h*h + z*z/(4*math.Pi*math.Pi)) / (2 * math.Pi * math.Pi)
		}
		want += 1 / (2 * math.Pi * math.Pi * terms)
		within(t, fmt.Sprintf("mean of PG(1, %v)", z), pgMean(z), want, 1e-9)
		within(t, "of the mirrored", pgMean(-z), pgMean(z), 0)
	}
}

// TestPGDraw checks mean and variance of many draws: (sinh z − z)/(4z³cosh²(z/2)), 1/24 at 0. The tolerance is five
// standard errors; the kurtosis of PG(1, z) is below 10.
func TestPGDraw(t *testing.T) {
	const n = 200000
	for _, z := range []float64{0, 1, -3, 3.2, 8, 39, 41, 300} {
		src := source(9)
		var sum, squares float64
		for range n {
			x := pgDraw(z, src)
			if !(x > 0) {
				t.Fatalf("z = %v: drew %v", z, x)
			}
			sum += x
			squares += x * x
		}
		a, variance := math.Abs(z), 1.0/24
		if a > 0 {
			// Of sinh z/cosh²(z/2) = 2 tanh(z/2) nothing overflows.
			variance = (2*math.Tanh(a/2) - a/math.Pow(math.Cosh(math.Min(a, 700)/2), 2)) / (4 * a * a * a)
		}
		mean := sum / n
		within(t, fmt.Sprintf("mean at z = %v", z), mean, pgMean(z), 5*math.Sqrt(variance/n))
		within(t, fmt.Sprintf("variance at z = %v", z), squares/n-mean*mean, variance, 5*variance*math.Sqrt(9.0/n))
	}
	if !math.IsNaN(pgDraw(math.NaN(), source(1))) {
		t.Error("a draw of PG(1, NaN) is a number")
	}
}

// toy returns a one-dimensional problem with noisy answers.
func toy(n int) (k *mat.SymDense, kappa []float64, x [][]float64) {
	r := source(4)
	for range n {
		v := r.NormFloat64()
		x = append(x, []float64{v})
		y := 0.5
		if v+0.3*r.NormFloat64() < 0 {
			y = -0.5
		}
		kappa = append(kappa, y)
	}
	return jittered(Kernel{Scale: 4, Length: 1, Jitter: 1e-3}, x), kappa, x
}

// bound is the evidence bound after a sweep that began with omega, with the best c for its q(f):
//
//	Σ(κm − log 2 − log cosh(c/2)) − KL(N(m, S) ‖ N(0, K))
func bound(k *mat.SymDense, omega, kappa []float64) float64 {
	n := len(omega)
	var kInv, s mat.Dense
	if err := kInv.Inverse(k); err != nil {
		panic(err)
	}
	precision := mat.DenseCopyOf(&kInv)
	for i, w := range omega {
		precision.Set(i, i, precision.At(i, i)+w)
	}
	if err := s.Inverse(precision); err != nil {
		panic(err)
	}
	var m, km mat.VecDense
	m.MulVec(&s, mat.NewVecDense(n, kappa))
	km.MulVec(&kInv, &m)
	var ks mat.Dense
	ks.Mul(&kInv, &s)
	logK, _ := mat.LogDet(k)
	logS, _ := mat.LogDet(&s)
	elbo := -(mat.Trace(&ks) + mat.Dot(&m, &km) - float64(n) + logK - logS) / 2
	for i := range n {
		c := math.Sqrt(m.AtVec(i)*m.AtVec(i) + s.At(i, i))
		elbo += kappa[i]*m.AtVec(i) - math.Ln2 - math.Log(math.Cosh(c/2))
	}
	return elbo
}

// TestVariationalRises checks that no sweep lowers the evidence bound, and that the first ones raise it.
func TestVariationalRises(t *testing.T) {
	k, kappa, _ := toy(30)
	last := math.Inf(-1)
	for sweeps := range 30 {
		now := bound(k, Variational{Sweeps: sweeps}.Omegas(k, kappa)[0], kappa)
		if rise := now - last; rise < -1e-9 || sweeps < 4 && rise < 1e-6 {
			t.Errorf("sweep %d: the bound goes from %v to %v", sweeps, last, now)
		}
		last = now
	}
}

// TestVariationalConverges checks that the tolerance ends the sweeps where they would stay.
func TestVariationalConverges(t *testing.T) {
	k, kappa, _ := toy(30)
	got, want := Variational{Sweeps: 1000, Tolerance: 1e-3}.Omegas(k, kappa)[0], Variational{Sweeps: 1000}.Omegas(k, kappa)[0]
	for i := range want {
		within(t, "ω", got[i], want[i], 1e-3)
	}
}

// TestVariationalOneExample checks the fixed point that one example has: m = κk/(1+ωk), S = k/(1+ωk), c² = m² + S.
func TestVariationalOneExample(t *testing.T) {
	const own = 8.001
	w := Variational{Sweeps: 200}.Omegas(mat.NewSymDense(1, []float64{own}), []float64{0.5})[0][0]
	m, s := 0.5*own/(1+w*own), own/(1+w*own)
	within(t, "ω", w, pgMean(math.Sqrt(m*m+s)), 1e-12)
}

// TestGibbs checks that the sampler's predictions are near those of variational inference, which knows the same answers,
// and that the draws of f have the moments of N(m, S).
func TestGibbs(t *testing.T) {
	k, kappa, x := toy(30)
	kernel := Kernel{Scale: 4, Length: 1, Jitter: 1e-3}
	ks := covariance(kernel, [][]float64{{-2}, {-0.5}, {0}, {0.4}, {1.5}}, x)
	predict := func(inf Inference) []float64 {
		p := make([]float64, 5)
		omegas := inf.Omegas(k, kappa)
		for _, omega := range omegas {
			mean, variance, _ := condition(k, omega, kappa).predict(ks, kernel)
			for i := range p {
				yes, _ := logistic(mean[i], variance[i])
				p[i] += yes / float64(len(omegas))
			}
		}
		return p
	}
	sampled, variational := predict(Gibbs{Chains: 400, Steps: 20, Source: source(5)}), predict(Variational{Sweeps: 30})
	for i := range sampled {
		within(t, "probability", sampled[i], variational[i], 0.03)
	}

	omega := Variational{Sweeps: 3}.Omegas(k, kappa)[0]
	m, s := marginals(k, omega, kappa)
	g := Gibbs{Source: source(6)}
	const n = 20000
	sum, squares := make([]float64, 30), make([]float64, 30)
	prior := factorOf(k)
	for range n {
		for i, f := range g.process(k, prior, omega, kappa) {
			sum[i] += f - m[i]
			squares[i] += (f - m[i]) * (f - m[i])
		}
	}
	for i := range m {
		within(t, "mean of draws", sum[i]/n, 0, 5*math.Sqrt(s[i]/n))
		within(t, "variance of draws", squares[i]/n, s[i], 5*s[i]*math.Sqrt(2.0/n))
	}
}
