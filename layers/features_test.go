package layers_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/layers"
)

// TestFeatures checks, for a model of each kind, that the last layer on the features is the logits, and that the features
// lean on the first FeatureSize parameters alone.
func TestFeatures(t *testing.T) {
	const batch, classes = 3, 4
	for _, tt := range []struct {
		spec        string
		shape       []int
		width, size int
	}{
		{"mlp:7", []int{5}, 7, 5*7 + 7},
		{"mlp2:7,6", []int{5}, 6, 5*7 + 7 + 7*6 + 6},
		{"vgg:2,M,3", []int{4, 4}, 2 * 2 * 3, 9*2 + 2 + 9*2*3 + 3},
		{"convnet:2,3,8,6", []int{4, 4, 1}, 6, 25*2 + 2 + 25*2*3 + 3 + 3*8 + 8 + 8*6 + 6},
		{"vgg:M", []int{4, 4}, 4, 0},
	} {
		m, err := layers.New(tt.spec, tt.shape, classes)
		if err != nil {
			t.Fatal(err)
		}
		if m.FeatureWidth() != tt.width || m.FeatureSize() != tt.size || m.Size() != tt.size+tt.width*classes+classes {
			t.Errorf("%s: %d features of %d parameters among %d, want %d of %d", tt.spec, m.FeatureWidth(), m.FeatureSize(), m.Size(), tt.width, tt.size)
		}
		if tt.size == 0 {
			continue // nothing to build
		}
		p, err := graph.Build(func(b *graph.Builder) {
			x := b.Input("x", batch, m.In)
			b.Output("features", m.Features(x, layers.Point(b.Param("body", m.FeatureSize()))))
			b.Output("logits", m.Logits(x, layers.Point(b.Param("w", m.Size()))))
		})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 5))
		e, w := p.NewExecutor(kernels.New(kernels.Generic)), draws(r, m.Size(), 0.5)
		e.Feed("x", draws(r, batch*m.In, 1))
		e.Feed("body", w[:m.FeatureSize()])
		e.Feed("w", w)
		e.Run(batch)
		f, head := e.Fetch("features"), w[m.FeatureSize():]
		for i := range batch {
			for c := range classes {
				want := float64(head[tt.width*classes+c])
				for j := range tt.width {
					want += float64(f[i*tt.width+j]) * float64(head[j*classes+c])
				}
				if got := float64(e.Fetch("logits")[i*classes+c]); math.Abs(got-want) > 1e-5 {
					t.Errorf("%s: logit [%d, %d] = %v, want %v of the features", tt.spec, i, c, got, want)
				}
			}
		}
	}
}
