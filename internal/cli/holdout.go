package cli

import (
	"fmt"

	"fedbayes/internal/results"
)

// newcomerSteps is how many mini-batches a model for a client that took no part is fitted in, unless told otherwise.
const newcomerSteps = 100

// holdOut refuses clients that the method can make no models for, and steps that it does not take.
func (p *plan) holdOut(ts texts) error {
	e, _ := algo(p.Algo)
	switch {
	case p.HoldoutClients == 0 && ts.has("holdout-steps"):
		return usagef("--holdout-steps: it belongs to --holdout-clients")
	case p.HoldoutClients > 0 && e.Closed != "":
		return usagef("--holdout-clients: not with %s: %s", p.Algo, e.Closed)
	case e.Stepless && ts.has("holdout-steps"):
		return usagef("--holdout-steps: no effect, %s fits a model to a new client without steps", p.Algo)
	}
	return nil
}

// holdoutLine says how the clients fared that took no part; "" if there are none.
func holdoutLine(h *results.Holdout) string {
	if h == nil {
		return ""
	}
	return fmt.Sprintf("%s held out: %s before, %s with models of their own", counted(h.Clients, "client"), percent(float64(h.Before)), percent(float64(h.After)))
}
