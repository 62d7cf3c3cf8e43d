package algorithms

import (
	"math"
	"slices"
	"testing"

	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// The network of these tests has 6 inputs, hidden units and 3 classes; its clients have random examples.
const (
	testIn, testHidden, testClasses = 6, 5, 3
	testBatch                       = 4
)

func testTask(tb testing.TB) Task {
	tb.Helper()
	net, err := layers.New("mlp:5", []int{testIn}, testClasses)
	if err != nil {
		tb.Fatal(err)
	}
	return Task{Net: net, Batch: testBatch}
}

// testWorker returns a worker of m on the best instruction set.
func testWorker(tb testing.TB, m Algorithm) *Worker {
	tb.Helper()
	p, err := Compile(m, testTask(tb))
	if err != nil {
		tb.Fatal(err)
	}
	return p.NewWorker(kernels.New(kernels.Best()))
}

// testExamples returns n random examples that can be learned: the label is the largest of the first inputs.
func testExamples(seed uint64, n int) *datasets.Examples {
	r := rng.Stream{Seed: seed, Purpose: rng.Partition}.Rand()
	ex := &datasets.Examples{X: make([]float32, n*testIn), Y: make([]float32, n), Dim: testIn}
	for i := range ex.X {
		ex.X[i] = float32(r.NormFloat64())
	}
	for i := range n {
		x := ex.X[i*testIn:]
		for c := range testClasses {
			if x[c] > x[int(ex.Y[i])] {
				ex.Y[i] = float32(c)
			}
		}
	}
	return ex
}

func testData(ex *datasets.Examples, steps int, r rng.Stream) *Data {
	return &Data{Batches: &datasets.Batches{Of: ex, Size: testBatch, Stream: r}, Steps: steps}
}

// network64 returns the gradient of the summed negative log-likelihood of the test network with weights th, for rows of
// x and y. It is backpropagation as a textbook has it, in float64.
func network64(th []float64, x, y []float32, rows int) (g []float64) {
	const in, hid, out = testIn, testHidden, testClasses
	w1, b1 := th[:in*hid], th[in*hid:in*hid+hid]
	w2, b2 := th[in*hid+hid:in*hid+hid+hid*out], th[in*hid+hid+hid*out:]
	g = make([]float64, len(th))
	g1, gb1 := g[:in*hid], g[in*hid:in*hid+hid]
	g2, gb2 := g[in*hid+hid:in*hid+hid+hid*out], g[in*hid+hid+hid*out:]
	for i := range rows {
		var h [hid]float64
		for j := range hid {
			h[j] = b1[j]
			for k := range in {
				h[j] += float64(x[i*in+k]) * w1[k*hid+j]
			}
			h[j] = math.Max(h[j], 0)
		}
		var p [out]float64
		var sum float64
		for c := range out {
			p[c] = b2[c]
			for j := range hid {
				p[c] += h[j] * w2[j*out+c]
			}
			p[c] = math.Exp(p[c])
			sum += p[c]
		}
		label := int(y[i])
		var dh [hid]float64
		for c := range out {
			d := p[c] / sum
			if c == label {
				d--
			}
			gb2[c] += d
			for j := range hid {
				g2[j*out+c] += d * h[j]
				dh[j] += d * w2[j*out+c]
			}
		}
		for j := range hid {
			if h[j] == 0 {
				continue
			}
			gb1[j] += dh[j]
			for k := range in {
				g1[k*hid+j] += dh[j] * float64(x[i*in+k])
			}
		}
	}
	return g
}

// loss64 returns the mean negative log-likelihood of the test network with weights th, for rows of x and y, in float64.
func loss64(th []float64, x, y []float32, rows int) (nll float64) {
	const in, hid, out = testIn, testHidden, testClasses
	w1, b1 := th[:in*hid], th[in*hid:in*hid+hid]
	w2, b2 := th[in*hid+hid:in*hid+hid+hid*out], th[in*hid+hid+hid*out:]
	for i := range rows {
		logits, sum := slices.Clone(b2), 0.0
		for j := range hid {
			h := b1[j]
			for k := range in {
				h += float64(x[i*in+k]) * w1[k*hid+j]
			}
			for c := range out {
				logits[c] += math.Max(h, 0) * w2[j*out+c]
			}
		}
		for _, z := range logits {
			sum += math.Exp(z)
		}
		nll += math.Log(sum) - logits[int(y[i])]
	}
	return nll / float64(rows)
}

// optimizer64 is SGD or Adam in float64 for one vector.
type optimizer64 struct {
	adam bool
	lr   float64
	beta float64 // momentum of SGD
	s    int
	m, v []float64
}

func (o *optimizer64) update(p, g []float64) {
	if o.m == nil {
		o.m, o.v = make([]float64, len(p)), make([]float64, len(p))
	}
	o.s++
	for i := range p {
		if !o.adam {
			o.m[i] = o.beta*o.m[i] + g[i]
			p[i] -= o.lr * o.m[i]
			continue
		}
		o.m[i] = 0.9*o.m[i] + 0.1*g[i]
		o.v[i] = 0.999*o.v[i] + 0.001*g[i]*g[i]
		m := o.m[i] / (1 - math.Pow(0.9, float64(o.s)))
		v := o.v[i] / (1 - math.Pow(0.999, float64(o.s)))
		p[i] -= o.lr * m / (math.Sqrt(v) + 1e-8)
	}
}

// gaussian64 is a Gaussian in float64.
type gaussian64 struct{ mu, rho []float64 }

func widen(g priors.Gaussian) gaussian64 { return gaussian64{widened(g.Mu), widened(g.Rho)} }

func widened(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

func sigma64(rho float64) float64   { return math.Log1p(math.Exp(rho)) }
func sigmoid64(rho float64) float64 { return 1 / (1 + math.Exp(-rho)) }

// klGradients64 are those of §1.4's formulas, by coordinate.
func klGradients64(q, w gaussian64) (dq, dw gaussian64) {
	n := len(q.mu)
	dq, dw = gaussian64{make([]float64, n), make([]float64, n)}, gaussian64{make([]float64, n), make([]float64, n)}
	for i := range n {
		sq, sw, d := sigma64(q.rho[i]), sigma64(w.rho[i]), q.mu[i]-w.mu[i]
		dq.mu[i] = d / (sw * sw)
		dw.mu[i] = -dq.mu[i]
		dq.rho[i] = (sq/(sw*sw) - 1/sq) * sigmoid64(q.rho[i])
		dw.rho[i] = (1/sw - (sq*sq+d*d)/(sw*sw*sw)) * sigmoid64(w.rho[i])
	}
	return dq, dw
}

// client64 is one round of a pFedBayes client, written from ALGORITHMS' pseudocode with a loop a line and no regard to
// the product's structure.
func client64(m *PFedBayes, v, q0 priors.Gaussian, data *Data, r rng.Stream) (q, w gaussian64) {
	q, w = widen(q0), widen(v)
	n, d := float64(data.Examples()), len(v.Mu)
	rule := func(lr float64) optimizer64 {
		return optimizer64{adam: m.Optimizer == "adam", lr: lr, beta: m.Momentum}
	}
	optMu, optRho, optWMu, optWRho := rule(m.LR), rule(m.LR), rule(m.LRGlobal), rule(m.LRGlobal)
	cpu := kernels.New(kernels.Generic)
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	for step := range data.Steps {
		rows := data.Next(x, y)
		a, zeta, c := n/float64(rows), m.Zeta, 1.0
		switch m.Likelihood {
		case "mean":
			a, zeta, c = 1/float64(rows), m.Zeta/n, 1/n
		case "batch":
			a, zeta, c = 1, m.Zeta/float64(data.Steps), m.Zeta/float64(data.Steps)
		}
		var dw gaussian64
		for j := range m.PersonalSteps {
			gMu, gRho := make([]float64, d), make([]float64, d)
			for k := range m.Samples {
				eps := make([]float32, d)
				r.For(rng.Noise).Normals(cpu, eps, (step*m.PersonalSteps+j)*m.Samples+k)
				th := make([]float64, d)
				for i := range th {
					th[i] = q.mu[i] + sigma64(q.rho[i])*m.NoiseScale*float64(eps[i])
				}
				g := network64(th, x, y, rows)
				for i := range g {
					gMu[i] += a / float64(m.Samples) * g[i]
					gRho[i] += a / float64(m.Samples) * g[i] * m.NoiseScale * float64(eps[i]) * sigmoid64(q.rho[i])
				}
			}
			var dq gaussian64
			dq, dw = klGradients64(q, w)
			for i := range gMu {
				gMu[i] += zeta * dq.mu[i]
				gRho[i] += zeta * dq.rho[i]
			}
			optMu.update(q.mu, gMu)
			optRho.update(q.rho, gRho)
		}
		if m.Rule == "closed-form" {
			continue
		}
		if m.UpdateOrder == "sequential" {
			_, dw = klGradients64(q, w)
		}
		for i := range d {
			dw.mu[i] *= c
			dw.rho[i] *= c
		}
		optWMu.update(w.mu, dw.mu)
		optWRho.update(w.rho, dw.rho)
	}
	if m.Rule == "closed-form" {
		return q, q
	}
	return q, w
}

// server64 is the paper's server with β, over equally weighted or data-weighted clients.
func server64(m *PFedBayes, v gaussian64, ws []gaussian64, examples []float64) gaussian64 {
	out := gaussian64{make([]float64, len(v.mu)), make([]float64, len(v.mu))}
	var sum float64
	for k := range ws {
		a := 1.0
		if m.Weighting == "data" {
			a = examples[k]
		}
		sum += a
		for i := range out.mu {
			out.mu[i] += a * ws[k].mu[i]
			out.rho[i] += a * ws[k].rho[i]
		}
	}
	for i := range out.mu {
		out.mu[i] = (1-m.Beta)*v.mu[i] + m.Beta*out.mu[i]/sum
		out.rho[i] = (1-m.Beta)*v.rho[i] + m.Beta*out.rho[i]/sum
	}
	return out
}

// near fails the test unless got is want within tol.
func near(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i]) - want[i]); !(d <= tol) {
			t.Errorf("%s[%d] = %v, want %v within %v", what, i, got[i], want[i], tol)
			return
		}
	}
}
