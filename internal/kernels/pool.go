package kernels

import "math"

// MaxPool sets y [rows, OH, OW, channels] to the largest value that the window w sees of x [rows, H, W, channels] at each
// place, and index, of y's size, to where in the window that value stands: ky·KW + kx as the bits of an integer. Ties go to
// the first. Padding never wins. NaN does, the first if there are several.
func (c *CPU) MaxPool(y, index, x []float32, rows, channels int, w Window) {
	w.check("MaxPool")
	same("MaxPool", rows*w.H*w.W*channels, len(x))
	same("MaxPool", rows*w.OH*w.OW*channels, len(y), len(index))
	for i := range rows * w.OH {
		image, p := i/w.OH, i%w.OH
		y0, y1 := covered(p*w.Stride-w.Top, w.KH, w.H)
		for q := range w.OW {
			x0, x1 := covered(q*w.Stride-w.Left, w.KW, w.W)
			at := (i*w.OW + q) * channels
			dst, pos := y[at:][:channels], index[at:][:channels]
			for ky := y0; ky < y1; ky++ {
				for kx := x0; kx < x1; kx++ {
					from := ((image*w.H+p*w.Stride-w.Top+ky)*w.W + q*w.Stride - w.Left + kx) * channels
					k := math.Float32frombits(uint32(ky*w.KW + kx))
					for j, v := range x[from:][:channels] {
						if ky == y0 && kx == x0 || v > dst[j] || v != v && dst[j] == dst[j] {
							dst[j], pos[j] = v, k
						}
					}
				}
			}
		}
	}
}

// MaxPoolGrad sets dx [rows, H, W, channels] to the gradient of a loss with respect to the x of MaxPool, given the
// gradient dy with respect to its y and its index.
func (c *CPU) MaxPoolGrad(dx, dy, index []float32, rows, channels int, w Window) {
	w.check("MaxPoolGrad")
	same("MaxPoolGrad", rows*w.H*w.W*channels, len(dx))
	same("MaxPoolGrad", rows*w.OH*w.OW*channels, len(dy), len(index))
	clear(dx)
	for i := range rows * w.OH {
		image, p := i/w.OH, i%w.OH
		for q := range w.OW {
			at := (i*w.OW + q) * channels
			for j, v := range dy[at:][:channels] {
				k := int(math.Float32bits(index[at+j]))
				dx[((image*w.H+p*w.Stride-w.Top+k/w.KW)*w.W+q*w.Stride-w.Left+k%w.KW)*channels+j] += v
			}
		}
	}
}
