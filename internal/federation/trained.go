package federation

import (
	"context"
	"errors"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// Trained are the models of a run as a snapshot has them. They train no further.
type Trained struct{ run *run }

// Restore returns the models that a keeper has kept of a run of this configuration.
func Restore(cfg Config, k Keeper, m algorithms.Algorithm, net *layers.Model, clients []datasets.Client) (*Trained, error) {
	cfg.Keeper = k
	r := &run{Config: cfg, method: m, clients: clients, root: rng.Stream{Seed: cfg.Seed}}
	if err := r.start(net); err != nil {
		return nil, err
	}
	if err := r.restore(); err != nil {
		return nil, err
	}
	if r.done == 0 {
		return nil, errors.New("federation: the keeper has no snapshot")
	}
	return &Trained{r}, nil
}

// Round returns the number of rounds that the models were trained for.
func (t *Trained) Round() int { return t.run.done }

// Personal returns the predictor of a client; nil where the method has none.
func (t *Trained) Personal(client int) algorithms.Predictor { return t.run.personal(client) }

// Global returns the server's predictor; nil where the method has none.
func (t *Trained) Global() algorithms.Predictor { return t.run.method.Global(t.run.server) }

// PredictPersonal returns what a client's model says of x [n, in] with mc draws of the weights, which are those of an
// evaluation; PredictGlobal what the server's does. The method has such a model.
func (t *Trained) PredictPersonal(client int, x []float32, mc int) []metrics.Prediction {
	return t.predict(t.Personal(client), client+1, x, mc)
}

// PredictGlobal is like PredictPersonal.
func (t *Trained) PredictGlobal(x []float32, mc int) []metrics.Prediction {
	return t.predict(t.Global(), 0, x, mc)
}

func (t *Trained) predict(p algorithms.Predictor, address int, x []float32, mc int) []metrics.Prediction {
	return t.run.workers[0].predictions(p, x, nil, mc, t.run.root.For(rng.Eval).At(t.run.done, address))
}

// predictions returns what p says of x, with labels y or nil.
func (w *worker) predictions(p algorithms.Predictor, x, y []float32, mc int, at rng.Stream) []metrics.Prediction {
	return metrics.Predictions(w.members(p, x, mc, at), max(mc, 1), len(x)/w.Net.In, w.Net.Classes, y)
}

// Receive fits models to newcomers in some mini-batches, and scores them with mc draws.
func (t *Trained) Receive(ctx context.Context, newcomers []datasets.Client, steps, mc int) ([]Newcomer, error) {
	return t.run.receive(ctx, newcomers, steps, mc)
}

// Predict returns what a model that stands alone says of x [n, in] with mc draws of its weights.
func Predict(net *layers.Model, p algorithms.Predictor, x []float32, mc int, seed uint64, isa kernels.ISA) ([]metrics.Prediction, error) {
	programs, err := algorithms.CompilePrediction(net)
	if err != nil {
		return nil, err
	}
	w := &worker{Worker: programs.NewWorker(kernels.New(isa))}
	return w.predictions(p, x, nil, mc, rng.Stream{Seed: seed}.For(rng.Eval)), nil
}
