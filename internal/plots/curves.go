package plots

import (
	"cmp"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg/draw"

	"fedbayes/internal/runs"
)

// Curves draws a metric over rounds, a line a group with mean ± standard deviation over its seeds as a band. Of one group
// personal and global models stand in one panel, of more in two.
func Curves(groups []runs.Group, m Metric) (*Figure, error) {
	if len(groups) > maxLines {
		return nil, unfit("%d curves, want at most %d: name fewer runs", len(groups), maxLines)
	}
	models, err := m.present(groups)
	if err != nil {
		return nil, err
	}
	f := &Figure{Title: join(runs.Subject(groups), runs.Seeds(groups, runs.MeanStd)), width: 340, height: 290}
	var row []*plot.Plot
	if len(groups) == 1 {
		p := newCurves("", m)
		var lines []line
		for i, mo := range models {
			lines = append(lines, newLine(cmp.Or(mo.title, mo.name), groups[0].Points(mo.column), m.scale(), i))
		}
		addLines(p, lines)
		if len(m.models) > 1 { // else the axis says it
			f.legend = legendOf(lines)
		}
		row = append(row, p)
	} else {
		for _, mo := range models {
			p := newCurves(mo.title, m)
			var lines []line
			for i, g := range groups {
				lines = append(lines, newLine(g.Label, g.Points(mo.column), m.scale(), i))
			}
			addLines(p, lines)
			f.legend = merge(f.legend, legendOf(lines))
			row = append(row, p)
		}
	}
	alike(row...)
	f.panels = [][]*plot.Plot{row}
	if len(row) == 1 {
		f.width = 440
	}
	return f, nil
}

// newCurves returns a panel over rounds.
func newCurves(title string, m Metric) *plot.Plot {
	p := newLined(title, "round", m.About)
	p.X.Tick.Marker = multiples{whole: true}
	return p
}

// A line is points over rounds, or over something else, as they are drawn.
type line struct {
	name                 string
	middle, lower, upper plotter.XYs
	style                int
	spread               bool // over seeds
	bare                 bool // no marks, however few the points
	loose                bool // marks alone
}

func newLine(name string, points []runs.Point, scale float64, style int) line {
	l := line{name: name, style: style}
	for _, p := range points {
		l.add(float64(p.Round), p, scale)
	}
	return l
}

func (l *line) add(x float64, p runs.Point, scale float64) {
	l.middle = append(l.middle, plotter.XY{X: x, Y: scale * p.Mean})
	l.upper = append(l.upper, plotter.XY{X: x, Y: scale * (p.Mean + p.Std)})
	l.lower = append(l.lower, plotter.XY{X: x, Y: scale * (p.Mean - p.Std)})
	l.spread = l.spread || p.Std > 0
}

// marked is the number of points up to which a line has a mark at each: one alone would not be seen. It is not less than the bins
// of a reliability diagram.
const marked = 15

// addLines adds the bands to a panel and, above all of them, the lines.
func addLines(p *plot.Plot, lines []line) {
	for _, l := range lines {
		if l.spread && len(l.middle) > 1 {
			p.Add(l.band())
		}
	}
	for _, l := range lines {
		for _, drawn := range l.drawn() {
			p.Add(drawn)
		}
		if l.spread && len(l.middle) == 1 {
			p.Add(l.errorBars())
		}
	}
}

// A drawn thing stands in the legend as well.
type drawn interface {
	plot.Plotter
	plot.Thumbnailer
}

// drawn is what is in the legend, too; nothing for a line without points.
func (l line) drawn() []drawn {
	if len(l.middle) == 0 {
		return nil
	}
	var all []drawn
	if !l.loose {
		all = append(all, &plotter.Line{XYs: l.middle, LineStyle: lineStyle(l.style)})
	}
	if l.loose || len(l.middle) <= marked && !l.bare {
		all = append(all, &plotter.Scatter{XYs: l.middle, GlyphStyle: glyphStyle(l.style)})
	}
	return all
}

// band fills what lies between the deviations.
func (l line) band() *plotter.Polygon {
	around := slices.Clone(l.upper)
	for _, p := range slices.Backward(l.lower) {
		around = append(around, p)
	}
	return &plotter.Polygon{XYs: []plotter.XYs{around}, Color: faint(l.style)}
}

func (l line) errorBars() *plotter.YErrorBars {
	bars := &plotter.YErrorBars{XYs: l.middle, LineStyle: draw.LineStyle{Color: lineStyle(l.style).Color, Width: 1}, CapWidth: 5}
	for i := range l.middle {
		bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{l.middle[i].Y - l.lower[i].Y, l.upper[i].Y - l.middle[i].Y})
	}
	return bars
}

func legendOf(lines []line) []entry {
	var entries []entry
	for _, l := range lines {
		e := entry{name: l.name}
		for _, d := range l.drawn() {
			e.thumbs = append(e.thumbs, d)
		}
		entries = append(entries, e)
	}
	return entries
}

// merge is the legend of two panels with the same lines: a line may have no points in one of them.
func merge(a, b []entry) []entry {
	for i := range a {
		if len(a[i].thumbs) > 0 {
			b[i] = a[i]
		}
	}
	return b
}
