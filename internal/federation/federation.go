// Package federation runs the rounds of a federated method: it samples clients, hands them to workers, lets the method
// aggregate, evaluates, and tells recorders. It knows no method and does no arithmetic on weights.
//
// Clients run in parallel, one goroutine a worker, and nothing that they compute depends on which worker they meet or
// when: random numbers have addresses, uploads are folded in order of client. The same seed gives the same result for
// any number of workers.
package federation

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/internal/state"
	"fedbayes/layers"
)

// Config says what to run.
type Config struct {
	Rounds      int
	LocalSteps  int // mini-batches of a client's round, if LocalEpochs is 0
	LocalEpochs int // passes over a client's data in a round, if positive
	Batch       int // examples of a mini-batch
	PerRound    int // clients sampled in a round
	EvalEvery   int // rounds from one evaluation to the next; the last round always has one
	MC          int // draws of a prediction; 0 predicts with mean weights
	FinalMC     int // if MC is 0, draws in one more evaluation after the last round; 0 for none
	Workers     int
	Seed        uint64
	ISA         kernels.ISA

	DropRate      float64 // probability that a client drops out of a round that it has begun
	StragglerRate float64 // probability that one that does not comes to fewer steps
	Patience      int     // evaluations without a better accuracy in validation after which the run ends; 0 for any number

	Watch *Watch // of a test example; nil for none

	Newcomers     []datasets.Client // that take no part, and get models after the last round; numbered after the others
	NewcomerSteps int               // mini-batches of each of them

	Keeper    Keeper // of snapshots; nil if there are to be none
	KeepEvery int    // rounds from one snapshot to the next; the last round always has one
}

// A Recorder is told how a run goes, on one goroutine, in order. It must not keep or change what it is given.
type Recorder interface {
	// Round is called after each round, from 1.
	Round(round int) error

	// Evaluation is called after the rounds that were evaluated, after Round.
	Evaluation(e Evaluation) error
}

// ErrNoExamples says that no client has anything to train on.
var ErrNoExamples = errors.New("federation: no client has a training example")

// A run is the state of Run.
type run struct {
	Config
	method  algorithms.Algorithm
	clients []datasets.Client
	task    algorithms.Task
	workers []*worker
	root    rng.Stream

	server  any
	born    float64 // norm of its weights at the start; NaN if it has none
	states  []any   // by client
	batches []*datasets.Batches
	able    []int // clients with training examples, ascending

	done    int        // rounds
	trained []training // in the last of them
	spent   Spent
	settled Spent // up to the last of them, without its evaluation

	waited, settledWait Patience // likewise

	kept int // round of the last snapshot
}

// Spent is what a run has used since its start.
type Spent struct {
	BytesUp, BytesDown int64
	Training, Scoring  time.Duration

	// Clients that dropped out of a round or were stragglers in one, once for each such round; and rounds in which none that was
	// sampled got through.
	Dropped, Stragglers, Empty int
}

// Run runs the rounds of cfg and returns the last evaluation. An error names round and client where one is to blame; it
// wraps an *algorithms.NonFinite or *algorithms.Collapsed where training diverged, and the context's error where the
// context ended, in which case the round at hand is given up. With a Keeper, its clients' training is finished, as there is
// no way back from the middle of a round, and kept.
//
// Methods whose predictions draw weights are evaluated once more after the last round if cfg.MC is 0, with cfg.FinalMC draws.
func Run(ctx context.Context, cfg Config, m algorithms.Algorithm, net *layers.Model, clients []datasets.Client, rec ...Recorder) (Result, error) {
	r := &run{Config: cfg, method: m, clients: clients, root: rng.Stream{Seed: cfg.Seed}}
	r.waited = Patience{Personal: -1, Global: -1}
	r.settledWait = r.waited
	if err := r.start(net); err != nil {
		return Result{}, err
	}
	if err := r.restore(); err != nil {
		return Result{}, err
	}
	var res Result
	err := r.rounds(ctx, rec, &res)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		if full := r.keep(); full != nil {
			err = full
		}
	}
	return res, err
}

// rounds does the rounds that are left. A run that was restored begins with what follows the training of a round.
func (r *run) rounds(ctx context.Context, rec []Recorder, res *Result) error {
	if r.done == 0 {
		if err := r.ask(ctx, rec, false); err != nil {
			return err
		}
	}
	for {
		if r.done > 0 {
			if err := r.conclude(ctx, rec, res); err != nil {
				return err
			}
		}
		if r.done >= r.Rounds || res.Early {
			return nil
		}
		if err := r.advance(ctx, rec); err != nil {
			return err
		}
	}
}

// advance does the training of the next round.
func (r *run) advance(ctx context.Context, rec []Recorder) error {
	t := r.done + 1
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	if r.Keeper != nil {
		ctx = context.WithoutCancel(ctx)
	}
	trained, err := r.round(ctx, t)
	if err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	empty := r.spent.Empty > r.settled.Empty
	r.done, r.trained, r.settled, r.settledWait = t, trained, r.spent, r.waited
	for _, rc := range rec {
		if err := rc.Round(t); err != nil {
			return err
		}
	}
	return r.mourn(rec, empty)
}

