package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/internal/kernels"
)

// normals returns n draws of N(mean, std²).
func normals(r *rand.Rand, n int, mean, std float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(mean + std*r.NormFloat64())
	}
	return v
}

func labels(r *rand.Rand, n, classes int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(r.IntN(classes))
	}
	return v
}

// The references below are the formulas, written plainly in float64.

func softplus(x float64) float64 { return math.Log1p(math.Exp(x)) }

func dense64(x, w, b []float64, rows, in, out int, relu bool) []float64 {
	y := make([]float64, rows*out)
	for i := range rows {
		for j := range out {
			s := b[j]
			for k := range in {
				s += x[i*in+k] * w[k*out+j]
			}
			if relu {
				s = math.Max(s, 0)
			}
			y[i*out+j] = s
		}
	}
	return y
}

func crossEntropy64(logits, labels []float64, rows, classes int) float64 {
	var loss float64
	for i := range rows {
		var sum float64
		for _, z := range logits[i*classes : (i+1)*classes] {
			sum += math.Exp(z)
		}
		loss += math.Log(sum) - logits[i*classes+int(labels[i])]
	}
	return loss
}

func kl64(mq, rq, mw, rw []float64) float64 {
	var kl float64
	for i := range mq {
		sq, sw, d := softplus(rq[i]), softplus(rw[i]), mq[i]-mw[i]
		kl += math.Log(sw) - math.Log(sq) + (sq*sq+d*d)/(2*sw*sw) - 0.5
	}
	return kl
}

func TestCrossEntropy(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {1, 10}, {3, 2}, {7, 17}, {100, 10}} {
		batch, classes := size[0], size[1]
		for _, rows := range []int{0, (batch + 1) / 2} {
			t.Run(fmt.Sprintf("%dx%d/rows=%d", batch, classes, rows), func(t *testing.T) {
				r := rand.New(rand.NewPCG(1, 2))
				n := batch
				if rows > 0 {
					n = rows
				}
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						z := b.Param("z", batch*classes)
						b.Minimize("loss", Scale(CrossEntropy(Slice(z, 0, batch, classes), b.Input("y", batch)), b.Scalar("s")), z)
					},
					Params:  map[string][]float32{"z": normals(r, batch*classes, 0, 2)},
					Data:    map[string][]float32{"y": labels(r, batch, classes)},
					Scalars: map[string]float32{"s": 0.25},
					Rows:    rows,
					Loss: func(v map[string][]float64) float64 {
						return v["s"][0] * crossEntropy64(v["z"], v["y"], n, classes)
					},
				})
			})
		}
	}
}

// TestDense checks a dense layer with gradients to all three operands, between a slice and a loss.
func TestDense(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {1, 7, 3}, {3, 17, 1}, {7, 5, 10}, {17, 33, 10}} {
		for _, relu := range []bool{false, true} {
			batch, in, out := size[0], size[1], size[2]
			t.Run(fmt.Sprintf("%dx%dx%d/relu=%v", batch, in, out, relu), func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						x, w := b.Param("x", batch*in), b.Param("w", in*out+out)
						y := Dense(Slice(x, 0, batch, in), Slice(w, 0, in, out), Slice(w, in*out, out), relu)
						b.Minimize("loss", CrossEntropy(y, b.Input("y", batch)), x, w)
					},
					Params: map[string][]float32{"x": normals(r, batch*in, 0, 1), "w": normals(r, in*out+out, 0, 1)},
					Data:   map[string][]float32{"y": labels(r, batch, out)},
					Loss: func(v map[string][]float64) float64 {
						y := dense64(v["x"], v["w"][:in*out], v["w"][in*out:], batch, in, out, relu)
						return crossEntropy64(y, v["y"], batch, out)
					},
				})
			})
		}
	}
}

// TestKL checks the divergence of two Gaussians, with a scale that its four gradients share.
func TestKL(t *testing.T) {
	for _, n := range []int{1, 3, 16, 17, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			graphtest.Check(t, graphtest.Case{
				Build: func(b *Builder) {
					q, w := b.Gaussian("q", n), b.Gaussian("w", n)
					b.Minimize("loss", Scale(KL(q, w), b.Scalar("s")), q.Mu, q.Rho, w.Mu, w.Rho)
				},
				Params: map[string][]float32{
					"q.mu": normals(r, n, 0, 0.3), "q.rho": normals(r, n, -2, 1),
					"w.mu": normals(r, n, 0, 0.3), "w.rho": normals(r, n, -1, 1),
				},
				Scalars: map[string]float32{"s": 3},
				Loss: func(v map[string][]float64) float64 {
					return v["s"][0] * kl64(v["q.mu"], v["q.rho"], v["w.mu"], v["w.rho"])
				},
			})
		})
	}
}

