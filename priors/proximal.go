package priors

import "fedbayes/graph"

// Proximal returns the symbolic term ½‖w − a‖², which holds weights w near an anchor a. The anchor has no gradient.
func Proximal(w, a *graph.Node) *graph.Node { return graph.HalfSquaredDistance(w, a) }
