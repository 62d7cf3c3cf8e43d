package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// logSoftmax64 is the log softmax of a row.
func logSoftmax64(x []float32) []float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, float64(v))
	}
	s, y := 0.0, make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v) - m
		s += math.Exp(y[i])
	}
	for i := range y {
		y[i] -= math.Log(s)
	}
	return y
}

var softmaxShapes = [][2]int{{0, 3}, {1, 1}, {3, 1}, {1, 2}, {100, 10}, {7, 10}, {101, 10}, {3, 16}, {5, 17}, {300, 62}, {9, 100}, {2, 1000}, {3, softmaxBlock}, {3, softmaxBlock + 1}, {2, 5000}}

func logitsOf(r *rand.Rand, rows, n int, scale float64) (logits, labels []float32) {
	logits, labels = make([]float32, rows*n), make([]float32, rows)
	for i := range logits {
		logits[i] = float32(scale * r.NormFloat64())
	}
	for i := range labels {
		labels[i] = float32(r.IntN(n))
	}
	return logits, labels
}

func TestCrossEntropy(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, shape := range softmaxShapes {
			rows, n := shape[0], shape[1]
			for _, scale := range []float64{1e-3, 1, 30, 1e4} {
				logits, labels := logitsOf(r, rows, n, scale)
				grad := make([]float32, rows*n)
				got, want := c.CrossEntropy(grad, logits, labels, rows, n), 0.0
				for i := range rows {
					y := logSoftmax64(logits[i*n : (i+1)*n])
					want -= y[int(labels[i])]
					for j := range y {
						p := math.Exp(y[j])
						if j == int(labels[i]) {
							p--
						}
						if g := float64(grad[i*n+j]); !(math.Abs(g-p) <= 2e-7*(1+scale)*math.Exp(y[j])+6e-8) {
							t.Fatalf("[%d, %d] of size %v: gradient %v at %d, %d, want %v", rows, n, scale, g, i, j, p)
						}
					}
				}
				// The error of a row's loss is that of its sum, and of the differences of logits.
				if !(math.Abs(got-want) <= float64(rows)*3e-7+2e-7*want) {
					t.Errorf("[%d, %d] of size %v: loss %v, want %v", rows, n, scale, got, want)
				}
				if inPlace := c.CrossEntropy(logits, logits, labels, rows, n); inPlace != got {
					t.Errorf("[%d, %d] in place: loss %v, want %v", rows, n, inPlace, got)
				}
				for i, g := range grad {
					if logits[i] != g {
						t.Fatalf("[%d, %d] in place: gradient %v at %d, want %v", rows, n, logits[i], i, g)
					}
				}
			}
		}
	})
}

func TestCrossEntropyExtremes(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := []struct {
		name   string
		logits []float32
		label  float32
		loss   float64
		grad   []float32
	}{
		{"far apart, right", []float32{1e4, -1e4, 0}, 0, 0, []float32{0, 0, 0}},
		{"far apart, wrong", []float32{1e4, -1e4, 0}, 1, 2e4, []float32{1, -1, 0}},
		{"largest", []float32{math.MaxFloat32, math.MaxFloat32}, 0, math.Ln2, []float32{-0.5, 0.5}},
		{"impossible class", []float32{0, -inf}, 0, 0, []float32{0, 0}},
		{"impossible label", []float32{0, -inf}, 1, math.Inf(1), []float32{1, -1}},
		{"nothing possible", []float32{-inf, -inf}, 0, math.NaN(), []float32{nan, nan}},
		{"infinite", []float32{inf, 0}, 0, math.NaN(), []float32{nan, nan}},
		{"NaN first", []float32{nan, 0, 1}, 2, math.NaN(), []float32{nan, nan, nan}},
		{"NaN last", []float32{0, 1, nan}, 0, math.NaN(), []float32{nan, nan, nan}},
		{"single", []float32{-7}, 0, 0, []float32{0}},
	}
	forEachISA(t, func(t *testing.T, c *CPU) {
		for _, tt := range tests {
			n := len(tt.logits)
			grad := make([]float32, n)
			loss := c.CrossEntropy(grad, tt.logits, []float32{tt.label}, 1, n)
			if math.Abs(loss-tt.loss) > 1e-6 || (loss != loss) != (tt.loss != tt.loss) {
				t.Errorf("%s: loss %v, want %v", tt.name, loss, tt.loss)
			}
			for j, g := range grad {
				if want := tt.grad[j]; g != want && (g == g || want == want) {
					t.Errorf("%s: gradient %v, want %v", tt.name, grad, tt.grad)
					break
				}
			}
			lsm := make([]float32, n)
			c.LogSoftmax(lsm, tt.logits, 1, n)
			if got := float64(-lsm[int(tt.label)]); math.Abs(got-tt.loss) > 1e-6 || (got != got) != (tt.loss != tt.loss) {
				t.Errorf("%s: log softmax %v at %v, want %v", tt.name, lsm, tt.label, -tt.loss)
			}
		}
	})
}

// TestCrossEntropyOneBadRow sees that NaN stays in its row.
func TestCrossEntropyOneBadRow(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		logits, labels := logitsOf(rand.New(rand.NewPCG(3, 4)), 40, 10, 1)
		logits[173] = float32(math.NaN())
		grad := make([]float32, len(logits))
		if loss := c.CrossEntropy(grad, logits, labels, 40, 10); loss == loss {
			t.Errorf("loss %v, want NaN", loss)
		}
		for i, g := range grad {
			if (g != g) != (i/10 == 17) {
				t.Errorf("gradient %v in row %d", g, i/10)
			}
		}
	})
}

func TestCrossEntropyLabels(t *testing.T) {
	c := New(Generic)
	for _, label := range []float32{-1, 3, 0.5, 1e10, float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		t.Run(fmt.Sprint(label), func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			c.CrossEntropy(make([]float32, 3), make([]float32, 3), []float32{label}, 1, 3)
		})
	}
}

func TestLogSoftmax(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, shape := range softmaxShapes {
			rows, n := shape[0], shape[1]
			for _, scale := range []float64{1e-3, 1, 30, 1e4} {
				logits, _ := logitsOf(r, rows, n, scale)
				dst := make([]float32, rows*n)
				c.LogSoftmax(dst, logits, rows, n)
				for i := range rows {
					for j, want := range logSoftmax64(logits[i*n : (i+1)*n]) {
						if got := float64(dst[i*n+j]); !(math.Abs(got-want) <= 3e-7+2e-7*math.Abs(want)) {
							t.Fatalf("[%d, %d] of size %v: %v at %d, %d, want %v", rows, n, scale, got, i, j, want)
						}
					}
				}
				c.LogSoftmax(logits, logits, rows, n)
				for i, v := range dst {
					if logits[i] != v {
						t.Fatalf("[%d, %d] in place: %v at %d, want %v", rows, n, logits[i], i, v)
					}
				}
			}
		}
	})
}

func TestSoftmaxAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		logits, labels := logitsOf(rand.New(rand.NewPCG(7, 8)), 101, 10, 1)
		dst := make([]float32, len(logits))
		if n := testing.AllocsPerRun(10, func() {
			c.CrossEntropy(dst, logits, labels, 101, 10)
			c.LogSoftmax(dst, logits, 101, 10)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func BenchmarkCrossEntropy(b *testing.B) {
	const rows, n = 100, 10
	logits, labels := logitsOf(rand.New(rand.NewPCG(9, 10)), rows, n, 1)
	grad := make([]float32, rows*n)
	benchElem(b, rows*n, func(c *CPU) { c.CrossEntropy(grad, logits, labels, rows, n) })
}
