package gp

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
)

// objective64 is what Loss descends along, and the NLL that it returns, written plainly: for each question, the processes
// of each draw of ω by formulas with an inverse, and the mean of −log of the right answer's mean probability.
func objective64(m Model, z []float64, y []float32, known, width int) (loss, nll float64) {
	x := unit(z, width)
	dir, _ := directions(z, width)
	s := m.scheme(dir, y)
	p := map[int][]float64{} // by target, of each class
	for t := known; t < len(y); t++ {
		p[t] = make([]float64, len(s.classes))
		for c := range p[t] {
			p[t][c] = 1
		}
	}
	place := map[float32]int{}
	for c, class := range s.classes {
		place[class] = c
	}
	for _, sp := range s.splits {
		var context, targets [][]float64
		var kappa []float64
		var who []int
		for c := sp.lo; c < sp.hi; c++ { // ω of a fixed inference goes by place
			for i := range known {
				if place[y[i]] != c {
					continue
				}
				context = append(context, x[i])
				if c >= sp.a && c < sp.b {
					kappa = append(kappa, 0.5)
				} else {
					kappa = append(kappa, -0.5)
				}
			}
		}
		inside := 0.0
		for t := known; t < len(y); t++ {
			targets, who = append(targets, x[t]), append(who, t)
			if c := place[y[t]]; c >= sp.lo && c < sp.hi {
				inside++
			}
		}
		k := jittered(m.Kernel, context)
		omegas := m.Inference.Omegas(k, kappa)
		answers := make([]float64, len(who))
		for _, omega := range omegas {
			mean, variance := regression(k, covariance(m.Kernel, targets, context), m.Kernel.Scale+m.Kernel.Jitter, omega, kappa)
			for i := range who {
				yes, _ := logistic(mean[i], variance[i])
				answers[i] += yes / float64(len(omegas))
			}
		}
		for i, t := range who {
			for c := sp.lo; c < sp.hi; c++ {
				switch {
				case c >= sp.a && c < sp.b:
					p[t][c] *= answers[i]
				case !m.OneVsRest:
					p[t][c] *= 1 - answers[i]
				}
			}
			if c := place[y[t]]; c >= sp.a && c < sp.b {
				loss -= math.Log(answers[i]) / inside
			} else if c >= sp.lo && c < sp.hi {
				loss -= math.Log(1-answers[i]) / inside
			}
		}
	}
	for t, q := range p {
		sum := 0.0
		for _, v := range q {
			sum += v
		}
		nll -= math.Log(q[place[y[t]]]/sum) / float64(len(p))
	}
	return loss, nll
}

// TestLoss holds loss and gradient against the plain formulas and their central differences, for trees and one-vs-rest,
// with one draw of ω and with several, and where classes have unlike numbers of examples.
func TestLoss(t *testing.T) {
	for _, classes := range []int{2, 3, 5} {
		for _, ovr := range []bool{false, true} {
			for _, omega := range []fixed{{0.2}, {0.22, 0.07, 0.15}} {
				t.Run(fmt.Sprintf("%d classes/one-vs-rest %v/%d draws", classes, ovr, len(omega)), func(t *testing.T) {
					const width = 4
					n, known := 4*classes+1, 2*classes+1
					z, y := clusters(source(uint64(classes)), n, width, classes, 0.4)
					m := Model{Kernel: Kernel{Scale: 8, Length: 0.8, Jitter: 1e-3}, Inference: omega, OneVsRest: ovr, Source: source(1)}
					dz := make([]float64, len(z))
					got := m.Loss(dz, z, y, known, width)
					_, nll := objective64(m, z, y, known, width)
					within(t, "NLL", got, nll, 1e-9)
					want := fd.Gradient(nil, func(z []float64) float64 {
						loss, _ := objective64(m, z, y, known, width)
						return loss
					}, z, &fd.Settings{Formula: fd.Central})
					for i := range dz {
						within(t, fmt.Sprintf("gradient [%d, %d]", i/width, i%width), dz[i], want[i], 1e-6)
					}
				})
			}
		}
	}
}

// TestLossFalls checks that steps against the gradient, with ω inferred anew in each, make targets more probable.
func TestLossFalls(t *testing.T) {
	const width, classes, n = 5, 4, 40
	for _, inference := range []Inference{Variational{Sweeps: 20, Tolerance: 1e-3}, Gibbs{Chains: 10, Steps: 5, Source: source(1)}} {
		z, y := clusters(source(8), n, width, classes, 1.5)
		m, dz := Model{Kernel: paper, Inference: inference, Source: source(1)}, make([]float64, n*width)
		first := m.Loss(dz, z, y, n/2, width)
		var last float64
		for range 30 {
			last = m.Loss(dz, z, y, n/2, width)
			for i := range z {
				z[i] -= 2 * dz[i]
			}
		}
		if last > 0.7*first {
			t.Errorf("%T: from %v to %v in thirty steps", inference, first, last)
		}
	}
}

// TestLossEdges covers what has no gradient: one class, and embeddings without a direction.
func TestLossEdges(t *testing.T) {
	m := Model{Kernel: paper, Inference: Variational{Sweeps: 20}, Source: source(1)}
	dz := []float64{9, 9, 9, 9, 9, 9}
	if nll := m.Loss(dz, []float64{1, 2, 3, 4, 5, 6}, []float32{4, 4, 4}, 2, 2); nll != 0 {
		t.Errorf("one class: NLL %v, want 0", nll)
	}
	for i, d := range dz {
		within(t, fmt.Sprintf("gradient [%d] of one class", i), d, 0, 0)
	}
	dz = make([]float64, 8)
	nll := m.Loss(dz, make([]float64, 8), []float32{0, 1, 0, 1}, 2, 2)
	within(t, "NLL of examples that are all one", nll, math.Ln2, 1e-9)
	for i, d := range dz {
		within(t, fmt.Sprintf("gradient [%d] without direction", i), d, 0, 0)
	}
}