// TestPersonalLoss checks what a pFedBayes client minimises: two draws through one dense layer, and a divergence. Every
// way of summing gradients takes part: slices of a vector, draws that share μ and ρ, and scaled terms.
func TestPersonalLoss(t *testing.T) {
	const batch, in, out = 5, 7, 3
	const n = in*out + out
	for _, rows := range []int{0, 1, 4} {
		t.Run(fmt.Sprintf("rows=%d", rows), func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			live := batch
			if rows > 0 {
				live = rows
			}
			graphtest.Check(t, graphtest.Case{
				Build: func(b *Builder) {
					q, w := b.Gaussian("q", n), NewGaussian(b.Param("w.mu", n), b.Input("w.rho", n))
					x, y := b.Input("x", batch, in), b.Input("y", batch)
					var nll Nodes
					for k := range 2 {
						th := q.Draw(b.Input(fmt.Sprintf("noise%d", k), n))
						z := Dense(x, Slice(th, 0, in, out), Slice(th, in*out, out), false)
						nll = append(nll, CrossEntropy(z, y))
					}
					loss := Sum(Scale(Sum(nll...), b.Scalar("a")), Scale(KL(q, w), b.Scalar("zeta")))
					b.Minimize("loss", loss, q.Mu, q.Rho, w.Mu)
				},
				Params: map[string][]float32{
					"q.mu": normals(r, n, 0, 0.3), "q.rho": normals(r, n, -2, 0.5), "w.mu": normals(r, n, 0, 0.3),
				},
				Data: map[string][]float32{
					"w.rho": normals(r, n, -1, 0.5), "x": normals(r, batch*in, 0, 1), "y": labels(r, batch, out),
					"noise0": normals(r, n, 0, 1), "noise1": normals(r, n, 0, 1),
				},
				Scalars: map[string]float32{"a": 2.5, "zeta": 10},
				Rows:    rows,
				Loss: func(v map[string][]float64) float64 {
					loss := v["zeta"][0] * kl64(v["q.mu"], v["q.rho"], v["w.mu"], v["w.rho"])
					for _, noise := range []string{"noise0", "noise1"} {
						th := make([]float64, n)
						for i := range th {
							th[i] = v["q.mu"][i] + softplus(v["q.rho"][i])*v[noise][i]
						}
						z := dense64(v["x"], th[:in*out], th[in*out:], live, in, out, false)
						loss += v["a"][0] * crossEntropy64(z, v["y"], live, out)
					}
					return loss
				},
			})
		})
	}
}

func TestHalfSquaredDistance(t *testing.T) {
	for _, n := range []int{1, 3, 4, 17, 64} {
		r := rand.New(rand.NewPCG(9, 10))
		graphtest.Check(t, graphtest.Case{
			Build: func(b *Builder) {
				x := b.Param("x", n)
				b.Minimize("loss", Scale(HalfSquaredDistance(x, b.Input("a", n)), b.Scalar("s")), x)
			},
			Params:  map[string][]float32{"x": normals(r, n, 0, 1)},
			Data:    map[string][]float32{"a": normals(r, n, 0, 1)},
			Scalars: map[string]float32{"s": 3},
			Loss: func(v map[string][]float64) (sum float64) {
				for i, x := range v["x"] {
					sum += v["s"][0] / 2 * (x - v["a"][i]) * (x - v["a"][i])
				}
				return sum
			},
		})
	}
}

// TestHalfWeightedSquares checks weights of 0 among others.
func TestHalfWeightedSquares(t *testing.T) {
	for _, n := range []int{1, 3, 4, 17, 64} {
		r := rand.New(rand.NewPCG(15, 16))
		weights := make([]float32, n)
		for i := 1; i < n; i++ {
			weights[i] = 10 * r.Float32()
		}
		graphtest.Check(t, graphtest.Case{
			Build: func(b *Builder) {
				x := b.Param("x", n)
				b.Minimize("loss", Scale(HalfWeightedSquares(x, b.Input("a", n), b.Input("c", n)), b.Scalar("s")), x)
			},
			Params:  map[string][]float32{"x": normals(r, n, 0, 1)},
			Data:    map[string][]float32{"a": normals(r, n, 0, 1), "c": weights},
			Scalars: map[string]float32{"s": 3},
			Loss: func(v map[string][]float64) (sum float64) {
				for i, x := range v["x"] {
					sum += v["s"][0] / 2 * v["c"][i] * (x - v["a"][i]) * (x - v["a"][i])
				}
				return sum
			},
		})
	}
}

