package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// windows returns windows of all kinds over images of many sizes: kernels of 1 to 5, strides of 1 to 3, without padding,
// padded so as to keep the size, and padded on all sides.
func windows(r *rand.Rand) []Window {
	all := []Window{
		{32, 32, 32, 32, 3, 3, 1, 1, 1}, {2, 2, 2, 2, 3, 3, 1, 1, 1}, {14, 14, 14, 14, 5, 5, 1, 2, 2},
		{1, 1, 1, 1, 3, 3, 1, 1, 1}, {7, 5, 3, 3, 2, 2, 3, 0, 1},
	}
	for _, k := range []int{1, 2, 3, 5} {
		for stride := 1; stride <= 3; stride++ {
			h, w := k+r.IntN(8), k+r.IntN(8)
			kw := max(1, k-r.IntN(2))
			all = append(all, Window{h, w, (h-k)/stride + 1, (w-kw)/stride + 1, k, kw, stride, 0, 0})
			h, w = 1+r.IntN(10), 1+r.IntN(10)
			oh, ow := (h+stride-1)/stride, (w+stride-1)/stride
			all = append(all, Window{h, w, oh, ow, k, k, stride, max(0, (oh-1)*stride+k-h) / 2, max(0, (ow-1)*stride+k-w) / 2})
			if p := k / 2; p > 0 {
				all = append(all, Window{h, w, (h+2*p-k)/stride + 1, (w+2*p-k)/stride + 1, k, k, stride, p, p})
			}
		}
	}
	return slices.DeleteFunc(all, func(w Window) bool {
		return w.OH < 1 || w.OW < 1 || (w.OH-1)*w.Stride-w.Top >= w.H || (w.OW-1)*w.Stride-w.Left >= w.W
	})
}

// convCase is a convolution to test.
type convCase struct {
	Conv
	rows int
	relu bool
}

func (g convCase) String() string {
	return fmt.Sprintf("%d images, %+v, relu %v", g.rows, g.Conv, g.relu)
}

func convCases(r *rand.Rand) []convCase {
	var cases []convCase
	channels, outs, rows := []int{1, 3, 5, 16, 17}, []int{1, 7, 16, 33}, []int{1, 2, 5, 15, 29}
	for _, w := range windows(r) {
		for range 3 {
			g := convCase{Conv{w, channels[r.IntN(5)], outs[r.IntN(4)]}, rows[r.IntN(5)], r.IntN(2) == 0}
			if g.H >= 14 {
				g.rows = min(g.rows, 2)
			}
			cases = append(cases, g)
		}
	}
	return append(cases, convCase{Conv{Window{3, 3, 3, 3, 3, 3, 1, 1, 1}, 70, 70}, 31, true})
}

// convArgs are the operands of the three passes and room for their results, each between guards.
type convArgs struct {
	x, w, bias, dy         []float32
	y, dx, dw, dbias       []float32
	results, guards, clean [][]float32 // results with what surrounds them, as they are and as they were
}

func (g convCase) args(r *rand.Rand) *convArgs {
	nan := float32(math.NaN())
	in := func(n int) []float32 { x, _, _ := guarded(r, 1, n, n, nan); return x }
	a := &convArgs{
		x: in(g.rows * g.H * g.W * g.In), w: in(g.KH * g.KW * g.In * g.Out), bias: in(g.Out), dy: in(g.rows * g.OH * g.OW * g.Out),
	}
	out := func(n int) []float32 {
		x, all, _ := guarded(r, 1, n, n, guardValue)
		for i := range x {
			x[i] = nan // to be overwritten
		}
		a.guards, a.clean, a.results = append(a.guards, all), append(a.clean, slices.Clone(all)), append(a.results, x)
		return x
	}
	a.y, a.dx, a.dw, a.dbias = out(len(a.dy)), out(len(a.x)), out(len(a.w)), out(g.Out)
	return a
}

