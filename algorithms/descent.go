package algorithms

import (
	"context"
	"math"

	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// Descent is the common half of methods with point weights: the loss, the start, and the optimizer with its settings.
type Descent struct {
	Optimizer                 string
	LR, Momentum, WeightDecay float64
}

// Params lists the settings.
func (o *Descent) Params() []Param {
	return []Param{
		learningRate(&o.LR),
		{Name: "optimizer", Usage: "rule of the local steps", Value: &o.Optimizer, OneOf: optimizers},
		{Name: "momentum", Usage: "momentum of sgd", Value: &o.Momentum, Max: 0.9999},
		{Name: "weight-decay", Usage: "weight decay of sgd", Value: &o.WeightDecay, Max: inf},
	}
}

var optimizers = []string{"sgd", "adam"}

// rule returns the optimizer for a learning rate.
func (o *Descent) rule(lr float64) graph.Optimizer {
	if o.Optimizer == "adam" {
		return graph.NewAdam(float32(lr))
	}
	return graph.SGD{LR: float32(lr), Momentum: float32(o.Momentum), Decay: float32(o.WeightDecay)}
}

// crossEntropy declares point weights w and the negative log-likelihood of a mini-batch, summed over its examples.
func crossEntropy(b *graph.Builder, task Task) (w, nll *graph.Node) {
	w = b.Param("w", task.Net.Size())
	x, y := inputs(b, task)
	nll = graph.CrossEntropy(task.Net.Logits(x, layers.Point(w)), y)
	b.Output("nll", nll)
	return w, nll
}

// Objective declares the mean cross-entropy of a mini-batch.
func (o *Descent) Objective(b *graph.Builder, task Task) {
	w, nll := crossEntropy(b, task)
	b.Minimize("loss", graph.Scale(nll, b.Scalar("1/rows")), w)
}

// Accepts takes any network.
func (o *Descent) Accepts(*layers.Model) error { return nil }

// Server returns the weights that all start from.
func (o *Descent) Server(task Task, _ *kernels.CPU, r rng.Stream) []float32 {
	return task.Net.InitUniform(r)
}

// Idle names the settings of sgd where another optimizer is chosen.
func (o *Descent) Idle() map[string]string {
	if o.Optimizer == "sgd" {
		return map[string]string{}
	}
	why := "it belongs to --optimizer sgd, not to " + o.Optimizer
	return map[string]string{"momentum": why, "weight-decay": why}
}

// descend minimises the objective "loss" of weights p in place, over the mini-batches of a round.
func (o *Descent) descend(ctx context.Context, w *Worker, p []float32, s *graph.Moments, data *Data) (Report, error) {
	e, rule := w.Exec, o.rule(o.LR)
	e.Feed("w", p)
	rep := Report{KL: math.NaN()}
	for step := range data.Steps {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		rows := w.next(data)
		e.Set("1/rows", 1/float32(rows))
		e.RunFor("loss", rows)
		nll := float64(e.Value("nll")) / float64(rows)
		if err := finite(step, "negative log-likelihood", nll); err != nil {
			return rep, err
		}
		rep.Loss += nll / float64(data.Steps)
		rule.Update(w.CPU, s, p, e.Grad("w"))
	}
	return rep, nil
}
