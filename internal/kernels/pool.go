package kernels

import "math"

// MaxPool sets y [rows, OH, OW, channels] to the largest value that the window sees of x [rows, H, W, channels] at each
// place, and index, of y's size, to where in the window that value stands: the bits of the integer ky·KW + kx. Ties go to the
// first. Padding never wins; NaN does, the first if there are several.
//
// If relu is set, x is what a ReLU left, whose gradient at 0 is 0: the index of a largest value that is not positive is -1.
func (c *CPU) MaxPool(y, index, x []float32, rows, channels int, w Window, relu bool) {
	w.check("MaxPool")
	same("MaxPool", rows*w.H*w.W*channels, len(x))
	same("MaxPool", rows*w.OH*w.OW*channels, len(y), len(index))
	least := float32(math.NaN()) // which nothing is at most
	if relu {
		least = 0
	}
	v := views{Window: w, channels: channels}
	for i := range rows * w.OH {
		for v.start(i); v.next(); {
			c.maxPool(y[v.y:], index[v.y:], x[v.x:], &v, least)
		}
	}
}

// MaxPoolGrad sets dx [rows, H, W, channels] to the gradient of a loss with respect to the x of MaxPool, given the
// gradient dy with respect to its y, and its index. Where relu was set it is the gradient through the ReLU as well.
func (c *CPU) MaxPoolGrad(dx, dy, index []float32, rows, channels int, w Window) {
	w.check("MaxPoolGrad")
	same("MaxPoolGrad", rows*w.H*w.W*channels, len(dx))
	same("MaxPoolGrad", rows*w.OH*w.OW*channels, len(dy), len(index))
	size := w.H * w.W * channels
	v := views{Window: w, channels: channels}
	for i := range rows * w.OH {
		if i%w.OH == 0 {
			clear(dx[i/w.OH*size:][:size])
		}
		for v.start(i); v.next(); {
			c.maxPoolGrad(dx[v.x:], dy[v.y:], index[v.y:], &v)
		}
	}
}

// views iterates over runs of places in a row at which the window sees the same part of itself.
type views struct {
	Window
	channels int

	row, col       int // of the next place; the row counts through all images
	y, x           int // where the run's places and the positions of its first place begin
	places         int
	y0, y1, x0, x1 int // the part of the window that is seen
}

// start begins with a row of places.
func (v *views) start(row int) { v.row, v.col = row, 0 }

// next finds the next run, if there is one.
func (v *views) next() bool {
	if v.col == v.OW {
		return false
	}
	image, p := v.row/v.OH, v.row%v.OH*v.Stride-v.Top
	v.y0, v.y1 = covered(p, v.KH, v.H)
	q := v.col*v.Stride - v.Left
	v.x0, v.x1 = covered(q, v.KW, v.W)
	v.y = (v.row*v.OW + v.col) * v.channels
	v.x = ((image*v.H+p+v.y0)*v.W + q + v.x0) * v.channels
	v.places = alike(q, v.Stride, v.KW, v.W, v.OW-v.col)
	v.col += v.places
	return true
}
