package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"fedbayes/internal/federation"
)

// planned returns the plan of a command line.
func planned(t *testing.T, flags map[string]string) *plan {
	t.Helper()
	ts := texts{}
	for name, value := range flags {
		ts[name] = &text{given: 1, value: value}
	}
	p, err := newPlan(ts, time.Now(), newShelf())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStoppedWhileLoading: a signal that comes before the first round leaves nothing behind.
func TestStoppedWhileLoading(t *testing.T) {
	t.Chdir(t.TempDir())
	for signal, want := range map[os.Signal]struct {
		status int
		text   string
	}{
		os.Interrupt:    {130, "interrupted before the first round; nothing was written"},
		syscall.SIGTERM: {143, "terminated before the first round; nothing was written"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop{signal})
		var stdout, stderr bytes.Buffer
		err := planned(t, nil).train(ctx, &stdout, &stderr)
		if err == nil || err.Error() != want.text || status(err) != want.status || stdout.Len()+stderr.Len() > 0 {
			t.Errorf("%v: %v, status %d, output %q %q", signal, err, status(err), &stdout, &stderr)
		}
		if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 {
			t.Errorf("%v: left %v (%v)", signal, entries, err)
		}
	}
}

// TestHandlerFirst: the first signal ends the context, also before anything else has happened.
func TestHandlerFirst(t *testing.T) {
	ctx, release := untilSignal(t.Context())
	defer release()
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if err := self.Signal(syscall.SIGTERM); err != nil {
		t.Skip(err)
	}
	<-ctx.Done()
	if err := interruption(ctx, "x"); status(err) != statusTerminated {
		t.Errorf("%v has status %d, want %d", err, status(err), statusTerminated)
	}
}

// TestPatience: a run that goes on after a signal says why, and one that ends says nothing.
func TestPatience(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var said bytes.Buffer
	patience(ctx, time.Hour, notes{&said}.note)() // it ended by itself
	release := patience(ctx, time.Hour, notes{&said}.note)
	cancel()
	release() // at once
	if said.Len() > 0 {
		t.Errorf("said %q, want nothing", &said)
	}
	read, write := io.Pipe()
	release = patience(ctx, 0, notes{write}.note)
	line, err := bufio.NewReader(read).ReadString('\n')
	release()
	if want := "note: the round at hand is finished for the checkpoint; once more ends the run at once\n"; err != nil || line != want {
		t.Errorf("said %q (%v), want %q", line, err, want)
	}
}

// TestExplained: the line says whether all rounds are done.
func TestExplained(t *testing.T) {
	p := planned(t, map[string]string{"rounds": "2", "out": "there"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stop{os.Interrupt})
	for want, res := range map[string]federation.Result{
		"interrupted after 1 of 2 rounds; results so far are in there, and --resume goes on":                                                  {Last: &federation.Evaluation{Round: 1}},
		"interrupted after the last round, in the evaluation with draws of the weights; the other results are in there, and --resume goes on": {Last: &federation.Evaluation{Round: 2}},
	} {
		err := p.explain(ctx, ctx.Err(), res, 1)
		if err == nil || err.Error() != want || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	p.HoldoutClients = 1
	last := federation.Result{Last: &federation.Evaluation{Round: 2}}
	if err := p.explain(ctx, ctx.Err(), last, 2); err == nil || !strings.Contains(err.Error(), " or the models of clients that are held out; ") {
		t.Errorf("with a client that is held out: %v", err)
	}
	p.CheckpointEvery = 0
	if err := p.explain(ctx, ctx.Err(), federation.Result{}, 1); err == nil || strings.Contains(err.Error(), "resume") {
		t.Errorf("without checkpoints: %v", err)
	}
}
