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

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of a terminal.
func columns(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// lines prints one line for each evaluation. A reader who leaves does not end the run.
type lines struct {
	notes
	rounds int
}

var _ journal = (*lines)(nil)

func (l *lines) begin(p *plan, d *datasets.Dataset, done int) { p.introduce(l.w, d, done) }

func (*lines) Round(int) error { return nil }

func (l *lines) Empty(round int) error {
	fmt.Fprintf(l.w, "round %*d  %s\n", len(fmt.Sprint(l.rounds)), round, emptyRound)
	return nil
}

func (l *lines) Evaluation(e federation.Evaluation) error {
	loss := ""
	if !math.IsNaN(e.Loss) {
		loss = fmt.Sprintf("  loss %.4f", e.Loss)
	}
	fmt.Fprintf(l.w, "round %*d%s%s%s  %.1f s\n",
		len(fmt.Sprint(l.rounds)), e.Round, prefix("  ", accuracies(e)), prefix("  validation ", validated(e.Validation)), loss, (e.Training + e.Scoring).Seconds())
	return nil
}

func (*lines) end(results.Summary) {}
func (*lines) stop()               {}

// bar is a line on a terminal that is drawn over and over.
type bar struct {
	notes
	b *progressbar.ProgressBar
}

var _ journal = (*bar)(nil)

// What a bar needs at most besides itself, in columns: "PM 100.0 %  GM 100.0 % 100% ||  " and, on a wide terminal, the
// rounds and "[1h2m3s:1h2m3s]".
const (
	barText  = 32
	barTimes = 18
	barMost  = 24
)

func newBar(rounds, done int, w io.Writer, columns int) *bar {
	counts := len(fmt.Sprintf("(%d/%d) ", rounds, rounds))
	wide := columns >= barText+counts+barTimes+8
	width := columns - 1 - barText
	options := []progressbar.Option{
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription("round"),
		progressbar.OptionSetPredictTime(wide),
		progressbar.OptionSetElapsedTime(wide),
		progressbar.OptionThrottle(100 * time.Millisecond),
	}
	if wide {
		width -= counts + barTimes
		options = append(options, progressbar.OptionShowCount())
	}
	options = append(options, progressbar.OptionSetWidth(max(1, min(width, barMost))))
	b := &bar{notes{w}, progressbar.NewOptions(rounds, options...)}
	if done > 0 {
		_ = b.b.Set(done)
	}
	return b
}

func (b *bar) begin(p *plan, d *datasets.Dataset, done int) { p.introduce(b.w, d, done) }

func (b *bar) Empty(round int) error {
	_ = b.b.Clear()
	fmt.Fprintf(b.w, "round %d  %s\n", round, emptyRound)
	return nil
}

func (b *bar) Round(int) error {
	_ = b.b.Add(1) // a terminal that is gone does not end the run
	return nil
}

func (b *bar) Evaluation(e federation.Evaluation) error {
	b.b.Describe(accuracies(e))
	return nil
}

func (*bar) end(results.Summary) {}

// stop leaves the bar where it is and the cursor on a line of its own.
func (b *bar) stop() { fmt.Fprintln(b.w) }

// accuracies are those of the models that the method has, as "PM 91.4 %  GM 85.4 %".
func accuracies(e federation.Evaluation) string { return pair(e.Personal, e.Global) }

// validated are those of a validation; "" if there is none.
func validated(v *federation.Validation) string {
	if v == nil {
		return ""
	}
	return pair(v.Personal, v.Global)
}

func pair(pm, gm *federation.Pooled) string {
	var parts []string
	if pm != nil {
		parts = append(parts, "PM "+percent(pm.Accuracy))
	}
	if gm != nil {
		parts = append(parts, "GM "+percent(gm.Accuracy))
	}
	return strings.Join(parts, "  ")
}

// counted is a number of things, as "1 round" and "2 rounds".
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func percent(accuracy float64) string { return fmt.Sprintf("%.1f %%", 100*accuracy) }

func prefix(p, s string) string {
	if s == "" {
		return ""
	}
	return p + s
}

// shares says how clients share the data.
func (p *plan) shares() string {
	labels := ""
	if p.Partition == "labels" {
		labels = fmt.Sprintf(" with %s each (%s), %d training and %s test %ss a label",
			counted(p.LabelsPerClient, "label"), p.Assign, p.partition.TrainPerClass, p.tests, p.entry.Noun())
	}
	if p.PermuteLabels > 0 {
		labels += fmt.Sprintf(", labels permuted in %d groups", p.PermuteLabels)
	}
	if p.ValFraction > 0 {
		labels += fmt.Sprintf(", %v of the training %ss to validate on", p.ValFraction, p.entry.Noun())
	}
	return fmt.Sprintf("%s, %s%s", counted(p.Clients, "client"), p.regime, labels)
}

// heldOut says how many clients take no part, if some do not.
func (p *plan) heldOut() string {
	if p.HoldoutClients == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more held out", p.HoldoutClients)
}

// introduce says what is about to run.
func (p *plan) introduce(w io.Writer, d *datasets.Dataset, done int) {
	work := counted(p.LocalSteps, "step")
	if p.LocalEpochs > 0 {
		work = counted(p.LocalEpochs, "epoch")
	}
	fmt.Fprintf(w, "%s on %s (%s, %s), seed %d\n", p.Algo, d.Name, d.Source, counted(d.Len(), d.Noun()), p.Seed)
	fmt.Fprintf(w, "%s; %d in a round%s\n", p.shares(), p.clients, p.heldOut())
	fmt.Fprintf(w, "model %s, %s; %s of %s with batches of %d; %s on %s\n",
		p.Model, counted(p.net.Size(), "parameter"), counted(p.Rounds, "round"), work, p.Batch, kernels.Best(),
		counted(min(p.Workers, p.Clients), "worker"))
	fmt.Fprintf(w, "results: %s\n", p.Out)
	if done > 0 {
		fmt.Fprintf(w, "resumed after round %d\n", done)
	}
}

// summary is the last line of a run.
func (p *plan) summary(s results.Summary) string {
	var now, best, chosen []string
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
		return line + fmt.Sprintf("nothing evaluated in %d of %s, %s", s.Rounds, counted(p.Rounds, "round"), p.Out)
	}
	last := s.LastPM
	if last == nil {
		last = s.LastGM
	}
	rounds := counted(last.Round, "round")
	if last.Round < p.Rounds {
		rounds = fmt.Sprintf("%d of %s", last.Round, counted(p.Rounds, "round"))
	}
	if s.Early {
		rounds += ", as validation got no better"
	}
	if v := s.Validation; v != nil {
		for _, c := range []*results.Chosen{v.PM, v.GM} {
			if c != nil {
				chosen = append(chosen, fmt.Sprintf("%.1f at %d", 100*float64(c.Acc), c.Round))
			}
		}
	}
	return line + fmt.Sprintf("%s after %s (best %s%s), %.1f s, %s",
		strings.Join(now, " "), rounds, strings.Join(best, ", "), prefix("; by validation ", strings.Join(chosen, ", ")), float64(s.TrainSeconds+s.EvalSeconds), p.Out)
}
