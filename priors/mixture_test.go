package priors_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	. "fedbayes/priors"
)

// cloud returns n vectors of d draws of N(mean, std²).
func cloud(r *rand.Rand, n, d int, mean, std float64) [][]float32 {
	vs := make([][]float32, n)
	for i := range vs {
		for range d {
			vs[i] = append(vs[i], float32(mean+std*r.NormFloat64()))
		}
	}
	return vs
}

// energy64 is F(m) of prototypes in float64.
func energy64(m []float64, prototypes [][]float64, variance, temper float64) float64 {
	var a []float64
	for _, r := range prototypes {
		a = append(a, -math.Pow(floats.Distance(m, r, 2), 2)/(2*variance*temper))
	}
	return -temper * floats.LogSumExp(a)
}

// objective64 is what the server minimises, with the prototypes in one vector.
func objective64(flat []float64, ms [][]float32, p Mixture) float64 {
	loss, d := floats.Dot(flat, flat)/2, len(ms[0])
	var prototypes [][]float64
	for ; len(flat) > 0; flat = flat[d:] {
		prototypes = append(prototypes, flat[:d])
	}
	for _, m := range ms {
		loss += energy64(widened(m), prototypes, p.Var, p.Temper)
	}
	return loss
}

func widened(v []float32) []float64 {
	w := make([]float64, len(v))
	for i, x := range v {
		w[i] = float64(x)
	}
	return w
}

// TestMixtureTerm holds the client's term, scaled as a client does, against F and its central differences.
func TestMixtureTerm(t *testing.T) {
	const d, examples = 7, 20
	for _, k := range []int{1, 2, 5} {
		for _, temper := range []float64{1, 4} {
			r := rand.New(rand.NewPCG(1, 2))
			p := Mixture{cloud(r, k, d, 0, 0.5), 0.3, temper}
			data := map[string][]float32{}
			for j, v := range p.Prototypes {
				data[fmt.Sprint("r", j)] = v
			}
			w := cloud(r, 1, d, 0, 0.5)[0]
			graphtest.Check(t, graphtest.Case{
				Build: func(b *graph.Builder) {
					var rs []*graph.Node
					w, s := b.Param("w", d), b.Scalar("s")
					for j := range k {
						rs = append(rs, b.Input(fmt.Sprint("r", j), d))
					}
					b.Minimize("loss", graph.Scale(MixtureTerm(w, s, rs...), b.Scalar("weight")), w)
				},
				Params:  map[string][]float32{"w": w},
				Data:    data,
				Scalars: map[string]float32{"s": float32(1 / (p.Var * temper)), "weight": float32(temper / examples)},
				Loss: func(v map[string][]float64) float64 {
					var rs [][]float64
					for j := range k {
						rs = append(rs, v[fmt.Sprint("r", j)])
					}
					return energy64(v["w"], rs, p.Var, temper) / examples
				},
			})
			var rs [][]float64
			for _, v := range p.Prototypes {
				rs = append(rs, widened(v))
			}
			if got, want := p.Energy(w), energy64(widened(w), rs, p.Var, temper); math.Abs(got-want) > 1e-12*math.Abs(want) {
				t.Errorf("F = %v, want %v", got, want)
			}
		}
	}
}

// TestMixtureUpdate holds a step against numpy: N, K, d = 8, 3, 4, σ² = 0.5, default_rng(0), rounded to float32.
func TestMixtureUpdate(t *testing.T) {
	ms := [][]float32{
		{0.12573022, -0.13210486, 0.64042264, 0.10490011}, {-0.5356694, 0.36159506, 1.304, 0.94708097},
		{-0.70373523, -1.2654215, -0.62327445, 0.04132598}, {-2.3250308, -0.21879166, -1.245911, -0.7322674},
		{-0.544259, -0.31630015, 0.41163054, 1.0425134}, {-0.12853466, 1.3664634, -0.6651947, 0.35151008},
		{0.90347016, 0.0940123, -0.7434993, -0.9217254}, {-0.45772582, 0.22019513, -1.0096182, -0.20917557},
	}
	p := Mixture{Var: 0.5, Temper: 1, Prototypes: [][]float32{
		{-0.15922502, 0.5408456, 0.21465912, 0.3553727}, {-0.6538286, -0.12961364, 0.7839755, 1.4934311},
		{-1.2590655, 1.5139238, 1.3458754, 0.7813114},
	}}
	next, shares := p.Update(ms)
	for j, want := range [][]float64{
		{-0.39619127, 0.05983932, -0.47306857, -0.13329433}, {-0.42267458, -0.16220211, 0.39761319, 0.57188913},
		{-0.1830093, 0.1189466, 0.32527051, 0.26352792},
	} {
		if !floats.EqualApprox(widened(next[j]), want, 1e-7) {
			t.Errorf("prototype %d: %v, want %v", j, next[j], want)
		}
	}
	if want := []float64{0.84952724, 0.14351061, 0.00696215}; !floats.EqualApprox(shares[0], want, 1e-8) {
		t.Errorf("responsibilities %v, want %v", shares[0], want)
	}
	for _, s := range []struct {
		prototypes [][]float32
		want       float64
	}{{p.Prototypes, 25.870763504048504}, {next, 10.375513511948286}} {
		if got := objective64(widened(slices.Concat(s.prototypes...)), ms, p); math.Abs(got-s.want) > 1e-6 {
			t.Errorf("objective %v, want %v", got, s.want)
		}
	}
}

