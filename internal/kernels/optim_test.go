package kernels

import (
	"math"
	"testing"
)

// TestAdamTrajectory follows Adam down a parabola, as in float64.
func TestAdamTrajectory(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		const n = 37
		p, m, v, g := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		p64, m64, v64 := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range p {
			p[i] = float32(i-18) / 4
			p64[i] = float64(p[i])
		}
		b1, b2 := f64(0.9), f64(0.999)
		for s := 1; s <= 50; s++ {
			k1, k2 := 1/(1-math.Pow(b1, float64(s))), 1/(1-math.Pow(b2, float64(s)))
			for i := range p {
				g[i] = 2 * (p[i] - 1)
				d := 2 * (p64[i] - 1)
				m64[i] = b1*m64[i] + (1-b1)*d
				v64[i] = b2*v64[i] + (1-b2)*d*d
				p64[i] -= 0.05 * m64[i] * k1 / (math.Sqrt(v64[i]*k2) + 1e-8)
			}
			c.Adam(p, m, v, g, AdamStep{LR: 0.05, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Correct1: float32(k1), Correct2: float32(k2)})
		}
		for i := range p {
			if math.Abs(float64(p[i])-p64[i]) > 2e-5 {
				t.Errorf("parameter %d after 50 steps: %v, want %v", i, p[i], p64[i])
			}
		}
	})
}

// TestAdamSmallMoments takes the root of denormal second moments, which must not be flushed to 0.
func TestAdamSmallMoments(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for _, v0 := range []float32{1e-45, 1e-44, 1e-42, 1e-38, 1e-30} {
			p, m, v, g := []float32{1}, []float32{1e-22}, []float32{v0}, []float32{0}
			c.Adam(p, m, v, g, AdamStep{LR: 1, Beta1: 1, Beta2: 1, Eps: 0, Correct1: 1, Correct2: 1})
			if want := 1 - f64(1e-22)/math.Sqrt(float64(v0)); math.Abs(float64(p[0])-want) > 3e-7*(1+math.Abs(want)) {
				t.Errorf("v %v: parameter %v, want %v", v0, p[0], want)
			}
			if v[0] != v0 {
				t.Errorf("v %v became %v", v0, v[0])
			}
		}
	})
}

func BenchmarkAdam(b *testing.B) {
	x := benchSlices(4)
	clear(x[2])
	benchElem(b, benchLen, func(c *CPU) {
		c.Adam(x[0], x[1], x[2], x[3], AdamStep{LR: 1e-3, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Correct1: 2, Correct2: 10})
	})
}

func BenchmarkSGD(b *testing.B) {
	x := benchSlices(2)
	benchElem(b, benchLen, func(c *CPU) { c.SGD(x[0], x[1], 1e-9, 0) })
}
