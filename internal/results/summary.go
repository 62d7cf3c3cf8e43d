package results

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"fedbayes/algorithms"
	"fedbayes/internal/federation"
)

// meanOver is the number of evaluations at the end of a run whose mean the summary gives.
const meanOver = 10

// A Summary is what summary.json holds. The best round is chosen by the test accuracy itself, as papers do; the last
// round and the mean of the last evaluations are not chosen by anything.
type Summary struct {
	Status      string `json:"status"` // "finished" (if interrupted, then after its last round), "diverged", "interrupted" or "failed"
	Error       string `json:"error,omitempty"`
	Rounds      int    `json:"rounds"` // that were completed
	Evaluations int    `json:"evaluations"`
	Early       bool   `json:"stopped_early,omitempty"` // for want of a better model in validation

	BestPM *Score `json:"best_pm"` // nil where the method has no such model, or nothing was evaluated
	BestGM *Score `json:"best_gm"`
	LastPM *Score `json:"last_pm"`
	LastGM *Score `json:"last_gm"`

	// Means over the last evaluations, Of of them.
	Mean struct {
		Of int    `json:"evaluations"`
		PM Number `json:"pm_acc"`
		GM Number `json:"gm_acc"`
	} `json:"mean_last"`

	// The last round once more, where MC says with how many draws; nil where it was not done.
	Drawn *Drawn `json:"drawn"`

	// Of clients that took no part; nil if there are none, or the run did not get to its end.
	Holdout *Holdout `json:"holdout"`

	Validation *Validated `json:"validation,omitempty"` // nil without validation
	Failures   *Failures  `json:"failures,omitempty"`   // nil where none are asked for

	TrainLoss    Number `json:"train_loss"`
	BytesUp      int64  `json:"bytes_up"`
	BytesDown    int64  `json:"bytes_down"`
	TrainSeconds Number `json:"train_seconds"`
	EvalSeconds  Number `json:"eval_seconds"`
}

// A Score is how a model did over all test examples.
type Score struct {
	Round   int    `json:"round"`
	Acc     Number `json:"acc"`
	Worst   Number `json:"acc_worst"` // of the clients
	Macro   Number `json:"acc_macro"` // mean over clients
	P10     Number `json:"acc_p10"`   // 10th percentile of the clients
	NLL     Number `json:"nll"`
	Brier   Number `json:"brier"`
	ECE     Number `json:"ece"`
	Entropy Number `json:"entropy"`
	MI      Number `json:"mutual_information"`
}

// Drawn are scores of predictions with MC draws.
type Drawn struct {
	MC int    `json:"mc"`
	PM *Score `json:"pm"`
	GM *Score `json:"gm"`
}

// A Number is null in JSON if it is NaN or infinite.
type Number float64

// MarshalJSON implements [encoding/json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.AppendFloat(nil, v, 'g', -1, 64), nil
	}
	return []byte("null"), nil
}

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	v, err := strconv.ParseFloat(string(text), 64)
	*n = Number(v)
	return err
}

// accuracies are those of an evaluation; NaN where the method has no such model.
type accuracies struct {
	Round int    `json:"round"`
	PM    Number `json:"pm_acc"`
	GM    Number `json:"gm_acc"`
}

// count takes an evaluation into the summary.
func (r *Run) count(e federation.Evaluation) {
	s := &r.sum
	s.Evaluations++
	s.LastPM, s.LastGM = score(e.Round, e.Personal), score(e.Round, e.Global)
	s.BestPM, s.BestGM = better(s.BestPM, s.LastPM), better(s.BestGM, s.LastGM)
	s.Validation = s.Validation.choose(e)
	if r.head.Fails {
		s.Failures = &Failures{e.Dropped, e.Stragglers, e.Empty}
	}
	s.TrainLoss, s.BytesUp, s.BytesDown = Number(e.Loss), e.BytesUp, e.BytesDown
	s.TrainSeconds, s.EvalSeconds = Number(e.Training.Seconds()), Number(e.Scoring.Seconds())
	last := accuracies{e.Round, Number(pooled(e.Personal).Accuracy), Number(pooled(e.Global).Accuracy)}
	r.recent = append(slices.Clone(r.recent), last) // a mark has those before
	r.recent = r.recent[max(0, len(r.recent)-meanOver):]
}

// conclude fills what is known at the end.
func (r *Run) conclude(res federation.Result, runErr error) {
	s := &r.sum
	s.Status, s.Early = status(runErr), res.Early
	if s.Status == "interrupted" && r.complete() {
		s.Status = "finished" // without the draws at the end
	}
	if runErr != nil {
		s.Error = runErr.Error()
	}
	s.Mean.Of = len(r.recent)
	var pm, gm Number
	for _, e := range r.recent {
		pm += e.PM
		gm += e.GM
	}
	n := Number(len(r.recent))
	s.Mean.PM, s.Mean.GM = pm/n, gm/n
	if d := res.Drawn; d != nil {
		s.Drawn = &Drawn{d.MC, score(d.Round, d.Personal), score(d.Round, d.Global)}
	}
	s.Holdout = NewHoldout(res.Newcomers)
}

// complete reports whether every round is done that is to be, and the last one evaluated.
func (r *Run) complete() bool {
	n := len(r.recent)
	return (r.sum.Early || r.sum.Rounds == r.head.Rounds) && n > 0 && r.recent[n-1].Round == r.sum.Rounds
}

// Diverged is the status of a run that came upon NaN or Inf, or whose weights went to 0.
const Diverged = "diverged"

// status says in a word how a run ended.
func status(err error) string {
	switch {
	case err == nil:
		return "finished"
	case algorithms.Diverged(err):
		return Diverged
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return "failed"
}

func score(round int, p *federation.Pooled) *Score {
	if p == nil {
		return nil
	}
	return &Score{
		Round: round, Acc: Number(p.Accuracy),
		Worst: Number(p.Clients.Worst), Macro: Number(p.Clients.Macro), P10: Number(p.Clients.P10),
		NLL: Number(p.NLL), Brier: Number(p.Brier), ECE: Number(p.ECE),
		Entropy: Number(p.Entropy), MI: Number(p.MutualInformation),
	}
}

// better returns the more accurate of two scores, the earlier of equals.
func better(a, b *Score) *Score {
	if a == nil || b != nil && b.Acc > a.Acc {
		return b
	}
	return a
}
