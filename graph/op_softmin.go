package graph

import (
	"fmt"
	"math"
	"slices"
)

// maxAnchors bounds the anchors of a SoftMinDistance, whose weights lie on the stack.
const maxAnchors = 64

// SoftMinDistance returns −log Σⱼ exp(−s·½‖x − aⱼ‖²) for vectors of one size and a scalar s: about s·½‖x − aⱼ‖² of the
// nearest anchor. It has a gradient to x; s and the anchors are constants to it.
//
//	∂/∂x = s·Σⱼ cⱼ·(x − aⱼ)    c = softmax(−s·½‖x − aⱼ‖²)
func SoftMinDistance(x, s *Node, anchors ...*Node) *Node {
	n := size(x.Shape())
	if len(anchors) < 1 || len(anchors) > maxAnchors {
		panic(fmt.Errorf("soft minimum distance: %d anchors, want 1 to %d", len(anchors), maxAnchors))
	}
	want("soft minimum distance", s)
	for _, v := range append(Nodes{x}, anchors...) {
		want("soft minimum distance", v, n)
	}
	return valued("soft minimum distance", softMinDistance{}, align(n), Nodes{x}, append(Nodes{x, s}, anchors...)...)
}

type softMinDistance struct{ terminal }

func (softMinDistance) run(m *machine, out []float32, in [][]float32) {
	x, s, anchors := in[0], in[1][0], in[2:]
	g := out[:len(x)]
	var space [maxAnchors]float64
	c := space[:len(anchors)]
	for j, a := range anchors {
		m.cpu.Combine(g, 1, x, -1, a)
		c[j] = -float64(s) / 2 * squares(g)
	}
	// Of distances that are huge, the difference alone counts.
	top, sum := slices.Max(c), 0.0
	for j := range c {
		c[j] = math.Exp(c[j] - top)
		sum += c[j]
	}
	m.cpu.Combine(g, 1, x, -float32(c[0]/sum), anchors[0])
	for j, a := range anchors[1:] {
		m.cpu.Axpy(g, -float32(c[j+1]/sum), a)
	}
	m.cpu.Scale(g, s, g)
	out[align(len(x))] = float32(-top - math.Log(sum))
}
