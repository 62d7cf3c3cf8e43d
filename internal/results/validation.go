package results

import "fedbayes/internal/federation"

// Chosen is the round that validation chooses: its accuracy there, and that of the same models on the test examples, which no
// choice has touched.
type Chosen struct {
	Round int    `json:"round"`
	Val   Number `json:"val_acc"`
	Acc   Number `json:"acc"`
}

// Validated is what validation says of a run.
type Validated struct {
	PM *Chosen `json:"best_pm"` // nil where the method has no such model
	GM *Chosen `json:"best_gm"`
}

// choose takes an evaluation in; of rounds that are equal in validation the earliest is chosen.
func (v *Validated) choose(e federation.Evaluation) *Validated {
	if e.Validation == nil {
		return v
	}
	if v == nil {
		v = &Validated{}
	}
	return &Validated{ // a new one: a mark has those before
		PM: v.PM.or(e.Round, e.Validation.Personal, e.Personal),
		GM: v.GM.or(e.Round, e.Validation.Global, e.Global),
	}
}

func (c *Chosen) or(round int, val, test *federation.Pooled) *Chosen {
	if val == nil || test == nil || c != nil && !(Number(val.Accuracy) > c.Val) {
		return c
	}
	return &Chosen{round, Number(val.Accuracy), Number(test.Accuracy)}
}

// Failures are the clients that failed the server, from the start on.
type Failures struct {
	Dropped    int `json:"dropped"` // out of a round
	Stragglers int `json:"stragglers"`
	Empty      int `json:"empty_rounds"` // in which no client got through
}
