package kernels

import (
	"math"
	"math/rand/v2"
)

// An elemCase is an elementwise kernel with its definition in float64.
type elemCase struct {
	name string
	in   []func(r *rand.Rand) float32 // where the values of each source come from
	out  int                          // destinations; all of them start as copies of the sources of the same number
	// special says that the definition holds at any float32; else only NaN is tried beside ordinary values.
	special bool
	tol     float64
	run     func(c *CPU, out, in [][]float32)
	// want returns the values of the destinations, and the size that their errors are relative to.
	want func(x []float64) (y, size []float64)
}

func normal(r *rand.Rand) float32 { return float32(r.NormFloat64()) }

func positive(r *rand.Rand) float32 { return float32(math.Exp(20 * (r.Float64() - 0.5))) }

// spread returns numbers of every size.
func spread(r *rand.Rand) float32 {
	return float32(math.Copysign(math.Exp(r.Float64()*24-19), r.Float64()-0.5))
}

func normals(n int) []func(*rand.Rand) float32 {
	all := make([]func(*rand.Rand) float32, n)
	for i := range all {
		all[i] = normal
	}
	return all
}

// one makes the want of a kernel with one destination whose error is relative to its value.
func one(f func(x []float64) float64) func([]float64) ([]float64, []float64) {
	return func(x []float64) ([]float64, []float64) {
		y := f(x)
		return []float64{y}, []float64{math.Abs(y)}
	}
}

var specials = []float32{
	0, float32(math.Copysign(0, -1)), 1, -1, 1e-45, -1e-45, 1e-40, -1e-40, 0x1p-126, -0x1p-126, 0x1.fffffep-127,
	1e-8, -1e-8, 1e-20, 3e38, -3e38, math.MaxFloat32, -math.MaxFloat32, 87, -87, -87.33, -87.34, 88, -88, 88.7, 88.73, 89, -89,
	-100, -103.9, -104, -105, 104, 1e4, -1e4, 0x1p23, 0x1p24, 0x1.fffffep22, 2, 0.5, math.Sqrt2, math.Sqrt2 / 2, math.Pi,
	float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()),
}

func softplus64(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }
func sigmoid64(x float64) float64  { return 1 / (1 + math.Exp(-x)) }

// f64 returns a constant as the float32 that a kernel sees.
func f64(x float32) float64 { return float64(x) }

