package plots

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedbayes/internal/runs"
)

// Reliability draws how accurate predictions are against how confident they are, and below it how many of them there are
// in each bin of confidence; both of the last models, with all runs of a group pooled. A line under the diagonal claims too
// much. Where a run predicts without draws of the weights and with them, there is a line for each.
func Reliability(groups []runs.Group) (*Figure, error) {
	pools, bins, err := poolsOf(groups)
	if err != nil {
		return nil, err
	}
	if len(pools) > 2*maxLines {
		return nil, unfit("%d lines, want at most %d: name fewer runs", len(pools)/2, maxLines)
	}
	draws := map[int]bool{}
	for _, p := range pools {
		draws[p.mc] = true
	}
	f := &Figure{Title: join(runs.Subject(groups), runs.Seeds(groups, "predictions")), width: 320, height: 270}
	f.panels = make([][]*plot.Plot, 2)
	for _, mo := range Metrics()[0].models {
		var accuracy, share []line
		points := 0
		for i, name := range lineNames(groups, draws) {
			a, s := line{name: name.text, style: i}, line{name: name.text, style: i, bare: true}
			if p := pools[poolKey{name.group, mo.name, name.mc}]; p != nil {
				a.middle, s.middle = p.lines(bins)
				points += len(a.middle)
			}
			accuracy, share = append(accuracy, a), append(share, s)
		}
		if points == 0 {
			continue
		}
		top, foot := newLined(mo.title, "", "accuracy (%)"), newLined("", "confidence (%)", "predictions (%)")
		top.Add(&plotter.Line{XYs: plotter.XYs{{X: 0, Y: 0}, {X: 100, Y: 100}}, LineStyle: draw.LineStyle{Color: grey(120), Width: 1}})
		addLines(top, accuracy)
		addLines(foot, share)
		top.Y.Min, top.Y.Max = 0, 100
		for _, p := range []*plot.Plot{top, foot} {
			p.X.Min, p.X.Max = 0, 100
		}
		f.panels[0], f.panels[1] = append(f.panels[0], top), append(f.panels[1], foot)
		if len(draws) > 1 || len(groups) > 1 {
			f.legend = merge(f.legend, legendOf(accuracy))
		}
	}
	alike(f.panels[1]...)
	for _, p := range f.panels[1] {
		p.Y.Min = 0
	}
	f.legend = append(f.legend, entry{"as accurate as confident", []plot.Thumbnailer{
		&plotter.Line{LineStyle: draw.LineStyle{Color: grey(120), Width: vg.Points(1)}},
	}})
	return f, nil
}

// A poolKey says whose predictions are pooled.
type poolKey struct {
	group int
	model string
	mc    int
}

// A pool sums predictions by bin.
type pool struct {
	mc                          int
	count, confidence, accuracy map[int]float64
	all                         float64
}

func poolsOf(groups []runs.Group) (pools map[poolKey]*pool, bins int, err error) {
	pools = map[poolKey]*pool{}
	for i, g := range groups {
		for _, r := range g.Runs {
			found, n, err := r.Reliability()
			if err != nil {
				return nil, 0, err
			}
			if bins > 0 && n != bins {
				return nil, 0, fmt.Errorf("%s: %d bins, and other runs have %d", r.Source, n, bins)
			}
			bins = n
			for _, b := range found {
				key := poolKey{i, map[string]string{"pm": "PM", "gm": "GM"}[b.Model], b.MC}
				if pools[key] == nil {
					pools[key] = &pool{b.MC, map[int]float64{}, map[int]float64{}, map[int]float64{}, 0}
				}
				p, count := pools[key], float64(b.Count)
				p.count[b.Bin] += count
				p.confidence[b.Bin] += count * b.Confidence
				p.accuracy[b.Bin] += count * b.Accuracy
				p.all += count
			}
		}
	}
	return pools, bins, nil
}

// lines are accuracy against confidence of each bin that has predictions, and the share of all of them against the middle of
// each bin, in percent.
func (p *pool) lines(bins int) (accuracy, share plotter.XYs) {
	for _, b := range slices.Sorted(maps.Keys(p.count)) {
		accuracy = append(accuracy, plotter.XY{X: 100 * p.confidence[b] / p.count[b], Y: 100 * p.accuracy[b] / p.count[b]})
	}
	for b := range bins {
		share = append(share, plotter.XY{X: 100 * (float64(b) + 0.5) / float64(bins), Y: 100 * p.count[b] / p.all})
	}
	return accuracy, share
}

// A lineName is what the legend calls the predictions of a group with a number of draws.
type lineName struct {
	text      string
	group, mc int
}

func lineNames(groups []runs.Group, draws map[int]bool) []lineName {
	var names []lineName
	for i, g := range groups {
		for _, mc := range slices.Sorted(maps.Keys(draws)) {
			how := "mean weights"
			if mc > 0 {
				how = fmt.Sprintf("%d draws of the weights", mc)
			}
			switch {
			case len(groups) > 1 && len(draws) > 1:
				how = g.Label + ", " + how
			case len(groups) > 1:
				how = g.Label
			}
			names = append(names, lineName{how, i, mc})
		}
	}
	return names
}
