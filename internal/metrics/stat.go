// Package metrics scores predicted class probabilities: accuracy, likelihood, calibration and uncertainty.
//
// A [Stat] holds sums over examples and has a fixed size. Stats merge, so that a client's result and the result pooled
// over all clients come from the same code:
//
//	var pooled metrics.Stat
//	for _, c := range clients {
//		var s metrics.Stat
//		s.Add(logp, members, rows, classes, labels)
//		reports = append(reports, s.Report())
//		pooled.Merge(s)
//	}
//	headline, spread := pooled.Report(), metrics.Across(reports)
//
// Predictions come as log-probabilities of one or more members (draws of the weights). What is scored is the mean of
// the members' probabilities, never of their logits:
//
//	p̄ = (1/M)·Σₘ pₘ
package metrics

import (
	"fmt"
	"math"
)

// Bins is the number of equal-width bins of the expected calibration error.
const Bins = 15

// minLogP is log 1e-12. A label of probability zero costs this much and not infinity, which no mean would survive.
const minLogP = -27.631021115928547

// A Bin counts the predictions whose confidence lies in one interval (lo, hi] of width 1/Bins.
type Bin struct {
	N, Correct int
	Confidence float64 // Σ maxᶜ p̄ᶜ
}

// A Stat is what an evaluation sums over examples. The zero value is empty and ready to use.
type Stat struct {
	N, Correct        int
	NLL               float64 // Σ −log max(p̄ʸ, 1e-12)
	Brier             float64 // Σ Σᶜ (p̄ᶜ − 1[c=y])²
	Entropy           float64 // Σ H[p̄], in nats
	MutualInformation float64 // Σ H[p̄] − meanₘ H[pₘ], in nats
	Bins              [Bins]Bin
}

// Add scores rows examples.
//
//	logp    [members, rows, classes], log-probabilities: each row of exp(logp) sums to 1
//	labels  [rows], class indices as float32
//
// The predicted class is that of the largest p̄, and of these the first. An example with a NaN or +Inf in any member is
// never correct and turns every sum but N and Correct into NaN, here and in all that this Stat is merged into.
// Add panics if the lengths do not fit the shape or a label is no class. It does not allocate.
func (s *Stat) Add(logp []float32, members, rows, classes int, labels []float32) {
	fits("Add", logp, members, rows, classes)
	if len(labels) != rows {
		panic(fmt.Sprintf("metrics: Add: %d labels, want %d", len(labels), rows))
	}
	for i, label := range labels {
		y := class("Add", label, i, classes)
		s.add(scored(logp, i, members, rows, classes, y), y)
	}
}

// fits panics if there are not as many log-probabilities as the shape says.
func fits(caller string, logp []float32, members, rows, classes int) {
	if members < 1 || rows < 0 || classes < 1 {
		panic(fmt.Sprintf("metrics: %s: shape [%d, %d, %d], want members ≥ 1, rows ≥ 0, classes ≥ 1", caller, members, rows, classes))
	}
	if len(logp) != members*rows*classes {
		panic(fmt.Sprintf("metrics: %s: %d log-probabilities, want %d for [%d, %d, %d]", caller, len(logp), members*rows*classes, members, rows, classes))
	}
}

// class returns the label of row i as a number, and panics if it is no class.
func class(caller string, label float32, i, classes int) int {
	if !(label >= 0 && label < float32(classes)) || label != float32(int(label)) {
		panic(fmt.Sprintf("metrics: %s: label %v of row %d, want an integer in [0, %d)", caller, label, i, classes))
	}
	return int(label)
}

// Merge adds the examples of o.
func (s *Stat) Merge(o Stat) {
	s.N += o.N
	s.Correct += o.Correct
	s.NLL += o.NLL
	s.Brier += o.Brier
	s.Entropy += o.Entropy
	s.MutualInformation += o.MutualInformation
	for i, b := range o.Bins {
		s.Bins[i].N += b.N
		s.Bins[i].Correct += b.Correct
		s.Bins[i].Confidence += b.Confidence
	}
}

// add counts one scored example of class y.
func (s *Stat) add(e score, y int) {
	bin := &s.Bins[binOf(e.confidence)]
	if e.class == y {
		s.Correct++
		bin.Correct++
	}
	s.N++
	s.NLL -= max(e.logp, minLogP)
	s.Brier += e.brier
	s.Entropy += e.entropy
	s.MutualInformation += e.mi
	bin.N++
	bin.Confidence += e.confidence
}

// binOf returns the bin (lo, hi] of a confidence. Zero and NaN go to the first bin, where NaN reaches the sum, and what
// float32 rounding lifts above 1 goes to the last.
func binOf(confidence float64) int {
	if !(confidence > 0) {
		return 0
	}
	return min(int(math.Ceil(confidence*Bins))-1, Bins-1)
}
