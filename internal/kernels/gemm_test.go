package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// gemmCase is a product to test: op is NN, TN or NT, and each leading dimension exceeds its least value by pad.
type gemmCase struct {
	op      string
	m, n, k int
	pad     int
}

func (g gemmCase) String() string {
	return fmt.Sprintf("%s %dx%dx%d pad %d", g.op, g.m, g.n, g.k, g.pad)
}

// gemmArgs are operands of a product, each inside guard values that no kernel may touch.
type gemmArgs struct {
	a, b, dst     []float32
	lda, ldb, ldd int
	all           []float32 // dst and its guards
	guard         []bool    // which elements of all are guards
}

const guardValue = -12345.5

// args makes operands of normal deviates. Between the rows and around the operands lie guards: NaN next to a and b, so
// that a stray read spoils the result; guardValue next to dst, so that a stray write is seen.
func (g gemmCase) args(r *rand.Rand) gemmArgs {
	rowsA, colsA, rowsB, colsB := g.m, g.k, g.k, g.n
	if g.op[0] == 'T' {
		rowsA, colsA = colsA, rowsA
	}
	if g.op[1] == 'T' {
		rowsB, colsB = colsB, rowsB
	}
	var x gemmArgs
	x.lda, x.ldb, x.ldd = colsA+g.pad, colsB+g.pad, g.n+g.pad
	x.a, _, _ = guarded(r, rowsA, colsA, x.lda, float32(math.NaN()))
	x.b, _, _ = guarded(r, rowsB, colsB, x.ldb, float32(math.NaN()))
	x.dst, x.all, x.guard = guarded(r, g.m, g.n, x.ldd, guardValue)
	return x
}

// guarded returns a matrix of normal deviates at an odd offset into a larger slice, and that slice.
func guarded(r *rand.Rand, rows, cols, ld int, fill float32) (x, all []float32, guard []bool) {
	size := max(0, (rows-1)*ld+cols)
	if rows == 0 || cols == 0 {
		size = 0
	}
	before := 33 + r.IntN(16)
	all = make([]float32, before+size+48)
	guard = make([]bool, len(all))
	x = all[before:][:size]
	for i := range all {
		p := i - before
		if guard[i] = p < 0 || p >= size || p%ld >= cols; guard[i] {
			all[i] = fill
		} else {
			all[i] = float32(r.NormFloat64())
		}
	}
	return x, all, guard
}

func (g gemmCase) run(c *CPU, x gemmArgs) {
	switch g.op {
	case "NN":
		c.GemmNN(g.m, g.n, g.k, x.a, x.lda, x.b, x.ldb, x.dst, x.ldd)
	case "TN":
		c.GemmTN(g.m, g.n, g.k, x.a, x.lda, x.b, x.ldb, x.dst, x.ldd)
	case "NT":
		c.GemmNT(g.m, g.n, g.k, x.a, x.lda, x.b, x.ldb, x.dst, x.ldd)
	}
}

// reference returns the product in float64, and for each element the sum of the magnitudes that rounding acts on.
func (g gemmCase) reference(x gemmArgs) (want, magnitude []float64) {
	want, magnitude = make([]float64, g.m*g.n), make([]float64, g.m*g.n)
	for i := range g.m {
		for j := range g.n {
			var sum, abs float64
			for p := range g.k {
				ia, ib := i*x.lda+p, p*x.ldb+j
				if g.op[0] == 'T' {
					ia = p*x.lda + i
				}
				if g.op[1] == 'T' {
					ib = j*x.ldb + p
				}
				t := float64(x.a[ia]) * float64(x.b[ib])
				sum += t
				abs += math.Abs(t)
			}
			want[i*g.n+j], magnitude[i*g.n+j] = sum, abs
		}
	}
	return want, magnitude
}

// deep sums of the vector kernels go in several blocks, so that a tile adds to what the one before has left.
const deep = 401