// TestMask checks masks of rows and of images, in whole and in partly filled batches, under a sum whose terms differ.
func TestMask(t *testing.T) {
	for _, shape := range [][]int{{1, 1}, {3, 17}, {7, 5}, {3, 2, 2, 4}, {5, 3, 1, 1}} {
		for _, rows := range []int{0, 1, shape[0] - 1} {
			t.Run(fmt.Sprintf("%v/rows=%d", shape, rows), func(t *testing.T) {
				batch, units, n := shape[0], shape[len(shape)-1], 1
				for _, d := range shape {
					n *= d
				}
				live := batch
				if rows > 0 {
					live = rows
				}
				r := rand.New(rand.NewPCG(17, 18))
				gate := normals(r, batch*units, 0.5, 1)
				gate[0] = 0 // shut
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						x := b.Param("x", n)
						b.Minimize("loss", Dot(Mask(Slice(x, 0, shape...), b.Input("gate", batch, units)), b.Input("g", shape...)), x)
					},
					Params: map[string][]float32{"x": normals(r, n, 0, 1)},
					Data:   map[string][]float32{"gate": gate, "g": normals(r, n, 0, 1)},
					Rows:   rows,
					Loss: func(v map[string][]float64) (sum float64) {
						for i, x := range v["x"][:live*n/batch] {
							if v["gate"][i/(n/batch)*units+i%units] > 0 {
								sum += x * v["g"][i]
							}
						}
						return sum
					},
				})
			})
		}
	}
}

// TestDot checks inner products with a dense layer's output: a scaled one and a plain one, whose gradients meet.
func TestDot(t *testing.T) {
	const in, out = 5, 3
	for _, size := range [][2]int{{1, 0}, {7, 0}, {7, 4}} {
		batch, rows := size[0], size[1]
		live := batch
		if rows > 0 {
			live = rows
		}
		t.Run(fmt.Sprintf("%d/rows=%d", batch, rows), func(t *testing.T) {
			r := rand.New(rand.NewPCG(13, 14))
			graphtest.Check(t, graphtest.Case{
				Build: func(b *Builder) {
					w, x := b.Param("w", in*out+out), b.Input("x", batch, in)
					y := Dense(x, Slice(w, 0, in, out), Slice(w, in*out, out), false)
					b.Minimize("loss", Sum(Scale(Dot(y, b.Input("g", batch, out)), b.Scalar("s")), Dot(y, b.Input("h", batch, out))), w)
				},
				Params: map[string][]float32{"w": normals(r, in*out+out, 0, 1)},
				Data: map[string][]float32{
					"x": normals(r, batch*in, 0, 1), "g": normals(r, batch*out, 0, 1), "h": normals(r, batch*out, 0, 1),
				},
				Scalars: map[string]float32{"s": 3},
				Rows:    rows,
				Loss: func(v map[string][]float64) (sum float64) {
					y := dense64(v["x"], v["w"][:in*out], v["w"][in*out:], live, in, out, false)
					for i := range y {
						sum += y[i] * (v["s"][0]*v["g"][i] + v["h"][i])
					}
					return sum
				},
			})
		})
	}
}

// TestLogSoftmax checks the one operation without a gradient: log-probabilities on every executor and on a tape, where
// logits are far apart too.
func TestLogSoftmax(t *testing.T) {
	const batch, classes = 5, 7
	p, err := Build(func(b *Builder) { b.Output("log p", LogSoftmax(b.Input("z", batch, classes))) })
	if err != nil {
		t.Fatal(err)
	}
	z := normals(rand.New(rand.NewPCG(11, 12)), batch*classes, 0, 3)
	z[3], z[10] = 1e4, -1e4
	check := func(who string, got []float32) {
		for i := range batch {
			row := z[i*classes : (i+1)*classes]
			top := float64(slices.Max(row))
			var sum float64
			for _, v := range row {
				sum += math.Exp(float64(v) - top)
			}
			for j, v := range row {
				want := float64(v) - top - math.Log(sum)
				if g := float64(got[i*classes+j]); math.Abs(g-want) > 1e-6*math.Max(1, math.Abs(want)) {
					t.Errorf("%s: [%d, %d] = %v, want %v", who, i, j, g, want)
				}
			}
		}
	}
	for _, isa := range kernels.Available() {
		e := p.NewExecutor(kernels.New(isa))
		e.Feed("z", z)
		e.Run(batch)
		check(isa.String(), e.Fetch("log p"))
	}
	tape := p.NewTape()
	defer tape.Close()
	if err := tape.Feed("z", z); err != nil {
		t.Fatal(err)
	}
	if err := tape.Run(); err != nil {
		t.Fatal(err)
	}
	got, err := tape.Fetch("log p")
	if err != nil {
		t.Fatal(err)
	}
	check("tape", got)
}
