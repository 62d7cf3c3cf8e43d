package algorithms

import (
	"context"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// Local trains each client alone, from one common start: the floor that a federated method has to beat.
//
// It sends nothing, has personal models and no global one, and every client trains in every round. Its optimizer runs on
// over the rounds as if there were none.
type Local struct{ Descent }

// NewLocal returns Local with its defaults.
func NewLocal() *Local { return &Local{Descent{Optimizer: "sgd", LR: 0.05}} }

// LocalState is a client's weights and the memory of its optimizer.
type LocalState struct {
	W   []float32
	Opt graph.Moments
}

func (m *Local) Client(_ Task, _ *kernels.CPU, start []float32, _ rng.Stream) LocalState {
	return LocalState{W: slices.Clone(start)}
}

func (m *Local) Download([]float32, int) None { return None{} }

func (m *Local) Train(ctx context.Context, w *Worker, _ None, c *LocalState, data *Data, _ rng.Stream) (None, Report, error) {
	rep, err := m.descend(ctx, w, c.W, &c.Opt, data)
	return None{}, rep, err
}

func (m *Local) Aggregate(*[]float32, []Upload[None]) {}

func (m *Local) Personal(_ []float32, c LocalState, _ *datasets.Examples) Predictor {
	return Point(c.W)
}
func (m *Local) Global([]float32) Predictor { return nil }
func (m *Local) TrainsAll() bool            { return true }
