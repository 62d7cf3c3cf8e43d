package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/internal/kernels"
)

// TestPartsBesideWhole: the gradient of a vector that is cut into slices by one term of a loss and is whole in another. Slices
// that cover the vector are put side by side; only of others is each a vector of its own, which is as long as the whole.
func TestPartsBesideWhole(t *testing.T) {
	const n = 12
	for _, c := range []struct {
		name  string
		parts [][2]int // offset, size
		packs bool
	}{
		{"all of it", [][2]int{{0, 5}, {5, 3}, {8, 4}}, true},
		{"in another order", [][2]int{{8, 4}, {0, 5}, {5, 3}}, true},
		{"a gap", [][2]int{{0, 5}, {8, 4}}, false},
		{"an overlap", [][2]int{{0, 6}, {5, 3}, {8, 4}}, false},
		{"too short", [][2]int{{0, 5}, {5, 3}}, false},
		{"twice", [][2]int{{0, 12}, {0, 12}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(21, 22))
			build := func(b *Builder) {
				x := b.Param("x", n)
				loss := Scale(HalfSquaredDistance(x, b.Input("a", n)), b.Scalar("s"))
				for k, p := range c.parts {
					loss = Sum(loss, HalfSquaredDistance(Slice(x, p[0], p[1]), b.Input("part"+string(rune('0'+k)), p[1])))
				}
				b.Minimize("loss", loss, x)
			}
			data := map[string][]float32{"a": normals(r, n, 0, 1)}
			for k, p := range c.parts {
				data["part"+string(rune('0'+k))] = normals(r, p[1], 0, 1)
			}
			graphtest.Check(t, graphtest.Case{
				Build: build, Data: data,
				Params:  map[string][]float32{"x": normals(r, n, 0, 1)},
				Scalars: map[string]float32{"s": 3},
				Loss: func(v map[string][]float64) float64 {
					half := func(x, a []float64) (sum float64) {
						for i := range x {
							sum += (x[i] - a[i]) * (x[i] - a[i]) / 2
						}
						return sum
					}
					loss := 3 * half(v["x"], v["a"])
					for k, p := range c.parts {
						loss += half(v["x"][p[0]:p[0]+p[1]], v["part"+string(rune('0'+k))])
					}
					return loss
				},
			})
			p, err := Build(build)
			if err != nil {
				t.Fatal(err)
			}
			names := p.NewExecutor(kernels.New(kernels.Best())).Names()
			if got := slices.Contains(names, "pack") && !slices.Contains(names, "embed"); got != c.packs {
				t.Errorf("operations %v: packed is %v, want %v", names, got, c.packs)
			}
		})
	}
}
