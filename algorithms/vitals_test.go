package algorithms

import (
	"math"
	"testing"

	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// TestVitals has states whose norms are those of triangles with whole sides, and a σ of log 2 at ρ = 0.
func TestVitals(t *testing.T) {
	nan := math.NaN()
	g := priors.Gaussian{Mu: []float32{3, 0, -4}, Rho: []float32{0, 0, 0}}
	wide := priors.Gaussian{Mu: g.Mu, Rho: []float32{0, 100, 50}}
	far := NewFedHBNIW()
	far.GM = "student-t"
	niw := FedHBNIWState{Q: priors.NIW{M0: []float32{5, -12}, V: []float32{9, 9}, L0: 3, N0: 5}, Keep: []float32{1, 1}}
	for name, tt := range map[string]struct {
		got, want Vitals
	}{
		"fedavg":               {erase(NewFedAvg()).Vitals(&[]float32{3, 0, -4}), Vitals{5, nan}},
		"a huge one":           {erase(NewFedAvg()).Vitals(&[]float32{3e30, -4e30}), Vitals{5e30, nan}},
		"no number":            {erase(NewFedAvg()).Vitals(&[]float32{1, float32(nan)}), Vitals{nan, nan}},
		"pfedbayes":            {erase(NewPFedBayes()).Vitals(&g), Vitals{5, math.Ln2}},
		"pfedbayes, wide":      {erase(NewPFedBayes()).Vitals(&wide), Vitals{5, (math.Ln2 + 150) / 3}},
		"virtual":              {erase(NewVirtual()).Vitals(&VirtualServer{Theta: g}), Vitals{5, math.Ln2}},
		"fedhb-niw":            {erase(NewFedHBNIW()).Vitals(&niw), Vitals{13, nan}},
		"fedhb-niw, student-t": {erase(far).Vitals(&niw), Vitals{13, nan}},
		"fedhb-mix":            {erase(NewFedHBMix()).Vitals(&FedHBMixState{Prototypes: [][]float32{{5, 12}, {0, -3}, {8, 6}}}), Vitals{3, nan}},
		"bnfed":                {erase(NewBNFed()).Vitals(&BNFedState{Global: Perceptron{W: []float32{8, 6}}}), Vitals{10, nan}},
		"local":                {erase(NewLocal()).Vitals(&[]float32{3, 4}), Vitals{nan, nan}}, // nobody's but its clients'
		"pfedgp":               {erase(NewPFedGP()).Vitals(&[]float32{3, 4}), Vitals{nan, nan}},
	} {
		for _, v := range [][2]float64{{tt.got.Norm, tt.want.Norm}, {tt.got.Sigma, tt.want.Sigma}} {
			if got, want := v[0], v[1]; math.IsNaN(got) != math.IsNaN(want) || math.Abs(got-want) > 1e-6*want {
				t.Errorf("%s: %+v, want %+v", name, tt.got, tt.want)
			}
		}
	}
}

// TestVitalsAtStart: a method with a global model has a norm from the start on, and one with a distribution a σ.
func TestVitalsAtStart(t *testing.T) {
	net, err := layers.New("mlp:5", []int{testIn}, testClasses)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range All() {
		m := e.Presets[0].New()
		s := m.Server(Task{Net: net, Batch: 4, Examples: []int{4, 4}}, kernels.New(kernels.Best()), rng.Stream{Seed: 1})
		v := m.Vitals(s)
		if got, want := v.Norm > 0, m.Global(s) != nil; got != want {
			t.Errorf("%s: %+v, with a global model: %t", e.Name, v, want)
		}
		if got, want := v.Sigma > 0, e.Name == "pfedbayes" || e.Name == "virtual"; got != want {
			t.Errorf("%s: %+v, want a σ: %t", e.Name, v, want)
		}
		if got, want := m.Remedy() != "", e.Name == "fedhb-niw" || e.Name == "fedhb-mix"; got != want {
			t.Errorf("%s: remedy %q", e.Name, m.Remedy())
		}
	}
}

// TestRemedy: what is of no effect is not advised.
func TestRemedy(t *testing.T) {
	for want, m := range map[string]Algorithm{
		"--niw per-weight, a smaller --prior-weight or --prior-count 0": erase(&FedHBNIW{NIW: "full", PriorWeight: 1, PriorCount: 1, KeepProb: 1}),
		"--niw per-weight, a smaller --prior-weight or --keep-prob 1":   erase(&FedHBNIW{NIW: "full", PriorWeight: 1, KeepProb: 0.5}),
		"a smaller --prior-weight or --prior-count 0":                   erase(&FedHBNIW{NIW: "per-weight", PriorWeight: 1, PriorCount: 1, KeepProb: 1}),
		"--prior-count 0": erase(&FedHBNIW{NIW: "per-weight", PriorCount: 1, KeepProb: 1}),
		"a smaller --prototype-var or fewer --prototypes": erase(&FedHBMix{Prototypes: 2}),
		"a smaller --prototype-var":                       erase(&FedHBMix{Prototypes: 1}),
		"":                                                erase(NewFedAvg()),
	} {
		if got := m.Remedy(); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}