// gemmCases returns the products of the trainer's hot loop, the edges, and random ones.
func gemmCases(r *rand.Rand) []gemmCase {
	cases := []gemmCase{
		{"NN", 100, 100, 784, 0},
		{"TN", 784, 100, 100, 0},
		{"NT", 100, 784, 100, 0},
		{"NN", 100, 10, 100, 0},
		{"TN", 100, 10, 100, 0},
		{"NT", 100, 100, 10, 0},
		{"NN", 33, 530, 430, 3}, // several blocks each way, and what is left of them
		{"TN", 33, 530, 430, 3},
		{"NT", 33, 530, 430, 3},
		{"NT", 20, 101, 1031, 0},
		{"NN", 120, 1030, 20, 5}, // rows so far apart that they are packed
		{"NN", 300, 16, 27, 0},
	}
	for _, op := range []string{"NN", "TN", "NT"} {
		cases = append(cases, gemmCase{op, 0, 3, 4, 0}, gemmCase{op, 3, 0, 4, 0}, gemmCase{op, 3, 4, 0, 2}, gemmCase{op, 1, 1, 1, 0})
		for range 300 {
			cases = append(cases, gemmCase{op, 1 + r.IntN(70), 1 + r.IntN(70), 1 + r.IntN(70), r.IntN(3) * r.IntN(9)})
		}
		for n := 1; n <= 70; n++ { // each width of the last panel, with each height of a tile
			cases = append(cases, gemmCase{op, 1 + n%15, n, 9, 0}, gemmCase{op, 1 + n%15, n, deep, 0})
		}
		for m := 1; m <= 60; m++ { // one to four columns beside whole panels, or alone
			n, pad := m%2*32+1+m%4, m%3
			cases = append(cases, gemmCase{op, m, n, 5 + m%7, pad}, gemmCase{op, m, n, deep + m%7, pad})
		}
	}
	return cases
}

func forEachISA(t *testing.T, f func(t *testing.T, c *CPU)) {
	for _, isa := range Available() {
		t.Run(isa.String(), func(t *testing.T) { f(t, New(isa)) })
	}
}

func TestGemm(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, g := range gemmCases(r) {
		x := g.args(r)
		want, magnitude := g.reference(x)
		before := slices.Clone(x.all)
		for _, isa := range Available() {
			copy(x.all, before)
			g.run(New(isa), x)
			for i := range g.m {
				for j := range g.n {
					got, w := float64(x.dst[i*x.ldd+j]), want[i*g.n+j]
					// k roundings of a relative 2⁻²⁴ each, and room for the other order of summation.
					if tol := magnitude[i*g.n+j] * float64(g.k+2) * 0x1p-24; !(math.Abs(got-w) <= tol) {
						t.Fatalf("%v: %v: dst[%d, %d] = %g, want %g ± %.2g", isa, g, i, j, got, w, tol)
					}
				}
			}
			for i, isGuard := range x.guard {
				if isGuard && x.all[i] != guardValue {
					t.Fatalf("%v: %v: wrote %g outside dst, %d elements into its surroundings", isa, g, x.all[i], i)
				}
			}
		}
	}
}

