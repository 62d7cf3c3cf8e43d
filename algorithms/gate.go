package algorithms

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// This file is about gates: what says how much each of several networks counts in a prediction.

// A blend predicts with a convex combination of the probabilities of K networks, Σⱼ gⱼ(x)·p(y|x, rⱼ).
type blend struct {
	networks [][]float32 // r
	gate     gate
}

// A gate returns log gⱼ(x), [n, K], for x [n, in], of which the networks say logp [K][n, classes].
type gate func(w *Worker, x []float32, logp [][]float32) []float64

// Members implements [Predictor]. All members are the same.
func (p *blend) Members(w *Worker, dst, x []float32, m int, _ rng.Stream) {
	n, classes, k := len(x)/w.Net.In, w.Net.Classes, len(p.networks)
	slab := dst[:n*classes]
	if k == 1 {
		w.logProbs(slab, x, p.networks[0])
	} else {
		logp := make([][]float32, k)
		for j, r := range p.networks {
			logp[j] = make([]float32, len(slab))
			w.logProbs(logp[j], x, r)
		}
		logg, terms := p.gate(w, x, logp), make([]float64, k)
		for at := range slab {
			for j := range terms {
				terms[j] = logg[at/classes*k+j] + float64(logp[j][at])
			}
			slab[at] = float32(floats.LogSumExp(terms))
		}
	}
	for i := 1; i < m; i++ {
		copy(dst[i*len(slab):], slab)
	}
}

// Random implements [Predictor].
func (*blend) Random() bool { return false }

// fixed is the gate with the same weights everywhere.
func fixed(weights []float64) gate {
	return func(w *Worker, x []float32, _ [][]float32) []float64 {
		logg := make([]float64, 0, len(x)/w.Net.In*len(weights))
		for range len(x) / w.Net.In {
			for _, g := range weights {
				logg = append(logg, math.Log(g))
			}
		}
		return logg
	}
}

// sure is the gate by which networks count the more the lower the entropy H of what they say is: g ∝ exp(−H/T).
func sure(temper float64) gate {
	return func(w *Worker, x []float32, logp [][]float32) []float64 {
		k, classes := len(logp), w.Net.Classes
		logg := make([]float64, len(x)/w.Net.In*k)
		for i := range len(x) / w.Net.In {
			row := logg[i*k : (i+1)*k]
			for j, p := range logp {
				for _, l := range p[i*classes : (i+1)*classes] {
					if p := math.Exp(float64(l)); p > 0 {
						row[j] += p * float64(l) / temper
					}
				}
			}
			floats.AddConst(-floats.LogSumExp(row), row)
		}
		return logg
	}
}

// learned is the gate of a network with weights gamma, which [gating] has declared.
func learned(gamma []float32) gate {
	return func(w *Worker, x []float32, logp [][]float32) []float64 {
		in, k := w.Net.In, len(logp)
		w.Exec.Feed("gate", gamma)
		logg := make([]float64, 0, len(x)/in*k)
		for len(x) > 0 {
			rows := min(w.Batch, len(x)/in)
			copy(w.Exec.Buffer("x"), x[:rows*in])
			w.Exec.RunOutput("log g", rows)
			for _, l := range w.Exec.Fetch("log g")[:rows*k] {
				logg = append(logg, float64(l))
			}
			x = x[rows*in:]
		}
		return logg
	}
}

// gateWidth is the number of hidden units of a gate's network.
const gateWidth = 64

// gateNet returns the network of a gate between k others, of inputs as they have.
func gateNet(in, k int) *layers.Model {
	net, err := layers.New(fmt.Sprint("mlp:", gateWidth), []int{in}, k)
	if err != nil {
		panic(err)
	}
	return net
}

// gating declares the network of a gate between k others on a batch x [batch, in], and its loss: the cross-entropy between
// targets tⱼ, the same for all examples, and gⱼ(x). The executor is fed the scalar "1/rows" as for the other losses.
func gating(b *graph.Builder, x, mean *graph.Node, batch, k int) {
	net := gateNet(x.Shape()[1], k)
	gamma := b.Param("gate", net.Size())
	logits := net.Logits(x, layers.Point(gamma))
	b.Output("log g", graph.LogSoftmax(logits))
	var terms []*graph.Node
	for j := range k {
		terms = append(terms, graph.Scale(graph.CrossEntropy(logits, b.Input(nth("class", j), batch)), b.Scalar(nth("target", j))))
	}
	loss := graph.Sum(terms...)
	b.Output("gate nll", loss)
	b.Minimize("gate", graph.Scale(loss, mean), gamma)
}

// fitGate moves the weights gamma of a gate to targets for all of a client's examples. A pass over them is one step, on their
// mean loss. Then the mean over clients of a pass is a step on the examples of all; more steps on targets that never differ
// lead to a gate that looks at x less. (For ten clients of MNIST, small regime, in two blocks of labels, the global model was
// right on 88 % of the images after 200 rounds, and with steps on mini-batches of 100 on 81 % at any rate.)
func (w *Worker) fitGate(gamma []float32, targets []float64, of *datasets.Examples, passes int, lr float64) error {
	e, rule, opt := w.Exec, graph.SGD{LR: float32(lr)}, w.forgetful(1)
	e.Feed("gate", gamma)
	e.Set("1/rows", 1/float32(of.Len()))
	for j, t := range targets {
		e.Set(nth("target", j), float32(t))
		class := e.Buffer(nth("class", j))
		for i := range class {
			class[i] = float32(j)
		}
	}
	sum := make([]float32, len(gamma))
	for pass := range passes {
		clear(sum)
		for ids := upTo(of.Len()); len(ids) > 0; {
			rows := w.gather(of, ids)
			e.RunFor("gate", rows)
			if err := finite(pass, "negative log-likelihood of the gate", float64(e.Value("gate nll"))); err != nil {
				return err
			}
			w.CPU.Axpy(sum, 1, e.Grad("gate"))
			ids = ids[rows:]
		}
		rule.Update(w.CPU, opt, gamma, sum)
	}
	return nil
}

// nth names one of several inputs.
func nth(name string, j int) string { return fmt.Sprint(name, " ", j) }