// conclude evaluates and keeps the round that is done, if it is its turn.
func (r *run) conclude(ctx context.Context, rec []Recorder, res *Result) error {
	t := r.done
	last := t == r.Rounds
	evaluated := t%r.EvalEvery == 0 || last
	if evaluated {
		if err := r.assess(ctx, rec, res); err != nil {
			return err
		}
	}
	if err := r.alive(); err != nil {
		return fmt.Errorf("round %d: %w", t, err)
	}
	if evaluated {
		r.waited.see(res.Last.Validation)
		if r.Patience > 0 && r.waited.Evaluations >= r.Patience && !last {
			last, res.Early = true, true
		}
	}
	if err := r.ask(ctx, rec, last); err != nil {
		return err
	}
	if r.Keeper != nil && (t%r.KeepEvery == 0 || last) {
		if err := r.keep(); err != nil {
			return err
		}
	}
	if last && r.MC == 0 && r.FinalMC > 0 && r.random() {
		drawn, err := r.evaluate(ctx, t, r.FinalMC, r.trained)
		if err != nil {
			return fmt.Errorf("round %d: %w", t, err)
		}
		res.Drawn = &drawn
	}
	if last && len(r.Newcomers) > 0 {
		all, err := r.receive(ctx, r.Newcomers, r.NewcomerSteps, r.MC)
		if err != nil {
			return fmt.Errorf("round %d: %w", t, err)
		}
		res.Newcomers = all
	}
	return nil
}

// assess evaluates the round that is done and tells recorders, also of one that has diverged.
func (r *run) assess(ctx context.Context, rec []Recorder, res *Result) error {
	e, err := r.evaluate(ctx, r.done, r.MC, r.trained)
	if err != nil {
		return fmt.Errorf("round %d: %w", r.done, err)
	}
	res.Last = &e
	for _, rc := range rec {
		if err := rc.Evaluation(e); err != nil {
			return err
		}
	}
	if err := e.finite(); err != nil {
		return fmt.Errorf("round %d: %w", r.done, err)
	}
	return nil
}

// start compiles the programs and makes the states.
func (r *run) start(net *layers.Model) error {
	r.task = algorithms.Task{Net: net, Batch: r.Batch}
	for i := range r.clients {
		r.task.Examples = append(r.task.Examples, r.clients[i].Train.Len())
	}
	programs, err := algorithms.Compile(r.method, r.task)
	if err != nil {
		return err
	}
	for range r.Workers {
		r.workers = append(r.workers, &worker{Worker: programs.NewWorker(kernels.New(r.ISA))})
	}
	cpu := r.workers[0].CPU
	r.server = r.method.Server(r.task, cpu, r.root.At(0, 0))
	r.born = r.method.Vitals(r.server).Norm
	for i := range r.clients {
		c := &r.clients[i]
		r.states = append(r.states, r.method.Client(r.task, cpu, r.server, r.root.At(0, i+1)))
		r.batches = append(r.batches, &datasets.Batches{Of: &c.Train, Size: r.Batch, Stream: r.root.At(0, i)})
		if c.Train.Len() > 0 {
			r.able = append(r.able, i)
		}
	}
	if len(r.able) == 0 {
		return ErrNoExamples
	}
	return nil
}

// A training is how a client's round went.
type training struct {
	client int
	algorithms.Report
	up any
}

// round trains the clients of round t and aggregates what they upload, if one does. It returns how they fared, by client.
func (r *run) round(ctx context.Context, t int) ([]training, error) {
	began := time.Now()
	sampled := r.sample(t)
	training, err := r.train(ctx, t, sampled)
	if err != nil {
		return nil, err
	}
	var ups []algorithms.Upload[any]
	for _, c := range training {
		if _, ok := slices.BinarySearch(sampled, c.client); ok {
			ups = append(ups, algorithms.Upload[any]{Client: c.client, Examples: r.clients[c.client].Train.Len(), Msg: c.up})
			r.spent.BytesUp += state.Bytes(c.up)
		}
	}
	if len(ups) > 0 {
		r.method.Aggregate(r.server, ups)
	} else {
		r.spent.Empty++
	}
	r.spent.Training += time.Since(began)
	return training, nil
}

// sample draws the clients of a round without replacement, in ascending order.
func (r *run) sample(t int) []int {
	n := min(r.PerRound, len(r.able))
	if n == len(r.able) {
		return r.able
	}
	ids := make([]int, n)
	for k, j := range r.root.For(rng.Sample).At(t, 0).Rand().Perm(len(r.able))[:n] {
		ids[k] = r.able[j]
	}
	slices.Sort(ids)
	return ids
}

// train runs the round of every client that trains in it, and returns how those fared that did not drop out.
func (r *run) train(ctx context.Context, t int, sampled []int) ([]training, error) {
	ids := sampled
	if r.method.TrainsAll() {
		ids = r.able
	}
	var staying, steps []int // clients that do not drop out, and what they come to
	var downs []any
	for _, i := range ids {
		down := r.method.Download(r.server, i)
		r.spent.BytesDown += state.Bytes(down)
		whole := r.steps(r.batches[i])
		f := r.fate(t, i, whole)
		if f.dropped {
			r.spent.Dropped++
			continue
		}
		if f.steps < whole {
			r.spent.Stragglers++
		}
		staying, steps, downs = append(staying, i), append(steps, f.steps), append(downs, down)
	}
	done := make([]training, len(staying))
	err := r.each(ctx, len(staying), func(w *worker, k int) error {
		i := staying[k]
		data := &algorithms.Data{Batches: r.batches[i], Steps: steps[k]}
		up, rep, err := r.method.Train(ctx, w.Worker, downs[k], r.states[i], data, r.root.At(t, i))
		if err != nil {
			return fmt.Errorf("client %d: %w", i, err)
		}
		done[k] = training{i, rep, up}
		return nil
	})
	return done, err
}

// steps returns the number of mini-batches in a client's round.
func (r *run) steps(b *datasets.Batches) int {
	if r.LocalEpochs > 0 {
		return r.LocalEpochs * b.PerEpoch()
	}
	return r.LocalSteps
}
