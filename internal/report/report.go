// Package report makes a page of runs: their results as a table, and their pictures. The page is one HTML file, which asks
// for nothing from anywhere.
package report

import (
	"bytes"
	_ "embed" // the page's template
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"fedbayes/internal/plots"
	"fedbayes/internal/runs"
)

//go:embed page.html
var source string

// A page is what the template shows.
type page struct {
	Title, Subject string
	Columns        []string
	Results        []result
	Notes          []string
	Pictures       []picture
	Settings       []setting
	Runs           []run
}

// A result is a row of the table: a group after its last round.
type result struct {
	Label string
	Seeds int
	Round int
	Cells []string
}

type picture struct {
	Caption string
	SVG     template.HTML // by package plots, which escapes the text in it
}

// A setting is the same in all runs that have it.
type setting struct{ Name, Value string }

type run struct {
	Source, Label, Seed string
	Rounds              int
	runs.About
}

// Write writes the page. Pictures that do not fit the runs, as a heat map of a single one, are left out.
func Write(w io.Writer, title string, groups []runs.Group) error {
	t, err := template.New("page").Parse(source)
	if err != nil {
		return err
	}
	p := &page{Title: title, Subject: strings.Trim(runs.Subject(groups)+" · "+runs.Seeds(groups, runs.MeanStd), " ·"), Notes: runs.Cut(groups)}
	p.tabulate(groups)
	if err := p.draw(groups); err != nil {
		return err
	}
	p.describe(groups)
	var text bytes.Buffer
	if err := t.Execute(&text, p); err != nil {
		return err
	}
	_, err = w.Write(text.Bytes())
	return err
}

// tabulate makes the table of results, of the columns in which some group has a number.
func (p *page) tabulate(groups []runs.Group) {
	type column struct {
		name, column, format string
		scale                float64
	}
	var columns []column
	for _, c := range []column{
		{"PM %", "pm_acc", "%.2f", 100}, {"GM %", "gm_acc", "%.2f", 100},
		{"PM worst client %", "pm_acc_worst", "%.2f", 100}, {"GM worst client %", "gm_acc_worst", "%.2f", 100},
		{"PM NLL", "pm_nll", "%.3f", 1}, {"GM NLL", "gm_nll", "%.3f", 1},
		{"PM ECE %", "pm_ece", "%.2f", 100}, {"GM ECE %", "gm_ece", "%.2f", 100},
	} {
		if slices.ContainsFunc(groups, func(g runs.Group) bool { return len(g.Points(c.column)) > 0 }) {
			columns = append(columns, c)
			p.Columns = append(p.Columns, c.name)
		}
	}
	for _, g := range groups {
		r := result{Label: g.Label, Seeds: len(g.Runs), Round: -1}
		for _, c := range columns {
			q, ok := g.At(c.column, 0)
			if !ok {
				r.Cells = append(r.Cells, "–")
				continue
			}
			text := fmt.Sprintf(c.format, c.scale*q.Mean)
			if q.N > 1 {
				text += fmt.Sprintf(" ± "+c.format, c.scale*q.Std)
			}
			r.Round = max(r.Round, q.Round)
			r.Cells = append(r.Cells, text)
		}
		p.Results = append(p.Results, r)
	}
}

// maxBars is the number of runs up to which each has its clients drawn.
const maxBars = 4

// draw makes the pictures.
func (p *page) draw(groups []runs.Group) error {
	folders := 0
	for _, g := range groups {
		for _, r := range g.Runs {
			if r.Dir != "" {
				folders++
			}
		}
	}
	n := 0
	for _, g := range groups {
		n += len(g.Runs)
	}
	acc, _ := plots.FindMetric("acc")
	if err := p.add("Accuracy after the last round, over two settings; a frame is around the best", func() (*plots.Figure, error) {
		return plots.HeatMap(groups, acc, "", "", 0)
	}); err != nil {
		return err
	}
	if err := p.add("Accuracy after the last round, over the setting that varies", func() (*plots.Figure, error) {
		return plots.Sweep(groups, acc, "", 0)
	}); err != nil {
		return err
	}
	for _, m := range plots.Metrics() {
		if !curved(groups) || m.Name == "worst" {
			continue
		}
		if err := p.add("By round: "+m.About, func() (*plots.Figure, error) { return plots.Curves(groups, m) }); err != nil {
			return err
		}
	}
	if folders == n {
		if err := p.add("Confidence and accuracy of the last models", func() (*plots.Figure, error) { return plots.Reliability(groups) }); err != nil {
			return err
		}
	}
	if folders == n && n <= maxBars {
		if err := p.add("Clients after the last round", func() (*plots.Figure, error) { return plots.Clients(groups, acc, 0) }); err != nil {
			return err
		}
	}
	if folders != n || n != 1 {
		return nil
	}
	beliefs, err := runs.Beliefs(groups[0].Runs[0].Dir)
	if errors.Is(err, runs.ErrUnwatched) {
		return nil
	}
	return p.add("What clients think of one image, by round", func() (*plots.Figure, error) {
		if err != nil {
			return nil, err
		}
		return plots.Beliefs(beliefs)
	})
}

// curved reports whether some group has two evaluations.
func curved(groups []runs.Group) bool {
	return slices.ContainsFunc(groups, func(g runs.Group) bool {
		return len(g.Points("pm_acc")) > 1 || len(g.Points("gm_acc")) > 1
	})
}

// add adds a picture, or a note why there is none if the data are to blame.
func (p *page) add(caption string, draw func() (*plots.Figure, error)) error {
	figure, err := draw()
	var unfit *plots.Unfit
	switch {
	case errors.As(err, &unfit):
		return nil
	case err != nil:
		p.Notes = append(p.Notes, fmt.Sprintf("%s: not drawn: %v", caption, err))
		return nil
	}
	var svg bytes.Buffer
	if err := figure.Write(&svg, "svg"); err != nil {
		return err
	}
	_, drawing, _ := strings.Cut(svg.String(), "<svg") // without the XML prologue, which HTML has no place for
	p.Pictures = append(p.Pictures, picture{caption, template.HTML("<svg" + drawing)})
	return nil
}

// describe lists the settings that all runs share, and the runs.
func (p *page) describe(groups []runs.Group) {
	names := map[string]bool{}
	for _, g := range groups {
		for name := range g.Settings {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if values := runs.Values(groups, name); len(values) == 1 && values[0] != "" {
			p.Settings = append(p.Settings, setting{name, values[0]})
		}
	}
	for _, g := range groups {
		for _, r := range g.Runs {
			if r.Dir == "" {
				continue
			}
			about := r.About
			if about.Status == "" {
				about.Status = "not ended"
			}
			p.Runs = append(p.Runs, run{r.Source, g.Label, r.Seed, r.Last(), about})
		}
	}
}
