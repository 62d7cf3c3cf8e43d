package algorithms

import (
	"math"
	"math/rand/v2"
	"testing"

	"fedbayes/priors"
)

func TestChange(t *testing.T) {
	r := rand.New(rand.NewPCG(53, 54))
	const n = 19
	base, factor, keep := priors.NewNatural(n), priors.NewNatural(n), make([]bool, n)
	for i := range n {
		base.H[i], base.Tau[i] = r.NormFloat64(), r.Float64()
		factor.H[i], factor.Tau[i], keep[i] = r.NormFloat64(), r.NormFloat64(), r.IntN(3) > 0
	}
	keep[n-1] = false
	for name, at := range map[string][]bool{"some": keep, "all": nil, "none": make([]bool, n)} {
		c := changeAt(factor, at)
		got := c.to(base, 1)
		for i := range n {
			wantH, wantTau := base.H[i], base.Tau[i]
			if at == nil || at[i] {
				wantH, wantTau = wantH+factor.H[i], wantTau+factor.Tau[i]
			}
			if math.Abs(got.H[i]-wantH) > 1e-6 || math.Abs(got.Tau[i]-wantTau) > 1e-6 {
				t.Errorf("%s: [%d] = (%v, %v), want (%v, %v)", name, i, got.H[i], got.Tau[i], wantH, wantTau)
			}
		}
	}
	c := changeAt(factor, keep)
	half := make([]bool, n)
	for i := range half {
		half[i] = i%2 == 0
	}
	c.only(half).each(func(i int, h, _ float64) {
		if !half[i] || !keep[i] || h != float64(float32(factor.H[i])) {
			t.Errorf("coordinate %d is in a part of the change, with h %v", i, h)
		}
	})
	if got := c.only(make([]bool, n)); got.Mask != nil || got.H != nil {
		t.Errorf("no part of a change is %+v, want nothing", got)
	}
}

// TestChangeRoundsDown checks that a site whose precision a change takes away whole is not left with less than none.
func TestChangeRoundsDown(t *testing.T) {
	r := rand.New(rand.NewPCG(55, 56))
	site := priors.NewNatural(1000)
	for i := range site.Tau {
		site.Tau[i] = math.Exp(20 * r.Float64())
	}
	left := changeAt(site.Power(-1), nil).to(site, 1)
	for i, tau := range left.Tau {
		if tau < 0 || tau > 2e-7*site.Tau[i] {
			t.Fatalf("a precision of %v, less all of it, leaves %v", site.Tau[i], tau)
		}
	}
}
