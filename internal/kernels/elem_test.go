package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
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
	{"Log", []func(*rand.Rand) float32{positive}, 1, true, 1.5e-7,
		func(c *CPU, y, x [][]float32) { c.Log(y[0], x[0]) },
		one(func(x []float64) float64 { return math.Log(x[0]) })},
	{"Add", normals(2), 1, true, 6e-8,
		func(c *CPU, y, x [][]float32) { c.Add(y[0], x[0], x[1]) },
		one(func(x []float64) float64 { return x[0] + x[1] })},
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
	{"CombineSampleGrad", normals(4), 1, false, 2.5e-7,
		func(c *CPU, y, x [][]float32) { c.CombineSampleGrad(y[0], -1.3, x[0], x[1], x[2], x[3]) },
		func(x []float64) (y, size []float64) {
			a, b := f64(-1.3)*x[0], x[1]*x[2]*x[3]
			return []float64{a + b}, []float64{math.Abs(a) + math.Abs(b)}
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

// sources makes n values for each source. With every fourth value special (or NaN) if odd is set.
func (e elemCase) sources(r *rand.Rand, n int, odd bool) [][]float32 {
	in := make([][]float32, len(e.in))
	for k, draw := range e.in {
		in[k] = make([]float32, n)
		for i := range in[k] {
			in[k][i] = draw(r)
			if odd && r.IntN(4) == 0 {
				in[k][i] = specials[len(specials)-1]
				if e.special {
					in[k][i] = specials[r.IntN(len(specials))]
				}
			}
		}
	}
	return in
}

const guards = 16

// apply runs the kernel on copies of the sources that begin at an offset from an even address, and returns the
// destinations. It reports an error if a value outside of them, or a source, has changed.
func (e elemCase) apply(t *testing.T, c *CPU, in [][]float32, offset int) [][]float32 {
	t.Helper()
	place := func(x []float32) (whole, part []float32) {
		whole = make([]float32, len(x)+2*guards+offset)
		for i := range whole {
			whole[i] = guardValue
		}
		part = whole[guards+offset:][:len(x):len(x)]
		copy(part, x)
		return whole, part
	}
	var src, out, frames [][]float32
	for _, x := range in {
		_, part := place(x)
		src = append(src, part)
	}
	for k := range e.out {
		whole, part := place(in[min(k, len(in)-1)])
		frames, out = append(frames, whole), append(out, part)
	}
	e.run(c, out, src)
	for k, w := range frames {
		for i, v := range w {
			if (i < guards+offset || i >= guards+offset+len(out[k])) && v != guardValue {
				t.Fatalf("%s: length %d, offset %d: value %d of destination %d was overwritten", e.name, len(out[k]), offset, i-guards-offset, k)
			}
		}
	}
	for k := range src {
		for i := range src[k] {
			if !sameBits(src[k][i], in[k][i]) {
				t.Fatalf("%s: source %d was overwritten at %d", e.name, k, i)
			}
		}
	}
	return out
}

func sameBits(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }

// near reports whether got is want but for rounding: an error of tol relative to size, or of one denormal.
func near(got float32, want, size, tol float64) bool {
	g := float64(got)
	switch {
	case math.IsNaN(want):
		return g != g
	case math.Abs(want) > math.MaxFloat32:
		return g == math.Inf(1) && want > 0 || g == math.Inf(-1) && want < 0 || math.Abs(g/want-1) <= tol
	}
	return math.Abs(g-want) <= tol*size+1.5e-45
}

func (e elemCase) check(t *testing.T, in, out [][]float32) {
	t.Helper()
	x := make([]float64, len(in))
	for i := range in[0] {
		for k := range in {
			x[k] = float64(in[k][i])
		}
		want, size := e.want(x)
		for k := range out {
			if !near(out[k][i], want[k], size[k], e.tol) {
				t.Fatalf("%s: destination %d at %v = %v, want %v (error %.3g of %.3g)", e.name, k, x, out[k][i], want[k],
					math.Abs(float64(out[k][i])-want[k])/size[k], e.tol)
			}
		}
	}
}

// TestElementwise compares every elementwise kernel with its definition, at ordinary values and at the extremes, and
// whatever the length and alignment with what it gives in a long slice.
func TestElementwise(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for _, e := range elemCases {
			t.Run(e.name, func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				for _, n := range []int{lanes, 1000, 2*chunk + 37} {
					in := e.sources(r, n, false)
					e.check(t, in, e.apply(t, c, in, 0))
				}
				in := e.sources(r, 5000, true)
				long := e.apply(t, c, in, 0)
				e.check(t, in, long)
				for n := range 70 {
					part := make([][]float32, len(in))
					for k := range in {
						part[k] = in[k][5*n : 6*n]
					}
					for offset := range 4 {
						for k, out := range e.apply(t, c, part, offset) {
							for i, v := range out {
								if want := long[k][5*n+i]; !sameBits(v, want) && v == v {
									t.Fatalf("length %d, offset %d: destination %d at %d = %v, in a long slice %v", n, offset, k, i, v, want)
								}
							}
						}
					}
				}
			})
		}
	})
}

