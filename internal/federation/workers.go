package federation

import (
	"context"
	"sync"
	"sync/atomic"

	"fedbayes/algorithms"
)

// A worker is a goroutine's share of the machine.
type worker struct {
	*algorithms.Worker
	logp []float32 // predictions of one client's test set
}

// each calls f for 0 … n-1, one call at a time on each worker, and returns the error of the lowest index. Once a call has
// failed or the context has ended, no further one begins.
func (r *run) each(ctx context.Context, n int, f func(w *worker, k int) error) error {
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	var wg sync.WaitGroup
	for _, w := range r.workers {
		wg.Go(func() {
			// Look before taking an index: one that is taken is run, so all below it are too.
			for !failed.Load() && ctx.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= n {
					return
				}
				if errs[k] = f(w, k); errs[k] != nil {
					failed.Store(true)
				}
			}
		})
	}
	wg.Wait()
	// Calls begin in order, so the first client to fail is among those that ran, whatever the number of workers.
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
