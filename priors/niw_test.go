package priors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	. "fedbayes/priors"
)

// TestNIWTerm holds the symbolic term and its gradient against the formula.
func TestNIWTerm(t *testing.T) {
	const n = 37
	r := rand.New(rand.NewPCG(21, 22))
	lambda := make([]float32, n)
	for k := range lambda {
		lambda[k] = 13 * r.Float32()
	}
	graphtest.Check(t, graphtest.Case{
		Build: func(b *graph.Builder) {
			m := b.Param("m", n)
			b.Minimize("loss", NIWTerm(m, b.Input("m0", n), b.Input("lambda", n)), m)
		},
		Params: map[string][]float32{"m": cloud(r, 1, n, 0, 1)[0]},
		Data:   map[string][]float32{"m0": cloud(r, 1, n, 0, 1)[0], "lambda": lambda},
		Loss: func(v map[string][]float64) (sum float64) {
			for k, m := range v["m"] {
				sum += v["lambda"][k] / 2 * (m - v["m0"][k]) * (m - v["m0"][k])
			}
			return sum
		},
	})
}

// A niw64 is a NIW in float64.
type niw64 struct {
	m0, v  []float64
	l0, n0 float64
}

func (q niw64) flat() []float64 {
	x := append([]float64{}, q.m0...)
	for _, v := range q.v {
		x = append(x, math.Log(v))
	}
	return append(x, math.Log(q.l0), math.Log(q.n0))
}

func unflat(x []float64) niw64 {
	d := len(x)/2 - 1
	q := niw64{m0: x[:d], l0: math.Exp(x[2*d]), n0: math.Exp(x[2*d+1])}
	for _, v := range x[d : 2*d] {
		q.v = append(q.v, math.Exp(v))
	}
	return q
}

// free64 is what a server of full NIWs minimises, KL(q ‖ prior) − Σᵢ E log N(θᵢ; μ, Σ), for a prior NIW(0, I, λ0, d+2).
func (q niw64) free64(lambda0 float64, ms [][]float64, keep []float64) float64 {
	d := float64(len(q.m0))
	nu0 := d + 2
	psi := 0.0
	for j := range len(q.m0) {
		psi += mathext.Digamma((q.n0 - float64(j)) / 2)
	}
	logV, trace, square := 0.0, 0.0, 0.0
	for k, v := range q.v {
		logV, trace, square = logV+math.Log(v), trace+1/v, square+q.m0[k]*q.m0[k]/v
	}
	f := 0.5*(d*lambda0/q.l0-d+d*math.Log(q.l0/lambda0)+lambda0*q.n0*square) +
		nu0/2*logV + q.n0/2*(trace-d) + mathext.MvLgamma(nu0/2, len(q.m0)) - mathext.MvLgamma(q.n0/2, len(q.m0)) + (q.n0-nu0)/2*psi
	for _, m := range ms {
		quad := 0.0
		for k, v := range q.v {
			away, m0 := m[k]-q.m0[k], q.m0[k]
			quad += (keep[k]*away*away + (1-keep[k])*m0*m0 + 1e-8) / v
		}
		f += 0.5 * (logV - d*math.Ln2 - psi + q.n0*quad + d/q.l0 + d*math.Log(2*math.Pi))
	}
	return f
}

// weights64 are the same for NIWs of a weight each.
func (q niw64) weights64(lambda0 float64, ms [][]float64, keep []float64) (f float64) {
	for k := range q.m0 {
		var mine [][]float64
		for _, m := range ms {
			mine = append(mine, m[k:k+1])
		}
		f += niw64{q.m0[k : k+1], q.v[k : k+1], q.l0, q.n0}.free64(lambda0, mine, keep[k:k+1])
	}
	return f
}

// TestPosteriorIsOptimal checks that the closed form is a stationary point of the server's objective and its minimum, in
// all of m0, v, l0 and n0 at once, for clients some of whose weights are never lost.
func TestPosteriorIsOptimal(t *testing.T) {
	const d, n = 4, 5
	r := rand.New(rand.NewPCG(23, 24))
	for _, tt := range []struct {
		lambda0 float64
		dims    int
		free    func(niw64, float64, [][]float64, []float64) float64
	}{{1, d, niw64.free64}, {0.3, d, niw64.free64}, {1, 1, niw64.weights64}, {2, 1, niw64.weights64}} {
		t.Run(fmt.Sprintf("λ0=%v, D=%d", tt.lambda0, tt.dims), func(t *testing.T) {
			ms, keep := cloud(r, n, d, 0.5, 1), []float32{0.75, 0.75, 0.75, 1}
			var wide [][]float64
			for _, m := range ms {
				wide = append(wide, widen(m))
			}
			q := NIWPrior{tt.lambda0, tt.dims}.Posterior(ms, keep)
			at := niw64{widen(q.M0), widen(q.V), q.L0, q.N0}.flat()
			free := func(x []float64) float64 { return tt.free(unflat(x), tt.lambda0, wide, widen(keep)) }
			for k, g := range fd.Gradient(nil, free, at, &fd.Settings{Formula: fd.Central}) {
				if math.Abs(g) > 1e-5 {
					t.Errorf("the objective's derivative by parameter %d is %v, want 0", k, g)
				}
			}
			best := free(at)
			for range 1000 {
				x := append([]float64{}, at...)
				for k := range x {
					x[k] += 0.01 * r.NormFloat64()
				}
				if f := free(x); f < best {
					t.Fatalf("near by the objective is %v, less than %v", f, best)
				}
			}
		})
	}
}

func widen(v []float32) []float64 {
	w := make([]float64, len(v))
	for k, x := range v {
		w[k] = float64(x)
	}
	return w
}

