package kernels

import "math"

// maxPoolGeneric pools the channels from the given one on.
func maxPoolGeneric(y, index, x []float32, v *views, from int, least float32) {
	n := v.channels - from
	for q := range v.places {
		best, where := y[q*v.channels+from:][:n], index[q*v.channels+from:][:n]
		first := x[q*v.Stride*v.channels+from:]
		copy(best, first[:n])
		for j := range where {
			where[j] = v.index(v.y0, v.x0)
		}
		for ky := v.y0; ky < v.y1; ky++ {
			for kx := v.x0; kx < v.x1; kx++ {
				k := v.index(ky, kx)
				for j, a := range first[((ky-v.y0)*v.W+kx-v.x0)*v.channels:][:n] {
					if b := best[j]; !(a <= b) && b == b {
						best[j], where[j] = a, k
					}
				}
			}
		}
		for j, b := range best {
			if b <= least {
				where[j] = math.Float32frombits(math.MaxUint32)
			}
		}
	}
}

// index returns the index of a position of the window as MaxPool keeps it.
func (w Window) index(ky, kx int) float32 { return math.Float32frombits(uint32(ky*w.KW + kx)) }

// maxPoolGradGeneric adds the gradients of the channels from the given one on.
func maxPoolGradGeneric(dx, dy, index []float32, v *views, from int) {
	for q := range v.places {
		at := q * v.channels
		for j := at + from; j < at+v.channels; j++ {
			if k := int(int32(math.Float32bits(index[j]))); k >= 0 {
				dx[((k/v.KW-v.y0)*v.W+k%v.KW-v.x0+q*v.Stride)*v.channels+j-at] += dy[j]
			}
		}
	}
}
