package priors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	. "fedbayes/priors"
)

// random returns a Gaussian over n weights like those of a network in training.
func random(r *rand.Rand, n int) Gaussian {
	g := Gaussian{make([]float32, n), make([]float32, n)}
	for i := range n {
		g.Mu[i] = float32(0.3 * r.NormFloat64())
		g.Rho[i] = float32(-2 + r.NormFloat64())
	}
	return g
}

// TestSigma covers both ends, where log(1+e^ρ) in one step would be 0 or infinite.
func TestSigma(t *testing.T) {
	for _, tt := range []struct {
		rho  float32
		want float64
	}{
		{0, math.Ln2},
		{-2.5, 0.07888973429254956},
		{-15, math.Log1p(math.Exp(-15))},
		{-87, math.Exp(-87)},
		{100, 100},
	} {
		if got := Sigma(tt.rho); math.Abs(got-tt.want) > 1e-12*tt.want {
			t.Errorf("Sigma(%v) = %v, want %v", tt.rho, got, tt.want)
		}
	}
}

func TestRhoInvertsSigma(t *testing.T) {
	for rho := float32(-87); rho < 90; rho += 0.25 {
		if got := Rho(Sigma(rho)); math.Abs(float64(got-rho)) > 2e-6*math.Max(1, math.Abs(float64(rho))) {
			t.Errorf("Rho(Sigma(%v)) = %v", rho, got)
		}
	}
}

func TestDivergence(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		q, w := random(r, 20), random(r, 20)
		if kl := Divergence(q, q); kl != 0 {
			t.Errorf("KL(q‖q) = %v, want 0", kl)
		}
		kl := Divergence(q, w)
		if kl <= 0 {
			t.Errorf("KL(q‖w) = %v, want more than 0", kl)
		}
		var sum, natural float64
		for i := range q.Mu {
			one := func(g Gaussian) Gaussian { return Gaussian{g.Mu[i : i+1], g.Rho[i : i+1]} }
			sum += Divergence(one(q), one(w))
			natural += naturalKL(one(q), one(w))
		}
		if math.Abs(sum-kl) > 1e-12*kl {
			t.Errorf("the sum over coordinates is %v, the whole %v", sum, kl)
		}
		if math.Abs(natural-kl) > 1e-12*kl {
			t.Errorf("%v in natural parameters, %v in moments", natural, kl)
		}
	}
}

// naturalKL is the divergence of two numbers' Gaussians in h = μ/σ² and τ = 1/σ².
func naturalKL(q, w Gaussian) float64 {
	natural := func(g Gaussian) (h, tau float64) {
		s := Sigma(g.Rho[0])
		return float64(g.Mu[0]) / (s * s), 1 / (s * s)
	}
	hq, tq := natural(q)
	hw, tw := natural(w)
	d := hq/tq - hw/tw
	return 0.5 * (tw/tq - 1 + math.Log(tq) - math.Log(tw) + tw*d*d)
}

// TestKL holds the symbolic term against Divergence, at equality too, where value and gradients are exactly zero.
func TestKL(t *testing.T) {
	const n = 37
	r := rand.New(rand.NewPCG(3, 4))
	q, w := random(r, n), random(r, n)
	build := func(b *graph.Builder) {
		q, w := b.Gaussian("q", n), b.Gaussian("w", n)
		b.Minimize("loss", KL(q, w), q.Mu, q.Rho, w.Mu, w.Rho)
	}
	loss := func(v map[string][]float64) float64 {
		var kl float64
		for i := range n {
			sq, sw := math.Log1p(math.Exp(v["q.rho"][i])), math.Log1p(math.Exp(v["w.rho"][i]))
			d := v["q.mu"][i] - v["w.mu"][i]
			kl += math.Log(sw/sq) + (sq*sq+d*d)/(2*sw*sw) - 0.5
		}
		return kl
	}
	for name, w := range map[string]Gaussian{"apart": w, "equal": q} {
		t.Run(name, func(t *testing.T) {
			graphtest.Check(t, graphtest.Case{
				Build:  build,
				Params: map[string][]float32{"q.mu": q.Mu, "q.rho": q.Rho, "w.mu": w.Mu, "w.rho": w.Rho},
				Loss:   loss,
			})
		})
	}
}

