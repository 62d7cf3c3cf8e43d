package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// rowShapes are [rows, n]: rows that are whole blocks and rows that are not, few and many, short and longer than a tile.
var rowShapes = [][2]int{
	{0, 5}, {1, 1}, {1, 37}, {100, 10}, {100, 100}, {7, 100}, {3, 16}, {5, 64}, {10000, 6}, {3000, 1}, {33, 17}, {9, 784}, {4, 2048}, {4, 2049}, {3, 5000},
}

func TestBiasReLU(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, shape := range rowShapes {
			rows, n := shape[0], shape[1]
			for _, relu := range []bool{false, true} {
				buf, bias := make([]float32, rows*n+2), make([]float32, n)
				for i := range buf {
					buf[i] = normal(r)
				}
				for j := range bias {
					bias[j] = normal(r)
				}
				before := slices.Clone(buf)
				c.BiasReLU(buf[1:1+rows*n], bias, rows, n, relu)
				if buf[0] != before[0] || buf[rows*n+1] != before[rows*n+1] {
					t.Fatalf("[%d, %d]: written outside of the matrix", rows, n)
				}
				for i := range rows * n {
					want := before[i+1] + bias[i%n]
					if relu {
						want = max(want, 0)
					}
					if got := buf[i+1]; got != want {
						t.Fatalf("[%d, %d], relu %v: %v at %d, want %v", rows, n, relu, got, i, want)
					}
				}
			}
		}
	})
}

func TestColSum(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, shape := range rowShapes {
			rows, n := shape[0], shape[1]
			g, buf := make([]float32, rows*n), make([]float32, n+2)
			want, size := make([]float64, n), make([]float64, n)
			for i := range g {
				g[i] = normal(r) + 1
				want[i%n] += float64(g[i])
				size[i%n] += math.Abs(float64(g[i]))
			}
			buf[0], buf[n+1] = guardValue, guardValue
			for i := range n {
				buf[i+1] = float32(math.NaN()) // to be overwritten
			}
			c.ColSum(buf[1:n+1], g, rows, n)
			if buf[0] != guardValue || buf[n+1] != guardValue {
				t.Fatalf("[%d, %d]: written outside of the sum", rows, n)
			}
			for j := range want {
				if got := float64(buf[j+1]); !(math.Abs(got-want[j]) <= 1e-6*size[j]) {
					t.Fatalf("[%d, %d]: column %d = %v, want %v", rows, n, j, got, want[j])
				}
			}
		}
	})
}

// TestColSumSameBits includes plain Go, which adds in the same order.
func TestColSumSameBits(t *testing.T) {
	if len(Available()) < 2 {
		t.Skip("no vector instruction set")
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, shape := range rowShapes {
		rows, n := shape[0], shape[1]
		g := make([]float32, rows*n)
		for i := range g {
			g[i] = normal(r)
		}
		want := make([]float32, n)
		New(Generic).ColSum(want, g, rows, n)
		for _, isa := range Available()[1:] {
			got := make([]float32, n)
			New(isa).ColSum(got, g, rows, n)
			if !slices.Equal(got, want) {
				t.Errorf("[%d, %d]: %s differs from %s", rows, n, isa, Generic)
			}
		}
	}
}

func TestRowsNaN(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		for place := range 170 {
			y := make([]float32, 170)
			y[place] = float32(math.NaN())
			sum := make([]float32, 10)
			c.ColSum(sum, y, 17, 10)
			c.BiasReLU(y, make([]float32, 10), 17, 10, true)
			for i, v := range y {
				if (v != v) != (i == place) {
					t.Fatalf("BiasReLU: NaN at %d gives %v at %d", place, v, i)
				}
			}
			for j, v := range sum {
				if (v != v) != (j == place%10) {
					t.Fatalf("ColSum: NaN at %d gives %v in column %d", place, v, j)
				}
			}
		}
	})
}

func TestRowsPanics(t *testing.T) {
	c, x := New(Generic), make([]float32, 20)
	for i, f := range []func(){
		func() { c.BiasReLU(x, x[:4], 4, 5, true) },
		func() { c.BiasReLU(x, x[:5], 5, 5, true) },
		func() { c.ColSum(x[:4], x, 4, 5) },
		func() { c.ColSum(x[:0], x, 20, 0) },
		func() { c.ColSum(x[:5], x, -4, 5) },
		func() { c.CrossEntropy(x, x, x[:3], 4, 5) },
		func() { c.CrossEntropy(x[:19], x, x[:4], 4, 5) },
		func() { c.LogSoftmax(x, x[:19], 4, 5) },
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

func TestRowsAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		y, bias := make([]float32, 1000), make([]float32, 10)
		if n := testing.AllocsPerRun(10, func() { c.BiasReLU(y, bias, 100, 10, true); c.ColSum(bias, y, 100, 10) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func BenchmarkBiasReLU(b *testing.B) {
	const rows, n = 100, 100
	y, bias := make([]float32, rows*n), make([]float32, n)
	benchElem(b, rows*n, func(c *CPU) { c.BiasReLU(y, bias, rows, n, true) })
}

func BenchmarkColSum(b *testing.B) {
	for _, n := range []int{10, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g, dst := make([]float32, 100*n), make([]float32, n)
			benchElem(b, 100*n, func(c *CPU) { c.ColSum(dst, g, 100, n) })
		})
	}
}
