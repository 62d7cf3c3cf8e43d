package layers_test

import (
	"math"
	"slices"
	"testing"

	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

func mnist(t *testing.T) *layers.Model {
	t.Helper()
	m, err := layers.New("mlp", []int{28, 28}, 10)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// moments returns mean and variance.
func moments(v []float32) (mean, variance float64) {
	for _, x := range v {
		mean += float64(x) / float64(len(v))
	}
	for _, x := range v {
		variance += (float64(x) - mean) * (float64(x) - mean) / float64(len(v))
	}
	return mean, variance
}

// Bounds below are five standard deviations of the estimates: of a mean σ/√n, of a variance σ²·√((κ−1)/n) with the
// kurtosis κ = 3 of a normal and 9/5 of a uniform distribution.

func TestInitNormal(t *testing.T) {
	m := mnist(t)
	for _, std := range []float32{0.1, 2} {
		w := m.InitNormal(kernels.New(kernels.Best()), std, rng.Stream{Seed: 1})
		if len(w) != m.Size() {
			t.Fatalf("%d values, want %d", len(w), m.Size())
		}
		for _, s := range m.Segments {
			v := s.Of(w)
			n, variance := float64(len(v)), float64(std)*float64(std)
			mean, got := moments(v)
			if math.Abs(mean) > 5*float64(std)/math.Sqrt(n) {
				t.Errorf("%s: mean %v, want about 0", s, mean)
			}
			if math.Abs(got-variance) > 5*variance*math.Sqrt(2/n) {
				t.Errorf("%s: variance %v, want about %v", s, got, variance)
			}
		}
	}
}

func TestInitUniform(t *testing.T) {
	m := mnist(t)
	w := m.InitUniform(rng.Stream{Seed: 1})
	if len(w) != m.Size() {
		t.Fatalf("%d values, want %d", len(w), m.Size())
	}
	fanIn := map[string]float64{"dense1.weight": 784, "dense1.bias": 784, "dense2.weight": 100, "dense2.bias": 100}
	for _, s := range m.Segments {
		v := s.Of(w)
		a, n := 1/math.Sqrt(fanIn[s.Name]), float64(len(v))
		low, high := float64(slices.Min(v)), float64(slices.Max(v))
		// The largest of n values falls short of a by 2a/n on average, and by 20a/n once in e¹⁰.
		if low < -a || high > a || math.Min(-low, high) < a*(1-20/n) {
			t.Errorf("%s: values from %v to %v, want almost all of ±%v", s, low, high, a)
		}
		mean, variance := moments(v)
		if math.Abs(mean) > 5*a/math.Sqrt(3*n) {
			t.Errorf("%s: mean %v, want about 0", s, mean)
		}
		if want := a * a / 3; math.Abs(variance-want) > 5*want*math.Sqrt(0.8/n) {
			t.Errorf("%s: variance %v, want about %v", s, variance, want)
		}
	}
}

// TestInitIsAddressed checks that the values depend on seed, round and client, and on nothing else.
func TestInitIsAddressed(t *testing.T) {
	m := mnist(t)
	for name, start := range map[string]func(r rng.Stream) []float32{
		"normal":  func(r rng.Stream) []float32 { return m.InitNormal(kernels.New(kernels.Best()), 0.1, r) },
		"uniform": m.InitUniform,
	} {
		at := rng.Stream{Seed: 1}
		want := start(at)
		if !slices.Equal(start(at), want) {
			t.Errorf("%s: two starts of one address", name)
		}
		if !slices.Equal(start(at.For(rng.Noise)), want) {
			t.Errorf("%s: the caller's purpose counts, want that of starts alone", name)
		}
		for what, r := range map[string]rng.Stream{"seed": {Seed: 2}, "client": at.At(0, 1), "round": at.At(1, 0)} {
			equal := 0
			for i, v := range start(r) {
				if v == want[i] {
					equal++
				}
			}
			if equal > m.Size()/1000 {
				t.Errorf("%s: another %s gives %d equal values", name, what, equal)
			}
		}
	}
}

func TestInitHe(t *testing.T) {
	m := mnist(t)
	w := m.InitHe(kernels.New(kernels.Best()), rng.Stream{Seed: 1})
	for _, s := range m.Segments {
		want := 0.0
		if len(s.Shape) > 1 {
			want = 2 / float64(s.FanIn)
		}
		n := float64(s.Size())
		mean, variance := moments(s.Of(w))
		if math.Abs(mean) > 5*math.Sqrt(want/n) || math.Abs(variance-want) > 5*want*math.Sqrt(2/n) {
			t.Errorf("%s: mean %v and variance %v, want about 0 and %v", s, mean, variance, want)
		}
	}
}