// run does the three passes.
func (g convCase) run(c *CPU, a *convArgs) {
	for i := range a.guards {
		copy(a.guards[i], a.clean[i])
	}
	c.Conv2D(a.y, a.x, a.w, a.bias, g.rows, g.Conv, g.relu)
	c.ConvGradX(a.dx, a.dy, a.w, g.rows, g.Conv)
	c.ConvGradW(a.dw, a.dbias, a.x, a.dy, g.rows, g.Conv)
}

// reference does them in float64, and sums the magnitudes of what is summed, which rounding acts on.
func (g convCase) reference(a *convArgs) (want, size [4][]float64) {
	for i, x := range a.results {
		want[i], size[i] = make([]float64, len(x)), make([]float64, len(x))
	}
	add := func(to, at int, v float64) { want[to][at] += v; size[to][at] += math.Abs(v) }
	for i := range g.rows {
		for p := range g.OH {
			for q := range g.OW {
				for o := range g.Out {
					y := ((i*g.OH+p)*g.OW+q)*g.Out + o
					add(0, y, float64(a.bias[o]))
					add(3, o, float64(a.dy[y]))
					for ky := range g.KH {
						for kx := range g.KW {
							h, w := p*g.Stride-g.Top+ky, q*g.Stride-g.Left+kx
							if h < 0 || h >= g.H || w < 0 || w >= g.W {
								continue
							}
							for c := range g.In {
								x, k := ((i*g.H+h)*g.W+w)*g.In+c, ((ky*g.KW+kx)*g.In+c)*g.Out+o
								add(0, y, float64(a.x[x])*float64(a.w[k]))
								add(1, x, float64(a.dy[y])*float64(a.w[k]))
								add(2, k, float64(a.dy[y])*float64(a.x[x]))
							}
						}
					}
					if g.relu {
						want[0][y] = max(want[0][y], 0)
					}
				}
			}
		}
	}
	return want, size
}

func TestConv(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	names := []string{"y", "dx", "dw", "dbias"}
	for _, g := range convCases(r) {
		a := g.args(r)
		want, size := g.reference(a)
		for _, isa := range Available() {
			g.run(New(isa), a)
			for i, x := range a.results {
				for j, got := range x {
					if !(math.Abs(float64(got)-want[i][j]) <= 1e-6*size[i][j]) {
						t.Fatalf("%v: %v: %s[%d] = %g, want %g ± %.2g", isa, g, names[i], j, got, want[i][j], 1e-6*size[i][j])
					}
				}
				for j, v := range a.clean[i] {
					if v == guardValue && a.guards[i][j] != guardValue {
						t.Fatalf("%v: %v: wrote %g outside of %s", isa, g, a.guards[i][j], names[i])
					}
				}
			}
		}
	}
}

func TestConvSameBits(t *testing.T) {
	all := Available()
	if len(all) < 3 {
		t.Skip("fewer than two vector instruction sets")
	}
	r := rand.New(rand.NewPCG(23, 24))
	for _, g := range convCases(r) {
		a := g.args(r)
		g.run(New(all[1]), a)
		var want [][]float32
		for _, x := range a.results {
			want = append(want, slices.Clone(x))
		}
		g.run(New(all[2]), a)
		for i, x := range a.results {
			if !slices.EqualFunc(x, want[i], sameBits) {
				t.Fatalf("%v: %v and %v differ in result %d", g, all[1], all[2], i)
			}
		}
	}
}

// TestConvNaN checks that a NaN in the images reaches the places that see it and no others, through ReLU too.
func TestConvNaN(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		r := rand.New(rand.NewPCG(25, 26))
		g := convCase{Conv{Window{5, 5, 5, 5, 3, 3, 1, 1, 1}, 3, 7}, 3, true}
		a := g.args(r)
		a.x[((1*5+0)*5+4)*3+1] = float32(math.NaN()) // image 1, position (0, 4)
		g.run(c, a)
		for i, v := range a.y {
			image, p, q := i/(25*7), i/(5*7)%5, i/7%5
			if want := image == 1 && p <= 1 && q >= 3; (v != v) != want {
				t.Fatalf("image %d, position (%d, %d): %g", image, p, q, v)
			}
		}
	})
}

