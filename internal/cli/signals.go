package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A stop is the signal that cancelled a context.
type stop struct{ os.Signal }

func (s stop) Error() string { return s.String() }

// untilSignal returns a context that ends with the first Ctrl-C or SIGTERM, with a stop as its cause. A second one kills.
func untilSignal(parent context.Context) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(parent)
	came := make(chan os.Signal, 1)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-came:
			signal.Stop(came)
			cancel(stop{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(came)
		cancel(nil)
	}
}

// aMoment is how long a run may take to end after a signal without saying why.
const aMoment = 2 * time.Second

// patience says what a run is at if it was not released some time after its context ended: the round at hand is finished.
func patience(ctx context.Context, after time.Duration, note func(text string)) (release func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		select {
		case <-time.After(after):
			note("the round at hand is finished for the checkpoint; once more ends the run at once")
		case <-done:
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// An interrupted error says what became of a run that a signal ended.
type interrupted struct {
	text   string
	signal os.Signal
}

// interruption returns the error of a run whose context has ended.
func interruption(ctx context.Context, format string, args ...any) error {
	e := &interrupted{signal: os.Interrupt}
	if s := (stop{}); errors.As(context.Cause(ctx), &s) {
		e.signal = s.Signal
	}
	what := "interrupted"
	if e.signal == syscall.SIGTERM {
		what = "terminated"
	}
	e.text = what + " " + fmt.Sprintf(format, args...)
	return e
}

func (e *interrupted) Error() string { return e.text }

// Is lets [errors.Is] take it for the end of a context.
func (e *interrupted) Is(target error) bool { return target == context.Canceled }

func (e *interrupted) status() int {
	if e.signal == syscall.SIGTERM {
		return statusTerminated
	}
	return statusInterrupted
}