// TestMixtureSteps: no step of EM makes the objective larger, and where the steps end its gradient is 0.
func TestMixtureSteps(t *testing.T) {
	for _, temper := range []float64{1, 3} {
		for seed := range uint64(10) {
			r := rand.New(rand.NewPCG(seed, 3))
			ms := cloud(r, 8, 4, 0, 1)
			p := Mixture{cloud(r, 3, 4, 0, 1), 0.5, temper}
			flat := func() []float64 { return widened(slices.Concat(p.Prototypes...)) }
			loss := func(v []float64) float64 { return objective64(v, ms, p) }
			last := loss(flat())
			for range 30 {
				p.Prototypes, _ = p.Update(ms)
				now := loss(flat())
				if now > last+1e-5 { // as much as rounding prototypes to float32 can bring
					t.Fatalf("T = %v, seed %d: the objective rises from %v to %v", temper, seed, last, now)
				}
				last = now
			}
			for range 5000 {
				p.Prototypes, _ = p.Update(ms)
			}
			g := fd.Gradient(nil, loss, flat(), &fd.Settings{Formula: fd.Central})
			if worst := floats.Norm(g, math.Inf(1)); worst > 3e-4 { // likewise
				t.Errorf("T = %v, seed %d: a gradient of %v where the steps end", temper, seed, worst)
			}
		}
	}
}

// TestMixtureOfOne is the shrunk mean, and the plain one where σ² is 0 as good as.
func TestMixtureOfOne(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	ms := cloud(r, 5, 6, 0, 1)
	for _, variance := range []float64{0.7, 1e-9} {
		next, shares := Mixture{cloud(r, 1, 6, 0, 1), variance, 1}.Update(ms)
		for k := range 6 {
			var sum float64
			for i, m := range ms {
				sum += float64(m[k])
				if shares[i][0] != 1 {
					t.Errorf("a responsibility of %v, want 1", shares[i][0])
				}
			}
			if next[0][k] != float32(sum/(5+variance)) {
				t.Errorf("σ² = %v: %v, want %v", variance, next[0][k], sum/(5+variance))
			}
		}
	}
}

// TestMixtureFar checks that responsibilities sum to 1 where every exp(a) alone is 0: at ‖m − r‖² = 10⁹ and more.
func TestMixtureFar(t *testing.T) {
	far := func(v float32) []float32 { return []float32{v, 0, 0} }
	for name, tt := range map[string]struct {
		p    Mixture
		want []float64
	}{
		"far, equal":       {Mixture{[][]float32{far(4e4), far(-4e4)}, 1, 1}, []float64{0.5, 0.5}},
		"far, one nearest": {Mixture{[][]float32{far(4e4), far(3.9e4), far(1e19)}, 1e-3, 1}, []float64{0, 1, 0}},
		"far and hot":      {Mixture{[][]float32{far(4e4), far(-4e4)}, 1, 1e9}, []float64{0.5, 0.5}},
		"at one of them":   {Mixture{[][]float32{far(0), far(1e5)}, 0.1, 1}, []float64{1, 0}},
	} {
		m := make([]float32, 3)
		if c := tt.p.Responsibilities(m); !floats.EqualApprox(c, tt.want, 1e-12) || math.Abs(floats.Sum(c)-1) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, c, tt.want)
		}
		if e := tt.p.Energy(m); math.IsNaN(e) || math.IsInf(e, 0) {
			t.Errorf("%s: F = %v", name, e)
		}
		next, _ := tt.p.Update([][]float32{m, far(1)})
		for _, r := range next {
			for _, x := range r {
				if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
					t.Errorf("%s: an update to %v", name, r)
				}
			}
		}
	}
}

