package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestBoard: the bar has the rounds of all runs, whatever the order in which they come and be one resumed, and is whole
// when all are done, also if one diverged on its way.
func TestBoard(t *testing.T) {
	var drawn, said bytes.Buffer
	b := &board{w: &said, of: 2, bar: newBar(30, 0, &drawn, 80)}
	one, two := &cell{share: &share{board: b, rounds: 10}}, &cell{share: &share{board: b, rounds: 20}}
	for _, step := range []struct {
		*cell
		round, want int
	}{{one, 1, 1}, {two, 15, 16}, {one, 2, 17}, {two, 1, 17}, {two, 16, 18}} {
		if err := step.share.Round(step.round); err != nil {
			t.Fatal(err)
		}
		if got := b.bar.b.State().CurrentNum; got != int64(step.want) {
			t.Errorf("after round %d of %d the bar is at %d, want %d", step.round, step.share.rounds, got, step.want)
		}
	}
	b.done(two, "it diverged")
	b.done(one, "it is done")
	if got := b.bar.b.State().CurrentNum; got != 30 {
		t.Errorf("at the end the bar is at %d, want 30", got)
	}
	if got, want := said.String(), "1 of 2: it diverged\n2 of 2: it is done\n"; got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	if !strings.Contains(drawn.String(), "1 of 2 runs") {
		t.Errorf("drawn %q", drawn.String())
	}
}

// TestQuoted: words that a shell would take apart are in quotes.
func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"--zeta=0.5": "--zeta=0.5", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'", "mlp:200,100": "mlp:200,100",
	} {
		if got := quoted(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
}

// TestWatched: a run among several tells its rounds.
func TestWatched(t *testing.T) {
	p := planned(t, map[string]string{
		"out": t.TempDir() + "/run", "quiet": "true", "rounds": "3", "local-steps": "1", "clients": "2", "model": "mlp:2",
		"train-per-class": "2", "test-per-class": "2",
	})
	s := &share{board: &board{}, rounds: 3}
	p.watch = s
	if err := p.train(t.Context(), new(bytes.Buffer), new(bytes.Buffer)); err != nil || s.at != 3 {
		t.Errorf("%v; it was told of %d rounds, want 3", err, s.at)
	}
}