// TestMeans holds each rule against the mean in the space that it names.
func TestMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const n = 50
	old, qs := random(r, n), []Gaussian{random(r, n), random(r, n), random(r, n)}
	weights := []float64{1, 2, 5}
	for rule, to := range map[Rule]func(float64) float64{
		RhoMean:   func(rho float64) float64 { return rho },
		SigmaMean: func(rho float64) float64 { return math.Log1p(math.Exp(rho)) },
		VarMean:   func(rho float64) float64 { return math.Pow(math.Log1p(math.Exp(rho)), 2) },
	} {
		for _, beta := range []float64{1, 0.5, 0} {
			t.Run(fmt.Sprintf("%s/beta=%v", rule, beta), func(t *testing.T) {
				got := rule.Average(old, qs, weights, beta)
				for i := range n {
					var mu, v float64
					for k, q := range qs {
						mu += weights[k] * float64(q.Mu[i]) / 8
						v += weights[k] * to(float64(q.Rho[i])) / 8
					}
					mu = (1-beta)*float64(old.Mu[i]) + beta*mu
					v = (1-beta)*to(float64(old.Rho[i])) + beta*v
					if d := float64(got.Mu[i]) - mu; math.Abs(d) > 1e-6 {
						t.Fatalf("μ[%d] = %v, want %v", i, got.Mu[i], mu)
					}
					if d := to(float64(got.Rho[i])) - v; math.Abs(d) > 1e-6*math.Max(1, math.Abs(v)) {
						t.Fatalf("ρ[%d] = %v, which is %v in the rule's space, want %v", i, got.Rho[i], to(float64(got.Rho[i])), v)
					}
				}
			})
		}
	}
}

// TestRhoMeanIsExact is the paper's server: with β = 1 the arithmetic mean in float64, to the bit; with β = 0 no change.
func TestRhoMeanIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const n = 200
	old, qs := random(r, n), []Gaussian{random(r, n), random(r, n), random(r, n)}
	ones := []float64{1, 1, 1}
	got := RhoMean.Average(old, qs, ones, 1)
	for i := range n {
		mu := (float64(qs[0].Mu[i]) + float64(qs[1].Mu[i]) + float64(qs[2].Mu[i])) / 3
		rho := (float64(qs[0].Rho[i]) + float64(qs[1].Rho[i]) + float64(qs[2].Rho[i])) / 3
		if got.Mu[i] != float32(mu) || got.Rho[i] != float32(rho) {
			t.Fatalf("[%d]: (%v, %v), want (%v, %v)", i, got.Mu[i], got.Rho[i], float32(mu), float32(rho))
		}
	}
	if still := RhoMean.Average(old, qs, ones, 0); !slices.Equal(still.Mu, old.Mu) || !slices.Equal(still.Rho, old.Rho) {
		t.Error("β = 0 moved the server")
	}
}

// TestOrder checks that the order of the clients does not matter, to the bit: sums of a few float32 are exact in float64.
func TestOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	const n = 1000
	old, a, b, c := random(r, n), random(r, n), random(r, n), random(r, n)
	x := RhoMean.Average(old, []Gaussian{a, b, c}, []float64{50, 20, 30}, 1)
	y := RhoMean.Average(old, []Gaussian{c, a, b}, []float64{30, 50, 20}, 1)
	if !slices.Equal(x.Mu, y.Mu) || !slices.Equal(x.Rho, y.Rho) {
		t.Error("the order of the clients changes the mean")
	}
}

