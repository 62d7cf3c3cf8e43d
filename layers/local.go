package layers

import "fedbayes/graph"

// An affine is an affine map of x with weights w and a bias b, and max(·, 0) of it if relu.
type affine func(x, w, b *graph.Node, relu bool) *graph.Node

// of returns f of x, with what a source has for the segments w and b.
func (f affine) of(x *graph.Node, from Source, w, b graph.Segment, relu bool) *graph.Node {
	if l, ok := from.(local); ok {
		return l.outputs(f, x, w, b, relu)
	}
	return f(from.Inputs(x, w), from.Weights(w), from.Weights(b), relu)
}

// Local is the source of Gaussian weights of which layers that are affine maps draw their outputs instead, with a noise of
// its own for each example and output: a convolution treats its places as independent. What a loss says of the weights
// varies less so than with one draw for a whole batch, and there are fewer outputs than weights to draw. Of other layers,
// such as those that use their weights more than once, the weights are drawn.
//
// The noise is inputs of the program under a name; see [Model.Noise].
//
// Kingma et al., Variational Dropout and the Local Reparameterization Trick. NeurIPS 2015.
func Local(b *graph.Builder, q graph.Gaussian, name string) Source {
	// Layers take their parts of a view of μ, so that their gradients are put side by side before others, such as that of a
	// divergence, are added.
	mean := graph.Reshape(q.Mu, q.Mu.Shape()[0])
	return local{b, q, point{mean}, point{q.Variance()}, name}
}

type local struct {
	b              *graph.Builder
	q              graph.Gaussian
	mean, variance point
	name           string
}

// outputs draws what f gives.
func (l local) outputs(f affine, x *graph.Node, w, b graph.Segment, relu bool) *graph.Node {
	mean := f(x, l.mean.Weights(w), l.mean.Weights(b), false)
	variance := f(graph.Square(x), l.variance.Weights(w), l.variance.Weights(b), false)
	return graph.Perturb(mean, variance, l.b.Input(noise(l.name, w), mean.Shape()...), relu)
}

func noise(name string, s graph.Segment) string { return name + "/" + s.Name }

// Weights implements [Source]: it draws.
func (l local) Weights(s graph.Segment) *graph.Node {
	part := graph.NewGaussian(graph.Slice(l.q.Mu, s.Offset, s.Size()), graph.Slice(l.q.Rho, s.Offset, s.Size()))
	return graph.Reshape(part.Draw(l.b.Input(noise(l.name, s), s.Size())), s.Shape...)
}

// Inputs implements [Source].
func (local) Inputs(x *graph.Node, _ graph.Segment) *graph.Node { return x }

// Noise returns the noise of the layers of a program with Local sources of some names, in order, to be filled before each
// run; none of one without.
func (m *Model) Noise(e *graph.Executor, names ...string) (all [][]float32) {
	for _, name := range names {
		for _, s := range m.Segments {
			if e.Has(noise(name, s)) {
				all = append(all, e.Buffer(noise(name, s)))
			}
		}
	}
	return all
}
