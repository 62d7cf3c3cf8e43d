package metrics

import "math"

// A Prediction is what the members say of one example together.
type Prediction struct {
	Class             int     // argmax of p̄, the first of equals; -1 if a probability is not finite, and then all else is NaN
	Confidence        float64 // max of p̄
	NLL               float64 // −log max(p̄ʸ, 1e-12) in nats; NaN without a label
	Entropy           float64 // H[p̄] in nats
	MutualInformation float64 // H[p̄] − meanₘ H[pₘ] in nats; 0 for one member
}

// Predictions returns what logp [members, rows, classes] says of each row, as [Stat.Add] scores it. Labels are nil, or one
// for each row. It panics as Add does.
func Predictions(logp []float32, members, rows, classes int, labels []float32) []Prediction {
	fits("Predictions", logp, members, rows, classes)
	all := make([]Prediction, rows)
	for i := range all {
		y, nll := 0, math.NaN()
		if labels != nil {
			y = class("Predictions", labels[i], i, classes)
		}
		e := scored(logp, i, members, rows, classes, y)
		if labels != nil {
			nll = -max(e.logp, minLogP)
		}
		all[i] = Prediction{e.class, e.confidence, nll, e.entropy, e.mi}
	}
	return all
}
