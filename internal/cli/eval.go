package cli

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
)

const evalHelp = `Says how well the models of a run's last checkpoint know what they do not know. It writes nothing into the run's folder.

   fedbayes eval --run results/mine --mc 20
   fedbayes eval --run results/mine --per-example examples.csv --curves curves.csv

Accuracy, NLL, Brier score, calibration error, predictive entropy and mutual information are means over the test examples of
all clients, as in training. Then two tasks: to tell wrong predictions from right ones, and to tell foreign classes from a
client's own. Three uncertainties are tried at each: entropy, mutual information, and 1 − confidence. AUROC is the probability
that the uncertainty of an example that is to be found is the higher one (1 is perfect, 0.5 knows nothing). The rejection area
is the mean of the rejection curve: the accuracy, or the share of own classes, of what is left when the most uncertain are
rejected, over all fractions of them.

Foreign to a client are the test examples of other clients whose class it never trained on. Its personal model is shown as many
of them as it has test examples of its own; where there are more, they are drawn by the run's seed. To the global model
nothing is foreign.

--out has a row for all clients of a model and one for each of them, --per-example a row for each example that a model was
shown, --curves the rejection curves over all clients by hundredths. Each is a CSV, there whole or not at all.

Exit status: 0 done, 2 command line, 3 data, 5 no checkpoint, 1 anything else.`

// evaluation are the flags of eval.
type evaluation struct {
	Run, DataDir            string
	Workers                 int
	Out, PerExample, Curves string
}

func evalCommand(stderr io.Writer) *cli.Command {
	ts, e := texts{}, &evaluation{Workers: runtime.GOMAXPROCS(0)}
	flags := []lookFlag{
		{folder("run", "folder of the run", &e.Run), "none, it must be given"},
		{mcParam(new(int)), strconv.Itoa(usualDraws) + ", 0 for methods without a distribution"},
		{folder("out", "CSV of the scores, all and by client", &e.Out), "none"},
		{folder("per-example", "CSV of what each example gets", &e.PerExample), "none"},
		{folder("curves", "CSV of the rejection curves", &e.Curves), "none"},
		{folder("data-dir", "folder of the data set's files", &e.DataDir), "the run's"},
		{algorithms.Param{Name: "workers", Usage: "clients that run at the same time; no result depends on it", Value: &e.Workers, Min: 1, Max: math.Inf(1)}, strconv.Itoa(e.Workers)},
	}
	return &cli.Command{
		Name: "eval", Usage: "score the models of a run, and how well they know what they do not know",
		UsageText: "fedbayes eval --run DIR [flags]", Description: evalHelp, Flags: ts.looks(flags),
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			if err := ts.read(flags, "run"); err != nil {
				return err
			}
			if err := e.check(); err != nil {
				return err
			}
			return e.run(c.Context, ts, c.App.Writer, stderr)
		},
	}
}

// check refuses names that no file can have.
func (e *evaluation) check() error {
	taken := map[string]string{}
	for _, f := range []struct{ flag, path string }{{"out", e.Out}, {"per-example", e.PerExample}, {"curves", e.Curves}} {
		if f.path == "" {
			continue
		}
		if _, err := checkFile(f.flag, f.path, "csv"); err != nil {
			return err
		}
		if other, ok := taken[f.path]; ok {
			return usagef("--%s and --%s: want two files", other, f.flag)
		}
		taken[f.path] = f.flag
	}
	return nil
}

func (e *evaluation) run(ctx context.Context, ts texts, stdout, stderr io.Writer) error {
	l, err := load(e.Run, e.DataDir, e.Workers, stderr)
	if err != nil {
		return err
	}
	mc, err := draws(ts, l.about.Bayesian, l.Algo)
	if err != nil {
		return err
	}
	seen, err := l.models.Examine(ctx, mc)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		path string
		rows func(federation.Examination) [][]string
	}{{e.Out, scoreRows}, {e.PerExample, exampleRows}, {e.Curves, curveRows}} {
		if f.path == "" {
			continue
		}
		if err := replaceFile(f.path, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(f.rows(seen)) }); err != nil {
			return err
		}
	}
	l.describe(stdout, seen)
	return nil
}

