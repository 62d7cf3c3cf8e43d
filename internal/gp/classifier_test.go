package gp

import (
	"fmt"
	"math"
	"testing"

	"fedbayes/internal/kernels"
)

func narrow(v []float64) []float32 {
	w := make([]float32, len(v))
	for i, x := range v {
		w[i] = float32(x)
	}
	return w
}

// predictions returns log-probabilities [rows, classes] on an instruction set.
func predictions(c *Classifier, isa kernels.ISA, z []float64, width, classes int) []float32 {
	dst := make([]float32, len(z)/width*classes)
	c.LogProbs(kernels.New(isa), dst, narrow(z), classes)
	return dst
}

var models = map[string]Model{
	"variational": {Kernel: paper, Inference: Variational{Sweeps: 20, Tolerance: 1e-3}, Source: source(1)},
	"gibbs":       {Kernel: paper, Inference: Gibbs{Chains: 4, Steps: 3, Source: source(2)}, Source: source(1)},
	"one-vs-rest": {Kernel: paper, Inference: Variational{Sweeps: 20, Tolerance: 1e-3}, OneVsRest: true},
	"fixed":       {Kernel: paper, Inference: fixed{0.2, 0.1}, Source: source(1)},
}

// TestClassifier checks that probabilities sum to 1, that they are right mostly, and, where ω is known, that their float32
// is what Loss makes of the same examples in float64.
func TestClassifier(t *testing.T) {
	const width, classes, known, n = 6, 4, 40, 160
	z, y := clusters(source(11), n, width, classes, 0.4)
	for name, m := range models {
		t.Run(name, func(t *testing.T) {
			c := m.Fit(z[:known*width], y[:known], width)
			for _, isa := range kernels.Available() {
				logp := predictions(c, isa, z[known*width:], width, classes+2)
				var right, nll float64
				for i := range n - known {
					row := logp[i*(classes+2) : (i+1)*(classes+2)]
					var sum float64
					best := 0
					for j, l := range row {
						sum += math.Exp(float64(l))
						if l > row[best] {
							best = j
						}
					}
					within(t, "sum of probabilities", sum, 1, 1e-5)
					if best == int(y[known+i]) {
						right++
					}
					nll -= float64(row[int(y[known+i])]) / float64(n-known)
					for _, l := range row[classes:] {
						within(t, "log p of a class without examples", float64(l), math.Log(floor), 1e-3)
					}
				}
				if right < 0.9*float64(n-known) {
					t.Errorf("%v of %d right", right, n-known)
				}
				if name != "gibbs" { // which draws anew
					want := m.Loss(make([]float64, len(z)), z, y, known, width)
					within(t, "NLL", nll, want, 1e-4)
				}
			}
		})
	}
}

// TestNames checks that what classes are called does not matter.
func TestNames(t *testing.T) {
	const width, classes, known, n = 6, 5, 30, 50
	z, y := clusters(source(12), n, width, classes, 0.5)
	names := []float32{3, 0, 4, 1, 2}
	renamed := make([]float32, known)
	for i := range renamed {
		renamed[i] = names[int(y[i])]
	}
	for name, m := range models {
		if name == "gibbs" || name == "fixed" {
			continue // draws, and ω by order, go by name
		}
		a := predictions(m.Fit(z[:known*width], y[:known], width), kernels.Generic, z[known*width:], width, classes)
		b := predictions(m.Fit(z[:known*width], renamed, width), kernels.Generic, z[known*width:], width, classes)
		for i := range n - known {
			for c := range classes {
				got, want := float64(b[i*classes+int(names[c])]), float64(a[i*classes+c])
				within(t, fmt.Sprintf("%s: log p of class %d after renaming", name, c), got, want, 1e-4*math.Max(1, -want))
			}
		}
	}
}

// TestClassifierEdges covers no example, one example, one class, and embeddings without a direction.
func TestClassifierEdges(t *testing.T) {
	m := models["variational"]
	for _, tt := range []struct {
		what string
		z    []float64
		y    []float32
		want []float64 // probabilities of three classes
	}{
		{"no example", nil, nil, []float64{1.0 / 3, 1.0 / 3, 1.0 / 3}},
		{"one example", []float64{1, 2}, []float32{2}, []float64{0, 0, 1}},
		{"one class", []float64{1, 2, 3, 4}, []float32{1, 1}, []float64{0, 1, 0}},
		{"no direction", make([]float64, 8), []float32{0, 1, 0, 1}, []float64{0.5, 0.5, 0}},
	} {
		c := m.Fit(tt.z, tt.y, 2)
		for _, z := range [][]float64{{1, 3}, {0, 0}} {
			for j, l := range predictions(c, kernels.Generic, z, 2, 3) {
				within(t, fmt.Sprintf("%s: p of class %d at %v", tt.what, j, z), math.Exp(float64(l)), tt.want[j], 1e-6)
				if math.IsInf(float64(l), 0) {
					t.Errorf("%s: log p of class %d is infinite", tt.what, j)
				}
			}
		}
	}
}

// TestNotANumber checks that training that has diverged ends in NaN and not in a loop.
func TestNotANumber(t *testing.T) {
	z, y := clusters(source(13), 8, 2, 2, 0.5)
	z[3] = math.NaN()
	for name, m := range models {
		if nll := m.Loss(make([]float64, len(z)), z, y, 4, 2); !math.IsNaN(nll) {
			t.Errorf("%s: NLL %v, want NaN", name, nll)
		}
		for _, l := range predictions(m.Fit(z, y, 2), kernels.Generic, []float64{1, 2}, 2, 2) {
			if !math.IsNaN(float64(l)) {
				t.Errorf("%s: log-probability %v, want NaN", name, l)
			}
		}
	}
}
