package algorithms

import (
	"fedbayes/graph"
	"fedbayes/priors"
)

// proximal declares the mean cross-entropy of a mini-batch with a term that holds the weights near an anchor:
//
//	CE(w) + μ/2·‖w − anchor‖²
//
// The executor is fed "anchor", of the size of the network, and the scalar "mu".
func proximal(b *graph.Builder, task Task) {
	w, nll := crossEntropy(b, task)
	near := priors.Proximal(w, b.Input("anchor", task.Net.Size()))
	b.Minimize("loss", graph.Sum(graph.Scale(nll, b.Scalar("1/rows")), graph.Scale(near, b.Scalar("mu"))), w)
}
