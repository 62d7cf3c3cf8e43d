package algorithms

import (
	"context"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// PFedMe gives each client personal weights θ near the server's, and moves the server along the Moreau envelope of the
// clients' losses: F(w) = min over θ of CE(θ) + λ/2·‖θ − w‖², whose gradient is λ(w − θ).
//
//	client: θ, w ← the server's; for each mini-batch
//	          K times:  θ ← θ − η_p·(∇CE(θ) + λ(θ − w))
//	          w ← w − η·λ(w − θ)
//	server: w ← (1−β)·w + β·mean(wᵢ)
//
// The personal model is θ after the last of its steps, not the w that is sent. Clients that are not sampled train too.
//
// T. Dinh et al., Personalized Federated Learning with Moreau Envelopes. NeurIPS 2020. Algorithm 1.
type PFedMe struct {
	Descent // of θ; its LR is η_p

	LRGlobal      float64 // η, of w
	Lambda        float64 // λ
	PersonalSteps int     // K, steps of θ for each step of w
	Beta          float64 // β, how far the server moves to the clients' mean
	Weighting     string  // of the clients in the server's mean: uniform or data
	TrainAll      bool    // clients that are not sampled train their θ too
}

// NewPFedMe returns pFedMe with what its public code (github.com/CharlieDinh/pFedMe) has for a dense network on MNIST.
//
// Deviates: that code decays θ by 0.001 in each step, which is in no formula of the paper (--weight-decay 0.001 does it).
func NewPFedMe() *PFedMe {
	return &PFedMe{
		Descent:  Descent{Optimizer: "sgd", LR: 0.09},
		LRGlobal: 0.005, Lambda: 15, PersonalSteps: 5, Beta: 1, Weighting: "uniform", TrainAll: true,
	}
}

// NewPFedMeConv returns pFedMe with what the public code has for a convolutional network on CIFAR-10.
func NewPFedMeConv() *PFedMe {
	m := NewPFedMe()
	m.LR, m.LRGlobal = 0.01, 0.01
	return m
}

func (m *PFedMe) Params() []Param {
	return append(m.Descent.Params(),
		lrGlobal(&m.LRGlobal),
		lambda(&m.Lambda),
		personalSteps(&m.PersonalSteps),
		serverBeta(&m.Beta, 4), // the largest that the paper tries
		weighting(&m.Weighting),
		trainAll(&m.TrainAll),
	)
}

func (m *PFedMe) Idle() map[string]string {
	idle := m.Descent.Idle()
	if m.Lambda == 0 {
		for _, name := range []string{"lr-global", "beta", "weighting"} {
			idle[name] = "with --lambda 0 the global model stays as it is"
		}
	}
	return idle
}

func (m *PFedMe) Objective(b *graph.Builder, task Task) { proximal(b, task) }

func (m *PFedMe) Client(_ Task, _ *kernels.CPU, s []float32, _ rng.Stream) []float32 {
	return slices.Clone(s)
}

func (m *PFedMe) Download(s []float32, _ int) []float32 { return s }

func (m *PFedMe) Train(ctx context.Context, wk *Worker, d []float32, c *[]float32, data *Data, _ rng.Stream) ([]float32, Report, error) {
	e, rep := wk.Exec, Report{KL: math.NaN()}
	theta, w := *c, slices.Clone(d)
	copy(theta, d)
	e.Feed("w", theta)
	e.Feed("anchor", w)
	e.Set("mu", float32(m.Lambda))
	rule, opt := m.rule(m.LR), wk.forgetful(0)
	pull := m.LRGlobal * m.Lambda

	for step := range data.Steps {
		if err := ctx.Err(); err != nil {
			return w, rep, err
		}
		rows := wk.next(data)
		e.Set("1/rows", 1/float32(rows))
		for range m.PersonalSteps {
			e.Run(rows)
			nll := float64(e.Value("nll")) / float64(rows)
			if err := finite(step, "negative log-likelihood", nll); err != nil {
				return w, rep, err
			}
			rep.Loss += nll / float64(data.Steps*m.PersonalSteps)
			rule.Update(wk.CPU, opt, theta, e.Grad("w"))
		}
		wk.CPU.Combine(w, float32(1-pull), w, float32(pull), theta)
	}
	return w, rep, nil
}

func (m *PFedMe) Aggregate(s *[]float32, ups []Upload[[]float32]) {
	next := mean(ups, m.Weighting)
	for i, w := range *s {
		next[i] = float32((1-m.Beta)*float64(w) + m.Beta*float64(next[i]))
	}
	*s = next
}

func (m *PFedMe) Personal(_, theta []float32, _ *datasets.Examples) Predictor { return Point(theta) }
func (m *PFedMe) Global(s []float32) Predictor                                { return Point(s) }
func (m *PFedMe) TrainsAll() bool                                             { return m.TrainAll }
