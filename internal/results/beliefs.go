package results

import (
	"strconv"

	"fedbayes/internal/federation"
)

// beliefsHeader names the columns of beliefs.csv: what the model of a client, as it is after a round, says of the example that
// is watched. Deviations are over draws of the weights; label is the class of the example.
func beliefsHeader() []string {
	return []string{"run", "round", "client", "class", "probability", "deviation", "label"}
}

// Beliefs implements [federation.Watcher].
func (r *Run) Beliefs(b federation.Beliefs) error {
	if err := r.lost(); err != nil {
		return err
	}
	var rows [][]string
	for _, c := range b.Clients {
		for class, p := range c.Probability {
			rows = append(rows, []string{
				cell(r.name), strconv.Itoa(b.Round), strconv.Itoa(c.Client), strconv.Itoa(class), number(p), number(c.Deviation[class]), strconv.Itoa(b.Label),
			})
		}
	}
	return appendRows(r.beliefs, rows...)
}
