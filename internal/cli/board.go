package cli

import (
	"fmt"
	"io"
	"sync"

	"fedbayes/internal/federation"
)

// A board shows how the runs of a sweep go: a line for each that is done, and on a terminal one bar for the rounds of all.
type board struct {
	mu    sync.Mutex
	w     io.Writer
	bar   *bar // nil where there is none
	ended int
	of    int
}

// newBoard gives each of the cells its share of the board.
func (s *sweep) newBoard(left []*cell, stdout, stderr io.Writer) *board {
	b := &board{w: stdout, of: len(left)}
	rounds := 0
	for _, c := range left {
		c.share = &share{board: b, rounds: c.plan.Rounds}
		c.plan.watch = c.share
		rounds += c.plan.Rounds
	}
	if len(left) > 0 && !s.quiet && s.format == formatText && isTerminal(stderr) {
		b.bar = newBar(rounds, 0, stderr, columns(stderr))
		b.describe()
	}
	return b
}

// describe says how many runs are done.
func (b *board) describe() { b.bar.b.Describe(fmt.Sprintf("%d of %s", b.ended, counted(b.of, "run"))) }

// done prints the line about a run that came to its end.
func (b *board) done(c *cell, line string) {
	c.share.reach(c.share.rounds)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended++
	if b.bar != nil {
		_ = b.bar.b.Clear() // a terminal that is gone ends nothing
	}
	fmt.Fprintf(b.w, "%d of %d: %s\n", b.ended, b.of, line)
	if b.bar != nil {
		b.describe()
	}
}

func (b *board) stop() {
	if b.bar != nil {
		b.bar.stop()
	}
}

// A share is what one run adds to a board.
type share struct {
	board  *board
	rounds int
	at     int // the last round that was added
}

// reach adds the rounds up to one. A run that is resumed begins with more than one, and one that is done again with none.
func (s *share) reach(round int) {
	s.board.mu.Lock()
	defer s.board.mu.Unlock()
	if more := round - s.at; more > 0 {
		s.at = round
		if s.board.bar != nil {
			_ = s.board.bar.b.Add(more)
		}
	}
}

// Round implements [federation.Recorder].
func (s *share) Round(round int) error {
	s.reach(round)
	return nil
}

// Evaluation implements [federation.Recorder].
func (*share) Evaluation(federation.Evaluation) error { return nil }
