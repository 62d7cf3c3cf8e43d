package kernels

import (
	"math/rand/v2"
	"runtime/debug"
	"testing"
)

// TestConvBounds lays operands and results at the edge of memory that faults: reads that the kernels mask off leave no
// other trace.
func TestConvBounds(t *testing.T) {
	const most = 1 << 16
	for _, atEnd := range []bool{false, true} {
		var areas [7][]float32
		for i := range areas {
			areas[i] = fence(t, most, atEnd)
		}
		part := func(i, n int) []float32 {
			if atEnd {
				return areas[i][most-n:]
			}
			return areas[i][:n]
		}
		forEachISA(t, func(t *testing.T, c *CPU) {
			r := rand.New(rand.NewPCG(39, 40))
			for _, g := range convCases(r) {
				x, y, w := g.rows*g.H*g.W*g.In, g.rows*g.OH*g.OW*g.Out, g.KH*g.KW*g.In*g.Out
				if max(x, y, w) > most {
					continue
				}
				func() {
					defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
					defer func() {
						if err := recover(); err != nil {
							t.Fatalf("%v: %v", g, err)
						}
					}()
					c.Conv2D(part(0, y), part(1, x), part(2, w), part(3, g.Out), g.rows, g.Conv, g.relu)
					c.ConvGradX(part(4, x), part(0, y), part(2, w), g.rows, g.Conv)
					c.ConvGradW(part(5, w), part(6, g.Out), part(1, x), part(0, y), g.rows, g.Conv)
				}()
			}
			for _, p := range poolCases(r) {
				x, y := p.rows*p.H*p.W*p.channels, p.rows*p.OH*p.OW*p.channels
				if max(x, y) > most {
					continue
				}
				func() {
					defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
					defer func() {
						if err := recover(); err != nil {
							t.Fatalf("%v: %v", p, err)
						}
					}()
					c.MaxPool(part(0, y), part(2, y), part(1, x), p.rows, p.channels, p.Window, p.relu)
					c.MaxPoolGrad(part(4, x), part(0, y), part(2, y), p.rows, p.channels, p.Window)
				}()
			}
		})
	}
}
