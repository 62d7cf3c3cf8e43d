package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/internal/plots"
	"fedbayes/internal/runs"
)

const plotHelp = `Draws runs as a PNG or an SVG. A PATH is the folder of a run, a folder of such folders, or a CSV that scripts/sweep.sh or
scripts/search.sh left. Runs that differ in their seed alone are one line, with mean ± standard deviation as its band.

   fedbayes plot results/mine
   fedbayes plot --metric nll --out nll.svg results/mine results/other
   fedbayes plot --kind sweep --out zeta.svg results/sweep_zeta/sweep_zeta.csv
   fedbayes plot --kind heatmap --round 200 results/search_ditto.csv
   fedbayes plot --kind reliability results/mine
   fedbayes plot --kind clients --metric ece results/mine
   fedbayes plot --kind beliefs --clients 0,1,2 results/mine

curves are over rounds; sweep is over the values of a setting after one round; heatmap over those of two; reliability sets
accuracy against confidence; clients has bars for each client. The last two want folders. beliefs draws
how probable clients think each class of one image, with the standard deviation over draws of the weights: of a run that train
--watch made, or of a CSV with client, round, class, probability, deviation and, if known, label.
Notes on what could not be drawn are on stderr.

Exit status: 0 done, 2 command line, 3 data, 1 anything else.`

// A picture is what plot makes of runs.
type picture struct {
	Kind, Metric, X, Y, Out, Clients string
	Round                            int
}

// A kind is a way to draw, and the flags that have a meaning there.
type kind struct {
	name  string
	flags []string
	draw  func(p *picture, groups []runs.Group, m plots.Metric) (*plots.Figure, error) // nil for one that is not of runs
}

// beliefsKind draws another CSV of a run than the others, or one from elsewhere.
const beliefsKind = "beliefs"

func kinds() []kind {
	return []kind{
		{"curves", []string{"metric"}, func(_ *picture, g []runs.Group, m plots.Metric) (*plots.Figure, error) {
			return plots.Curves(g, m)
		}},
		{"sweep", []string{"metric", "x", "round"}, func(p *picture, g []runs.Group, m plots.Metric) (*plots.Figure, error) {
			return plots.Sweep(g, m, p.X, p.Round)
		}},
		{"heatmap", []string{"metric", "x", "y", "round"}, func(p *picture, g []runs.Group, m plots.Metric) (*plots.Figure, error) {
			return plots.HeatMap(g, m, p.X, p.Y, p.Round)
		}},
		{"reliability", nil, func(_ *picture, g []runs.Group, _ plots.Metric) (*plots.Figure, error) {
			return plots.Reliability(g)
		}},
		{"clients", []string{"metric", "round"}, func(p *picture, g []runs.Group, m plots.Metric) (*plots.Figure, error) {
			return plots.Clients(g, m, p.Round)
		}},
		{beliefsKind, []string{"clients"}, nil},
	}
}

func plotCommand(stderr io.Writer) *cli.Command {
	ts := texts{}
	var flags []cli.Flag
	for _, p := range (&picture{}).params() {
		flags = append(flags, ts.add(p.Name, usageOf(p), defaultOfPlot(p.Name), "", false))
	}
	return &cli.Command{
		Name: "plot", Usage: "draw runs as a PNG or an SVG",
		UsageText: "fedbayes plot [flags] PATH...", Description: plotHelp,
		Flags: flags,
		Action: func(c *cli.Context) error {
			p := &picture{Kind: "curves", Metric: "acc"}
			if err := p.parse(ts); err != nil {
				return err
			}
			paths, err := pathsOf(c)
			if err != nil {
				return err
			}
			return p.make(c.App.Writer, stderr, paths)
		},
	}
}

// params are the flags of plot.
func (p *picture) params() []algorithms.Param {
	var names, metrics []string
	for _, k := range kinds() {
		names = append(names, k.name)
	}
	for _, m := range plots.Metrics() {
		metrics = append(metrics, m.Name)
	}
	return []algorithms.Param{
		{Name: "kind", Usage: "of the picture", Value: &p.Kind, OneOf: names},
		{Name: "metric", Usage: "what is drawn; worst is the accuracy of the worst client", Value: &p.Metric, OneOf: metrics},
		{Name: "round", Usage: "after which round", Value: &p.Round, Min: 1, Max: math.Inf(1)},
		{Name: "x", Usage: "setting on the horizontal axis, of sweep and heatmap", Value: &p.X},
		{Name: "y", Usage: "setting on the vertical axis, of heatmap", Value: &p.Y},
		{Name: "clients", Usage: "numbers of the clients, with a comma between, of beliefs", Value: &p.Clients},
		{Name: "out", Usage: "file of the picture, .png or .svg", Value: &p.Out},
	}
}

