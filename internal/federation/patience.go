package federation

import (
	"context"

	"fedbayes/datasets"
)

// A Validation scores the models on the clients' validation examples, which neither train nor test them.
type Validation struct {
	Personal, Global *Pooled // nil where the method has no such model
}

// Patience is how long validation has seen no better model.
type Patience struct {
	Personal, Global float64 // best accuracies so far; −1 before the first
	Evaluations      int     // since one of them rose
}

// see takes an evaluation into account.
func (p *Patience) see(v *Validation) {
	if v == nil {
		return
	}
	p.Evaluations++
	for _, m := range []struct {
		best *float64
		now  *Pooled
	}{{&p.Personal, v.Personal}, {&p.Global, v.Global}} {
		if m.now != nil && m.now.Accuracy > *m.best {
			*m.best, p.Evaluations = m.now.Accuracy, 0
		}
	}
}

// validates reports whether some client has validation examples.
func (r *run) validates() bool {
	for i := range r.clients {
		if r.clients[i].Val.Len() > 0 {
			return true
		}
	}
	return false
}

// validate scores the models on the validation examples, with the draws of the evaluation after round t; nil where there are no
// such examples.
func (r *run) validate(ctx context.Context, t, mc int) (*Validation, error) {
	if !r.validates() {
		return nil, nil
	}
	personal, global, err := r.scores(ctx, t, mc, func(c *datasets.Client) *datasets.Examples { return &c.Val })
	if err != nil {
		return nil, err
	}
	return &Validation{pool(personal), pool(global)}, nil
}