// TestSpecials tries every extreme value of every kernel with one source, and every pair of them with two.
func TestSpecials(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for _, e := range elemCases {
			if !e.special {
				continue
			}
			in := make([][]float32, len(e.in))
			for i := range len(specials) * len(specials) {
				in[0] = append(in[0], specials[i%len(specials)])
				if len(in) > 1 {
					in[1] = append(in[1], specials[i/len(specials)])
				}
			}
			e.check(t, in, e.apply(t, c, in, 0))
		}
	})
}

// TestSameBits compares the vector instruction sets with each other, bit for bit.
func TestSameBits(t *testing.T) {
	sets := Available()
	if len(sets) < 3 {
		t.Skip("fewer than two vector instruction sets")
	}
	a, b := New(AVX2), New(AVX512)
	for _, e := range elemCases {
		r := rand.New(rand.NewPCG(3, 4))
		for _, odd := range []bool{false, true} {
			in := e.sources(r, 1<<16+5, odd)
			x, y := e.apply(t, a, in, 0), e.apply(t, b, in, 0)
			for k := range x {
				for i, v := range x[k] {
					if w := y[k][i]; !sameBits(v, w) && !(v != v && w != w) {
						t.Fatalf("%s: destination %d at %d: avx2 %v, avx512 %v", e.name, k, i, v, w)
					}
				}
			}
		}
	}
}

func TestClampMinCounts(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for n := range 200 {
			x := make([]float32, n)
			want := 0
			for i := range x {
				x[i] = float32(i%7) - 3
				if i%7 < 2 {
					want++
				}
				if i%11 == 3 {
					if i%7 < 2 {
						want--
					}
					x[i] = float32(math.NaN())
				}
			}
			if got := c.ClampMin(x, -1); got != want {
				t.Errorf("%d values: %d raised, want %d", n, got, want)
			}
			if got := c.ClampMin(x, -1); got != 0 {
				t.Errorf("%d values: %d raised again", n, got)
			}
		}
	})
}

func TestElementwisePanics(t *testing.T) {
	c := New(Generic)
	for _, e := range elemCases {
		if len(e.in) < 2 {
			continue
		}
		in, out := make([][]float32, len(e.in)), make([][]float32, e.out)
		for k := range in {
			in[k] = make([]float32, 20)
		}
		for k := range out {
			out[k] = make([]float32, 20)
		}
		in[len(in)-1] = in[len(in)-1][:19]
		t.Run(e.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic on a short source")
				}
			}()
			e.run(c, out, in)
		})
	}
}

func TestElementwiseAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for _, e := range elemCases {
			in := e.sources(rand.New(rand.NewPCG(5, 6)), 1037, false)
			out := make([][]float32, e.out)
			for k := range out {
				out[k] = make([]float32, 1037)
			}
			if n := testing.AllocsPerRun(10, func() { e.run(c, out, in) }); n != 0 {
				t.Errorf("%s: %v allocations", e.name, n)
			}
		}
	})
}

// benchElem runs f, which handles n values, for every instruction set.
func benchElem(b *testing.B, n int, f func(c *CPU)) {
	for _, isa := range Available() {
		b.Run(isa.String(), func(b *testing.B) {
			c := New(isa)
			for b.Loop() {
				f(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/elem")
		})
	}
}

// benchLen is the number of parameters of the network 784-100-10.
const benchLen = 79510

func benchSlices(k int) [][]float32 {
	r := rand.New(rand.NewPCG(7, 8))
	all := make([][]float32, k)
	for i := range all {
		all[i] = make([]float32, benchLen)
		for j := range all[i] {
			all[i][j] = float32(r.NormFloat64()*0.1 - 3)
		}
	}
	return all
}

func BenchmarkExp(b *testing.B) {
	x := benchSlices(2)
	benchElem(b, benchLen, func(c *CPU) { c.Exp(x[0], x[1]) })
}

func BenchmarkLog(b *testing.B) {
	x := benchSlices(2)
	for i := range x[1] {
		x[1][i] *= -1
	}
	benchElem(b, benchLen, func(c *CPU) { c.Log(x[0], x[1]) })
}

func BenchmarkCombine(b *testing.B) {
	x := benchSlices(3)
	benchElem(b, benchLen, func(c *CPU) { c.Combine(x[0], 0.1, x[1], 0.2, x[2]) })
}
