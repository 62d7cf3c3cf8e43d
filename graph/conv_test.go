package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
)

// sides is a window along one side of n positions, by definition: the first position of each of its places.
func sides(n, kernel int, win Window) []int {
	before, after := int(win.Pad), int(win.Pad)
	if win.Pad == Same {
		total := max(0, (int(math.Ceil(float64(n)/float64(win.Stride)))-1)*win.Stride+kernel-n)
		before, after = total/2, total-total/2
	}
	var at []int
	for p := -before; p+kernel <= n+after; p += win.Stride {
		at = append(at, p)
	}
	return at
}

// visit calls f for each place (of index y among the places) and each position (of index x among the positions) that the
// window sees of images, k being its index in the window.
func visit(rows, h, w int, win Window, f func(y, x, k int)) {
	y := 0
	for i := range rows {
		for _, p := range sides(h, win.KH, win) {
			for _, q := range sides(w, win.KW, win) {
				for k := range win.KH * win.KW {
					if r, s := p+k/win.KW, q+k%win.KW; r >= 0 && r < h && s >= 0 && s < w {
						f(y, (i*h+r)*w+s, k)
					}
				}
				y++
			}
		}
	}
}

func conv64(x, w, b []float64, rows, h, wd, in, out int, win Window, relu bool) []float64 {
	y := make([]float64, rows*len(sides(h, win.KH, win))*len(sides(wd, win.KW, win))*out)
	for i := range y {
		y[i] = b[i%out]
	}
	visit(rows, h, wd, win, func(p, q, k int) {
		for o := range out {
			for c := range in {
				y[p*out+o] += x[q*in+c] * w[(k*in+c)*out+o]
			}
		}
	})
	if relu {
		for i, v := range y {
			y[i] = math.Max(v, 0)
		}
	}
	return y
}

func pool64(x []float64, rows, h, w, channels int, win Window) []float64 {
	y := make([]float64, rows*len(sides(h, win.KH, win))*len(sides(w, win.KW, win))*channels)
	for i := range y {
		y[i] = math.Inf(-1)
	}
	visit(rows, h, w, win, func(p, q, _ int) {
		for c := range channels {
			y[p*channels+c] = math.Max(y[p*channels+c], x[q*channels+c])
		}
	})
	return y
}

// TestConv2D checks a convolution with gradients to all three operands, between a slice and a loss over all its values.
func TestConv2D(t *testing.T) {
	for i, tt := range []struct {
		batch, h, w, in, out int
		win                  Window
	}{
		{1, 1, 1, 1, 1, Window{1, 1, 1, Valid}},
		{1, 4, 5, 3, 7, Window{3, 3, 1, Same}},
		{3, 2, 2, 5, 17, Window{3, 3, 1, Same}},
		{2, 5, 6, 1, 3, Window{2, 3, 1, Valid}},
		{3, 6, 5, 2, 3, Window{3, 3, 2, Same}},
		{2, 7, 7, 2, 2, Window{5, 5, 3, Same}},
		{2, 7, 5, 1, 2, Window{2, 2, 3, Valid}},
		{2, 4, 5, 2, 4, Window{3, 3, 1, 1}},
		{2, 4, 5, 2, 4, Window{3, 3, 2, 2}},
	} {
		if down, across := tt.win.Places(tt.h, tt.w); down != len(sides(tt.h, tt.win.KH, tt.win)) || across != len(sides(tt.w, tt.win.KW, tt.win)) {
			t.Errorf("%+v: %d × %d places", tt, down, across)
		}
		for _, relu := range []bool{false, true} {
			for _, rows := range []int{0, (tt.batch + 1) / 2} {
				t.Run(fmt.Sprintf("%+v/relu=%v/rows=%d", tt, relu, rows), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(i), 12))
					live := tt.batch
					if rows > 0 {
						live = rows
					}
					nx, nw := tt.batch*tt.h*tt.w*tt.in, tt.win.KH*tt.win.KW*tt.in*tt.out
					classes := len(sides(tt.h, tt.win.KH, tt.win)) * len(sides(tt.w, tt.win.KW, tt.win)) * tt.out
					graphtest.Check(t, graphtest.Case{
						Build: func(b *Builder) {
							x, w := b.Param("x", nx), b.Param("w", nw+tt.out)
							y := Conv2D(Reshape(x, tt.batch, tt.h, tt.w, tt.in), Slice(w, 0, tt.win.KH, tt.win.KW, tt.in, tt.out),
								Slice(w, nw, tt.out), tt.win, relu)
							b.Minimize("loss", CrossEntropy(Reshape(y, tt.batch, classes), b.Input("y", tt.batch)), x, w)
						},
						Params: map[string][]float32{"x": normals(r, nx, 0, 1), "w": normals(r, nw+tt.out, 0, 1)},
						Data:   map[string][]float32{"y": labels(r, tt.batch, classes)},
						Rows:   rows,
						Loss: func(v map[string][]float64) float64 {
							y := conv64(v["x"], v["w"][:nw], v["w"][nw:], live, tt.h, tt.w, tt.in, tt.out, tt.win, relu)
							return crossEntropy64(y, v["y"], live, classes)
						},
					})
				})
			}
		}
	}
}

