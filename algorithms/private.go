package algorithms

import (
	"math"

	"fedbayes/graph"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// A PrivateNet is a client's own half of a network whose shared half listens to it: see layers.Model.Lateral.
type PrivateNet struct {
	Phi   priors.Gaussian // of the model's layout
	Gates []float32       // one for each unit, none negative
}

// maxGate bounds the gates of a new private network, which are uniform, as in the public code of VIRTUAL.
const maxGate = 0.1

// newPrivateNet returns the private network that a client begins with, whose weights all have one ρ.
func (w *Worker) newPrivateNet(rho float64, r rng.Stream) *PrivateNet {
	units, _ := w.Net.Units() // or the method would not have accepted the network
	p := &PrivateNet{priors.Constant(w.Net.InitHe(w.CPU, r), float32(rho)), make([]float32, units)}
	r.For(rng.Init).Normals(w.CPU, p.Gates, 1)
	for i, z := range p.Gates {
		p.Gates[i] = float32(maxGate / 2 * math.Erfc(-float64(z)/math.Sqrt2))
	}
	return p
}

// predictTogether declares the forward pass of both halves with point weights.
func predictTogether(b *graph.Builder, net *layers.Model, gates *graph.Node) {
	x := b.Input("predict x", predictRows, net.In)
	theta, phi := b.Input("predict theta", net.Size()), b.Input("predict phi", net.Size())
	b.Output("log p", graph.LogSoftmax(net.Lateral(x, layers.Point(theta), layers.Point(phi), gates)))
}

// together predicts with draws from the shared half and from the private one, or with their means.
type together struct {
	theta priors.Gaussian
	PrivateNet
}

// Members implements [Predictor]. The objective of w is one with predictTogether.
func (p together) Members(w *Worker, dst, x []float32, m int, r rng.Stream) {
	e := w.Exec
	e.Feed("gates", p.Gates)
	slab := len(x) / w.Net.In * w.Net.Classes
	theta, phi := p.theta.Mu, p.Phi.Mu
	s, t := newSampler(w.CPU, p.theta, w.draw), newSampler(w.CPU, p.Phi, make([]float32, len(phi)))
	for i := range max(m, 1) {
		if m > 0 {
			theta, phi = s.draw(w.CPU, r, 2*i), t.draw(w.CPU, r, 2*i+1)
		}
		e.Feed("predict theta", theta)
		e.Feed("predict phi", phi)
		w.forward(e, "predict x", dst[i*slab:(i+1)*slab], x)
	}
}

// Random implements [Predictor].
func (together) Random() bool { return true }
