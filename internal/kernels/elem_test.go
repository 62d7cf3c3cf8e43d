package kernels

import (
	"math"
	"math/rand/v2"
	"testing"
)

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

func BenchmarkCombine(b *testing.B) {
	x := benchSlices(3)
	benchElem(b, benchLen, func(c *CPU) { c.Combine(x[0], 0.1, x[1], 0.2, x[2]) })
}
