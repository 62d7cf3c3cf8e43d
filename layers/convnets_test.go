package layers_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/layers"
)

// TestConvModels checks sizes against the papers, and shapes that come out of odd images.
func TestConvModels(t *testing.T) {
	for _, tt := range []struct {
		spec  string
		shape []int
		size  int
	}{
		{"vgg", []int{32, 32, 3}, 246314}, // Zhang et al. 2022: 448 + 4,640 + 18,496 + 73,856 + 147,584 + 1,290
		{"convnet", []int{28, 28}, 5*5*32 + 32 + 5*5*32*64 + 64 + 7*7*64*100 + 100 + 100*100 + 100 + 100*10 + 10},
		{"vgg:4,M,5", []int{7, 5, 2}, 3*3*2*4 + 4 + 3*3*4*5 + 5 + 3*2*5*10 + 10},
		{"vgg:2", []int{1, 1, 1}, 9*2 + 2 + 2*10 + 10},
	} {
		m, err := layers.New(tt.spec, tt.shape, 10)
		if err != nil {
			t.Errorf("%s: %v", tt.spec, err)
			continue
		}
		if m.Size() != tt.size {
			t.Errorf("%s on %v: %d parameters, want %d", tt.spec, tt.shape, m.Size(), tt.size)
		}
	}
}

func TestConvModelErrors(t *testing.T) {
	for _, tt := range []struct {
		spec  string
		shape []int
		want  string
	}{
		{"vgg", []int{28, 28}, "model vgg: a pool (M) after which nothing is left of 1 × 1"},
		{"vgg:M,M", []int{2, 9, 1}, "model vgg:M,M: a pool (M) after which nothing is left of 1 × 4"},
		{"vgg:16,m", []int{8, 8}, `model vgg:16,m: item "m", want M or a whole number from 1 to 4096`},
		{"vgg:", []int{8, 8}, `model vgg:: item "", want M or a whole number from 1 to 4096`},
		{"vgg:4097", []int{8, 8}, `model vgg:4097: item "4097", want M or a whole number from 1 to 4096`},
		{"vgg:4", []int{8}, "model vgg:4: examples of shape [8], want images"},
		{"convnet:1,2,3", []int{8, 8}, "model convnet:1,2,3: 3 numbers, want the channels of two convolutions and the widths of two dense layers"},
		{"convnet:1,2,3,0", []int{8, 8}, `model convnet:1,2,3,0: width "0", want a whole number from 1 to 4096`},
	} {
		m, err := layers.New(tt.spec, tt.shape, 10)
		if err == nil {
			t.Errorf("%s: a model of %d parameters, want an error", tt.spec, m.Size())
		} else if err.Error() != tt.want {
			t.Errorf("got  %s\nwant %s", err, tt.want)
		}
	}
}

// A convnet64 is a reference in float64: 3×3 convolutions with ReLU, 2×2 pools where the list has a 0, a dense layer.
type convnet64 struct {
	h, w, c, classes int
	list             []int
}

// loss returns the sum of the cross-entropies of rows examples, and how near it came to a kink: a hidden unit to 0, or
// the two largest values of a pool to each other.
func (n convnet64) loss(x, y, w []float64, rows int) (loss, kink float64) {
	kink = math.Inf(1)
	for r := range rows {
		h, wd, c := n.h, n.w, n.c
		img := x[r*h*wd*c : (r+1)*h*wd*c]
		left := w
		for _, out := range n.list {
			if out == 0 {
				var d float64
				img, d = pool64(img, h, wd, c)
				kink = math.Min(kink, d)
				h, wd = h/2, wd/2
				continue
			}
			next := make([]float64, h*wd*out)
			for p := range h * wd {
				for o := range out {
					s := left[9*c*out+o]
					for k := range 9 {
						i, j := p/wd+k/3-1, p%wd+k%3-1
						if i < 0 || j < 0 || i >= h || j >= wd {
							continue
						}
						for ch := range c {
							s += img[(i*wd+j)*c+ch] * left[(k*c+ch)*out+o]
						}
					}
					kink = math.Min(kink, math.Abs(s))
					next[p*out+o] = math.Max(s, 0)
				}
			}
			left = left[(9*c+1)*out:]
			img, c = next, out
		}
		dense, _ := perceptron64{len(img), n.classes}.loss(img, y[r:r+1], left, 1)
		loss += dense
	}
	return loss, kink
}

// pool64 returns the largest of each 2×2 window, and the smallest distance between a largest and a second value that are
// not both the zeros of a ReLU.
func pool64(x []float64, h, w, c int) (y []float64, gap float64) {
	gap = math.Inf(1)
	for i := range h / 2 {
		for j := range w / 2 {
			for ch := range c {
				first, second := math.Inf(-1), math.Inf(-1)
				for k := range 4 {
					v := x[((2*i+k/2)*w+2*j+k%2)*c+ch]
					if v > first {
						first, second = v, first
					} else {
						second = math.Max(second, v)
					}
				}
				if first > 0 {
					gap = math.Min(gap, first-second)
				}
				y = append(y, first)
			}
		}
	}
	return y, gap
}

// TestConvGradients checks a small network with every layer over a draw from a Gaussian, so that all its weights are
// distributions.
func TestConvGradients(t *testing.T) {
	net := convnet64{h: 5, w: 4, c: 2, classes: 3, list: []int{3, 0, 2}}
	m, err := layers.New("vgg:3,M,2", []int{5, 4, 2}, 3)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range shapes {
		rows := s.rows
		if rows == 0 {
			rows = s.batch
		}
		t.Run(fmt.Sprintf("batch %d, %d rows", s.batch, rows), func(t *testing.T) {
			weights := func(mu, rho, noise []float64) []float64 {
				w := make([]float64, m.Size())
				for i := range w {
					w[i] = mu[i] + softplus(rho[i])*noise[i]
				}
				return w
			}
			for seed := range uint64(2000) {
				r := rand.New(rand.NewPCG(seed, 4))
				c := graphtest.Case{
					Rows:   s.rows,
					Params: map[string][]float32{"q.mu": draws(r, m.Size(), 0.5), "q.rho": draws(r, m.Size(), 0.5)},
					Data:   map[string][]float32{"noise": draws(r, m.Size(), 0.5), "x": draws(r, s.batch*m.In, 1), "y": make([]float32, s.batch)},
					Build: func(b *graph.Builder) {
						q, noise := b.Gaussian("q", m.Size()), b.Input("noise", m.Size())
						x, y := b.Input("x", s.batch, m.In), b.Input("y", s.batch)
						b.Minimize("loss", graph.CrossEntropy(m.Logits(x, layers.Draw(q, noise)), y), q.Mu, q.Rho)
					},
					Loss: func(v map[string][]float64) float64 {
						loss, _ := net.loss(v["x"], v["y"], weights(v["q.mu"], v["q.rho"], v["noise"]), rows)
						return loss
					},
				}
				w := weights(widen(c.Params["q.mu"]), widen(c.Params["q.rho"]), widen(c.Data["noise"]))
				if _, kink := net.loss(widen(c.Data["x"]), widen(c.Data["y"]), w, rows); kink < 1e-4 {
					continue
				}
				graphtest.Check(t, c)
				return
			}
			t.Fatal("no smooth point")
		})
	}
}
