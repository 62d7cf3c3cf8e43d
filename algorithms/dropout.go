package algorithms

import (
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// Dropout predicts with draws of weights that lose each column, all weights that leave one input unit, with the
// probability 1 − Keep, or with their mean.
type Dropout struct {
	W    []float32 // of columns that are kept, and biases, which always are
	Keep float64
}

// Members implements [Predictor].
func (p Dropout) Members(w *Worker, dst, x []float32, m int, r rng.Stream) {
	if m == 0 {
		copy(w.draw, p.W)
		for _, s := range w.Net.Segments {
			if layers.Columns(s) > 0 {
				w.CPU.Scale(s.Of(w.draw), float32(p.Keep), s.Of(w.draw))
			}
		}
		w.logProbs(dst, x, w.draw)
		return
	}
	slab, layer := len(x)/w.Net.In*w.Net.Classes, 0
	for i := range m {
		copy(w.draw, p.W)
		for _, s := range w.Net.Segments {
			if n := layers.Columns(s); n > 0 {
				gates := make([]float32, n)
				r.For(rng.Eval).Gates(w.CPU, gates, p.Keep, layer)
				layers.Drop(s.Of(w.draw), s, gates)
				layer++
			}
		}
		w.logProbs(dst[i*slab:(i+1)*slab], x, w.draw)
	}
}

// Random implements [Predictor].
func (p Dropout) Random() bool { return p.Keep < 1 }

// kept returns the probability with which each weight of a network is kept: p, and 1 of a bias.
func kept(net *layers.Model, p float64) []float32 {
	keep := make([]float32, net.Size())
	for _, s := range net.Segments {
		of := float32(1)
		if layers.Columns(s) > 0 {
			of = float32(p)
		}
		part := s.Of(keep)
		for k := range part {
			part[k] = of
		}
	}
	return keep
}
