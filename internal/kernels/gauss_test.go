package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

// klArgs are the sources of GaussianKL: mq, sq, dq, mw, sw, dw.
type klArgs [6][]float32

func (x klArgs) run(c *CPU) (value float64, grads [4][]float32) {
	for k := range grads {
		grads[k] = make([]float32, len(x[0]))
	}
	return c.GaussianKL(grads[0], grads[1], grads[2], grads[3], x[0], x[1], x[2], x[3], x[4], x[5]), grads
}

func klSources(r *rand.Rand, n int) klArgs {
	var x klArgs
	for k := range x {
		x[k] = make([]float32, n)
		for i := range x[k] {
			x[k][i] = normal(r)
			if k == 1 || k == 4 {
				x[k][i] = positive(r)
			}
		}
	}
	return x
}

// klSmall is klSources with σ near 1, so that no summand hides the others.
func klSmall(r *rand.Rand, n int) klArgs {
	x := klSources(r, n)
	for _, k := range []int{1, 4} {
		for i := range x[k] {
			x[k][i] = float32(math.Exp(0.3 * r.NormFloat64()))
		}
	}
	return x
}

// kl64 is the divergence of N(mq, sq²) from N(mw, sw²).
func kl64(mq, sq, mw, sw float64) float64 {
	r, u := (sq-sw)/sw, (mq-mw)/sw
	if math.Abs(r) < 1e-3 { // r − log(1+r) as a series
		return r*r/2 - r*r*r/3 + r*r*r*r/4 - math.Pow(r, 5)/5 + r*r/2 + u*u/2
	}
	return -math.Log(sq/sw) + (sq*sq/(sw*sw)-1)/2 + u*u/2
}

func (x klArgs) want() float64 {
	s := 0.0
	for i := range x[0] {
		s += kl64(float64(x[0][i]), float64(x[1][i]), float64(x[3][i]), float64(x[4][i]))
	}
	return s
}

func TestGaussianKLValue(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(1, 2))
		lengths := []int{1000, klBlock, klBlock + 1, 3*klBlock + 17, 20000}
		for n := range 70 {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			x := klSources(r, n)
			if got, _ := x.run(c); !(math.Abs(got-x.want()) <= 1e-6*x.want()) {
				t.Errorf("%d values: %v, want %v", n, got, x.want())
			}
		}
	})
}

// TestGaussianKLNearEqual looks for cancellation: the relative error does not grow where q approaches w.
func TestGaussianKLNearEqual(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(3, 4))
		for distance := 1e-7; distance < 1; distance *= 3 {
			x := klSources(r, 100)
			for i := range x[0] {
				x[0][i] = x[3][i] + x[4][i]*float32(distance*r.NormFloat64())
				x[1][i] = x[4][i] * float32(math.Exp(distance*r.NormFloat64()))
			}
			for _, part := range []klArgs{x, {x[3], x[1], x[2], x[3], x[4], x[5]}, {x[0], x[4], x[2], x[3], x[4], x[5]}} {
				if got, _ := part.run(c); !(math.Abs(got-part.want()) <= 1e-6*part.want()) {
					t.Errorf("distance %.1e: %v, want %v", distance, got, part.want())
				}
			}
		}
	})
}

func TestGaussianKLEqual(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		x := klSources(rand.New(rand.NewPCG(5, 6)), 2000)
		x[3], x[4] = x[0], x[1]
		got, grads := x.run(c)
		if got != 0 {
			t.Errorf("KL(q ‖ q) = %v, want 0", got)
		}
		for k, g := range grads {
			for i, v := range g {
				if v != 0 {
					t.Fatalf("gradient %d at %v of KL(q ‖ q) = %v, want 0", k, [2]float32{x[0][i], x[1][i]}, v)
				}
			}
		}
	})
}

// TestGaussianKLSmallest walks down to the smallest σ that Softplus gives.
func TestGaussianKLSmallest(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for rho := float32(-20); rho >= -200; rho -= 10 {
			var s, d, g [2]float32
			c.Softplus(s[:], d[:], []float32{rho, 0})
			x := klArgs{{0}, s[:1], d[:1], {0}, s[1:], d[1:]}
			got, grads := x.run(c)
			if !(math.Abs(got-x.want()) <= 1e-6*got) {
				t.Errorf("ρ %v: %v, want %v", rho, got, x.want())
			}
			g[0], g[1] = grads[1][0], grads[3][0]
			if !(math.Abs(float64(g[0])+1) < 1e-6) { // σ' / σ → 1
				t.Errorf("ρ %v: gradient by ρq %v, want -1", rho, g[0])
			}
		}
	})
}

func TestGaussianKLNaN(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for _, k := range []int{0, 1, 3, 4} {
			for _, n := range []int{1, 16, 40} {
				x := klSources(rand.New(rand.NewPCG(7, 8)), n)
				x[k][n/2] = float32(math.NaN())
				if got, _ := x.run(c); got == got {
					t.Errorf("source %d of %d is NaN: %v", k, n, got)
				}
			}
		}
	})
}

