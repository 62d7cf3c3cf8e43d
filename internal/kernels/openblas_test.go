//go:build openblas

package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"fedbayes/internal/kernels/openblas"
)

func (g gemmCase) runOpenBLAS(reps int, x gemmArgs) {
	openblas.Gemm(reps, g.op[0] == 'T', g.op[1] == 'T', g.m, g.n, g.k, x.a, x.lda, x.b, x.ldb, x.dst, x.ldd)
}

func TestGemmOpenBLAS(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, g := range gemmCases(r) {
			if g.m == 0 || g.n == 0 || g.k == 0 {
				continue
			}
			x := g.args(r)
			_, magnitude := g.reference(x)
			before := slices.Clone(x.dst)
			g.runOpenBLAS(1, x)
			want := slices.Clone(x.dst)
			copy(x.dst, before)
			g.run(c, x)
			for i := range g.m {
				for j := range g.n {
					got, w := float64(x.dst[i*x.ldd+j]), float64(want[i*x.ldd+j])
					if tol := 2 * magnitude[i*g.n+j] * float64(g.k+2) * 0x1p-24; !(math.Abs(got-w) <= tol) {
						t.Fatalf("%v: dst[%d, %d] = %g, OpenBLAS gives %g, want a difference ≤ %.2g", g, i, j, got, w, tol)
					}
				}
			}
		}
	})
}

// BenchmarkGemmOpenBLAS takes turns with OpenBLAS, so that both meet the same clock and the same neighbours, and reports
// how many times as fast as OpenBLAS we are, by the best and by the median of the turns. Leave OPENBLAS_CORETYPE and
// OPENBLAS_L2_SIZE unset, or OpenBLAS is not at its best.
func BenchmarkGemmOpenBLAS(b *testing.B) {
	shapes := []gemmCase{
		{op: "NN", m: 100, n: 100, k: 784},
		{op: "TN", m: 784, n: 100, k: 100},
		{op: "NN", m: 512, n: 512, k: 512},
	}
	for _, isa := range Available() {
		for _, g := range shapes {
			b.Run(fmt.Sprintf("%v/%s/%dx%dx%d", isa, g.op, g.m, g.n, g.k), func(b *testing.B) {
				b.Log(openblas.Config())
				c, x := New(isa), g.args(rand.New(rand.NewPCG(13, 14)))
				flop := 2 * float64(g.m) * float64(g.n) * float64(g.k)
				reps := 1 + int(1e-3*100e9/flop) // a turn takes a millisecond or so
				g.run(c, x)
				g.runOpenBLAS(1, x)
				var ours, theirs []float64
				for b.Loop() {
					start := time.Now()
					for range reps {
						g.run(c, x)
					}
					between := time.Now()
					g.runOpenBLAS(reps, x)
					ours = append(ours, between.Sub(start).Seconds()/float64(reps))
					theirs = append(theirs, time.Since(between).Seconds()/float64(reps))
				}
				slices.Sort(ours)
				slices.Sort(theirs)
				middle := len(ours) / 2
				b.ReportMetric(flop/ours[0]/1e9, "GFLOP/s")
				b.ReportMetric(flop/theirs[0]/1e9, "OpenBLAS-GFLOP/s")
				b.ReportMetric(theirs[0]/ours[0], "best-ratio")
				b.ReportMetric(theirs[middle]/ours[middle], "median-ratio")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
