package algorithms

import (
	"context"
	"slices"

	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// FedAvg averages the clients' weights by their numbers of examples.
//
//	client: w ← the server's; a round of steps on the mean cross-entropy of a mini-batch
//	server: w ← Σ nᵢ·wᵢ / Σ nᵢ
//
// It has a global model and no personal one. A client keeps nothing between rounds, no momentum either.
//
// McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data. AISTATS 2017. Algorithm 1.
type FedAvg struct{ Descent }

// NewFedAvg returns FedAvg with its defaults.
func NewFedAvg() *FedAvg { return &FedAvg{Descent{Optimizer: "sgd", LR: 0.05}} }

// fedAvgLSTM is FedAvg with the best rate of a search on Shakespeare (results/search_shakespeare_fedavg.csv). With the 0.8 of LEAF
// (Caldas et al. 2018), 20 rounds of 20 steps leave the 15.5 % that blanks alone have.
func fedAvgLSTM() Preset {
	return Preset{
		Name: "lstm", About: "the same with a rate at which memory cells learn",
		New: func() Algorithm {
			m := NewFedAvg()
			m.LR = 4
			return erase(m)
		},
		Models: []string{"lstm"},
	}
}

// None is the state of a client that keeps nothing.
type None struct{}

func (m *FedAvg) Client(Task, *kernels.CPU, []float32, rng.Stream) None { return None{} }

func (m *FedAvg) Download(s []float32, _ int) []float32 { return s }

func (m *FedAvg) Train(ctx context.Context, w *Worker, d []float32, _ *None, data *Data, _ rng.Stream) ([]float32, Report, error) {
	p := slices.Clone(d)
	rep, err := m.descend(ctx, w, p, w.forgetful(0), data)
	return p, rep, err
}

// Adapt fine-tunes: a newcomer keeps the weights that it would upload.
func (m *FedAvg) Adapt(ctx context.Context, w *Worker, s []float32, data *Data, r rng.Stream) (Predictor, error) {
	p, _, err := m.Train(ctx, w, s, new(None), data, r)
	return Point(p), err
}

func (m *FedAvg) Aggregate(s *[]float32, ups []Upload[[]float32]) { *s = average(ups) }

func (m *FedAvg) Personal([]float32, None, *datasets.Examples) Predictor { return nil }
func (m *FedAvg) Global(s []float32) Predictor                           { return Point(s) }
func (m *FedAvg) TrainsAll() bool                                        { return false }
