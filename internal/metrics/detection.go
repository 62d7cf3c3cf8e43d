package metrics

import (
	"fmt"
	"math"
	"slices"
)

// This file scores how well an uncertainty tells examples apart: wrong predictions from right ones, or examples of foreign
// classes from those of a client's own. A score is high where one is unsure.

// AUROC is the area under the receiver operating characteristic of a score as a detector: the probability that an example
// that is to be detected has a higher score than one that is not, where equal scores count half.
//
//	Σ over pairs of (1[s₊ > s₋] + ½·1[s₊ = s₋]) / (n₊·n₋)
//
// It is 1 for a perfect detector and ½ for one that knows nothing; NaN if there is nothing to be detected, or nothing else,
// or if a score is NaN.
func AUROC(score []float64, detect []bool) float64 {
	var pairs, positive, negative float64 // pairs are counted exactly up to 2⁵³
	ok := ties(score, detect, func(n, hits int) {
		p, q := float64(hits), float64(n-hits)
		pairs += p*negative + p*q/2
		positive += p
		negative += q
	})
	if !ok || positive == 0 || negative == 0 {
		return math.NaN()
	}
	return pairs / (positive * negative)
}

// Rejection returns the curve of a score by which examples are rejected, the highest first: at k = 0 … n−1 the share of
// good ones among the n−k that are left when k are rejected. With right predictions as the good ones that is the accuracy.
// Of examples with equal scores any may go first, and the curve is the mean over their orders. It is nil if a score is NaN.
func Rejection(score []float64, good []bool) []float64 {
	curve := make([]float64, len(score))
	var kept, left float64 // with lower scores, and the good of them
	ok := ties(score, good, func(n, hits int) {
		for j := 1; j <= n; j++ { // of the ties are left
			share := left + float64(hits)*float64(j)/float64(n)
			curve[len(curve)-int(kept)-j] = share / (kept + float64(j))
		}
		kept += float64(n)
		left += float64(hits)
	})
	if !ok {
		return nil
	}
	return curve
}

// Area is the area under a curve of [Rejection], its mean over the rejected fractions; NaN if there is none.
func Area(curve []float64) float64 {
	var sum float64
	for _, share := range curve {
		sum += share
	}
	return sum / float64(len(curve))
}

// ties calls f for each value that a score has, ascending: with how many examples have it, and how many of them are marked.
// It reports false, and calls nothing, if a score is NaN.
func ties(score []float64, marked []bool, f func(n, hits int)) bool {
	if len(score) != len(marked) {
		panic(fmt.Sprintf("metrics: %d scores and %d marks", len(score), len(marked)))
	}
	if slices.ContainsFunc(score, math.IsNaN) {
		return false
	}
	order := make([]int, len(score))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case score[a] < score[b]:
			return -1
		case score[a] > score[b]:
			return 1
		}
		return 0
	})
	for from := 0; from < len(order); {
		n, hits := 0, 0
		for _, i := range order[from:] {
			if score[i] != score[order[from]] {
				break
			}
			n++
			if marked[i] {
				hits++
			}
		}
		f(n, hits)
		from += n
	}
	return true
}
