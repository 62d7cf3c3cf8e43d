package federation

import (
	"context"
	"fmt"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
)

// A Newcomer is a client that took no part in training, and how it fares with the models at the end of it: before anything
// was fitted to its training examples, with the global model where there is one, and after.
type Newcomer struct {
	Client, Train, Test int // number of the client, and of its examples
	Steps               int // mini-batches that its model was fitted in
	MC                  int
	Before, After       metrics.Report
	Model               algorithms.Predictor // after
}

// receive fits a model to each newcomer in some mini-batches, and scores it with mc draws. Their numbers go on where those of
// the run's clients end.
func (r *run) receive(ctx context.Context, clients []datasets.Client, steps, mc int) ([]Newcomer, error) {
	all := make([]Newcomer, len(clients))
	err := r.each(ctx, len(clients), func(w *worker, k int) error {
		c := &clients[k]
		n, err := r.fit(ctx, w, c, steps, mc)
		if err != nil {
			return fmt.Errorf("client %d, after training: %w", c.ID, err)
		}
		all[k] = n
		return nil
	})
	return all, err
}

func (r *run) fit(ctx context.Context, w *worker, c *datasets.Client, steps, mc int) (Newcomer, error) {
	n := Newcomer{Client: c.ID, Train: c.Train.Len(), Test: c.Test.Len(), Steps: steps, MC: mc}
	at, draws := r.root.At(r.done+1, c.ID), r.root.For(rng.Eval).At(r.done, c.ID+1)
	before := r.score(w, r.method.Unadapted(w.Worker, r.server, at), &c.Test, mc, draws)
	data := &algorithms.Data{Batches: &datasets.Batches{Of: &c.Train, Size: r.Batch, Stream: r.root.At(0, c.ID)}, Steps: steps}
	var err error
	if n.Model, err = r.method.Adapt(ctx, w.Worker, r.server, data, at); err != nil {
		return n, err
	}
	after := r.score(w, n.Model, &c.Test, mc, draws)
	n.Before, n.After = before.Report(), after.Report()
	return n, nonFinite("personal", &n.After)
}
