package algorithms

import (
	"context"

	"fedbayes/graph"
	"fedbayes/internal/rng"
)

// FedProx is FedAvg whose clients are held near the server's weights.
//
//	client: min over w  CE(w) + μ/2·‖w − w_server‖²
//
// All else is FedAvg's. The loss that is reported is the cross-entropy alone.
//
// Li et al., Federated Optimization in Heterogeneous Networks. MLSys 2020. Algorithm 2.
type FedProx struct {
	FedAvg
	Mu float64
}

// NewFedProx returns FedProx with its defaults.
func NewFedProx() *FedProx { return &FedProx{FedAvg: *NewFedAvg(), Mu: 0.01} }

// fedProxLSTM is FedProx with the best rate and μ of a search on Shakespeare (results/search_shakespeare_fedprox.csv).
func fedProxLSTM() Preset {
	return Preset{
		Name: "lstm", About: "the same with a rate at which memory cells learn",
		New: func() Algorithm {
			m := NewFedProx()
			m.LR, m.Mu = 4, 0.001
			return erase(m)
		},
		Models: []string{"lstm"},
	}
}

func (m *FedProx) Params() []Param {
	return append(m.FedAvg.Params(), Param{Name: "mu", Usage: "weight μ of the proximal term", Value: &m.Mu, Max: inf})
}

func (m *FedProx) Objective(b *graph.Builder, task Task) { proximal(b, task) }

func (m *FedProx) Train(ctx context.Context, w *Worker, d []float32, c *None, data *Data, r rng.Stream) ([]float32, Report, error) {
	w.Exec.Feed("anchor", d)
	w.Exec.Set("mu", float32(m.Mu))
	return m.FedAvg.Train(ctx, w, d, c, data, r)
}

// Adapt fine-tunes as FedAvg does, held near the server's weights.
func (m *FedProx) Adapt(ctx context.Context, w *Worker, s []float32, data *Data, r rng.Stream) (Predictor, error) {
	p, _, err := m.Train(ctx, w, s, new(None), data, r)
	return Point(p), err
}
