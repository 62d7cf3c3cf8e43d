//go:build amd64 && !purego

package kernels

// The vector kernels take the channels that fill whole blocks, plain Go the others.

func (c *CPU) maxPool(y, index, x []float32, v *views, least float32) {
	n := v.blocks(c)
	if n > 0 {
		first, skip := v.indices()
		step, row, position := v.distances()
		if c.isa == AVX512 {
			maxPoolAVX512(&y[0], &index[0], &x[0], 4*n, 4*v.channels, v.places, step, v.y1-v.y0, row, v.x1-v.x0, position, first, skip, least)
		} else {
			maxPoolAVX2(&y[0], &index[0], &x[0], 4*n, 4*v.channels, v.places, step, v.y1-v.y0, row, v.x1-v.x0, position, first, skip, least)
		}
	}
	if n < v.channels {
		maxPoolGeneric(y, index, x, v, n, least)
	}
}

func (c *CPU) maxPoolGrad(dx, dy, index []float32, v *views) {
	n := v.blocks(c)
	if n > 0 {
		first, skip := v.indices()
		step, row, position := v.distances()
		if c.isa == AVX512 {
			maxPoolGradAVX512(&dx[0], &dy[0], &index[0], 4*n, 4*v.channels, v.places, step, v.y1-v.y0, row, v.x1-v.x0, position, first, skip)
		} else {
			maxPoolGradAVX2(&dx[0], &dy[0], &index[0], 4*n, 4*v.channels, v.places, step, v.y1-v.y0, row, v.x1-v.x0, position, first, skip)
		}
	}
	if n < v.channels {
		maxPoolGradGeneric(dx, dy, index, v, n)
	}
}

// blocks returns the number of channels that vectors take.
func (v *views) blocks(c *CPU) int {
	if c.isa == Generic {
		return 0
	}
	return v.channels &^ (lanes - 1)
}

// indices returns the index of the first position that the window sees, and what to add from the end of one of its rows
// to the beginning of the next.
func (v *views) indices() (first, skip uint32) {
	return uint32(v.y0*v.KW + v.x0), uint32(v.KW - (v.x1 - v.x0))
}

// distances returns the bytes from place to place, row to row and position to position.
func (v *views) distances() (step, row, position int) {
	position = 4 * v.channels
	return v.Stride * position, v.W * position, position
}
