package algorithms

import (
	"context"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// PerFedAvg averages weights θ that are a start: good not as they are, but after one step of gradient descent on a client's
// own data. With f a client's loss,
//
//	min over θ of the mean of f(θ − α∇f(θ)), whose gradient is (I − α∇²f(θ))·u with u = ∇f(θ − α∇f(θ))
//
//	client: θ ← the server's; repeat, each ∇f from a mini-batch of its own
//	          u ← ∇f(θ − α∇f(θ))
//	          θ ← θ − β·u                   first-order: without the Hessian
//	          θ ← θ − β·(u − α∇²f(θ)·u)     Hessian-free: its product with u from differences of gradients
//	server: θ ← mean of θᵢ
//
// The personal model is a client's step from the server's θ on a mini-batch of its training data; the global one is θ as it
// is. The loss that is reported is f(θ − α∇f(θ)).
//
// Fallah et al., Personalized Federated Learning with Theoretical Guarantees: A Model-Agnostic Meta-Learning Approach.
// NeurIPS 2020. Algorithm 1.
type PerFedAvg struct {
	FedAvg // its LR is β

	InnerLR    float64 // α
	Hessian    string  // first-order or free
	AdaptSteps int     // steps from θ to a personal model
	Weighting  string  // of the clients in the server's mean: uniform or data
}

// NewPerFedAvg returns Per-FedAvg with the rates that the public code of pFedMe (github.com/CharlieDinh/pFedMe) has for it.
//
// Deviates: that code adapts to two mini-batches of the test data before it scores them; here a personal model has seen
// training data alone.
func NewPerFedAvg() *PerFedAvg {
	return &PerFedAvg{
		FedAvg:  FedAvg{Descent{Optimizer: "sgd", LR: 0.001}},
		InnerLR: 0.01, Hessian: "first-order", AdaptSteps: 1, Weighting: "uniform",
	}
}

func (m *PerFedAvg) Params() []Param {
	return append(m.FedAvg.Params(),
		Param{Name: "inner-lr", Usage: "learning rate α of the steps that adapt to a client's data", Value: &m.InnerLR, Max: inf},
		Param{Name: "hessian", Usage: "gradient through the step that adapts: without its Hessian, or with that from differences of gradients", Value: &m.Hessian, OneOf: []string{"first-order", "free"}},
		Param{Name: "adapt-steps", Usage: "steps from the global model to a personal one, on mini-batches of the client's training data", Value: &m.AdaptSteps, Max: 1000},
		weighting(&m.Weighting),
	)
}

func (m *PerFedAvg) Idle() map[string]string {
	idle := m.FedAvg.Idle()
	if m.InnerLR == 0 {
		for _, name := range []string{"hessian", "adapt-steps"} {
			idle[name] = "with --inner-lr 0 nothing adapts"
		}
	}
	return idle
}

func (m *PerFedAvg) Train(ctx context.Context, w *Worker, d []float32, _ *None, data *Data, _ rng.Stream) ([]float32, Report, error) {
	theta, rep := slices.Clone(d), Report{KL: math.NaN()}
	adapted, u, product := make([]float32, len(d)), make([]float32, len(d)), make([]float32, len(d))
	rule, opt := m.rule(m.LR), w.forgetful(0)
	for step := range data.Steps {
		if err := ctx.Err(); err != nil {
			return theta, rep, err
		}
		w.CPU.Combine(adapted, 1, theta, float32(-m.InnerLR), w.gradient(theta, w.next(data)))
		rows := w.next(data)
		copy(u, w.gradient(adapted, rows))
		nll := float64(w.Exec.Value("nll")) / float64(rows)
		if err := finite(step, "negative log-likelihood", nll); err != nil {
			return theta, rep, err
		}
		rep.Loss += nll / float64(data.Steps)
		if m.Hessian == "free" {
			rows := w.next(data)
			hessianProduct(w.CPU, product, adapted, theta, u, func(at []float32) []float32 { return w.gradient(at, rows) })
			w.CPU.Axpy(u, float32(-m.InnerLR), product)
		}
		rule.Update(w.CPU, opt, theta, u)
	}
	return theta, rep, nil
}

// gradient returns that of the mean cross-entropy at weights p, for the rows of the mini-batch that is in the executor's
// inputs. The next run overwrites it.
func (w *Worker) gradient(p []float32, rows int) []float32 {
	w.Exec.Feed("w", p)
	w.Exec.Set("1/rows", 1/float32(rows))
	w.Exec.Run(rows)
	return w.Exec.Grad("w")
}

// hessianDelta is the distance δ at which differences of gradients are taken, as in the public code of FL-bench
// (github.com/KarhouTam/FL-bench).
const hessianDelta = 1e-3

// hessianProduct sets dst to the product of the Hessian at θ with u, without the Hessian:
//
//	∇²f(θ)·u ≈ (∇f(θ + δu) − ∇f(θ − δu)) / 2δ
//
// which is exact where f is quadratic. A long u makes δ small, so that neither point is farther than hessianDelta. gradient
// may return one slice each time; at is overwritten.
func hessianProduct(cpu *kernels.CPU, dst, at, theta, u []float32, gradient func(at []float32) []float32) {
	var square float64
	for _, x := range u {
		square += float64(x) * float64(x)
	}
	delta := float32(hessianDelta / math.Max(1, math.Sqrt(square)))
	cpu.Combine(at, 1, theta, delta, u)
	copy(dst, gradient(at))
	cpu.Combine(at, 1, theta, -delta, u)
	cpu.Combine(dst, 1, dst, -1, gradient(at))
	cpu.Scale(dst, 1/(2*delta), dst)
}

func (m *PerFedAvg) Aggregate(s *[]float32, ups []Upload[[]float32]) { *s = mean(ups, m.Weighting) }

func (m *PerFedAvg) Personal(s []float32, _ None, train *datasets.Examples) Predictor {
	if train == nil || train.Len() == 0 {
		return Point(s)
	}
	return adaptation{s, train, m.InnerLR, m.AdaptSteps}
}

// adaptation predicts with weights that are some steps of gradient descent away from start, which stays as it is.
type adaptation struct {
	start []float32
	train *datasets.Examples
	lr    float64
	steps int
}

// Members implements [Predictor]. The mini-batches are those of r. All members are the same.
func (p adaptation) Members(w *Worker, dst, x []float32, m int, r rng.Stream) {
	data := &Data{Batches: &datasets.Batches{Of: p.train, Size: w.Batch, Stream: r, Epoch: r.Round}, Steps: p.steps}
	w.adapted(p.start, p.lr, data).Members(w, dst, x, m, r)
}

// adapted returns the weights that are data's steps of gradient descent away from start.
func (w *Worker) adapted(start []float32, lr float64, data *Data) Point {
	theta := slices.Clone(start)
	for range data.Steps {
		w.CPU.Axpy(theta, float32(-lr), w.gradient(theta, w.next(data)))
	}
	return theta
}

// Adapt is what a personal model is made by, with as many steps as the newcomer has mini-batches.
func (m *PerFedAvg) Adapt(ctx context.Context, w *Worker, s []float32, data *Data, _ rng.Stream) (Predictor, error) {
	return w.adapted(s, m.InnerLR, data), ctx.Err()
}

// Random implements [Predictor].
func (adaptation) Random() bool { return false }
