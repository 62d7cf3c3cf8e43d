package results

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
)

// Holdout is what summary.json says of the clients that took no part: accuracies over their test examples before and
// after models were fitted to them.
type Holdout struct {
	Clients int    `json:"clients"`
	Steps   int    `json:"steps"`
	Before  Number `json:"before_acc"`
	After   Number `json:"after_acc"`
}

// NewHoldout sums newcomers up; nil if there are none.
func NewHoldout(all []federation.Newcomer) *Holdout {
	if len(all) == 0 {
		return nil
	}
	var before, after []metrics.Report
	for _, n := range all {
		before, after = append(before, n.Before), append(after, n.After)
	}
	return &Holdout{len(all), all[0].Steps, Number(metrics.Across(before).Micro), Number(metrics.Across(after).Micro)}
}

// holdoutHeader names the columns of holdout.csv: train and test are numbers of examples, steps the mini-batches in which a
// model was fitted, mc the draws of a prediction.
func holdoutHeader() []string {
	return []string{
		"run", "round", "client", "train", "test", "steps", "mc",
		"before_acc", "after_acc", "before_nll", "after_nll", "before_ece", "after_ece",
	}
}

// writeHoldout writes how the clients fared that took no part, if there are any.
func (r *Run) writeHoldout(all []federation.Newcomer) error {
	if len(all) == 0 {
		return nil
	}
	rows := [][]string{holdoutHeader()}
	for _, n := range all {
		rows = append(rows, []string{
			cell(r.name), strconv.Itoa(r.sum.Rounds), strconv.Itoa(n.Client), strconv.Itoa(n.Train), strconv.Itoa(n.Test),
			strconv.Itoa(n.Steps), strconv.Itoa(n.MC),
			number(n.Before.Accuracy), number(n.After.Accuracy), number(n.Before.NLL), number(n.After.NLL), number(n.Before.ECE), number(n.After.ECE),
		})
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return r.replace(holdoutFile, text.Bytes())
}
