package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"fedbayes/internal/runs"
)

// Sweep draws a metric after a round, 0 for the last, over the values of a setting x, "" for the only one that varies. Where
// others vary, too, there is a line for each of their combinations.
func Sweep(groups []runs.Group, m Metric, x string, round int) (*Figure, error) {
	x, err := pick(groups, "x", x)
	if err != nil {
		return nil, err
	}
	models, err := m.present(groups)
	if err != nil {
		return nil, err
	}
	families := runs.Families(groups, x)
	if len(families) == 0 {
		return nil, unfit("no run has a setting %s", x)
	}
	if n := len(families) * len(models); n > maxLines {
		return nil, unfit("%d lines, want at most %d: name fewer runs", n, maxLines)
	}
	values := runs.Values(groups, x)
	at := newAxis(values)
	seen := map[int]bool{}
	f := &Figure{width: 340, height: 290}
	var row []*plot.Plot
	panel := func(title string) *plot.Plot {
		p := newLined(title, x, m.About)
		at.apply(&p.X)
		row = append(row, p)
		return p
	}
	lineOf := func(name string, family runs.Family, mo model, style int) line {
		l := line{name: name, style: style, loose: at.named}
		for _, value := range values {
			for _, g := range family.Groups {
				if p, ok := g.At(mo.column, round); ok && g.Settings[x] == value {
					l.add(at.place[value], p, m.scale())
					seen[p.Round] = true
				}
			}
		}
		return l
	}
	if len(families) == 1 {
		var lines []line
		for i, mo := range models {
			lines = append(lines, lineOf(cmp.Or(mo.title, mo.name), families[0], mo, i))
		}
		addPoints(panel(""), lines)
		f.legend, f.width = legendOf(lines), 440
	} else {
		for _, mo := range models {
			var lines []line
			for i, family := range families {
				lines = append(lines, lineOf(family.Label, family, mo, i))
			}
			addPoints(panel(mo.title), lines)
			f.legend = merge(f.legend, legendOf(lines))
		}
	}
	if len(seen) == 0 {
		return nil, unfit("no run has an evaluation after round %d", round)
	}
	f.Title = titled(groups, seen)
	alike(row...)
	f.panels = [][]*plot.Plot{row}
	return f, nil
}

// addPoints adds lines with bars for their deviations in place of bands.
func addPoints(p *plot.Plot, lines []line) {
	for _, l := range lines {
		if l.spread {
			p.Add(l.errorBars())
		}
		for _, d := range l.drawn() {
			p.Add(d)
		}
	}
}

// titled is the subject of the groups with the round that is shown.
func titled(groups []runs.Group, rounds map[int]bool) string {
	when := "last round"
	if len(rounds) == 1 {
		for r := range rounds {
			when = fmt.Sprintf("round %d", r)
		}
	}
	return join(runs.Subject(groups), runs.Seeds(groups, runs.MeanStd), when)
}

// join makes one line of the parts of a title that are there.
func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " · ")
}

// pick returns a setting that varies: the one that was named, or else the only one there is.
func pick(groups []runs.Group, flag, name string) (string, error) {
	free := runs.Free(groups)
	varying := runs.Varying(groups)
	switch {
	case name != "" && slices.Contains(varying, name):
		return name, nil
	case name != "" && len(varying) == 0:
		return "", unfit("--%s %s: the runs differ in no setting", flag, name)
	case name != "":
		return "", unfit("--%s %s: want a setting that varies: %s", flag, name, strings.Join(varying, ", "))
	case len(free) == 0:
		return "", unfit("the runs differ in no setting, and a sweep is over one")
	case len(free) > 1:
		return "", unfit("several settings vary: choose one with --%s: %s", flag, strings.Join(free, ", "))
	}
	return free[0], nil
}

// An axis gives each value of a setting its place: numbers stand where they are, on a logarithmic scale if they go over
// more than a decade, texts one beside the other.
type axis struct {
	place  map[string]float64
	values []string
	log    bool
	named  bool
}

func newAxis(values []string) axis {
	a := axis{place: map[string]float64{}, values: values}
	least, most := math.Inf(1), math.Inf(-1)
	for _, value := range values {
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
			a.named = true
		}
		a.place[value] = v
		least, most = min(least, v), max(most, v)
	}
	if a.named {
		for i, value := range values {
			a.place[value] = float64(i)
		}
		return a
	}
	a.log = least > 0 && most > 10*least
	return a
}

// apply sets an axis of a panel up. Ticks stand at the values and nowhere else.
func (a axis) apply(to *plot.Axis) {
	var ticks plot.ConstantTicks
	least, most := math.Inf(1), math.Inf(-1)
	for _, value := range a.values {
		v := a.place[value]
		ticks = append(ticks, plot.Tick{Value: v, Label: printable(value)})
		least, most = min(least, v), max(most, v)
	}
	to.Tick.Marker = ticks
	switch {
	case a.log:
		to.Scale = plot.LogScale{}
		to.Min, to.Max = least/1.1, most*1.1
	default:
		edge := 0.04 * (most - least)
		if most == least {
			edge = 1
		}
		to.Min, to.Max = least-edge, most+edge
	}
	if a.named && len(a.values) > 4 {
		to.Tick.Label.Rotation, to.Tick.Label.XAlign, to.Tick.Label.YAlign = math.Pi/6, -1, -0.5
	}
}
