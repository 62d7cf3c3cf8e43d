package algorithms

import (
	"context"

	"fedbayes/datasets"
	"fedbayes/internal/rng"
)

// This file is about newcomers: clients that took no part in training and come when it is over. From what the server would
// send it, a newcomer makes a model of its own; what it would upload is thrown away. For most methods that is a client's
// round like any other, of as many steps as one likes: a fresh state, Train, Personal.

// An adapter is a method whose newcomers do something else, as its clients have no personal models or have them without Train.
type adapter[S any] interface {
	// Adapt fits a newcomer's model in data.Steps mini-batches and returns it. It changes neither s nor what s points to.
	Adapt(ctx context.Context, w *Worker, s S, data *Data, r rng.Stream) (Predictor, error)
}

// Adapt fits a newcomer's model. Its number, that of r, is one that no client of the run has.
func (e erased[S, C, D, U]) Adapt(ctx context.Context, w *Worker, s any, data *Data, r rng.Stream) (Predictor, error) {
	server := *s.(*S)
	if own, ok := any(e.m).(adapter[S]); ok {
		return own.Adapt(ctx, w, server, data, r)
	}
	c := e.m.Client(w.Task, w.CPU, server, newborn(r))
	if _, _, err := e.m.Train(ctx, w, e.m.Download(server, r.Client), &c, data, r); err != nil {
		return nil, err
	}
	return e.m.Personal(server, c, data.Of), nil
}

// Unadapted returns the model that a newcomer has before: the global one, or where there is none what it would begin with.
func (e erased[S, C, D, U]) Unadapted(w *Worker, s any, r rng.Stream) Predictor {
	server := *s.(*S)
	if g := e.m.Global(server); g != nil {
		return g
	}
	return e.m.Personal(server, e.m.Client(w.Task, w.CPU, server, newborn(r)), &datasets.Examples{Dim: w.Net.In})
}

// newborn returns the address at which clients are made.
func newborn(r rng.Stream) rng.Stream { return r.At(0, r.Client+1) }
