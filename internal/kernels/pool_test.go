package kernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// poolCase is a pooling to test.
type poolCase struct {
	Window
	channels, rows int
	relu           bool
}

func (p poolCase) String() string {
	return fmt.Sprintf("%d images of %d channels, %+v, relu %v", p.rows, p.channels, p.Window, p.relu)
}

func poolCases(r *rand.Rand) []poolCase {
	var cases []poolCase
	for _, w := range append(windows(r), Window{8, 8, 4, 4, 2, 2, 2, 0, 0}, Window{7, 7, 4, 4, 2, 2, 2, 0, 0}) {
		for _, channels := range []int{1, 3, 16, 17, 32, 40, 64} {
			cases = append(cases, poolCase{w, channels, 1 + r.IntN(3), r.IntN(2) == 0})
		}
	}
	return cases
}

// poolArgs are operands and results of both directions, the results with guards.
type poolArgs struct {
	x, dy        []float32
	y, index, dx []float32
	all, clean   [][]float32
}

// args makes values that often tie, among them zeros, NaN and infinities. Guards are NaN around operands.
func (p poolCase) args(r *rand.Rand) *poolArgs {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	nx, ny := p.rows*p.H*p.W*p.channels, p.rows*p.OH*p.OW*p.channels
	var a poolArgs
	a.x, _, _ = guarded(r, 1, nx, nx, nan)
	a.dy, _, _ = guarded(r, 1, ny, ny, nan)
	for i := range a.x {
		a.x[i] = float32(r.IntN(5) - 2)
		if special := []float32{nan, inf, -inf, float32(math.Copysign(0, -1))}; r.IntN(30) == 0 {
			a.x[i] = special[r.IntN(4)]
		}
	}
	for i, n := range []int{ny, ny, nx} {
		v, all, _ := guarded(r, 1, n, n, guardValue)
		*[]*[]float32{&a.y, &a.index, &a.dx}[i] = v
		a.all, a.clean = append(a.all, all), append(a.clean, slices.Clone(all))
	}
	return &a
}

func (p poolCase) run(c *CPU, a *poolArgs) {
	for i := range a.all {
		copy(a.all[i], a.clean[i])
	}
	c.MaxPool(a.y, a.index, a.x, p.rows, p.channels, p.Window, p.relu)
	c.MaxPoolGrad(a.dx, a.dy, a.index, p.rows, p.channels, p.Window)
}

// reference pools by definition: NaN before numbers, larger before smaller, earlier before later.
func (p poolCase) reference(a *poolArgs) (y []float32, index []int32, dx []float64) {
	dx = make([]float64, len(a.x))
	for i := range a.y {
		image, row, col, ch := i/(p.OH*p.OW*p.channels), i/(p.OW*p.channels)%p.OH, i/p.channels%p.OW, i%p.channels
		won, at := int32(-1), 0
		for k := range p.KH * p.KW {
			h, w := row*p.Stride-p.Top+k/p.KW, col*p.Stride-p.Left+k%p.KW
			if h < 0 || h >= p.H || w < 0 || w >= p.W {
				continue
			}
			j := ((image*p.H+h)*p.W+w)*p.channels + ch
			v := a.x[j]
			if won < 0 || a.x[at] == a.x[at] && (v != v || v > a.x[at]) {
				won, at = int32(k), j
			}
		}
		y = append(y, a.x[at])
		if p.relu && a.x[at] <= 0 {
			won = -1
		} else {
			dx[at] += float64(a.dy[i])
		}
		index = append(index, won)
	}
	return y, index, dx
}

func TestMaxPool(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for _, p := range poolCases(r) {
		a := p.args(r)
		y, index, dx := p.reference(a)
		for _, isa := range Available() {
			p.run(New(isa), a)
			for i := range y {
				if got := int32(math.Float32bits(a.index[i])); !sameBits(a.y[i], y[i]) || got != index[i] {
					t.Fatalf("%v: %v: y[%d] = %g from %d, want %g from %d", isa, p, i, a.y[i], got, y[i], index[i])
				}
			}
			for i, want := range dx {
				if !(math.Abs(float64(a.dx[i])-want) <= 1e-5*(1+math.Abs(want))) {
					t.Fatalf("%v: %v: dx[%d] = %g, want %g", isa, p, i, a.dx[i], want)
				}
			}
			for i, all := range a.all {
				for j, v := range a.clean[i] {
					if v == guardValue && all[j] != guardValue {
						t.Fatalf("%v: %v: wrote %g outside of result %d", isa, p, all[j], i)
					}
				}
			}
		}
	}
}

// TestMaxPoolSameBits includes plain Go, which compares and adds in the same order.
func TestMaxPoolSameBits(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for _, p := range poolCases(r) {
		a := p.args(r)
		p.run(New(Generic), a)
		want := slices.Clone(a.dx)
		for _, isa := range Available() {
			p.run(New(isa), a)
			if !slices.EqualFunc(a.dx, want, sameBits) {
				t.Fatalf("%v: %v differs from %v", p, isa, Generic)
			}
		}
	}
}

func TestMaxPoolAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		p := poolCase{Window{8, 8, 4, 4, 2, 2, 2, 0, 0}, 17, 3, true}
		a := p.args(rand.New(rand.NewPCG(35, 36)))
		if n := testing.AllocsPerRun(5, func() { p.run(c, a) }); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	})
}

func TestMaxPoolPanics(t *testing.T) {
	c, x := New(Generic), make([]float32, 16)
	w := Window{4, 4, 2, 2, 2, 2, 2, 0, 0}
	beyond := w
	beyond.OW = 3
	for name, f := range map[string]func(){
		"x":      func() { c.MaxPool(x[:4], x[4:8], x[1:], 1, 1, w, false) },
		"index":  func() { c.MaxPool(x[:4], x[4:7], x, 1, 1, w, false) },
		"dx":     func() { c.MaxPoolGrad(x[1:], x[:4], x[:4], 1, 1, w) },
		"dy":     func() { c.MaxPoolGrad(x, x[:5], x[:4], 1, 1, w) },
		"window": func() { c.MaxPool(x[:6], x[:6], x, 1, 1, beyond, false) },
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

func BenchmarkPool(b *testing.B) {
	for _, isa := range Available() {
		for _, l := range vggLayers {
			w := Window{l.H, l.W, l.H / 2, l.W / 2, 2, 2, 2, 0, 0}
			p := poolCase{w, l.Out, 100, true}
			a := p.args(rand.New(rand.NewPCG(37, 38)))
			c := New(isa)
			name := fmt.Sprintf("%v/%dx%dx%d", isa, l.H, l.W, l.Out)
			b.Run(name+"/y", func(b *testing.B) {
				b.SetBytes(int64(4 * len(a.x)))
				for b.Loop() {
					c.MaxPool(a.y, a.index, a.x, p.rows, p.channels, w, true)
				}
			})
			b.Run(name+"/dx", func(b *testing.B) {
				b.SetBytes(int64(4 * len(a.x)))
				for b.Loop() {
					c.MaxPoolGrad(a.dx, a.dy, a.index, p.rows, p.channels, w)
				}
			})
		}
	}
}