// An uncertainty is a score that is high where a model is unsure.
type uncertainty struct {
	name, column string
	of           func(metrics.Prediction) float64
}

func uncertainties() []uncertainty {
	return []uncertainty{
		{"entropy", "entropy", func(p metrics.Prediction) float64 { return p.Entropy }},
		{"mutual information", "mutual_information", func(p metrics.Prediction) float64 { return p.MutualInformation }},
		{"1 − confidence", "doubt", func(p metrics.Prediction) float64 { return 1 - p.Confidence }},
	}
}

// A task is one of telling some examples from others.
type task struct {
	name, column string
	examples     func(federation.Sight) []federation.Verdict
	find         func(federation.Verdict) bool
}

func tasks() []task {
	own := func(s federation.Sight) []federation.Verdict { return s.Own }
	all := func(s federation.Sight) []federation.Verdict {
		return append(s.Own[:len(s.Own):len(s.Own)], s.Foreign...)
	}
	return []task{
		{"wrong from right", "wrong", own, func(v federation.Verdict) bool { return !v.Right() }},
		{"foreign from own classes", "foreign", all, func(v federation.Verdict) bool { return v.Owner != v.Client }},
	}
}

// detect returns the scores of the examples of a task, by uncertainty, and which are to be found.
func (t task) detect(sights []federation.Sight, u uncertainty) (score []float64, found []bool) {
	for _, s := range sights {
		for _, v := range t.examples(s) {
			score, found = append(score, u.of(v.Prediction)), append(found, t.find(v))
		}
	}
	return score, found
}

// curve is the share of what is not to be found among what is left; nil where nothing is to be found.
func (t task) curve(sights []federation.Sight, u uncertainty) []float64 {
	score, found := t.detect(sights, u)
	some := false
	good := make([]bool, len(found))
	for i, f := range found {
		some = some || f
		good[i] = !f
	}
	if !some {
		return nil
	}
	return metrics.Rejection(score, good)
}

// A measured score has a name for readers and one for a column.
type measured struct {
	name, column string
	value        float64
	whole        bool
}

// measure scores what the models of some clients see.
func measure(sights []federation.Sight) []measured {
	var all metrics.Stat
	foreign := 0
	for _, s := range sights {
		all.Merge(s.Stat)
		foreign += len(s.Foreign)
	}
	r := all.Report()
	list := []measured{
		{"examples", "examples", float64(r.N), true}, {"accuracy", "acc", r.Accuracy, false}, {"NLL", "nll", r.NLL, false},
		{"Brier", "brier", r.Brier, false}, {"ECE", "ece", r.ECE, false}, {"entropy", "entropy", r.Entropy, false},
		{"mutual information", "mutual_information", r.MutualInformation, false},
		{"foreign examples", "foreign", float64(foreign), true},
	}
	for _, t := range tasks() {
		for _, u := range uncertainties() {
			list = append(list, measured{t.name + ": AUROC of " + u.name, t.column + "_auroc_" + u.column, metrics.AUROC(t.detect(sights, u)), false})
		}
		for _, u := range uncertainties() {
			list = append(list, measured{t.name + ": rejection area of " + u.name, t.column + "_area_" + u.column, metrics.Area(t.curve(sights, u)), false})
		}
	}
	return list
}

// A model is all of a run's models of one kind.
type model struct {
	name   string
	sights []federation.Sight
}

// models are those that the method has.
func models(e federation.Examination) []model {
	var all []model
	for _, m := range []model{{"pm", e.Personal}, {"gm", e.Global}} {
		if m.sights != nil {
			all = append(all, m)
		}
	}
	return all
}

