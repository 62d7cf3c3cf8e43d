package federation

import "fedbayes/algorithms"

// dead is the part of its norm at the start below which a global model is given up.
const dead = 1e-3

// alive returns an *algorithms.Collapsed if the server's weights have all but gone to 0, with a method that does not come back
// from there. The norm at the start needs no snapshot, as every run makes the server's first state.
func (r *run) alive() error {
	remedy := r.method.Remedy()
	if remedy == "" {
		return nil
	}
	if norm := r.method.Vitals(r.server).Norm; norm < dead*r.born {
		return &algorithms.Collapsed{Norm: norm, Start: r.born, Remedy: remedy}
	}
	return nil
}
