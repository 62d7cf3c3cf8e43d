package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
)

// TestGated checks units that listen to others, with gradients to both and to the gates.
func TestGated(t *testing.T) {
	for _, size := range [][3]int{{1, 2, 0}, {3, 17, 0}, {7, 5, 0}, {7, 5, 4}} {
		for _, relu := range []bool{false, true} {
			batch, n, rows := size[0], size[1], size[2]
			t.Run(fmt.Sprintf("%dx%d/rows=%d/relu=%v", batch, n, rows, relu), func(t *testing.T) {
				r := rand.New(rand.NewPCG(41, 42))
				live := batch
				if rows > 0 {
					live = rows
				}
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						z, a, g := b.Param("z", batch*n), b.Param("a", batch*n), b.Param("g", n)
						y := Gated(Slice(z, 0, batch, n), Slice(a, 0, batch, n), g, relu)
						b.Minimize("loss", CrossEntropy(y, b.Input("y", batch)), z, a, g)
					},
					Params: map[string][]float32{"z": normals(r, batch*n, 0, 1), "a": normals(r, batch*n, 0, 1), "g": normals(r, n, 0, 1)},
					Data:   map[string][]float32{"y": labels(r, batch, n)},
					Rows:   rows,
					Loss: func(v map[string][]float64) float64 {
						y := make([]float64, live*n)
						for i := range y {
							y[i] = v["z"][i] + v["g"][i%n]*v["a"][i]
							if relu {
								y[i] = math.Max(y[i], 0)
							}
						}
						return crossEntropy64(y, v["y"], live, n)
					},
				})
			})
		}
	}
}

// TestSoftmax checks probabilities that are the logits of a loss.
func TestSoftmax(t *testing.T) {
	for _, size := range [][3]int{{1, 2, 0}, {3, 17, 0}, {7, 5, 4}} {
		batch, classes, rows := size[0], size[1], size[2]
		t.Run(fmt.Sprintf("%dx%d/rows=%d", batch, classes, rows), func(t *testing.T) {
			r := rand.New(rand.NewPCG(43, 44))
			live := batch
			if rows > 0 {
				live = rows
			}
			graphtest.Check(t, graphtest.Case{
				Build: func(b *Builder) {
					z := b.Param("z", batch*classes)
					b.Minimize("loss", CrossEntropy(Softmax(Slice(z, 0, batch, classes)), b.Input("y", batch)), z)
				},
				Params: map[string][]float32{"z": normals(r, batch*classes, 0, 2)},
				Data:   map[string][]float32{"y": labels(r, batch, classes)},
				Rows:   rows,
				Loss: func(v map[string][]float64) float64 {
					p := make([]float64, live*classes)
					for i := range live {
						var sum float64
						for c := range classes {
							p[i*classes+c] = math.Exp(v["z"][i*classes+c])
							sum += p[i*classes+c]
						}
						for c := range classes {
							p[i*classes+c] /= sum
						}
					}
					return crossEntropy64(p, v["y"], live, classes)
				},
			})
		})
	}
}
