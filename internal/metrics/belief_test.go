package metrics

import (
	"math"
	"testing"
)

// TestBelief: three members of three classes, by hand; one member alone has no deviation; rounding gives no more than 1; what is not finite stays so.
func TestBelief(t *testing.T) {
	log := func(p ...float64) []float32 {
		var l []float32
		for _, v := range p {
			l = append(l, float32(math.Log(v)))
		}
		return l
	}
	logp := log(0.5, 0.5, 0, 0.25, 0.75, 0, 0.75, 0.25, 0)
	mean, deviation := Belief(logp, 3, 3)
	for c, want := range [][2]float64{{0.5, 0.25}, {0.5, 0.25}, {0, 0}} {
		if math.Abs(mean[c]-want[0]) > 1e-6 || math.Abs(deviation[c]-want[1]) > 1e-6 {
			t.Errorf("class %d: %v ± %v, want %v ± %v", c, mean[c], deviation[c], want[0], want[1])
		}
	}
	if _, deviation = Belief(log(0.1, 0.1, 0.1), 3, 1); deviation[0] != 0 {
		t.Errorf("equal members: ± %v, want 0", deviation[0])
	}
	mean, deviation = Belief(logp[3:6], 1, 3)
	if math.Abs(mean[1]-0.75) > 1e-6 || deviation[1] != 0 {
		t.Errorf("one member: %v ± %v, want 0.75 ± 0", mean[1], deviation[1])
	}
	if mean, _ = Belief([]float32{1e-7}, 1, 1); mean[0] != 1 {
		t.Errorf("rounding: %v, want 1", mean[0])
	}
	if mean, deviation = Belief([]float32{0, float32(math.NaN())}, 2, 1); !math.IsNaN(mean[0]) || !math.IsNaN(deviation[0]) {
		t.Errorf("a member that is NaN: %v ± %v", mean[0], deviation[0])
	}
}
