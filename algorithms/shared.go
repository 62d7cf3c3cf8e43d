package algorithms

// This file has the hyper-parameters that methods share without sharing anything else. A flag means the same thing
// wherever it is found, so it is declared once.

func learningRate(v *float64) Param {
	return Param{Name: "lr", Usage: "learning rate", Value: v, Open: true, Max: inf}
}

func lrGlobal(v *float64) Param {
	return Param{Name: "lr-global", Usage: "learning rate of a client's copy of the global model", Value: v, Open: true, Max: inf}
}

func personalSteps(v *int) Param {
	return Param{Name: "personal-steps", Usage: "steps of the personal model on a mini-batch, for each of the global one", Value: v, Min: 1, Max: 1000}
}

func lambda(v *float64) Param {
	return Param{Name: "lambda", Usage: "weight λ of the term that holds a personal model near the global one", Value: v, Max: inf}
}

// serverBeta is a damping of the server, (1−β)·w + β·mean, for 0 ≤ β ≤ most.
func serverBeta(v *float64, most float64) Param {
	return Param{Name: "beta", Usage: "how far the server moves to the clients' mean", Value: v, Max: most}
}

func weighting(v *string) Param {
	return Param{Name: "weighting", Usage: "of clients in the server's mean", Value: v, OneOf: []string{"uniform", "data"}}
}

func trainAll(v *bool) Param {
	return Param{Name: "train-all", Usage: "clients that are not sampled train their personal model too", Value: v}
}
