// Package algorithms holds one file for each federated method.
//
// A method is a struct of its hyper-parameters with the steps of [Method]: declare the losses of one local step, make
// the states of server and client, train a client, fold what the clients sent, and say which weights predict. Sampling
// of clients, workers, evaluation and records belong to the loop, so a method's file reads like its paper's pseudocode.
//
// To add one: write its file (fedavg.go is a short one), give it Params, and add a line to All.
package algorithms

import (
	"context"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// A Method is one federated method with its hyper-parameters set.
//
//	S  what the server keeps between rounds
//	C  what a client keeps between rounds
//	D  what a client downloads
//	U  what a client uploads
//
// All four are plain structs of exported fields, or slices of float32: the loop counts the bytes of messages, and saves and
// restores states (internal/state), which is why nothing that a later round needs may stand elsewhere.
type Method[S, C, D, U any] interface {
	// Params lists the hyper-parameters, with pointers to them.
	Params() []Param

	// Idle returns the hyper-parameters that have no effect beside the others as they are, with the reason.
	Idle() map[string]string

	// Accepts says why the method cannot train a network, as "its layers are not dense"; nil if it can.
	Accepts(net *layers.Model) error

	// Objective declares the parameters and the losses of one local step.
	Objective(b *graph.Builder, task Task)

	// Server returns the server's state before round 1.
	Server(task Task, cpu *kernels.CPU, r rng.Stream) S

	// Client returns the state of a client that is seen for the first time; r has its number.
	Client(task Task, cpu *kernels.CPU, s S, r rng.Stream) C

	// Download returns what the server sends to client i, which must not be written to.
	Download(s S, i int) D

	// Train runs one client's round and returns what it uploads. It reads d and changes only c. An error is a *NonFinite,
	// or the context's: a round can be long, and is given up between two steps.
	Train(ctx context.Context, w *Worker, d D, c *C, data *Data, r rng.Stream) (U, Report, error)

	// Aggregate folds the uploads, at least one and in ascending order of client, into the server.
	Aggregate(s *S, ups []Upload[U])

	// Personal returns the predictor of a client, whose training data are at hand to adapt to; Global that of the server.
	// Both are nil where the method has none.
	Personal(s S, c C, train *datasets.Examples) Predictor
	Global(s S) Predictor

	// TrainsAll says whether clients that are not sampled in a round train too, without uploading.
	TrainsAll() bool
}

// A Task is what a method is built for.
type Task struct {
	Net      *layers.Model
	Batch    int   // examples of a mini-batch at most
	Examples []int // training examples of each client of a run; those that come later have none here
}

// Data is a client's training data and the work of one round.
type Data struct {
	*datasets.Batches
	Steps int // mini-batches of the round
}

// Examples returns the number of the client's training examples.
func (d *Data) Examples() int { return d.Of.Len() }

// An Upload is what one client sent, with the number of its training examples.
type Upload[U any] struct {
	Client, Examples int
	Msg              U
}

// A Report says how a client's round went.
type Report struct {
	Loss    float64 // mean negative log-likelihood of an example over the round's mini-batches, in nats
	KL      float64 // mean divergence from the localised global distribution over them, in nats; NaN where there is none
	Clamped int     // values of ρ, or of precisions, that were raised to their floor
}

// A Worker runs one client at a time.
type Worker struct {
	Task
	CPU     *kernels.CPU
	Exec    *graph.Executor // of the method's objective
	predict *graph.Executor
	draw    []float32 // weights of one member of a prediction
	scratch []*graph.Moments
}

// Programs are the compiled graphs of a run, which its workers share.
type Programs struct {
	Task
	objective, predict *graph.Program
}

// Compile builds the programs of a method.
func Compile(a Algorithm, task Task) (*Programs, error) {
	if err := a.Accepts(task.Net); err != nil {
		return nil, err
	}
	obj, err := graph.Build(func(b *graph.Builder) { a.Objective(b, task) })
	if err != nil {
		return nil, err
	}
	p, err := CompilePrediction(task.Net)
	if err != nil {
		return nil, err
	}
	p.Task, p.objective = task, obj
	return p, nil
}

// CompilePrediction builds what [Point] and [Bayes] need and nothing to train with.
func CompilePrediction(net *layers.Model) (*Programs, error) {
	pred, err := graph.Build(func(b *graph.Builder) { prediction(b, net) })
	if err != nil {
		return nil, err
	}
	return &Programs{Task: Task{Net: net}, predict: pred}, nil
}

// NewWorker returns a worker that computes with cpu, which must be its own.
func (p *Programs) NewWorker(cpu *kernels.CPU) *Worker {
	w := &Worker{Task: p.Task, CPU: cpu, predict: p.predict.NewExecutor(cpu), draw: make([]float32, p.Net.Size())}
	if p.objective != nil {
		w.Exec = p.objective.NewExecutor(cpu)
	}
	return w
}

// forgetful returns the i-th of a worker's own memories of an optimizer, empty: for parameters that a client has for one
// round only.
func (w *Worker) forgetful(i int) *graph.Moments {
	for len(w.scratch) <= i {
		w.scratch = append(w.scratch, new(graph.Moments))
	}
	w.scratch[i].Reset()
	return w.scratch[i]
}

// next puts the client's next mini-batch into the inputs x and y of the objective and returns its number of examples.
func (w *Worker) next(data *Data) int { return data.Next(w.Exec.Buffer("x"), w.Exec.Buffer("y")) }

// inputs declares a mini-batch: x [batch, in] and labels y [batch].
func inputs(b *graph.Builder, task Task) (x, y *graph.Node) {
	return b.Input("x", task.Batch, task.Net.In), b.Input("y", task.Batch)
}
