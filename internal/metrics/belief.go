package metrics

import "math"

// Belief returns how probable the members hold each class of one example, logp [members, classes]: the mean of their
// probabilities, p̄ = (1/M)·Σₘ pₘ, and the standard deviation between them, over M−1; 0 for one member, and for equal ones. A
// mean that float32 rounding lifts above 1 is 1.
func Belief(logp []float32, members, classes int) (mean, deviation []float64) {
	fits("Belief", logp, members, 1, classes)
	mean, deviation = make([]float64, classes), make([]float64, classes)
	for c := range classes {
		of := func(m int) float64 { return math.Exp(float64(logp[m*classes+c])) }
		var apart, squares float64 // from the first, which leaves exactly 0 where all are equal
		for m := range members {
			apart += of(m) - of(0)
		}
		mean[c] = of(0) + apart/float64(members)
		for m := range members {
			squares += (of(m) - mean[c]) * (of(m) - mean[c])
		}
		if members > 1 {
			deviation[c] = math.Sqrt(squares / float64(members-1))
		}
		if mean[c] > 1 && mean[c] < 1+1e-5 {
			mean[c] = 1
		}
	}
	return mean, deviation
}