// TestClosedForm checks that the closed form minimises the mean divergence, and its special cases.
func TestClosedForm(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	const n = 10
	old, qs := random(r, n), []Gaussian{random(r, n), random(r, n), random(r, n)}
	weights := []float64{0.2, 0.5, 0.3}
	mean := func(w Gaussian) (kl float64) {
		for k, q := range qs {
			kl += weights[k] * Divergence(q, w)
		}
		return kl
	}
	w := ClosedForm.Average(old, qs, weights, 1)
	best := mean(w)
	for range 1000 {
		p := w.Clone()
		i, up := r.IntN(n), float32(1e-3*(2*r.Float64()-1))
		if r.IntN(2) == 0 {
			p.Mu[i] += up
		} else {
			p.Rho[i] = Rho(Sigma(p.Rho[i]) * math.Exp(float64(up)))
		}
		// A step of 1e-5 changes the mean by as little as float32 rounds w.
		if math.Abs(float64(up)) > 1e-5 && mean(p) <= best {
			t.Fatalf("moving weight %d by %v lowers the mean divergence from %v to %v", i, up, best, mean(p))
		}
	}
	// ½ Σ log σ_w² − Σᵢ aᵢ Σ log σᵢ is the minimum.
	var want float64
	for k := range n {
		want += math.Log(Sigma(w.Rho[k]))
		for i, q := range qs {
			want -= weights[i] * math.Log(Sigma(q.Rho[k]))
		}
	}
	if math.Abs(best-want) > 1e-5*want {
		t.Errorf("minimum %v, want %v", best, want)
	}
	for name, clients := range map[string][]Gaussian{"one client": qs[:1], "identical clients": {qs[0], qs[0], qs[0]}} {
		got := ClosedForm.Average(old, clients, []float64{1, 1, 1}[:len(clients)], 1)
		for i := range n {
			if math.Abs(float64(got.Mu[i]-qs[0].Mu[i])) > 1e-7 || math.Abs(float64(got.Rho[i]-qs[0].Rho[i])) > 1e-6 {
				t.Fatalf("%s: (%v, %v), want the client's (%v, %v)", name, got.Mu[i], got.Rho[i], qs[0].Mu[i], qs[0].Rho[i])
			}
		}
	}
}

// TestJensen is the reason for the rules: the mean of ρ has the smallest σ, the closed form the largest.
func TestJensen(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	const n = 30
	qs := []Gaussian{random(r, n), random(r, n)}
	var last []float64
	for _, rule := range Rules() {
		w := rule.Average(qs[0], qs, []float64{1, 1}, 1)
		sigma := make([]float64, n)
		for i := range n {
			sigma[i] = Sigma(w.Rho[i])
			if last != nil && sigma[i] < last[i]*(1-1e-6) {
				t.Errorf("%s: σ[%d] = %v, less than %v of the rule before", rule, i, sigma[i], last[i])
			}
		}
		last = sigma
	}
}

func ExampleRule_Average() {
	one := Constant([]float32{0}, Rho(0.3))
	two := Constant([]float32{1}, Rho(0.3))
	for _, rule := range []Rule{RhoMean, ClosedForm} {
		w := rule.Average(one, []Gaussian{one, two}, []float64{1, 1}, 1)
		fmt.Printf("%s: N(%.2f, %.2f²)\n", rule, w.Mu[0], Sigma(w.Rho[0]))
	}
	// Output:
	// rho-mean: N(0.50, 0.30²)
	// closed-form: N(0.50, 0.58²)
}

// BenchmarkAverage times a server over ten clients of the network 784-100-10.
func BenchmarkAverage(b *testing.B) {
	r := rand.New(rand.NewPCG(15, 16))
	const n = 79510
	var qs []Gaussian
	var weights []float64
	for range 10 {
		qs, weights = append(qs, random(r, n)), append(weights, 1)
	}
	for _, rule := range Rules() {
		b.Run(string(rule), func(b *testing.B) {
			for b.Loop() {
				rule.Average(qs[0], qs, weights, 1)
			}
		})
	}
}
