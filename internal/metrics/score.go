package metrics

import "math"

// A score is what one example adds to a Stat.
type score struct {
	class      int     // argmax of p̄
	confidence float64 // max of p̄
	logp       float64 // log p̄ʸ
	brier      float64 // not finite exactly if a probability is not
	entropy    float64 // H[p̄]
	mi         float64 // H[p̄] − meanₘ H[pₘ]
}

// scored scores row i of logp [members, rows, classes] for label y. If a probability is NaN or infinite, so is all else,
// and the class is none.
func scored(logp []float32, i, members, rows, classes, y int) score {
	var e score
	if row := logp[i*classes:]; members == 1 {
		e = single(row[:classes], y)
	} else {
		e = mixture(row, members, rows*classes, classes, y)
	}
	if math.IsNaN(e.brier - e.brier) {
		nan := math.NaN()
		e = score{class: -1, confidence: nan, logp: nan, brier: nan, entropy: nan, mi: nan}
	}
	return e
}

// single scores the log-probabilities of the only member, logp [classes], for label y. Without a mean there is no
// logarithm to take. The largest p is found by its bits, which order as p ≥ 0 does: an integer comparison compiles to a
// conditional move, and the branch that it saves was mispredicted for a third of the running time.
func single(logp []float32, y int) score {
	class, largest := 0, int64(-1)
	var brier, entropy float64
	for c, l := range logp {
		lp := float64(l)
		p := math.Exp(lp)
		if p > 0 { // 0·log 0 = 0
			entropy -= p * lp
		}
		if bits := int64(math.Float64bits(p)); bits > largest {
			class, largest = c, bits
		}
		if c == y {
			p--
		}
		brier += p * p
	}
	return score{
		class: class, confidence: math.Float64frombits(uint64(largest)),
		logp: float64(logp[y]), brier: brier, entropy: entropy,
	}
}

// mixture scores the mean of the members' probabilities for label y. The row of member m is logp[m·stride:][:classes].
//
// The probabilities are summed in float64 without first taking out their maximum: none is above 1, and what underflows
// is below 1e-323, where the floor of the NLL and p·log p = 0 hide it.
func mixture(logp []float32, members, stride, classes, y int) score {
	e := score{confidence: -1}
	scale := 1 / float64(members)
	for c := range classes {
		var sum, plogp float64 // over members: Σ pₘ, Σ pₘ·log pₘ
		for at := c; at < members*stride; at += stride {
			lp := float64(logp[at])
			p := math.Exp(lp)
			sum += p
			if p > 0 {
				plogp += p * lp
			}
		}
		p := sum * scale
		logMean := math.Log(p)
		if p > 0 {
			e.entropy -= p * logMean
			e.mi += max(0, plogp*scale-p*logMean) // of this class; less than 0 by rounding alone, because p·log p is convex
		}
		if p > e.confidence {
			e.class, e.confidence = c, p
		}
		if c == y {
			e.logp = logMean
			p--
		}
		e.brier += p * p
	}
	return e
}