func TestMaxPool2D(t *testing.T) {
	for i, tt := range []struct {
		batch, h, w, channels int
		win                   Window
	}{
		{1, 2, 2, 1, Window{2, 2, 2, Valid}},
		{3, 4, 6, 17, Window{2, 2, 2, Valid}},
		{2, 5, 5, 3, Window{2, 2, 2, Same}},
		{2, 7, 5, 3, Window{2, 2, 2, Valid}},
		{2, 5, 6, 2, Window{3, 3, 2, Same}},
		{2, 6, 6, 2, Window{3, 2, 1, 1}},
		{2, 7, 7, 1, Window{2, 2, 3, Valid}},
	} {
		for _, rows := range []int{0, (tt.batch + 1) / 2} {
			t.Run(fmt.Sprintf("%+v/rows=%d", tt, rows), func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(i), 14))
				live := tt.batch
				if rows > 0 {
					live = rows
				}
				n := tt.h * tt.w * tt.channels
				classes := len(sides(tt.h, tt.win.KH, tt.win)) * len(sides(tt.w, tt.win.KW, tt.win)) * tt.channels
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						x := b.Param("x", tt.batch*n)
						y := MaxPool2D(Reshape(x, tt.batch, tt.h, tt.w, tt.channels), tt.win)
						b.Minimize("loss", CrossEntropy(Reshape(y, tt.batch, classes), b.Input("y", tt.batch)), x)
					},
					Params: map[string][]float32{"x": normals(r, tt.batch*n, 0, 1)},
					Data:   map[string][]float32{"y": labels(r, tt.batch, classes)},
					Rows:   rows,
					Loss: func(v map[string][]float64) float64 {
						return crossEntropy64(pool64(v["x"], live, tt.h, tt.w, tt.channels, tt.win), v["y"], live, classes)
					},
				})
			})
		}
	}
}

// TestConvNet checks what a network is made of: convolutions with ReLU, poolings and a dense layer on one vector of weights.
func TestConvNet(t *testing.T) {
	const batch, side, in, mid, out, classes = 3, 6, 2, 5, 4, 3
	win, half := Window{3, 3, 1, Same}, Window{2, 2, 2, Same}
	for _, rows := range []int{0, 2} {
		t.Run(fmt.Sprint("rows=", rows), func(t *testing.T) {
			r := rand.New(rand.NewPCG(15, 16))
			live := batch
			if rows > 0 {
				live = rows
			}
			var l Layout
			w1, b1 := l.Add("w1", 0, 3, 3, in, mid), l.Add("b1", 0, mid)
			w2, b2 := l.Add("w2", 0, 3, 3, mid, out), l.Add("b2", 0, out)
			w3, b3 := l.Add("w3", 0, 2*2*out, classes), l.Add("b3", 0, classes)
			graphtest.Check(t, graphtest.Case{
				Build: func(b *Builder) {
					w := b.Param("w", l.Size())
					z := Conv2D(b.Input("x", batch, side, side, in), w1.Node(w), b1.Node(w), win, true)
					z = MaxPool2D(z, half)
					z = MaxPool2D(Conv2D(z, w2.Node(w), b2.Node(w), win, true), half)
					z = Dense(Reshape(z, batch, 2*2*out), w3.Node(w), b3.Node(w), false)
					b.Minimize("loss", CrossEntropy(z, b.Input("y", batch)), w)
				},
				Params: map[string][]float32{"w": normals(r, l.Size(), 0, 0.5)},
				Data:   map[string][]float32{"x": normals(r, batch*side*side*in, 0, 1), "y": labels(r, batch, classes)},
				Rows:   rows,
				Loss: func(v map[string][]float64) float64 {
					of := func(s Segment) []float64 { return v["w"][s.Offset : s.Offset+s.Size()] }
					z := conv64(v["x"], of(w1), of(b1), live, side, side, in, mid, win, true)
					z = pool64(z, live, side, side, mid, half)
					z = conv64(z, of(w2), of(b2), live, 3, 3, mid, out, win, true)
					z = pool64(z, live, 3, 3, out, half)
					return crossEntropy64(dense64(z, of(w3), of(b3), live, 2*2*out, classes, false), v["y"], live, classes)
				},
			})
		})
	}
}