// TestGaussianKLSameBits holds the order of the sum to one that does not depend on the width of vectors.
func TestGaussianKLSameBits(t *testing.T) {
	all := Available()
	if len(all) < 3 {
		t.Skip("fewer than two vector instruction sets")
	}
	x := klSmall(rand.New(rand.NewPCG(9, 10)), 5000)
	want, _ := x.run(New(all[1]))
	for _, isa := range all[2:] {
		if got, _ := x.run(New(isa)); got != want {
			t.Errorf("%s: %v, want %v as %s gives", isa, got, want, all[1])
		}
	}
}

// TestGaussianKLEnd holds the order of the sum to one that does not depend on where the slice ends.
func TestGaussianKLEnd(t *testing.T) {
	x := klSmall(rand.New(rand.NewPCG(9, 10)), 5000)
	forEachISA(t, func(t *testing.T, c *CPU) {
		for n := range 70 {
			short, padded := x, x
			for k := range x {
				short[k] = x[k][:1000+n]
				padded[k] = append([]float32(nil), x[k][:1100]...)
				for i := 1000 + n; i < 1100; i++ {
					padded[k][i] = 1
				}
			}
			a, _ := short.run(c)
			if b, _ := padded.run(c); a != b {
				t.Errorf("%d values: %v, with equal q and w behind them %v", 1000+n, a, b)
			}
		}
	})
}

// TestGaussianKLTo holds the divergence without gradients to w to the one with them, bit by bit and at every length.
func TestGaussianKLTo(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(13, 14))
		lengths := []int{klBlock - 1, klBlock + 1, 3*klBlock + 17, 20000}
		for n := range 70 {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			x := klSmall(r, n)
			want, grads := x.run(c)
			mu, rho := make([]float32, n), make([]float32, n)
			if got := c.GaussianKLTo(mu, rho, x[0], x[1], x[2], x[3], x[4]); got != want {
				t.Errorf("%d values: %v, want %v as GaussianKL gives", n, got, want)
			}
			for i := range mu {
				if !sameBits(mu[i], grads[0][i]) || !sameBits(rho[i], grads[1][i]) {
					t.Fatalf("gradients %v and %v at %d of %d, want %v and %v", mu[i], rho[i], i, n, grads[0][i], grads[1][i])
				}
			}
		}
	})
}

// TestGaussianKLGradients compares the gradients that TestElementwise wants with differences of kl64.
func TestGaussianKLGradients(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 100 {
		x := [4]float64{r.NormFloat64(), r.NormFloat64() - 1, r.NormFloat64(), r.NormFloat64() - 1} // μq, ρq, μw, ρw
		f := func(x [4]float64) float64 { return kl64(x[0], softplus64(x[1]), x[2], softplus64(x[3])) }
		args := []float64{x[0], softplus64(x[1]), sigmoid64(x[1]), x[2], softplus64(x[3]), sigmoid64(x[3])}
		for _, e := range elemCases {
			if e.name != "GaussianKL" {
				continue
			}
			got, size := e.want(args)
			for k := range x {
				const h = 1e-5
				a, b := x, x
				a[k] -= h
				b[k] += h
				if want := (f(b) - f(a)) / (2 * h); math.Abs(got[k]-want) > 1e-6*(1+size[k]) {
					t.Errorf("gradient %d at %v: %v, by differences %v", k, x, got[k], want)
				}
			}
		}
	}
}

func BenchmarkSoftplus(b *testing.B) {
	x := benchSlices(3)
	benchElem(b, benchLen, func(c *CPU) { c.Softplus(x[0], x[1], x[2]) })
}

func BenchmarkSample(b *testing.B) {
	x := benchSlices(4)
	benchElem(b, benchLen, func(c *CPU) { c.Sample(x[0], x[1], x[2], x[3]) })
}

func BenchmarkSampleGrad(b *testing.B) {
	x := benchSlices(4)
	benchElem(b, benchLen, func(c *CPU) { c.SampleGrad(x[0], x[1], x[2], x[3]) })
}

func BenchmarkVarianceGrad(b *testing.B) {
	x := benchSlices(4)
	benchElem(b, benchLen, func(c *CPU) { c.VarianceGrad(x[0], x[1], x[2], x[3]) })
}

// BenchmarkKL measures the divergence with its four gradients: alone, with the two softplus that come before it, and with two
// gradients alone.
func BenchmarkKL(b *testing.B) {
	x := benchSlices(12)
	dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw, rq, rw := x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7], x[8], x[9], x[10], x[11]
	c := New(Best())
	c.Softplus(sq, dq, rq)
	c.Softplus(sw, dw, rw)
	b.Run("alone", func(b *testing.B) {
		benchElem(b, benchLen, func(c *CPU) { c.GaussianKL(dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw) })
	})
	b.Run("to", func(b *testing.B) {
		benchElem(b, benchLen, func(c *CPU) { c.GaussianKLTo(dmq, drq, mq, sq, dq, mw, sw) })
	})
	b.Run("softplus", func(b *testing.B) {
		benchElem(b, benchLen, func(c *CPU) {
			c.Softplus(sq, dq, rq)
			c.Softplus(sw, dw, rw)
			c.GaussianKL(dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw)
		})
	})
}