// The vector kernels multiply, add and round in the same order, whatever their width.
func TestGemmSameBits(t *testing.T) {
	all := Available()
	if len(all) < 3 {
		t.Skip("fewer than two vector instruction sets")
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, g := range gemmCases(r) {
		x := g.args(r)
		before := slices.Clone(x.dst)
		g.run(New(all[1]), x)
		want := slices.Clone(x.dst)
		for _, isa := range all[2:] {
			copy(x.dst, before)
			g.run(New(isa), x)
			for i := range want {
				if math.Float32bits(x.dst[i]) != math.Float32bits(want[i]) {
					t.Fatalf("%v: %v gives %g at %d, %v gives %g", g, isa, x.dst[i], i, all[1], want[i])
				}
			}
		}
	}
}

// Exactly the rows and columns that a NaN or an infinity stands in are touched by it, also where the other factor is 0.
func TestGemmNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, op := range []string{"NN", "TN", "NT"} {
			for range 40 {
				g := gemmCase{op, 1 + r.IntN(40), 1 + r.IntN(40), 1 + r.IntN(40), 0}
				x := g.args(r)
				i, j, p, q := r.IntN(g.m), r.IntN(g.n), r.IntN(g.k), r.IntN(g.k)
				at := func(row, col, ld int, transposed bool) int {
					if transposed {
						row, col = col, row
					}
					return row*ld + col
				}
				for z := range g.n { // 0·∞ is NaN
					x.b[at(p, z, x.ldb, op[1] == 'T')] = 0
				}
				x.a[at(i, p, x.lda, op[0] == 'T')] = inf
				x.b[at(q, j, x.ldb, op[1] == 'T')] = nan
				g.run(c, x)
				for row := range g.m {
					for col := range g.n {
						got := x.dst[row*x.ldd+col]
						if want := row == i || col == j; (got != got) != want {
							t.Fatalf("%v, row %d and column %d not finite: dst[%d, %d] = %g", g, i, j, row, col, got)
						}
					}
				}
			}
			g := gemmCase{op, 3, 5, 7, 0}
			x := g.args(r)
			for p := range x.a {
				x.a[p] = 1
			}
			for p := range x.b {
				x.b[p] = 1
			}
			x.a[0] = inf
			g.run(c, x)
			if x.dst[0] != inf || x.dst[g.n] == inf && op == "NN" {
				t.Fatalf("%v: an infinite a[0] gives dst = %g", g, x.dst)
			}
		}
	})
}

func TestGemmAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, op := range []string{"NN", "TN", "NT"} {
			g := gemmCase{op, 33, 100, deep, 0}
			x := g.args(r)
			if n := testing.AllocsPerRun(10, func() { g.run(c, x) }); n != 0 {
				t.Errorf("%v: %g allocations, want 0", g, n)
			}
		}
	})
}

func TestGemmPanics(t *testing.T) {
	x := make([]float32, 12)
	tests := []struct {
		name string
		call func(c *CPU)
		want string
	}{
		{"negative", func(c *CPU) { c.GemmNN(2, -1, 2, x, 2, x, 2, x, 2) },
			"kernels: GemmNN: m, n, k = 2, -1, 2, want none negative"},
		{"short a", func(c *CPU) { c.GemmTN(3, 2, 5, x, 3, x, 2, x, 2) },
			"kernels: GemmTN: len(a) = 12, want at least 15 for [5, 3] with a leading dimension of 3"},
		{"short b", func(c *CPU) { c.GemmNT(1, 5, 3, x, 3, x, 3, x, 5) },
			"kernels: GemmNT: len(b) = 12, want at least 15 for [5, 3] with a leading dimension of 3"},
		{"short dst", func(c *CPU) { c.GemmNN(5, 3, 1, x, 1, x, 3, x, 3) },
			"kernels: GemmNN: len(dst) = 12, want at least 15 for [5, 3] with a leading dimension of 3"},
		{"narrow", func(c *CPU) { c.GemmNN(2, 3, 2, x, 2, x, 2, x, 3) },
			"kernels: GemmNN: b has a leading dimension of 2, want at least 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %q, want %q", got, test.want)
				}
			}()
			test.call(New(Generic))
		})
	}
}

func BenchmarkGemm(b *testing.B) {
	shapes := []gemmCase{
		{op: "NN", m: 100, n: 100, k: 784},
		{op: "NN", m: 100, n: 10, k: 100},
		{op: "TN", m: 784, n: 100, k: 100},
		{op: "NT", m: 100, n: 100, k: 784},
		{op: "NN", m: 512, n: 512, k: 512},
		{op: "NN", m: 8192, n: 64, k: 288},
		{op: "NN", m: 8192, n: 16, k: 27},
	}
	for _, isa := range Available() {
		for _, g := range shapes {
			b.Run(fmt.Sprintf("%v/%s/%dx%dx%d", isa, g.op, g.m, g.n, g.k), func(b *testing.B) {
				c, x := New(isa), g.args(rand.New(rand.NewPCG(9, 10)))
				for b.Loop() {
					g.run(c, x)
				}
				flop := 2 * float64(g.m) * float64(g.n) * float64(g.k)
				b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
			})
		}
	}
}
