package metrics

import (
	"math"
	"slices"
)

// A Report is a Stat averaged over its N examples. Without examples there is no average: with N = 0 every other field is
// NaN, which a table prints as an empty cell.
type Report struct {
	N                 int
	Accuracy          float64 // [0, 1]
	NLL               float64 // −log p̄ʸ in nats, at most −log 1e-12
	Brier             float64 // Σᶜ (p̄ᶜ − 1[c=y])², in [0, 2]: not divided by the number of classes
	ECE               float64 // Σ over bins of (|bin|/N)·|accuracy − confidence|, [0, 1]
	Entropy           float64 // total uncertainty H[p̄], in nats
	Aleatoric         float64 // meanₘ H[pₘ], in nats
	MutualInformation float64 // epistemic: H[p̄] − meanₘ H[pₘ] in nats; 0 for one member
}

// Report averages.
func (s Stat) Report() Report {
	if s.N == 0 {
		nan := math.NaN()
		return Report{0, nan, nan, nan, nan, nan, nan, nan}
	}
	n := float64(s.N)
	var gap float64
	for _, b := range s.Bins {
		gap += math.Abs(float64(b.Correct) - b.Confidence)
	}
	return Report{
		N:                 s.N,
		Accuracy:          float64(s.Correct) / n,
		NLL:               s.NLL / n,
		Brier:             s.Brier / n,
		ECE:               gap / n,
		Entropy:           s.Entropy / n,
		Aleatoric:         (s.Entropy - s.MutualInformation) / n,
		MutualInformation: s.MutualInformation / n,
	}
}

// A Spread says how accuracy is distributed over clients. Without a client every field but Clients is NaN.
type Spread struct {
	Clients int     // those with examples
	Micro   float64 // mean over examples: Σ correct / Σ N, the accuracy that papers report
	Macro   float64 // mean over clients
	Worst   float64 // the lowest
	P10     float64 // 10th percentile, interpolated linearly between clients as numpy does
}

// Across summarises the accuracies of clients, one report each. Clients without examples (N = 0) are left out. The order
// of the clients makes no difference, not even of rounding.
func Across(reports []Report) Spread {
	accuracies := make([]float64, 0, len(reports))
	var examples, correct float64
	for _, r := range reports {
		if r.N == 0 {
			continue
		}
		accuracies = append(accuracies, r.Accuracy)
		examples += float64(r.N)
		correct += math.Round(r.Accuracy * float64(r.N)) // a sum of integers is exact in any order
	}
	clients := len(accuracies)
	if clients == 0 {
		nan := math.NaN()
		return Spread{0, nan, nan, nan, nan}
	}
	slices.Sort(accuracies)
	var sum float64
	for _, a := range accuracies {
		sum += a
	}
	return Spread{
		Clients: clients,
		Micro:   correct / examples,
		Macro:   sum / float64(clients),
		Worst:   accuracies[0],
		P10:     quantile(accuracies, 0.1),
	}
}

// quantile interpolates the q-quantile, q in [0, 1), of ascending values.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