// TestPosteriorOfEqualClients has the closed form where all clients have one network: m0 = pN/(N+λ0)·m.
func TestPosteriorOfEqualClients(t *testing.T) {
	const m = 0.8
	for _, tt := range []struct{ n, p, lambda0 float64 }{{1, 1, 1}, {1, 1, 0}, {10, 0.9, 1}, {3, 0.5, 0}} {
		var ms [][]float32
		for range int(tt.n) {
			ms = append(ms, []float32{m})
		}
		q := NIWPrior{tt.lambda0, 1}.Posterior(ms, []float32{float32(tt.p)})
		m0 := tt.p * tt.n / (tt.n + tt.lambda0) * m
		v := 1 + tt.lambda0*m0*m0 + tt.n*(tt.p*(m-m0)*(m-m0)+(1-tt.p)*m0*m0+1e-8)
		if math.Abs(float64(q.M0[0])-m0) > 1e-7 || math.Abs(float64(q.V[0])-v) > 1e-6 || q.L0 != tt.n+tt.lambda0 || q.N0 != tt.n+3 {
			t.Errorf("%+v: %+v, want m0 %v, v %v, l0 %v, n0 %v", tt, q, m0, v, tt.n+tt.lambda0, tt.n+3)
		}
	}
}

// TestScale checks that v is at least 1, as 1/v is a client's weight, and what n0 and the predictive come to for networks of
// real sizes: a full Σ counts them all.
func TestScale(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	keep := make([]float32, 100)
	for k := range keep {
		keep[k] = r.Float32()
	}
	for _, tt := range []struct {
		n, dims int
		n0, std float64 // of a weight with v = 1
	}{{10, 79510, 79522, 0.28968}, {20, 246314, 246336, 0.21342}, {100, 79510, 79612, 0.09902}, {10, 1, 13, 0.28968}} {
		p := NIWPrior{1, tt.dims}
		q := p.Posterior(cloud(r, tt.n, len(keep), 0, 1e-3), keep)
		for k, v := range q.V {
			if !(v >= 1) {
				t.Fatalf("v[%d] = %v, want 1 or more", k, v)
			}
			if got, want := float64(q.Precision()[k]), tt.n0/float64(v); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("precision %v, want %v", got, want)
			}
		}
		nu, b := p.Predictive(q)
		if q.N0 != tt.n0 || nu != float64(tt.n+3) || math.Abs(math.Sqrt(b)-tt.std) > 1e-5 {
			t.Errorf("%d clients, D = %d: n0 %v, ν %v, standard deviation %v; want %v, %v, %v", tt.n, tt.dims, q.N0, nu, math.Sqrt(b), tt.n0, tt.n+3, tt.std)
		}
	}
}

// TestPredictive draws variance, mean and network in turn: the network has the variance of the t, b·v·ν/(ν−2), and its tails.
func TestPredictive(t *testing.T) {
	const draws = 200000
	p := NIWPrior{1, 1}
	q := p.Posterior(cloud(rand.New(rand.NewPCG(27, 28)), 6, 1, 0, 1), []float32{0.9})
	src := rand.New(rand.NewPCG(29, 30))
	m0, v := float64(q.M0[0]), float64(q.V[0])
	nu, b := p.Predictive(q)
	student := distuv.StudentsT{Mu: m0, Sigma: math.Sqrt(b * v), Nu: nu}
	far, precision := student.Quantile(0.99), 0.0
	var variance, tail float64
	for range draws {
		tau := distuv.Gamma{Alpha: q.N0 / 2, Beta: v / 2, Src: src}.Rand() // 1/Σ
		mu := distuv.Normal{Mu: m0, Sigma: math.Sqrt(1 / (tau * q.L0)), Src: src}.Rand()
		theta := distuv.Normal{Mu: mu, Sigma: math.Sqrt(1 / tau), Src: src}.Rand()
		variance += (theta - m0) * (theta - m0) / draws
		precision += tau / draws
		if theta > far {
			tail += 1. / draws
		}
	}
	if want := student.Variance(); math.Abs(variance/want-1) > 0.03 {
		t.Errorf("variance %v, want %v", variance, want)
	}
	if math.Abs(tail-0.01) > 0.0012 {
		t.Errorf("%v of the draws are beyond the t's quantile of 0.99", tail)
	}
	if want := float64(q.Precision()[0]); math.Abs(precision/want-1) > 0.01 {
		t.Errorf("mean precision %v, want %v", precision, want)
	}
}

// TestMode checks that no (μ, Σ) near by has a higher density.
func TestMode(t *testing.T) {
	const d = 3
	r := rand.New(rand.NewPCG(31, 32))
	p := NIWPrior{1, d}
	q := p.Posterior(cloud(r, 5, d, 0, 1), []float32{1, 1, 1})
	density := func(mu, sigma []float64) (f float64) {
		for k := range mu {
			away := mu[k] - float64(q.M0[k])
			f -= (q.N0+d+2)/2*math.Log(sigma[k]) + (float64(q.V[k])+q.L0*away*away)/(2*sigma[k])
		}
		return f
	}
	mu, sigma := widen(q.M0), make([]float64, d)
	for k, tau := range p.ModePrecision(q) {
		sigma[k] = 1 / float64(tau)
	}
	best := density(mu, sigma)
	for range 1000 {
		near, wide := make([]float64, d), make([]float64, d)
		for k := range d {
			near[k], wide[k] = mu[k]+0.01*r.NormFloat64(), sigma[k]*math.Exp(0.01*r.NormFloat64())
		}
		if f := density(near, wide); f > best {
			t.Fatalf("log density %v near by, more than %v", f, best)
		}
	}
}