// TestPoolAndMore checks a convolution whose output goes into a pooling and elsewhere: the pooling's gradient has been
// through ReLU then, the other has not.
func TestPoolAndMore(t *testing.T) {
	const batch, side, out = 3, 4, 5
	for _, relu := range []bool{false, true} {
		r := rand.New(rand.NewPCG(17, 18))
		const nw, classes, pooled = 9 * out, side * side * out, 4 * out
		graphtest.Check(t, graphtest.Case{
			Build: func(b *Builder) {
				w := b.Param("w", nw+out)
				z := Conv2D(b.Input("x", batch, side, side, 1), Slice(w, 0, 3, 3, 1, out), Slice(w, nw, out), Window{3, 3, 1, Same}, relu)
				p := MaxPool2D(z, Window{2, 2, 2, Valid})
				y := b.Input("y", batch)
				b.Minimize("loss", Sum(CrossEntropy(Reshape(z, batch, classes), y), CrossEntropy(Reshape(p, batch, pooled), y)), w)
			},
			Params: map[string][]float32{"w": normals(r, nw+out, 0, 1)},
			Data:   map[string][]float32{"x": normals(r, batch*side*side, 0, 1), "y": labels(r, batch, pooled)},
			Loss: func(v map[string][]float64) float64 {
				z := conv64(v["x"], v["w"][:nw], v["w"][nw:], batch, side, side, 1, out, Window{3, 3, 1, Same}, relu)
				p := pool64(z, batch, side, side, out, Window{2, 2, 2, Valid})
				return crossEntropy64(z, v["y"], batch, classes) + crossEntropy64(p, v["y"], batch, pooled)
			},
		})
	}
}

func TestWindowErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		f    func(b *Builder)
		want string
	}{
		{"flat images", func(b *Builder) { MaxPool2D(b.Input("x", 2, 9), Window{3, 3, 1, Same}) }, "max-pool: an operand of shape (2, 9), want [batch height width channels]"},
		{"no stride", func(b *Builder) { MaxPool2D(b.Input("x", 2, 9, 9, 1), Window{KH: 3, KW: 3}) }, "max-pool: {KH:3 KW:3 Stride:0 Pad:0}: want sizes and stride ≥ 1"},
		{"too much padding", func(b *Builder) { MaxPool2D(b.Input("x", 2, 9, 9, 1), Window{2, 3, 1, 2}) }, "a padding less than the sizes"},
		{"too small", func(b *Builder) { MaxPool2D(b.Input("x", 2, 2, 9, 1), Window{3, 3, 1, Valid}) }, "does not fit into (2, 2, 9, 1)"},
		{"flat weights", func(b *Builder) {
			Conv2D(b.Input("x", 2, 4, 4, 3), b.Input("w", 27, 5), b.Input("b", 5), Window{3, 3, 1, Same}, false)
		}, "conv: weights of shape (27, 5), want [3 3 3 out]"},
		{"weights of other channels", func(b *Builder) {
			Conv2D(b.Input("x", 2, 4, 4, 3), b.Input("w", 3, 3, 4, 5), b.Input("b", 5), Window{3, 3, 1, Same}, false)
		}, "conv: an operand of shape (3, 3, 4, 5), want [3 3 3 5]"},
		{"bias of other size", func(b *Builder) {
			Conv2D(b.Input("x", 2, 4, 4, 3), b.Input("w", 3, 3, 3, 5), b.Input("b", 4), Window{3, 3, 1, Same}, false)
		}, "conv: an operand of shape (4), want [5]"},
		{"reshape", func(b *Builder) { Reshape(b.Input("x", 2, 3), 7) }, "reshape: (2, 3) to [7]: 7 values, want 6"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Build(tt.f)
			if err == nil || !strings.HasPrefix(err.Error(), "graph: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want graph: …%s", err, tt.want)
			}
		})
	}
}
