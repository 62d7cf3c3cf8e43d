package algorithms

import (
	"context"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// Ditto is FedAvg, beside which each client has weights v of its own, held near those that it received.
//
//	client: w ← the server's; for each mini-batch
//	          v ← v − η·(∇CE(v) + λ(v − w_server))
//	          w ← w − η_g·∇CE(w)
//	server: w ← Σ nᵢ·wᵢ / Σ nᵢ
//
// Whether a client does all its personal steps first, as in the paper, or one for each of the others, as in the public
// code, is the same here: both take the round's mini-batches in turn, and neither reads what the other changes. The v of
// a client that is not sampled stays as it is. The loss that is reported is that of v.
//
// Li et al., Ditto: Fair and Robust Federated Learning Through Personalization. ICML 2021. Algorithm 1.
type Ditto struct {
	Descent // of v; its LR is η

	LRGlobal      float64 // η_g, of w
	Lambda        float64 // λ
	PersonalSteps int     // steps of v for each step of w
	Weighting     string  // of the clients in the server's mean: uniform or data
	TrainAll      bool    // clients that are not sampled train their v too
}

// NewDitto returns Ditto with its defaults: the rates of FedAvg, and the middle of the three λ that the public code
// (github.com/litian96/ditto) chooses from.
func NewDitto() *Ditto {
	return &Ditto{
		Descent:  Descent{Optimizer: "sgd", LR: 0.05},
		LRGlobal: 0.05, Lambda: 1, PersonalSteps: 1, Weighting: "data",
	}
}

func (m *Ditto) Params() []Param {
	return append(m.Descent.Params(),
		lrGlobal(&m.LRGlobal),
		lambda(&m.Lambda),
		personalSteps(&m.PersonalSteps),
		weighting(&m.Weighting),
		trainAll(&m.TrainAll),
	)
}

func (m *Ditto) Objective(b *graph.Builder, task Task) {
	n := task.Net.Size()
	v, w, server := b.Param("v", n), b.Param("w", n), b.Input("server", n)
	x, y := inputs(b, task)
	personal := graph.CrossEntropy(task.Net.Logits(x, layers.Point(v)), y)
	global := graph.CrossEntropy(task.Net.Logits(x, layers.Point(w)), y)
	mean := b.Scalar("1/rows")
	b.Output("personal nll", personal)
	b.Output("global nll", global)
	near := graph.Scale(priors.Proximal(v, server), b.Scalar("lambda"))
	b.Minimize("personal", graph.Sum(graph.Scale(personal, mean), near), v)
	b.Minimize("global", graph.Scale(global, mean), w)
}

// Client starts as Local does.
func (m *Ditto) Client(_ Task, _ *kernels.CPU, s []float32, _ rng.Stream) LocalState {
	return LocalState{W: slices.Clone(s)}
}

func (m *Ditto) Download(s []float32, _ int) []float32 { return s }

func (m *Ditto) Train(ctx context.Context, wk *Worker, d []float32, c *LocalState, data *Data, _ rng.Stream) ([]float32, Report, error) {
	e, w, rep := wk.Exec, slices.Clone(d), Report{KL: math.NaN()}
	e.Feed("v", c.W)
	e.Feed("w", w)
	e.Feed("server", d)
	e.Set("lambda", float32(m.Lambda))
	personal, global, opt := m.rule(m.LR), m.rule(m.LRGlobal), wk.forgetful(0)

	for step := range data.Steps {
		if err := ctx.Err(); err != nil {
			return w, rep, err
		}
		rows := wk.next(data)
		e.Set("1/rows", 1/float32(rows))
		for range m.PersonalSteps {
			e.RunFor("personal", rows)
			nll := float64(e.Value("personal nll")) / float64(rows)
			if err := finite(step, "negative log-likelihood", nll); err != nil {
				return w, rep, err
			}
			rep.Loss += nll / float64(data.Steps*m.PersonalSteps)
			personal.Update(wk.CPU, &c.Opt, c.W, e.Grad("v"))
		}
		e.RunFor("global", rows)
		if err := finite(step, "negative log-likelihood of the global model", float64(e.Value("global nll"))); err != nil {
			return w, rep, err
		}
		global.Update(wk.CPU, opt, w, e.Grad("w"))
	}
	return w, rep, nil
}

func (m *Ditto) Aggregate(s *[]float32, ups []Upload[[]float32]) { *s = mean(ups, m.Weighting) }

func (m *Ditto) Personal(_ []float32, c LocalState, _ *datasets.Examples) Predictor {
	return Point(c.W)
}
func (m *Ditto) Global(s []float32) Predictor { return Point(s) }
func (m *Ditto) TrainsAll() bool              { return m.TrainAll }
