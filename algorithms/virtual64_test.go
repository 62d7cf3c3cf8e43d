package algorithms

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// A free64 is the free energy of one mini-batch for the test network, in float64 and with no regard to how it is computed
// elsewhere.
type free64 struct {
	m          *Virtual
	x, y       []float32
	rows       int
	theta, phi [][]float32 // noise: of all weights, or of the outputs of each layer
	cavity     gaussian64
	n          float64
	total      int
}

// at returns the energy of parameters [μ | ρ] of q and, with a private network, [μ | ρ] of c and the gates.
func (f free64) at(p []float64) float64 {
	d := f.total
	part := func() []float64 { v := p[:d]; p = p[d:]; return v }
	q := gaussian64{part(), part()}
	energy := f.m.KLWeight / f.n * kl64(q, f.cavity)
	var c gaussian64
	if f.m.Lateral {
		c = gaussian64{part(), part()}
		prior := gaussian64{make([]float64, d), make([]float64, d)}
		for i := range prior.rho {
			prior.rho[i] = math.Log(math.E - 1)
		}
		energy += f.m.KLWeight / f.n * kl64(c, prior)
	}
	for i := range f.rows {
		x := widened(f.x[i*testIn : (i+1)*testIn])
		a, z, g := x, x, p
		for l, layer := range [][3]int{{0, testIn, testHidden}, {testIn*testHidden + testHidden, testHidden, testClasses}} {
			z = f.map64(z, q, f.theta, i, l, layer)
			if f.m.Lateral {
				a = f.map64(a, c, f.phi, i, l, layer)
				if l == 0 {
					a = relu64(a)
				} else {
					a = softmax64(a)
				}
				for k := range z {
					z[k] += g[k] * a[k]
				}
				g = g[len(z):]
			}
			if l == 0 {
				z = relu64(z)
			}
		}
		energy -= math.Log(softmax64(z)[int(f.y[i])]) / float64(f.rows)
	}
	return energy
}

// map64 is layer l of a Gaussian network for example i: at an offset of the weights, from in to out values.
func (f free64) map64(x []float64, g gaussian64, noise [][]float32, i, l int, layer [3]int) []float64 {
	at, in, out := layer[0], layer[1], layer[2]
	y := make([]float64, out)
	for o := range y {
		var mean, variance float64
		for k := 0; k <= in; k++ {
			v, j := 1.0, at+in*out+o
			if k < in {
				v, j = x[k], at+k*out+o
			}
			mean += v * g.mu[j]
			variance += v * v * sigma64(g.rho[j]) * sigma64(g.rho[j])
			if f.m.Estimator == "weights" {
				y[o] += v * sigma64(g.rho[j]) * float64(noise[0][j])
			}
		}
		y[o] += mean
		if f.m.Estimator == "local" {
			y[o] += math.Sqrt(variance+1e-12) * float64(noise[l][i*out+o])
		}
	}
	return y
}

func relu64(x []float64) []float64 {
	y := slices.Clone(x)
	for i := range y {
		y[i] = math.Max(y[i], 0)
	}
	return y
}

func softmax64(x []float64) []float64 {
	y, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		y[i] = math.Exp(v)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func kl64(q, w gaussian64) (kl float64) {
	for i := range q.mu {
		sq, sw, d := sigma64(q.rho[i]), sigma64(w.rho[i]), q.mu[i]-w.mu[i]
		kl += math.Log(sw/sq) + (sq*sq+d*d)/(2*sw*sw) - 0.5
	}
	return kl
}

// fit64 moves q and a private network over a round by central differences of the energy.
func (f free64) fit64(q gaussian64, own *PrivateNet, data *Data, r rng.Stream) (fitted, c gaussian64, gates []float64) {
	d := len(q.mu)
	f.total, f.n = d, float64(data.Examples())
	p := slices.Concat(q.mu, q.rho)
	sizes := []int{d, d}
	if own != nil {
		p = slices.Concat(p, widened(own.Phi.Mu), widened(own.Phi.Rho), widened(own.Gates))
		sizes = append(sizes, d, d, len(own.Gates))
	}
	rules := make([]optimizer64, len(sizes))
	for k := range rules {
		rules[k] = optimizer64{adam: f.m.Optimizer == "adam", lr: f.m.LR, beta: f.m.Momentum}
	}
	f.x, f.y = make([]float32, testBatch*testIn), make([]float32, testBatch)
	noise := [][]float32{make([]float32, d)}
	if f.m.Estimator == "local" {
		noise = [][]float32{make([]float32, testBatch*testHidden), make([]float32, testBatch*testClasses)}
	}
	f.theta = noise
	if own != nil {
		for _, v := range f.theta {
			f.phi = append(f.phi, make([]float32, len(v)))
		}
		noise = slices.Concat(f.theta, f.phi)
	}
	cpu := kernels.New(kernels.Generic)
	for step := range data.Steps {
		f.rows = data.Next(f.x, f.y)
		for k := range noise {
			r.For(rng.Noise).Normals(cpu, noise[k], step*len(noise)+k)
		}
		g := fd.Gradient(nil, f.at, p, &fd.Settings{Formula: fd.Central})
		at := 0
		for k, n := range sizes {
			rules[k].update(p[at:at+n], g[at:at+n])
			at += n
		}
		if own != nil {
			for k := range p[4*d:] {
				p[4*d+k] = math.Max(p[4*d+k], 0)
			}
		}
	}
	fitted = gaussian64{p[:d], p[d : 2*d]}
	if own != nil {
		c, gates = gaussian64{p[2*d : 3*d], p[3*d : 4*d]}, p[4*d:]
	}
	return fitted, c, gates
}

// natural64 returns h and τ of a Gaussian.
func natural64(g gaussian64) (h, tau []float64) {
	for i, mu := range g.mu {
		t := 1 / (sigma64(g.rho[i]) * sigma64(g.rho[i]))
		h, tau = append(h, mu*t), append(tau, t)
	}
	return h, tau
}

// relative fails the test unless got is want within a part of scale's values.
func relative(t *testing.T, what string, got, want, scale []float64, tol float64) {
	t.Helper()
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= tol*math.Abs(scale[i])) {
			t.Errorf("%s[%d] = %v, want %v within %v", what, i, got[i], want[i], tol*math.Abs(scale[i]))
			return
		}
	}
}
