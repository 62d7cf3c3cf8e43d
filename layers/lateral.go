package layers

import (
	"fmt"

	"fedbayes/graph"
)

// This file is about two networks of one architecture side by side, a private and a shared one: at each layer the units of
// the shared one listen to those of the private one through gates, numbers that are one for each unit.
//
//	private: a_l = act(C_l·a_{l−1})              a_0 = x
//	shared:  z_l = act(W_l·z_{l−1} + g_l⊙a_l)    z_0 = x
//
// The logits are those of the shared one. The last a is a softmax, and the private convolutions have no ReLU. With gates of
// 0 the shared network is alone.
//
// Corinzia et al., Variational Federated Multi-Task Learning. 2019, and its public code (github.com/lucori/virtual).

// Units returns how many units of a network have gates. An error names a layer that has no lateral form.
func (m *Model) Units() (units int, err error) {
	var h, w, n int // of what a layer gives
	for _, l := range m.Layers {
		switch l := l.(type) {
		case Shape:
			if len(l) == 3 {
				h, w = l[0], l[1]
			}
			continue
		case Pool:
			h, w = l.Window.Places(h, w)
			continue
		case Conv:
			h, w = l.Window.Places(h, w)
			n = h * w * l.Bias.Size()
		case Dense:
			n = l.Bias.Size()
		default:
			return 0, fmt.Errorf("a layer of type %T has no lateral connections", l)
		}
		units += n
	}
	return units, nil
}

// Lateral returns the logits [batch, Classes] of a shared network that listens to a private one, for x [batch, In] and gates
// [Units].
func (m *Model) Lateral(x *graph.Node, shared, private Source, gates *graph.Node) *graph.Node {
	a, z, at := x, x, 0
	for i, l := range m.Layers {
		relu := false
		switch own := l.(type) {
		case Dense:
			a = own.Forward(a, private)
			if i == len(m.Layers)-1 {
				a = graph.Softmax(a)
			}
			relu, own.ReLU = own.ReLU, false
			z = own.Forward(z, shared)
		case Conv:
			relu, own.ReLU = own.ReLU, false
			a, z = own.Forward(a, private), own.Forward(z, shared)
		default:
			a, z = l.Forward(a, private), l.Forward(z, shared)
			continue
		}
		n := z.Shape().TotalSize() / z.Shape()[0]
		z = graph.Gated(z, a, graph.Slice(gates, at, n), relu)
		at += n
	}
	return z
}
