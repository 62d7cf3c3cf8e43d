package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"fedbayes/datasets"
	"fedbayes/internal/federation"
	"fedbayes/internal/kernels"
	"fedbayes/internal/results"
)

// progress shows how a run goes, until stop.
type progress interface {
	federation.Recorder
	stop()
}

// newProgress returns a bar on a terminal, plain lines elsewhere, nothing if the run is to be quiet.
func newProgress(p *plan, stdout, stderr io.Writer) progress {
	switch {
	case p.Quiet:
		return silence{}
	case isTerminal(stderr):
		return newBar(p.Rounds, stderr)
	}
	return &lines{w: stdout, rounds: p.Rounds}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

type silence struct{}

func (silence) Round(int) error                        { return nil }
func (silence) Evaluation(federation.Evaluation) error { return nil }
func (silence) stop()                                  {}

// lines prints one line an evaluation.
type lines struct {
	w      io.Writer
	rounds int
}

func (*lines) Round(int) error { return nil }

func (l *lines) Evaluation(e federation.Evaluation) error {
	loss := ""
	if !math.IsNaN(e.Loss) {
		loss = fmt.Sprintf("  loss %.4f", e.Loss)
	}
	_, err := fmt.Fprintf(l.w, "round %*d%s%s  %.1f s\n",
		len(fmt.Sprint(l.rounds)), e.Round, prefix("  ", accuracies(e)), loss, (e.Training + e.Scoring).Seconds())
	return err
}

func (*lines) stop() {}

// bar is a line on a terminal that is drawn over and over.
type bar struct {
	b *progressbar.ProgressBar
	w io.Writer
}

func newBar(rounds int, w io.Writer) *bar {
	return &bar{progressbar.NewOptions(rounds,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("round"),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionSetWidth(24),
		progressbar.OptionThrottle(100*time.Millisecond),
	), w}
}

func (b *bar) Round(int) error { return b.b.Add(1) }

func (b *bar) Evaluation(e federation.Evaluation) error {
	b.b.Describe(accuracies(e))
	return nil
}

// stop leaves the bar where it is and the cursor on a line of its own.
func (b *bar) stop() { fmt.Fprintln(b.w) }

// accuracies are those of the models that the method has, as "PM 91.4 %  GM 85.4 %".
func accuracies(e federation.Evaluation) string {
	var parts []string
	if e.Personal != nil {
		parts = append(parts, "PM "+percent(e.Personal.Accuracy))
	}
	if e.Global != nil {
		parts = append(parts, "GM "+percent(e.Global.Accuracy))
	}
	return strings.Join(parts, "  ")
}

func percent(accuracy float64) string { return fmt.Sprintf("%.1f %%", 100*accuracy) }

func prefix(p, s string) string {
	if s == "" {
		return ""
	}
	return p + s
}

// introduce says what is about to run.
func (p *plan) introduce(w io.Writer, d *datasets.Dataset) {
	labels := ""
	if p.Partition == "labels" {
		labels = fmt.Sprintf(" with %d labels each (%s), %d training and %d test images a label",
			p.LabelsPerClient, p.Assign, p.partition.TrainPerClass, p.partition.TestPerClass)
	}
	work := fmt.Sprintf("%d steps", p.LocalSteps)
	if p.LocalEpochs > 0 {
		work = fmt.Sprintf("%d epochs", p.LocalEpochs)
	}
	fmt.Fprintf(w, "%s on %s (%s, %d images), seed %d\n", p.Algo, d.Name, d.Source, d.Len(), p.Seed)
	fmt.Fprintf(w, "%d clients, %s%s; %d in a round\n", p.Clients, p.regime, labels, p.clients)
	fmt.Fprintf(w, "model %s, %d parameters; %d rounds of %s with batches of %d; %s on %d workers\n",
		p.Model, p.net.Size(), p.Rounds, work, p.Batch, kernels.Best(), min(p.Workers, p.Clients))
	fmt.Fprintf(w, "results: %s\n", p.Out)
}

// summary is the last line of a run.
func (p *plan) summary(s results.Summary) string {
	var now, best []string
	for _, m := range []struct {
		name       string
		last, best *results.Score
	}{{"PM", s.LastPM, s.BestPM}, {"GM", s.LastGM, s.BestGM}} {
		if m.last == nil {
			continue
		}
		now = append(now, m.name+" "+percent(float64(m.last.Acc)))
		best = append(best, fmt.Sprintf("%.1f at %d", 100*float64(m.best.Acc), m.best.Round))
	}
	line := fmt.Sprintf("%s %s %s seed %d: ", p.Algo, p.Dataset, p.regime, p.Seed)
	if len(now) == 0 {
		return line + fmt.Sprintf("nothing evaluated in %d of %d rounds, %s", s.Rounds, p.Rounds, p.Out)
	}
	last := s.LastPM
	if last == nil {
		last = s.LastGM
	}
	of := ""
	if last.Round < p.Rounds {
		of = fmt.Sprintf(" of %d", p.Rounds)
	}
	return line + fmt.Sprintf("%s after %d%s rounds (best %s), %.1f s, %s",
		strings.Join(now, " "), last.Round, of, strings.Join(best, ", "), float64(s.TrainSeconds+s.EvalSeconds), p.Out)
}
