package cli

import (
	"fmt"
	"io"
	"log/slog"

	"fedbayes/datasets"
	"fedbayes/internal/federation"
	"fedbayes/internal/kernels"
	"fedbayes/internal/results"
)

// A journal says on stderr how a run goes, until stop. Results are on stdout, and not its own.
type journal interface {
	federation.Recorder
	federation.Mourner
	begin(p *plan, d *datasets.Dataset, done int) // some rounds are done already if the run is resumed
	note(text string)
	end(s results.Summary)
	stop()
}

// newJournal returns one in the format of the plan: JSON, or text with a bar on a terminal and plain lines elsewhere. It has
// notes alone if the run is to be quiet; which of them are made then is not for it to say.
func newJournal(p *plan, done int, stderr io.Writer) journal {
	switch {
	case p.LogFormat == formatJSON:
		return newJSONLines(p, stderr)
	case p.Quiet:
		return silence{notes{stderr}}
	case isTerminal(stderr):
		return newBar(p.Rounds, done, stderr, columns(stderr))
	}
	return &lines{notes{stderr}, p.Rounds}
}

// The formats of a journal.
const (
	formatText = "text"
	formatJSON = "json"
)

// notes writes them as text.
type notes struct{ w io.Writer }

func (n notes) note(text string) { fmt.Fprintf(n.w, "note: %s\n", text) }

// Of a round that nobody got through.
const emptyRound = "no client got through, the server keeps its model"

type silence struct{ notes }

func (silence) Round(int) error                        { return nil }
func (silence) Evaluation(federation.Evaluation) error { return nil }
func (silence) Empty(int) error                        { return nil }
func (silence) begin(*plan, *datasets.Dataset, int)    {}
func (silence) end(results.Summary)                    {}
func (silence) stop()                                  {}

// jsonLines writes an object a line, with time, level and message.
type jsonLines struct {
	log   *slog.Logger
	head  results.Head
	quiet bool
}

var _ journal = (*jsonLines)(nil)

func newJSONLines(p *plan, stderr io.Writer) *jsonLines {
	return &jsonLines{slog.New(slog.NewJSONHandler(stderr, nil)).With("seed", p.Seed), p.head(), p.Quiet}
}

func (j *jsonLines) begin(p *plan, d *datasets.Dataset, done int) {
	if j.quiet {
		return
	}
	work := slog.Int("local_steps", p.LocalSteps)
	if p.LocalEpochs > 0 {
		work = slog.Int("local_epochs", p.LocalEpochs)
	}
	j.log.Info("run", "algo", p.Algo, "dataset", d.Name, "source", d.Source, "images", d.Len(), "regime", p.regime,
		"clients", p.Clients, "clients_per_round", p.clients, "model", p.Model, "parameters", p.net.Size(),
		"rounds", p.Rounds, work, "batch", p.Batch, "isa", kernels.Best().String(), "workers", min(p.Workers, p.Clients),
		"version", version(), "out", p.Out, "rounds_done", done)
}

func (j *jsonLines) note(text string) { j.log.Warn(text) }

func (j *jsonLines) Round(int) error { return nil }

func (j *jsonLines) Empty(round int) error {
	if !j.quiet {
		j.log.Warn(emptyRound, "round", round)
	}
	return nil
}

// Evaluation writes the numbers that there are, under the names of rounds.csv.
func (j *jsonLines) Evaluation(e federation.Evaluation) error {
	if j.quiet {
		return nil
	}
	numbers := []any{"round", e.Round}
	for _, n := range j.head.Numbers(e) {
		numbers = append(numbers, n.Name, n.Value)
	}
	j.log.Info("round", numbers...)
	return nil
}

func (j *jsonLines) end(s results.Summary) {
	if !j.quiet {
		j.log.Info("end", "status", s.Status, "rounds", s.Rounds, "stopped_early", s.Early)
	}
}

func (j *jsonLines) stop() {}

// A told error was written where the user looks for it.
type told struct{ error }

func (t told) Unwrap() error { return t.error }

// inFormat writes an error as JSON if that is how a command is to say things, instead of leaving it to Main.
func inFormat(ts texts, stderr io.Writer, err error) error {
	if err == nil || !ts.has("log-format") || ts["log-format"].value != formatJSON {
		return err
	}
	slog.New(slog.NewJSONHandler(stderr, nil)).Error(oneLine(err), "status", status(err))
	return told{err}
}
