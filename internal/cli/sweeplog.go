package cli

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"fedbayes/internal/results"
)

// A sweepLog says on stderr how a sweep goes: in JSON everything, in text what is of note, as the board has the rest.
type sweepLog struct {
	notes
	json  *slog.Logger // nil in text
	axes  []axis
	quiet bool
}

func (s *sweep) newLog(stderr io.Writer) *sweepLog {
	l := &sweepLog{notes: notes{stderr}, axes: s.axes, quiet: s.quiet}
	if s.format == formatJSON {
		l.json = slog.New(slog.NewJSONHandler(stderr, nil))
	}
	return l
}

func (l *sweepLog) note(text string) {
	if l.json == nil {
		l.notes.note(text)
		return
	}
	l.json.Warn(text)
}

// say writes an object.
func (l *sweepLog) say(level slog.Level, msg string, attrs ...any) {
	if l.json != nil && !l.quiet {
		l.json.Log(context.Background(), level, msg, attrs...)
	}
}

// begun says that a run begins.
func (l *sweepLog) begun(c *cell) { l.say(slog.LevelInfo, "begun", l.attrs(c)...) }

// ended says how a run ended: with its last accuracies, or with the error that it came upon.
func (l *sweepLog) ended(c *cell, err error) {
	attrs := l.attrs(c)
	switch {
	case errors.Is(err, context.Canceled):
		l.say(slog.LevelWarn, "interrupted", attrs...)
		return
	case err != nil:
		l.say(slog.LevelWarn, "failed", append(attrs, "error", oneLine(err))...)
		return
	}
	if s, _ := results.Ended(c.plan.Out); s != nil { // one that is gone is missed when the table is made
		attrs = append(attrs, "rounds", s.Rounds)
		for _, m := range []struct {
			name string
			last *results.Score
		}{{"pm_acc", s.LastPM}, {"gm_acc", s.LastGM}} {
			if m.last != nil {
				attrs = append(attrs, m.name, float64(m.last.Acc))
			}
		}
	}
	l.say(slog.LevelInfo, "finished", attrs...)
}

// attrs say which run a cell is.
func (l *sweepLog) attrs(c *cell) []any {
	var grid []any
	for i, a := range l.axes {
		v := any(c.values[i])
		if p, ok := c.plan.param(a.flag); ok {
			v = value(p)
		}
		grid = append(grid, a.flag, v)
	}
	return []any{"seed", c.plan.Seed, slog.Group("grid", grid...), "out", c.plan.Out}
}
