package priors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "fedbayes/priors"
)

// randomNatural returns a Gaussian over n values with precisions from 0.1 to 10⁶.
func randomNatural(r *rand.Rand, n int) Natural {
	q := NewNatural(n)
	for i := range n {
		q.Tau[i] = math.Pow(10, -1+7*r.Float64())
		q.H[i] = 0.3 * r.NormFloat64() * q.Tau[i]
	}
	return q
}

// closeTo fails the test unless got is want within a relative error.
func closeTo(t *testing.T, what string, got, want Natural, tol float64) {
	t.Helper()
	for i := range want.H {
		if math.Abs(got.H[i]-want.H[i]) > tol*math.Abs(want.H[i]) || math.Abs(got.Tau[i]-want.Tau[i]) > tol*math.Abs(want.Tau[i]) {
			t.Fatalf("%s: [%d] = (%v, %v), want (%v, %v)", what, i, got.H[i], got.Tau[i], want.H[i], want.Tau[i])
		}
	}
}

func TestNaturalMoments(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	q := random(r, 100)
	n := q.Natural()
	for i := range q.Mu {
		s := Sigma(q.Rho[i])
		if want := 1 / (s * s); n.Tau[i] != want || n.H[i] != float64(q.Mu[i])*want {
			t.Fatalf("N(%v, %v²) is h = %v, τ = %v", q.Mu[i], s, n.H[i], n.Tau[i])
		}
	}
	back := n.Gaussian()
	for i := range q.Mu {
		if math.Abs(float64(back.Mu[i]-q.Mu[i])) > 1e-7*math.Abs(float64(q.Mu[i])) || math.Abs(float64(back.Rho[i]-q.Rho[i])) > 1e-6 {
			t.Fatalf("(μ, ρ) = (%v, %v), there and back (%v, %v)", q.Mu[i], q.Rho[i], back.Mu[i], back.Rho[i])
		}
	}
	if p := Normal(1, 0.5); p.H[0] != 0 || p.Tau[0] != 4 {
		t.Errorf("N(0, 0.5²) is %+v", p)
	}
}

// TestProducts checks the algebra, and a product against the density that it stands for.
func TestProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	const n = 50
	a, b := randomNatural(r, n), randomNatural(r, n)
	closeTo(t, "a·b/b", a.Times(b).Over(b), a, 1e-9)
	closeTo(t, "a³", a.Power(3), a.Times(a).Times(a), 1e-14)
	closeTo(t, "no damping", a.Damped(1, b), b, 1e-9)
	closeTo(t, "all damping", a.Damped(0, b), a, 0)
	closeTo(t, "damping", a.Damped(0.25, b), a.Power(0.75).Times(b.Power(0.25)), 1e-12)

	log := func(q Natural, x float64) float64 { return q.H[0]*x - q.Tau[0]*x*x/2 }
	p, q := Natural{[]float64{1}, []float64{4}}, Natural{[]float64{-3}, []float64{2}}
	for x := -2.0; x < 2; x += 0.25 {
		if got, want := log(p.Times(q), x), log(p, x)+log(q, x); math.Abs(got-want) > 1e-12 {
			t.Errorf("log density of a product at %v: %v, want %v", x, got, want)
		}
	}
}

// TestNaturalDivergence has the one value at which the public code of VIRTUAL gives 2.3026, for its use of one Gaussian's
// precision with the other's h.
func TestNaturalDivergence(t *testing.T) {
	q, p := Natural{[]float64{100}, []float64{100}}, Natural{[]float64{0.5}, []float64{1}}
	if got, want := q.Divergence(p), math.Ln10+(0.01+0.25)/2-0.5; math.Abs(got-want) > 1e-12 || math.Abs(want-1.9326) > 5e-5 {
		t.Errorf("KL(N(1, 0.1²) ‖ N(0.5, 1)) = %v, want %v", got, want)
	}
	r := rand.New(rand.NewPCG(25, 26))
	for range 100 {
		a, b := random(r, 20), random(r, 20)
		got, want := a.Natural().Divergence(b.Natural()), Divergence(a, b)
		if math.Abs(got-want) > 1e-12*want || got <= 0 {
			t.Errorf("%v in natural parameters, %v in moments", got, want)
		}
		if self := a.Natural().Divergence(a.Natural()); self != 0 {
			t.Errorf("KL(q‖q) = %v, want 0", self)
		}
		var sum float64
		x, y := randomNatural(r, 20), randomNatural(r, 20)
		for i := range x.H {
			one := func(n Natural) Natural { return Natural{n.H[i : i+1], n.Tau[i : i+1]} }
			sum += one(x).Divergence(one(y))
		}
		if whole := x.Divergence(y); math.Abs(sum-whole) > 1e-12*whole || !(whole > 0) {
			t.Errorf("the sum over coordinates is %v, the whole %v", sum, whole)
		}
	}
}

