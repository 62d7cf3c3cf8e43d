package federation

import (
	"fmt"

	"fedbayes/algorithms"
	"fedbayes/internal/state"
	"fedbayes/layers"
)

// The kinds of models that are weights and nothing else, and so can be kept in a file of their own.
const (
	pointModel    = "point"
	gaussianModel = "gaussian"
	dropoutModel  = "dropout"
)

// ModelTensors returns what kind of model a predictor is, and its weights as tensors: weights/… of a point, q.mu/… and
// q.rho/… of a Gaussian, where σ = log(1+e^ρ), q.w/… and q.keep of weights that columns are dropped from. There are none if
// it is more than its weights.
func ModelTensors(net *layers.Model, p algorithms.Predictor) (kind string, tensors []state.Tensor) {
	switch p := p.(type) {
	case algorithms.Point:
		weights := []float32(p)
		return pointModel, state.Tensors("weights", &weights, net.Layout)
	case algorithms.Bayes:
		return gaussianModel, state.Tensors("q", &p, net.Layout)
	case algorithms.Dropout:
		return dropoutModel, state.Tensors("q", &p, net.Layout)
	}
	return "", nil
}

// FillModel makes the predictor that ModelTensors made tensors of.
func FillModel(net *layers.Model, kind string, from state.Source) (algorithms.Predictor, error) {
	switch kind {
	case pointModel:
		var weights []float32
		err := state.Fill("weights", &weights, net.Layout, from)
		if err == nil && len(weights) != net.Size() {
			err = fmt.Errorf("%d weights, want %d", len(weights), net.Size())
		}
		return algorithms.Point(weights), err
	case gaussianModel:
		var q algorithms.Bayes
		err := state.Fill("q", &q, net.Layout, from)
		if err == nil && (len(q.Mu) != net.Size() || len(q.Rho) != net.Size()) {
			err = fmt.Errorf("%d means and %d values of ρ, want %d", len(q.Mu), len(q.Rho), net.Size())
		}
		return q, err
	case dropoutModel:
		var q algorithms.Dropout
		err := state.Fill("q", &q, net.Layout, from)
		if err == nil && (len(q.W) != net.Size() || !(q.Keep > 0 && q.Keep <= 1)) {
			err = fmt.Errorf("%d weights that are kept with probability %v, want %d, and more than 0", len(q.W), q.Keep, net.Size())
		}
		return q, err
	}
	return nil, fmt.Errorf("a model of kind %q, want %s, %s or %s", kind, pointModel, gaussianModel, dropoutModel)
}
