package algorithms

import (
	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// A Predictor gives class probabilities.
type Predictor interface {
	// Members writes log-probabilities into dst [max(m, 1), n, classes] for x [n, in]: one slab for each of m draws of
	// the weights, or one for their mean if m is 0. A draw serves all n examples. Equal r gives equal draws.
	Members(w *Worker, dst, x []float32, m int, r rng.Stream)

	// Random reports whether draws differ from each other.
	Random() bool
}

// predictRows is how many examples a forward pass takes at once. More would push the weights out of the cache.
const predictRows = 128

// prediction declares the forward pass of a network with point weights.
func prediction(b *graph.Builder, net *layers.Model) {
	logits := net.Logits(b.Input("x", predictRows, net.In), layers.Point(b.Input("w", net.Size())))
	b.Output("log p", graph.LogSoftmax(logits))
}

// logProbs writes log p(y|x, weights) into dst [n, classes] for x [n, in].
func (w *Worker) logProbs(dst, x, weights []float32) {
	w.predict.Feed("w", weights)
	w.forward(w.predict, "x", dst, x)
}

// forward writes the output "log p" of a program into dst [n, classes] for x [n, in], through the input of a name, which
// takes predictRows examples.
func (w *Worker) forward(e *graph.Executor, input string, dst, x []float32) {
	in, classes := w.Net.In, w.Net.Classes
	for len(x) > 0 {
		rows := min(predictRows, len(x)/in)
		if rows == predictRows {
			e.Feed(input, x[:rows*in])
		} else {
			e.Feed(input, append(x[:rows*in:rows*in], make([]float32, (predictRows-rows)*in)...))
		}
		e.RunOutput("log p", rows)
		copy(dst, e.Fetch("log p")[:rows*classes])
		dst, x = dst[rows*classes:], x[rows*in:]
	}
}

// loss returns the negative log-likelihood of weights, summed over examples.
func (w *Worker) loss(weights []float32, of *datasets.Examples) (nll float64) {
	logp := make([]float32, of.Len()*w.Net.Classes)
	w.logProbs(logp, of.X, weights)
	for i, label := range of.Y {
		nll -= float64(logp[i*w.Net.Classes+int(label)])
	}
	return nll
}

// Point predicts with one weight vector.
type Point []float32

// Members implements [Predictor]. All members are the same.
func (p Point) Members(w *Worker, dst, x []float32, m int, _ rng.Stream) {
	slab := len(x) / w.Net.In * w.Net.Classes
	w.logProbs(dst[:slab], x, p)
	for i := 1; i < m; i++ {
		copy(dst[i*slab:(i+1)*slab], dst)
	}
}

// Random implements [Predictor].
func (Point) Random() bool { return false }

// Bayes predicts with draws from a Gaussian over the weights, or with its mean.
type Bayes priors.Gaussian

// Members implements [Predictor].
func (p Bayes) Members(w *Worker, dst, x []float32, m int, r rng.Stream) {
	if m == 0 {
		w.logProbs(dst, x, p.Mu)
		return
	}
	slab := len(x) / w.Net.In * w.Net.Classes
	s := newSampler(w.CPU, priors.Gaussian(p), w.draw)
	for i := range m {
		w.logProbs(dst[i*slab:(i+1)*slab], x, s.draw(w.CPU, r, i))
	}
}

// Random implements [Predictor].
func (Bayes) Random() bool { return true }

// A sampler draws the weights of predictions from a Gaussian.
type sampler struct {
	mu, sigma, theta []float32
}

// newSampler returns the sampler of g, whose draws go to theta.
func newSampler(cpu *kernels.CPU, g priors.Gaussian, theta []float32) sampler {
	s := sampler{g.Mu, make([]float32, len(g.Mu)), theta}
	cpu.Softplus(s.sigma, theta, g.Rho)
	return s
}

// draw returns draw i of an evaluation. The next one overwrites it.
func (s sampler) draw(cpu *kernels.CPU, r rng.Stream, i int) []float32 {
	r.For(rng.Eval).Normals(cpu, s.theta, i)
	cpu.Sample(s.theta, s.mu, s.sigma, s.theta)
	return s.theta
}
