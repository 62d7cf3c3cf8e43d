package algorithms

import (
	"errors"
	"fmt"
	"math"
)

// NonFinite says that training has left the numbers: a loss is NaN or infinite.
type NonFinite struct {
	Step  int    // local step of the round, from 1; 0 in an evaluation
	What  string // as "negative log-likelihood"
	Value float64
}

func (e *NonFinite) Error() string {
	where := "evaluation"
	if e.Step > 0 {
		where = fmt.Sprintf("step %d", e.Step)
	}
	return fmt.Sprintf("%s: the %s is %v (a smaller learning rate may help)", where, e.What, e.Value)
}

// Diverged reports whether an error says that training led nowhere: to what is no number, or to weights of 0. The same run
// would end so again.
func Diverged(err error) bool {
	return errors.As(err, new(*NonFinite)) || errors.As(err, new(*Collapsed))
}

// finite returns a *NonFinite if v is NaN or infinite, for the step counted from 0.
func finite(step int, what string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return &NonFinite{step + 1, what, v}
	}
	return nil
}
