package federation

import "fedbayes/internal/rng"

// A fate is what becomes of a client in a round that it has begun.
type fate struct {
	dropped bool // the server hears nothing of it any more
	steps   int  // mini-batches that it comes to
}

// fate draws what becomes of a client that is to do so many steps in round t: it drops out with probability DropRate, and else
// is a straggler with probability StragglerRate, which does a number of steps that is uniform in 1 … steps−1. Whether a client
// drops out is the same with and without stragglers, and who drops out at one rate does so at a higher one.
//
// The work of a client that drops out is lost, with what it would have kept for itself, as of a machine that fails: it has
// downloaded, and is after the round what it was before. So it is not trained at all, and its mini-batches wait for it.
func (r *run) fate(t, client, steps int) fate {
	if r.DropRate == 0 && r.StragglerRate == 0 {
		return fate{steps: steps}
	}
	chance := r.root.For(rng.Fate).At(t, client).Rand()
	drop, slow := chance.Float64(), chance.Float64()
	switch {
	case drop < r.DropRate:
		return fate{dropped: true}
	case slow < r.StragglerRate && steps > 1:
		return fate{steps: 1 + chance.IntN(steps-1)}
	}
	return fate{steps: steps}
}

// A Mourner is a Recorder that is told of the rounds that came to nothing.
type Mourner interface {
	// Empty is called after Round where no client got through, so that the server keeps its model.
	Empty(round int) error
}

// mourn tells those that want to know whether the last round was empty.
func (r *run) mourn(rec []Recorder, empty bool) error {
	if !empty {
		return nil
	}
	for _, rc := range rec {
		if m, ok := rc.(Mourner); ok {
			if err := m.Empty(r.done); err != nil {
				return err
			}
		}
	}
	return nil
}