func defaultOfPlot(name string) string {
	return map[string]string{
		"kind": "curves", "metric": "acc", "round": "the last", "x": "the one that varies", "y": "the next one that varies", "clients": "all", "out": "<kind>.png",
	}[name]
}

// parse sets p from the command line.
func (p *picture) parse(ts texts) error {
	if err := ts.twice(); err != nil {
		return err
	}
	for _, param := range p.params() {
		if v, ok := param.Value.(*string); ok && param.OneOf == nil {
			*v = ts[param.Name].value
			if *v == "" && ts.has(param.Name) {
				return usagef(`--%s "": want a value`, param.Name)
			}
			continue
		}
		if err := ts.assign(param); err != nil {
			return err
		}
	}
	for _, name := range []string{"metric", "x", "y", "round", "clients"} {
		if ts.has(name) && !slices.Contains(p.kind().flags, name) {
			return usagef("--%s: no effect on --kind %s", name, p.Kind)
		}
	}
	if p.Out == "" {
		p.Out = p.Kind + ".png"
	}
	_, err := checkFile("out", p.Out, plots.Formats()...)
	return err
}

func (p *picture) kind() kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == p.Kind })]
}

// pathsOf returns the arguments of a command, of which it wants one at least.
func pathsOf(c *cli.Context) ([]string, error) {
	paths := c.Args().Slice()
	if len(paths) == 0 {
		return nil, usagef("%s: want the folder of a run, or a CSV of runs, as in %s", c.Command.Name, c.Command.UsageText)
	}
	for _, path := range paths {
		if strings.HasPrefix(path, "-") {
			return nil, usagef("%s: unexpected argument %q; flags go before the paths, as in %s", c.Command.Name, path, c.Command.UsageText)
		}
	}
	return paths, nil
}

// grouped reads runs.
func grouped(paths []string) ([]runs.Group, error) {
	all, err := runs.Load(paths...)
	if err != nil {
		return nil, dataError{err}
	}
	groups, err := runs.Groups(all)
	if err != nil {
		return nil, dataError{err}
	}
	if len(groups) == 0 {
		return nil, dataError{fmt.Errorf("%s: no row", strings.Join(paths, ", "))}
	}
	return groups, nil
}

// make draws the picture and writes it.
func (p *picture) make(stdout, stderr io.Writer, paths []string) error {
	figure, notes, err := p.figure(paths)
	var unfit *plots.Unfit
	if errors.As(err, &unfit) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	format, err := checkFile("out", p.Out, plots.Formats()...)
	if err != nil {
		return err
	}
	if err := replaceFile(p.Out, func(w io.Writer) error { return figure.Write(w, format) }); err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(stderr, "note: %s\n", note)
	}
	fmt.Fprintln(stdout, p.Out)
	return nil
}

// figure reads and draws. Its notes say what is not drawn.
func (p *picture) figure(paths []string) (f *plots.Figure, notes []string, err error) {
	if p.Kind == beliefsKind {
		if len(paths) > 1 {
			return nil, nil, usagef("plot --kind %s: %d paths, want one run or CSV", p.Kind, len(paths))
		}
		f, err := p.beliefs(paths[0])
		return f, nil, err
	}
	groups, err := grouped(paths)
	if err != nil {
		return nil, nil, err
	}
	metric, _ := plots.FindMetric(p.Metric)
	if f, err = p.kind().draw(p, groups, metric); err != nil {
		return nil, nil, dataError{err}
	}
	if p.Kind != "reliability" && p.Kind != "clients" {
		notes = runs.Cut(groups)
	}
	return f, notes, nil
}

// beliefs draws those of some clients, or of all.
func (p *picture) beliefs(path string) (*plots.Figure, error) {
	all, err := runs.Beliefs(path)
	if err != nil {
		return nil, dataError{err}
	}
	if p.Clients == "" {
		return plots.Beliefs(all)
	}
	clients, err := wholes("clients", p.Clients)
	if err != nil {
		return nil, err
	}
	for _, c := range clients {
		if !slices.ContainsFunc(all, func(b runs.Belief) bool { return b.Client == c }) {
			return nil, usagef("--clients %s: %s has no row of client %d", p.Clients, path, c)
		}
	}
	return plots.Beliefs(slices.DeleteFunc(all, func(b runs.Belief) bool { return !slices.Contains(clients, b.Client) }))
}
