package results

import (
	"bytes"
	"encoding/csv"
	"strconv"

	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
)

// reliabilityHeader names the columns of reliability.csv. Bin i of n, from 0, holds the predictions whose confidence is in
// (i/n, (i+1)/n]; mc is the number of draws of the weights in a prediction, 0 for their mean.
func reliabilityHeader() []string {
	return []string{"run", "round", "model", "mc", "bin", "count", "confidence", "accuracy"}
}

// writeReliability writes how confident and how accurate the last models were, if there was an evaluation.
func (r *Run) writeReliability(res federation.Result) error {
	rows := [][]string{reliabilityHeader()}
	for _, e := range []*federation.Evaluation{res.Last, res.Drawn} {
		if e == nil {
			continue
		}
		rows = append(rows, r.reliability("pm", e, e.Personal)...)
		rows = append(rows, r.reliability("gm", e, e.Global)...)
	}
	if len(rows) == 1 {
		return nil
	}
	var text bytes.Buffer
	if err := csv.NewWriter(&text).WriteAll(rows); err != nil {
		return err
	}
	return r.replace(reliabilityFile, text.Bytes())
}

// reliability returns a row for each bin; none where the method has no such model.
func (r *Run) reliability(model string, e *federation.Evaluation, p *federation.Pooled) [][]string {
	if p == nil {
		return nil
	}
	var rows [][]string
	for i, b := range p.Bins {
		rows = append(rows, append([]string{cell(r.name), strconv.Itoa(e.Round), model, strconv.Itoa(e.MC), strconv.Itoa(i)}, binCells(b)...))
	}
	return rows
}

// binCells are the count, and the mean confidence and accuracy where there is one.
func binCells(b metrics.Bin) []string {
	n := float64(b.N) // 0/0 is no number, and no number is an empty cell
	return []string{strconv.Itoa(b.N), number(b.Confidence / n), number(float64(b.Correct) / n)}
}