// describe prints the scores of all clients together.
func (l *loaded) describe(w io.Writer, e federation.Examination) {
	fmt.Fprintf(w, "%s: %s on %s after %s%s\n", l.Out, l.Algo, l.Dataset, counted(l.models.Round(), "round"), l.drawn(e.MC))
	if e.Personal != nil {
		shown, others := 0, 0
		for _, s := range e.Personal {
			shown, others = shown+len(s.Foreign), others+s.Others
		}
		switch {
		case others == 0:
			fmt.Fprintln(w, "nothing is foreign: each client trained on all classes that others are tested on")
		case shown < others:
			fmt.Fprintf(w, "of %d pairs of a client and an example that is foreign to it, %d were drawn: as many as a client has test examples\n", others, shown)
		}
	}
	all := models(e)
	var columns [][]measured
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, m := range all {
		fmt.Fprintf(t, "\t%s", map[string]string{"pm": "PM", "gm": "GM"}[m.name])
		columns = append(columns, measure(m.sights))
	}
	fmt.Fprintln(t)
	for i, row := range columns[0] {
		fmt.Fprint(t, row.name)
		for _, column := range columns {
			fmt.Fprintf(t, "\t%s", column[i].read())
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // Main reports a reader who left
}

// drawn says how a method with a distribution predicts.
func (l *loaded) drawn(mc int) string {
	switch {
	case !l.about.Bayesian:
		return ""
	case mc == 0:
		return "; mean weights"
	}
	return "; " + counted(mc, "draw") + " of the weights"
}

// read is the value as one reads it.
func (m measured) read() string {
	switch {
	case math.IsNaN(m.value):
		return "–"
	case m.whole:
		return fmt.Sprint(m.value)
	}
	return fmt.Sprintf("%.4f", m.value)
}

// number writes a value for a CSV, with as few digits as give it back; "" if it is not finite.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// scoreRows are those of --out.
func scoreRows(e federation.Examination) [][]string {
	header := []string{"model", "client"}
	for _, m := range measure(nil) {
		header = append(header, m.column)
	}
	rows := [][]string{header}
	add := func(model, client string, sights []federation.Sight) {
		row := []string{model, client}
		for _, m := range measure(sights) {
			row = append(row, number(m.value))
		}
		rows = append(rows, row)
	}
	for _, m := range models(e) {
		add(m.name, "all", m.sights)
		for i, s := range m.sights {
			add(m.name, strconv.Itoa(s.Client), m.sights[i:i+1])
		}
	}
	return rows
}

// exampleRows are those of --per-example.
func exampleRows(e federation.Examination) [][]string {
	rows := [][]string{{
		"model", "client", "owner", "example", "foreign", "label", "class", "right", "confidence", "nll", "entropy", "mutual_information",
	}}
	bit := map[bool]string{false: "0", true: "1"}
	for _, m := range models(e) {
		for _, s := range m.sights {
			for _, v := range append(s.Own[:len(s.Own):len(s.Own)], s.Foreign...) {
				rows = append(rows, []string{
					m.name, strconv.Itoa(v.Client), strconv.Itoa(v.Owner), strconv.Itoa(v.Example), bit[v.Owner != v.Client],
					strconv.Itoa(v.Label), strconv.Itoa(v.Class), bit[v.Right()],
					number(v.Confidence), number(v.NLL), number(v.Entropy), number(v.MutualInformation),
				})
			}
		}
	}
	return rows
}

// curveRows are those of --curves.
func curveRows(e federation.Examination) [][]string {
	rows := [][]string{{"model", "task", "uncertainty", "rejected", "left"}}
	for _, m := range models(e) {
		for _, t := range tasks() {
			for _, u := range uncertainties() {
				curve := t.curve(m.sights, u)
				for percent := 0; percent < 100 && len(curve) > 0; percent++ {
					rows = append(rows, []string{
						m.name, t.column, u.column, number(float64(percent) / 100), number(curve[percent*len(curve)/100]),
					})
				}
			}
		}
	}
	return rows
}