// TestMixturePlanted recovers two planted clusters, from whatever prototypes it begins with, as long as each is somebody's.
func TestMixturePlanted(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const d = 50
	ms := append(cloud(r, 6, d, 0.5, 0.1), cloud(r, 4, d, -0.5, 0.1)...)
	for seed := range uint64(10) {
		p := Mixture{cloud(rand.New(rand.NewPCG(seed, 9)), 2, d, 0, 1), 0.1, 1}
		var shares [][]float64
		for range 10 {
			p.Prototypes, shares = p.Update(ms)
			p.Reseed(ms, Abandoned(shares))
		}
		first := shares[0][0]
		for i, c := range shares {
			want := first
			if i >= 6 {
				want = 1 - first
			}
			if math.Abs(c[0]-want) > 1e-6 || math.Abs(first-0.5) < 0.49 {
				t.Errorf("seed %d: responsibilities %v", seed, shares)
				break
			}
		}
	}
}

// TestMixtureOrder: prototypes in another order are updated to the same, in that order.
func TestMixtureOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	ms, rs := cloud(r, 5, 4, 0, 1), cloud(r, 3, 4, 0, 1)
	next, shares := Mixture{rs, 0.5, 1}.Update(ms)
	other, otherShares := Mixture{[][]float32{rs[2], rs[0], rs[1]}, 0.5, 1}.Update(ms)
	for k, j := range []int{2, 0, 1} {
		for i := range shares {
			if math.Abs(otherShares[i][k]-shares[i][j]) > 1e-15 {
				t.Errorf("client %d: %v, in the other order %v", i, shares[i], otherShares[i])
			}
		}
		if !floats.EqualApprox(widened(other[k]), widened(next[j]), 1e-7) {
			t.Errorf("prototype %d: %v, in the other order %v", j, next[j], other[k])
		}
	}
}

// TestMixtureTwins shows the trap, that equal prototypes stay equal, at Σ mᵢ/(N + Kσ²), and the way out.
func TestMixtureTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	ms, one := cloud(r, 6, 3, 0, 1), cloud(r, 1, 3, 0, 1)[0]
	p := Mixture{[][]float32{one, one, one}, 0.5, 1}
	for range 3 {
		p.Prototypes, _ = p.Update(ms)
	}
	for k, x := range p.Prototypes[0] {
		var sum float64
		for _, m := range ms {
			sum += float64(m[k])
		}
		if want := sum / (6 + 3*0.5); math.Abs(float64(x)-want) > 1e-6 {
			t.Errorf("[%d] = %v, want %v", k, x, want)
		}
	}
	if twins := p.Twins(); !slices.Equal(twins, []int{1, 2}) {
		t.Fatalf("twins %v, want 1 and 2", twins)
	}
	p.Reseed(ms, p.Twins())
	if twins := p.Twins(); len(twins) > 0 {
		t.Errorf("twins %v after they were parted", twins)
	}
}

// TestMixtureAbandoned: a prototype that is nobody's stays, is named, and is moved to whom the others explain worst.
func TestMixtureAbandoned(t *testing.T) {
	ms := [][]float32{{0, 0}, {0.1, 0}, {3, 0}}
	p := Mixture{[][]float32{{100, 100}, {0.5, 0}}, 0.1, 1}
	next, shares := p.Update(ms)
	if !slices.Equal(next[0], []float32{100, 100}) || slices.Equal(next[1], p.Prototypes[1]) {
		t.Errorf("prototypes %v: want the first where it was, and the second not", next)
	}
	if which := Abandoned(shares); !slices.Equal(which, []int{0}) {
		t.Fatalf("abandoned: %v, want 0", which)
	}
	p.Prototypes = next
	p.Reseed(ms, Abandoned(shares))
	if !slices.Equal(p.Prototypes[0], ms[2]) {
		t.Errorf("moved to %v, want %v", p.Prototypes[0], ms[2])
	}
	if p.Prototypes[0][0] = 7; ms[2][0] != 3 {
		t.Error("the prototype has the client's memory")
	}
}

// TestMixtureNaN: a client that has diverged does not pass unseen.
func TestMixtureNaN(t *testing.T) {
	p := Mixture{[][]float32{{0, 0}, {1, 1}}, 0.1, 1}
	next, _ := p.Update([][]float32{{0, 0}, {float32(math.NaN()), 0}})
	for j, r := range next {
		if !math.IsNaN(float64(r[0])) {
			t.Errorf("prototype %d: %v, want NaN", j, r)
		}
	}
}
