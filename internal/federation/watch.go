package federation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
)

// A Watch asks what the clients' models say of one test example, round by round.
type Watch struct {
	Owner, Example int   // the client whose test example it is, and its number among them
	Rounds         []int // after which to ask, 0 for before the first; the last is one in any case
	MC             int   // draws of the weights, 0 for their mean
}

// Beliefs are what the clients' models say of the example that is watched.
type Beliefs struct {
	Round   int
	Label   int // the class of the example
	Clients []Belief
}

// A Belief is what one client's personal model says or, where the method has none, the global one. A client whose model
// gives no finite probability has none.
type Belief struct {
	Client      int
	Probability []float64 // of each class, the mean over the draws
	Deviation   []float64 // of each class, the standard deviation over them; 0 for mean weights
}

// A Watcher is a Recorder that is told of the example that is watched.
type Watcher interface {
	// Beliefs is called before the first round, and after Evaluation where the round has one.
	Beliefs(b Beliefs) error
}

// ask tells those that want to know what the models say of the example that is watched, if it is its turn. The draws are
// those of an evaluation, whose addresses no training has.
func (r *run) ask(ctx context.Context, rec []Recorder, last bool) error {
	w := r.Watch
	if w == nil || !last && !slices.Contains(w.Rounds, r.done) {
		return nil
	}
	test := &r.clients[w.Owner].Test
	x := test.X[w.Example*test.Dim : (w.Example+1)*test.Dim]
	all := make([]Belief, len(r.clients))
	err := r.each(ctx, len(all), func(worker *worker, i int) error {
		p, at := r.personal(i), i+1
		if p == nil {
			p, at = r.method.Global(r.server), 0
		}
		logp := worker.members(p, x, w.MC, r.root.For(rng.Eval).At(r.done, at))
		all[i].Client = i
		all[i].Probability, all[i].Deviation = metrics.Belief(logp, max(w.MC, 1), r.task.Net.Classes)
		return nil
	})
	if err != nil {
		return fmt.Errorf("round %d: %w", r.done, err)
	}
	all = slices.DeleteFunc(all, func(b Belief) bool { return slices.ContainsFunc(b.Probability, notFinite) })
	for _, rc := range rec {
		if watcher, ok := rc.(Watcher); ok {
			if err := watcher.Beliefs(Beliefs{r.done, int(test.Y[w.Example]), all}); err != nil {
				return err
			}
		}
	}
	return nil
}

func notFinite(v float64) bool { return math.IsNaN(v - v) }