func TestFloor(t *testing.T) {
	n := Natural{[]float64{1, 2, 3, 4}, []float64{-1, 0, 0.5, 2}}
	if raised := n.Floor(0.5); raised != 2 {
		t.Errorf("%d precisions raised, want 2", raised)
	}
	if want := fmt.Sprint([]float64{0.5, 0.5, 0.5, 2}); fmt.Sprint(n.Tau) != want || fmt.Sprint(n.H) != "[1 2 3 4]" {
		t.Errorf("h %v and τ %v, want τ %v and h as they were", n.H, n.Tau, want)
	}
}

// TestSite checks that a site makes q of its cavity, or, where q is less sure than that, a q that is as sure; and that a
// posterior of such sites is never less sure than the prior, whatever its clients come to and however they are damped.
func TestSite(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	const n, clients = 40, 5
	prior := Normal(n, 1)
	posterior, sites := Normal(n, 1), make([]Natural, clients)
	for k := range sites {
		sites[k] = NewNatural(n)
	}
	raised := 0
	for range 30 {
		received, changes := posterior, prior.Over(prior)
		for k, site := range sites {
			cavity, q := received.Over(site), randomNatural(r, n)
			next, clipped := q.Site(cavity)
			raised += clipped
			made := next.Times(cavity)
			for i := range n {
				mu, tau := q.H[i]/q.Tau[i], max(q.Tau[i], cavity.Tau[i])
				if math.Abs(made.Tau[i]-tau) > 1e-9*tau || math.Abs(made.H[i]-mu*tau) > 1e-6*math.Abs(mu*tau)+1e-6 {
					t.Fatalf("site × cavity is (%v, %v), want (%v, %v)", made.H[i], made.Tau[i], mu*tau, tau)
				}
			}
			damped := site.Damped([]float64{0.1, 0.5, 1}[r.IntN(3)], next)
			changes, sites[k] = changes.Times(damped.Over(site)), damped
		}
		posterior = received.Times(changes)
		for i, tau := range posterior.Tau {
			if tau < prior.Tau[i]*(1-1e-9) || math.IsNaN(posterior.H[i]) {
				t.Fatalf("a posterior of precision %v under a prior of %v", tau, prior.Tau[i])
			}
		}
	}
	if raised == 0 {
		t.Error("no q was less sure than its cavity")
	}
}

// TestConjugate is the model whose exact posterior is known, of means that clients see with noise of 1: a client's likelihood
// is a Gaussian factor, and its best q is cavity × likelihood. One pass in turn is exact, as is one step of all at once
// without damping; with a damping of δ the error shrinks by 1−δ in each.
func TestConjugate(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	prior := Normal(1, 1)
	exact := prior
	var likelihoods []Natural
	for i, n := range []int{5, 20, 50} {
		l := NewNatural(1)
		for range n {
			l.H[0] += 1.5*float64(i) + r.NormFloat64()
			l.Tau[0]++
		}
		likelihoods, exact = append(likelihoods, l), exact.Times(l)
	}
	if exact.Tau[0] != 76 {
		t.Fatalf("the exact posterior has precision %v, want 76", exact.Tau[0])
	}
	start := func() (posterior Natural, sites []Natural) {
		return prior, []Natural{NewNatural(1), NewNatural(1), NewNatural(1)}
	}
	change := func(posterior, site, likelihood Natural, delta float64) Natural {
		cavity := posterior.Over(site)
		next, _ := cavity.Times(likelihood).Site(cavity)
		return site.Damped(delta, next).Over(site)
	}

	posterior, sites := start()
	for k, l := range likelihoods {
		d := change(posterior, sites[k], l, 1)
		posterior = posterior.Times(d)
	}
	closeTo(t, "in turn", posterior, exact, 1e-12)

	for _, delta := range []float64{1, 0.2, 0.5} {
		posterior, sites = start()
		for step := 1; step <= 60; step++ {
			all := NewNatural(1)
			for k, l := range likelihoods {
				d := change(posterior, sites[k], l, delta)
				sites[k], all = sites[k].Times(d), all.Times(d)
			}
			posterior = posterior.Times(all)
			closeTo(t, fmt.Sprintf("δ = %v, posterior = prior × sites", delta), posterior, prior.Times(sites[0]).Times(sites[1]).Times(sites[2]), 1e-12)
			left := math.Pow(1-delta, float64(step))
			if got, want := exact.Tau[0]-posterior.Tau[0], left*(exact.Tau[0]-1); math.Abs(got-want) > 1e-9 {
				t.Fatalf("δ = %v: %v of the precision is missing after %d steps, want %v", delta, got, step, want)
			}
			if got, want := exact.H[0]-posterior.H[0], left*exact.H[0]; math.Abs(got-want) > 1e-9 {
				t.Fatalf("δ = %v: %v of h is missing after %d steps, want %v", delta, got, step, want)
			}
		}
	}
}

func ExampleNatural_Over() {
	q, prior := Natural{[]float64{3}, []float64{4}}, Normal(1, 1)
	likelihood := q.Over(prior)
	fmt.Printf("N(%.2f, %.2f²) is the prior times N(%.2f, %.2f²)\n", q.H[0]/q.Tau[0], 1/math.Sqrt(q.Tau[0]),
		likelihood.H[0]/likelihood.Tau[0], 1/math.Sqrt(likelihood.Tau[0]))
	// Output: N(0.75, 0.50²) is the prior times N(1.00, 0.58²)
}