// TestConvBlocks checks that blocks are of equal size and small, whatever the size of an image.
func TestConvBlocks(t *testing.T) {
	for _, tt := range []struct{ rows, size, want int }{{0, 10, 1}, {28, 10, 28}, {29, 10, 15}, {100, 10, 25}, {100, convScratch / 3, 3}, {5, 2 * convScratch, 1}} {
		if got := blockOf(tt.rows, tt.size); got != tt.want {
			t.Errorf("%d images of %d: blocks of %d, want %d", tt.rows, tt.size, got, tt.want)
		}
	}
}

func TestConvAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		g := convCase{Conv{Window{8, 8, 4, 4, 3, 3, 2, 0, 0}, 5, 17}, 30, true}
		a := g.args(rand.New(rand.NewPCG(27, 28)))
		if n := testing.AllocsPerRun(5, func() { g.run(c, a) }); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	})
}

func TestConvPanics(t *testing.T) {
	c, x := New(Generic), make([]float32, 16)
	g := Conv{Window{4, 4, 4, 4, 1, 1, 1, 0, 0}, 1, 1}
	beyond := g
	beyond.OH = 5
	for name, f := range map[string]func(){
		"x":      func() { c.Conv2D(x, x[1:], x[:1], x[:1], 1, g, false) },
		"bias":   func() { c.Conv2D(x, x, x[:1], x[:2], 1, g, false) },
		"dy":     func() { c.ConvGradX(x, x[1:], x[:1], 1, g) },
		"dw":     func() { c.ConvGradW(x[:2], x[:1], x, x, 1, g) },
		"dbias":  func() { c.ConvGradW(x[:1], x[:2], x, x, 1, g) },
		"window": func() { c.Conv2D(x, x, x[:1], x[:1], 1, beyond, false) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// vggLayers are the convolutions of the VGG for CIFAR-10 and of the network for Fashion-MNIST.
var vggLayers = []struct {
	name string
	Conv
}{
	{"32x32x3-16", sameConv(32, 3, 3, 16)},
	{"16x16x16-32", sameConv(16, 3, 16, 32)},
	{"8x8x32-64", sameConv(8, 3, 32, 64)},
	{"4x4x64-128", sameConv(4, 3, 64, 128)},
	{"2x2x128-128", sameConv(2, 3, 128, 128)},
	{"28x28x1-32", sameConv(28, 5, 1, 32)},
	{"14x14x32-64", sameConv(14, 5, 32, 64)},
}

func sameConv(n, k, in, out int) Conv {
	return Conv{Window{n, n, n, n, k, k, 1, k / 2, k / 2}, in, out}
}

func BenchmarkConv(b *testing.B) {
	for _, isa := range Available() {
		for _, l := range vggLayers {
			g := convCase{l.Conv, 100, true}
			a := g.args(rand.New(rand.NewPCG(29, 30)))
			c := New(isa)
			for _, pass := range []struct {
				name string
				f    func()
			}{
				{"y", func() { c.Conv2D(a.y, a.x, a.w, a.bias, g.rows, g.Conv, true) }},
				{"dx", func() { c.ConvGradX(a.dx, a.dy, a.w, g.rows, g.Conv) }},
				{"dw", func() { c.ConvGradW(a.dw, a.dbias, a.x, a.dy, g.rows, g.Conv) }},
			} {
				b.Run(fmt.Sprintf("%v/%s/%s", isa, l.name, pass.name), func(b *testing.B) {
					for b.Loop() {
						pass.f()
					}
					flop := 2 * float64(len(a.y)) * float64(g.KH*g.KW*g.In)
					b.ReportMetric(flop*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
