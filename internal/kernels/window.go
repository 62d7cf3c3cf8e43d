package kernels

import "fmt"

// A Window is a rectangle of KH × KW positions that moves over images of H × W positions in steps of Stride and stops at
// OH × OW places. At its first place it begins Top positions above and Left positions left of the image: what it covers
// outside of the image, on any side, is padding.
type Window struct {
	H, W, OH, OW   int
	KH, KW, Stride int
	Top, Left      int
}

// check panics unless every size is positive and the window touches the image at every place.
func (w Window) check(name string) {
	if min(w.H, w.W, w.OH, w.OW, w.KH, w.KW, w.Stride) < 1 || min(w.Top, w.Left) < 0 {
		panic(fmt.Sprintf("kernels: %s: window %+v, want sizes ≥ 1 and offsets ≥ 0", name, w))
	}
	if w.Top >= w.KH || w.Left >= w.KW || (w.OH-1)*w.Stride-w.Top >= w.H || (w.OW-1)*w.Stride-w.Left >= w.W {
		panic(fmt.Sprintf("kernels: %s: window %+v leaves the image", name, w))
	}
}

// covered returns the part [lo, hi) of k positions from at on, which may be negative, that lies within n positions.
func covered(at, k, n int) (lo, hi int) { return max(0, -at), min(k, n-at) }

// alike returns at how many of the next places, at, at+step …, the same part of k positions lies within n positions.
func alike(at, step, k, n, places int) int {
	lo, hi := covered(at, k, n)
	for i := 1; i < places; i++ {
		if l, h := covered(at+i*step, k, n); l != lo || h != hi {
			return i
		}
	}
	return places
}
