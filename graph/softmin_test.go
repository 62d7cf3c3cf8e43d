package graph_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
)

// TestSoftMinDistance checks soft minima of near anchors, where all of them count, and of far ones, where e^−distance is 0.
func TestSoftMinDistance(t *testing.T) {
	for _, n := range []int{1, 3, 17, 64} {
		for _, k := range []int{1, 2, 5} {
			for _, spread := range []float64{0.5, 300} {
				t.Run(fmt.Sprintf("%d/%d anchors/%v apart", n, k, spread), func(t *testing.T) {
					r := rand.New(rand.NewPCG(15, 16))
					data := map[string][]float32{}
					for j := range k {
						data[fmt.Sprint("a", j)] = normals(r, n, 0, spread)
					}
					graphtest.Check(t, graphtest.Case{
						Build: func(b *Builder) {
							x, s := b.Param("x", n), b.Scalar("s")
							var anchors Nodes
							for j := range k {
								anchors = append(anchors, b.Input(fmt.Sprint("a", j), n))
							}
							b.Minimize("loss", Scale(SoftMinDistance(x, s, anchors...), b.Scalar("w")), x)
						},
						Params:  map[string][]float32{"x": normals(r, n, 0, spread)},
						Data:    data,
						Scalars: map[string]float32{"s": 0.7, "w": 0.3},
						Loss: func(v map[string][]float64) float64 {
							a := make([]float64, k)
							for j := range a {
								for i, x := range v["x"] {
									d := x - v[fmt.Sprint("a", j)][i]
									a[j] -= v["s"][0] / 2 * d * d
								}
							}
							return -v["w"][0] * floats.LogSumExp(a)
						},
					})
				})
			}
		}
	}
}