var elemCases = []elemCase{
	{"Exp", []func(*rand.Rand) float32{spread}, 1, true, 1.5e-7,
		func(c *CPU, y, x [][]float32) { c.Exp(y[0], x[0]) },
		one(func(x []float64) float64 { return math.Exp(x[0]) })},
	{"Add", normals(2), 1, true, 6e-8,
		func(c *CPU, y, x [][]float32) { c.Add(y[0], x[0], x[1]) },
		one(func(x []float64) float64 { return x[0] + x[1] })},
	{"Mul", normals(2), 1, true, 6e-8,
		func(c *CPU, y, x [][]float32) { c.Mul(y[0], x[0], x[1]) },
		one(func(x []float64) float64 { return x[0] * x[1] })},
	{"Scale", normals(1), 1, true, 6e-8,
		func(c *CPU, y, x [][]float32) { c.Scale(y[0], -0.37, x[0]) },
		one(func(x []float64) float64 { return f64(-0.37) * x[0] })},
	{"Combine", normals(2), 1, false, 1.2e-7,
		func(c *CPU, y, x [][]float32) { c.Combine(y[0], 0.9, x[0], -1.3, x[1]) },
		func(x []float64) (y, size []float64) {
			a, b := f64(0.9)*x[0], f64(-1.3)*x[1]
			return []float64{a + b}, []float64{math.Abs(a) + math.Abs(b)}
		}},
	{"Axpy", normals(2), 1, false, 1.2e-7,
		func(c *CPU, y, x [][]float32) { c.Axpy(y[0], -1.3, x[1]) },
		func(x []float64) (y, size []float64) {
			b := f64(-1.3) * x[1]
			return []float64{x[0] + b}, []float64{math.Abs(x[0]) + math.Abs(b)}
		}},
	{"ClampMin", normals(1), 1, true, 0,
		func(c *CPU, y, x [][]float32) { c.ClampMin(y[0], -0.7) },
		one(func(x []float64) float64 { return math.Max(x[0], f64(-0.7)) })},
	{"BiasReLU", normals(2), 1, true, 6e-8,
		func(c *CPU, y, x [][]float32) {
			if n := len(y[0]); n > 0 {
				c.BiasReLU(y[0], x[1], 1, n, true)
			}
		},
		one(func(x []float64) float64 { return math.Max(x[0]+x[1], 0) })},
	{"ReLUGrad", normals(2), 1, true, 0,
		func(c *CPU, y, x [][]float32) { c.ReLUGrad(y[0], x[0], x[1]) },
		one(func(x []float64) float64 {
			switch {
			case x[1] > 0:
				return x[0]
			case x[1] != x[1]:
				return x[1]
			}
			return 0
		})},
	{"Softplus", []func(*rand.Rand) float32{spread}, 2, true, 2.5e-7,
		func(c *CPU, y, x [][]float32) { c.Softplus(y[0], y[1], x[0]) },
		func(x []float64) (y, size []float64) {
			v := x[0]
			if v < softplusMin {
				v = softplusMin
			}
			s, d := softplus64(v), sigmoid64(v)
			return []float64{s, d}, []float64{s, d}
		}},
	{"Sample", normals(3), 1, false, 1.2e-7,
		func(c *CPU, y, x [][]float32) { c.Sample(y[0], x[0], x[1], x[2]) },
		func(x []float64) (y, size []float64) {
			return []float64{x[0] + x[1]*x[2]}, []float64{math.Abs(x[0]) + math.Abs(x[1]*x[2])}
		}},
	{"SampleGrad", normals(3), 1, false, 1.2e-7,
		func(c *CPU, y, x [][]float32) { c.SampleGrad(y[0], x[0], x[1], x[2]) },
		one(func(x []float64) float64 { return x[0] * x[1] * x[2] })},
	{"VarianceGrad", normals(3), 1, false, 1.2e-7,
		func(c *CPU, y, x [][]float32) { c.VarianceGrad(y[0], x[0], x[1], x[2]) },
		one(func(x []float64) float64 { return 2 * x[0] * x[1] * x[2] })},
	{"GaussianKLTo", []func(*rand.Rand) float32{normal, positive, normal, normal, positive}, 2, false, 6e-7,
		func(c *CPU, y, x [][]float32) { c.GaussianKLTo(y[0], y[1], x[0], x[1], x[2], x[3], x[4]) },
		func(x []float64) (y, size []float64) {
			mq, sq, dq, mw, sw := x[0], x[1], x[2], x[3], x[4]
			u, a := (mq-mw)/sw, (sq-sw)*(sq+sw)/(sw*sw)
			return []float64{u / sw, a / sq * dq}, []float64{math.Abs(u / sw), math.Abs(a / sq * dq)}
		}},
	{"GaussianKL", []func(*rand.Rand) float32{normal, positive, normal, normal, positive, normal}, 4, false, 6e-7,
		func(c *CPU, y, x [][]float32) {
			c.GaussianKL(y[0], y[1], y[2], y[3], x[0], x[1], x[2], x[3], x[4], x[5])
		},
		func(x []float64) (y, size []float64) {
			mq, sq, dq, mw, sw, dw := x[0], x[1], x[2], x[3], x[4], x[5]
			u, t := (mq-mw)/sw, sq/sw
			a := (sq - sw) * (sq + sw) / (sw * sw)
			return []float64{u / sw, a / sq * dq, -u / sw, -(a + u*u) / sw * dw},
				[]float64{math.Abs(u / sw), math.Abs(a / sq * dq), math.Abs(u / sw), (math.Abs(1-t)*(1+t) + u*u) / sw * math.Abs(dw)}
		}},
	{"Adam", []func(*rand.Rand) float32{normal, normal, func(r *rand.Rand) float32 { return float32(r.ExpFloat64()) }, normal}, 3, false, 5e-7,
		func(c *CPU, y, x [][]float32) {
			c.Adam(y[0], y[1], y[2], x[3], AdamStep{LR: 0.1, Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, Correct1: 3.7, Correct2: 330})
		},
		func(x []float64) (y, size []float64) {
			p, b1, b2 := x[0], f64(0.9), f64(0.999)
			m := b1*x[1] + (1-b1)*x[3]
			v := b2*x[2] + (1-b2)*x[3]*x[3]
			den := math.Sqrt(v*330) + f64(1e-8)
			ms := b1*math.Abs(x[1]) + (1-b1)*math.Abs(x[3])
			return []float64{p - f64(0.1)*m*f64(3.7)/den, m, v}, []float64{math.Abs(p) + f64(0.1)*ms*f64(3.7)/den, ms, v}
		}},
	{"SGD", normals(2), 1, false, 2e-7,
		func(c *CPU, y, x [][]float32) { c.SGD(y[0], x[1], 0.3, 0.01) },
		func(x []float64) (y, size []float64) {
			d := f64(0.3) * f64(0.01) * x[0]
			return []float64{x[0] - f64(0.3)*x[1] - d}, []float64{math.Abs(x[0]) + math.Abs(x[1])}
		}},
	{"Momentum", normals(3), 2, false, 2.5e-7,
		func(c *CPU, y, x [][]float32) { c.Momentum(y[0], y[1], x[2], 0.3, 0.9, 0.01) },
		func(x []float64) (y, size []float64) {
			v := f64(0.9)*x[1] + x[2] + f64(0.01)*x[0]
			s := math.Abs(x[0]) + math.Abs(x[1]) + math.Abs(x[2])
			return []float64{x[0] - f64(0.3)*v, v}, []float64{s, s}
		}},
}
