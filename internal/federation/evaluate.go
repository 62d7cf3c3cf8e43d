package federation

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
)

// A Result is how a run ended.
type Result struct {
	Last  *Evaluation // nil if the run ended before its first
	Drawn *Evaluation // the same weights with Config.FinalMC draws, if Last predicts with mean weights and that differs

	Newcomers []Newcomer // Config.Newcomers after the last round

	Early bool // the run ended before its last round, for want of Patience
}

// An Evaluation scores the models after a round: the global model after its aggregation, personal models as they came
// out of their last local training, all of them on the same test examples.
type Evaluation struct {
	Round   int
	MC      int
	Clients []Scores

	Personal, Global *Pooled // nil where the method has no such model

	Validation *Validation // nil where no client has validation examples

	Loss    float64 // mean over the clients that trained of their Report.Loss; NaN where none did
	KL      float64 // likewise; NaN where the method has none
	Clamped int     // sum over the clients

	Vitals algorithms.Vitals // of the server

	Spent
}

// Scores are those of one client's test examples, and how its last round of training went.
type Scores struct {
	Client, Train, Test int // number of the client, and of its examples
	Personal, Global    *metrics.Report
	Trained             bool
	Report              algorithms.Report // if Trained
}

// Pooled are the scores over the test examples of all clients.
type Pooled struct {
	metrics.Report
	Bins    [metrics.Bins]metrics.Bin // of the calibration error
	Clients metrics.Spread            // of the accuracy
}

// random reports whether the method's predictions draw weights.
func (r *run) random() bool {
	for _, p := range []algorithms.Predictor{r.method.Global(r.server), r.personal(0)} {
		if p != nil && p.Random() {
			return true
		}
	}
	return false
}

// scores scores personal and global models, by client, with mc draws after round t, on one part of each client's examples.
func (r *run) scores(ctx context.Context, t, mc int, part func(*datasets.Client) *datasets.Examples) (personal, global []*metrics.Stat, err error) {
	n := len(r.clients)
	personal, global = make([]*metrics.Stat, n), make([]*metrics.Stat, n)
	root := r.root.For(rng.Eval)
	err = r.each(ctx, n, func(w *worker, i int) error {
		// The global model's draws are the same for every client; a personal model has its own.
		on := part(&r.clients[i])
		global[i] = r.score(w, r.global(i), on, mc, root.At(t, 0))
		personal[i] = r.score(w, r.personal(i), on, mc, root.At(t, i+1))
		return nil
	})
	return personal, global, err
}

// evaluate scores personal and global models with mc draws after round t.
func (r *run) evaluate(ctx context.Context, t, mc int, trained []training) (Evaluation, error) {
	began := time.Now()
	personal, global, err := r.scores(ctx, t, mc, func(c *datasets.Client) *datasets.Examples { return &c.Test })
	if err != nil {
		return Evaluation{}, err
	}
	e := Evaluation{Round: t, MC: mc, Clients: make([]Scores, len(r.clients)), Vitals: r.method.Vitals(r.server)}
	for i, c := range r.clients {
		e.Clients[i] = Scores{
			Client: i, Train: c.Train.Len(), Test: c.Test.Len(),
			Personal: report(personal[i]), Global: report(global[i]),
		}
	}
	if len(trained) == 0 {
		e.Loss, e.KL = math.NaN(), math.NaN()
	}
	for _, c := range trained {
		e.Clients[c.client].Trained, e.Clients[c.client].Report = true, c.Report
		e.Loss += c.Loss / float64(len(trained))
		e.KL += c.KL / float64(len(trained))
		e.Clamped += c.Clamped
	}
	e.Personal, e.Global = pool(personal), pool(global)
	if e.Validation, err = r.validate(ctx, t, mc); err != nil {
		return Evaluation{}, err
	}
	r.spent.Scoring += time.Since(began)
	e.Spent = r.spent
	return e, nil
}

// personal returns the predictor of a client; nil where the method has none.
func (r *run) personal(client int) algorithms.Predictor {
	return r.method.Personal(r.server, r.states[client], &r.clients[client].Train)
}

// global returns the global predictor of a client's examples; nil where the method has none.
func (r *run) global(client int) algorithms.Predictor {
	return r.method.GlobalFor(r.server, r.states[client])
}

// score returns nil where there is no predictor.
func (r *run) score(w *worker, p algorithms.Predictor, test *datasets.Examples, mc int, at rng.Stream) *metrics.Stat {
	if p == nil {
		return nil
	}
	s := new(metrics.Stat)
	s.Add(w.members(p, test.X, mc, at), max(mc, 1), test.Len(), r.task.Net.Classes, test.Y)
	return s
}

// members returns the log-probabilities of p's members for x, in memory that the next call overwrites.
func (w *worker) members(p algorithms.Predictor, x []float32, mc int, at rng.Stream) []float32 {
	n := max(mc, 1) * (len(x) / w.Net.In) * w.Net.Classes
	if len(w.logp) < n {
		w.logp = make([]float32, n)
	}
	p.Members(w.Worker, w.logp[:n], x, mc, at)
	return w.logp[:n]
}

func report(s *metrics.Stat) *metrics.Report {
	if s == nil {
		return nil
	}
	r := s.Report()
	return &r
}

// pool merges the scores of all clients, in order.
func pool(stats []*metrics.Stat) *Pooled {
	var all metrics.Stat
	var reports []metrics.Report
	for _, s := range stats {
		if s == nil {
			return nil
		}
		all.Merge(*s)
		reports = append(reports, s.Report())
	}
	return &Pooled{all.Report(), all.Bins, metrics.Across(reports)}
}

// finite returns a *algorithms.NonFinite if some model's likelihood is not a number.
func (e Evaluation) finite() error {
	for _, c := range e.Clients {
		err := cmp.Or(nonFinite("personal", c.Personal), nonFinite("global", c.Global))
		if err != nil {
			return fmt.Errorf("client %d: %w", c.Client, err)
		}
	}
	return nil
}

func nonFinite(model string, r *metrics.Report) error {
	if r == nil || r.N == 0 || !math.IsNaN(r.NLL) {
		return nil
	}
	return &algorithms.NonFinite{What: "negative log-likelihood of the " + model + " model's predictions", Value: r.NLL}
}
