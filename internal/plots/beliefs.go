package plots

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedbayes/internal/runs"
)

// Bounds of the panels of beliefs: more cannot be read.
const (
	maxRounds  = 8
	maxClients = 12
	maxClasses = 100
)

// Beliefs draws what clients think of one image: a row of panels a client, a column a round, and in each of them the
// probability of every class with its standard deviation over draws of the weights. The class of the image has another
// colour. How unsure a model is, and that it becomes surer, is the length of the bars upon the bars.
func Beliefs(beliefs []runs.Belief) (*Figure, error) {
	var clients, rounds []int
	for _, b := range beliefs {
		if !slices.Contains(clients, b.Client) {
			clients = append(clients, b.Client)
		}
		if !slices.Contains(rounds, b.Round) {
			rounds = append(rounds, b.Round)
		}
		if len(b.Classes) > maxClasses {
			return nil, unfit("%d classes, want at most %d", len(b.Classes), maxClasses)
		}
	}
	if len(clients) > maxClients || len(rounds) > maxRounds {
		return nil, unfit("%d clients at %d rounds, want at most %d, which --clients names, at %d", len(clients), len(rounds), maxClients, maxRounds)
	}
	slices.Sort(clients)
	slices.Sort(rounds)
	f := &Figure{width: 150, height: 120}
	f.panels = make([][]*plot.Plot, len(clients))
	for i := range f.panels {
		f.panels[i] = make([]*plot.Plot, len(rounds))
	}
	known := false
	for _, b := range beliefs {
		p := believed(b)
		row, column := slices.Index(clients, b.Client), slices.Index(rounds, b.Round)
		f.panels[row][column] = p
		f.width = max(f.width, vg.Length(len(b.Classes))*13+30)
		known = known || slices.Contains(b.Classes, b.Label)
	}
	name(f.panels, clients, rounds)
	f.Title = "Probability of each class, ± std over draws of the weights"
	if known {
		f.legend = []entry{{"class of the image", []plot.Thumbnailer{barStyle(1)}}, {"other classes", []plot.Thumbnailer{barStyle(0)}}}
	}
	return f, nil
}

// name writes what rows and columns are to the first panel that there is in each, and under the last one what its axis is.
func name(panels [][]*plot.Plot, clients, rounds []int) {
	for i, row := range panels {
		p := row[slices.IndexFunc(row, func(p *plot.Plot) bool { return p != nil })]
		p.Y.Label.Text = fmt.Sprintf("client %d", clients[i])
	}
	for j := range rounds {
		var there []*plot.Plot
		for _, row := range panels {
			if row[j] != nil {
				there = append(there, row[j])
			}
		}
		there[0].Title.Text = fmt.Sprintf("round %d", rounds[j])
		there[len(there)-1].X.Label.Text = "class"
	}
}

// believed is the panel of a client and round.
func believed(b runs.Belief) *plot.Plot {
	p := newPlot("", "", "")
	order := make([]int, len(b.Classes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return b.Classes[i] - b.Classes[j] })
	all := &bars{series: []series{{style: barStyle(0)}}}
	right := &bars{series: []series{{style: barStyle(1)}}}
	errors := &plotter.YErrorBars{LineStyle: draw.LineStyle{Color: grey(0), Width: 0.8}, CapWidth: 4}
	for place, i := range order {
		all.names = append(all.names, b.Classes[i])
		for _, one := range []struct {
			bars *bars
			its  bool
		}{{all, b.Classes[i] != b.Label}, {right, b.Classes[i] == b.Label}} {
			s := &one.bars.series[0]
			s.values, s.there = append(s.values, b.Probability[i]), append(s.there, one.its)
		}
		errors.XYs = append(errors.XYs, plotter.XY{X: float64(place), Y: b.Probability[i]})
		errors.YErrors = append(errors.YErrors, struct{ Low, High float64 }{b.Deviation[i], b.Deviation[i]})
	}
	right.names = all.names
	p.Add(grid(false), all, right, errors)
	p.X.Tick.Marker = all.ticks()
	p.X.Tick.Length, p.X.Padding, p.Y.Padding = 0, 0, 0
	p.Y.Min, p.Y.Max = 0, 1
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1"}}
	return p
}
