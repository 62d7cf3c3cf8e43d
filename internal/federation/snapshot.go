package federation

import (
	"fmt"

	"fedbayes/algorithms"
	"fedbayes/internal/state"
	"fedbayes/layers"
)

// A Keeper keeps snapshots of a run, so that another run can go on from there. It is called on one goroutine.
type Keeper interface {
	// Restore is called once, before the first round. It fills the snapshot with the one to go on from, or leaves it alone
	// where there is none.
	Restore(s *Snapshot) error

	// Keep is called between two rounds. What s holds changes after.
	Keep(s *Snapshot) error
}

// A Snapshot is what a run has to know after a round to end as if it had never stopped: the rest follows from the
// configuration, the data and the addresses of random numbers. It is taken after the training of the round, before its
// evaluation, which a run that goes on does once more: whether there is one can depend on how many rounds are to follow.
type Snapshot struct {
	Progress
	server  any
	clients []any
	net     *layers.Model
}

// Progress is how far a run has come.
type Progress struct {
	Round int // that is done

	// Where each client is in its mini-batches: see [datasets.Batches].
	Epoch, Pos []int

	// The clients that trained in the round, and their reports.
	Trained []int
	Loss    []float64
	KL      []float64
	Clamped []int

	Spent    Spent
	Patience Patience
}

// Tensors returns the snapshot as tensors, in the run's own memory: of progress, server and client.0, client.1 and so on.
func (s *Snapshot) Tensors() []state.Tensor {
	all := state.Tensors("progress", &s.Progress, s.net.Layout)
	all = append(all, state.Tensors("server", s.server, s.net.Layout)...)
	for i, c := range s.clients {
		all = append(all, state.Tensors(clientName(i), c, s.net.Layout)...)
	}
	return all
}

// Fill sets the snapshot to what Tensors made tensors of.
func (s *Snapshot) Fill(from state.Source) error {
	if err := state.Fill("progress", &s.Progress, s.net.Layout, from); err != nil {
		return err
	}
	if err := state.Fill("server", s.server, s.net.Layout, from); err != nil {
		return err
	}
	for i, c := range s.clients {
		if err := state.Fill(clientName(i), c, s.net.Layout, from); err != nil {
			return err
		}
	}
	return nil
}

func clientName(i int) string { return fmt.Sprintf("client.%d", i) }

// snapshot returns the run as it is after the training of the last round that is done.
func (r *run) snapshot() *Snapshot {
	s := &Snapshot{Progress{Round: r.done, Spent: r.settled, Patience: r.settledWait}, r.server, r.states, r.task.Net}
	for _, b := range r.batches {
		s.Epoch, s.Pos = append(s.Epoch, b.Epoch), append(s.Pos, b.Pos)
	}
	for _, c := range r.trained {
		s.Trained = append(s.Trained, c.client)
		s.Loss, s.KL, s.Clamped = append(s.Loss, c.Loss), append(s.KL, c.KL), append(s.Clamped, c.Clamped)
	}
	return s
}

// keep hands a snapshot to the keeper, if there is one and it has not got it yet.
func (r *run) keep() error {
	if r.Keeper == nil || r.kept == r.done {
		return nil
	}
	if err := r.Keeper.Keep(r.snapshot()); err != nil {
		return err
	}
	r.kept = r.done
	return nil
}

// restore goes to where the keeper's snapshot is.
func (r *run) restore() error {
	if r.Keeper == nil {
		return nil
	}
	s := r.snapshot()
	if err := r.Keeper.Restore(s); err != nil {
		return err
	}
	if s.Round == 0 {
		return nil
	}
	if err := r.accept(s.Progress); err != nil {
		return fmt.Errorf("federation: snapshot of round %d: %w", s.Round, err)
	}
	r.done, r.kept, r.spent, r.settled = s.Round, s.Round, s.Spent, s.Spent
	r.waited, r.settledWait = s.Patience, s.Patience
	return nil
}

// accept takes over mini-batches and reports.
func (r *run) accept(p Progress) error {
	n := len(r.clients)
	if len(p.Epoch) != n || len(p.Pos) != n {
		return fmt.Errorf("mini-batches of %d and %d clients, want %d", len(p.Epoch), len(p.Pos), n)
	}
	for i, b := range r.batches {
		if p.Epoch[i] < 0 || p.Pos[i] < 0 || p.Pos[i] > 0 && p.Pos[i] >= b.Of.Len() {
			return fmt.Errorf("client %d is at example %d of %d in epoch %d", i, p.Pos[i], b.Of.Len(), p.Epoch[i])
		}
		b.Epoch, b.Pos = p.Epoch[i], p.Pos[i]
	}
	if m := len(p.Trained); len(p.Loss) != m || len(p.KL) != m || len(p.Clamped) != m {
		return fmt.Errorf("%d, %d and %d reports of %d clients", len(p.Loss), len(p.KL), len(p.Clamped), m)
	}
	r.trained = nil
	for k, i := range p.Trained {
		if i < 0 || i >= n {
			return fmt.Errorf("a report of client %d, and there are %d", i, n)
		}
		report := algorithms.Report{Loss: p.Loss[k], KL: p.KL[k], Clamped: p.Clamped[k]}
		r.trained = append(r.trained, training{client: i, Report: report})
	}
	return nil
}
