package plots

import (
	"fmt"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedbayes/internal/runs"
)

// maxBarPanels bounds the runs of a picture with bars.
const maxBarPanels = 12

// Clients draws a metric after a round, 0 for the last, as bars for each client, a panel a run.
func Clients(groups []runs.Group, m Metric, round int) (*Figure, error) {
	f := &Figure{Title: join(runs.Subject(groups), "by client"), height: 210}
	var panels []*plot.Plot
	used := map[int]bool{}
	clients, floor := 0, 0.0
	for _, g := range groups {
		for _, r := range g.Runs {
			rows, at, err := r.Clients(round)
			if err != nil {
				return nil, err
			}
			p := newPlot(fmt.Sprintf("%s, seed %s, round %d", printable(g.Label), printable(r.Seed), at), "client", m.About)
			var there []int
			for i, mo := range m.models {
				if slices.ContainsFunc(rows, func(c runs.Client) bool { _, ok := c.Values[mo.column]; return ok }) {
					there = append(there, i)
					used[i] = true
				}
			}
			if len(there) == 0 {
				return nil, fmt.Errorf("%s: no client has a number for --metric %s in round %d", r.Source, m.Name, at)
			}
			b := &bars{}
			for _, c := range rows {
				b.names = append(b.names, c.Client)
			}
			for _, i := range there {
				s := series{style: barStyle(i)}
				for _, c := range rows {
					v, ok := c.Values[m.models[i].column]
					s.values, s.there = append(s.values, m.scale()*v), append(s.there, ok)
				}
				b.series = append(b.series, s)
			}
			p.Add(grid(false), b)
			floor = min(floor, p.Y.Min)
			p.X.Tick.Marker = b.ticks()
			p.X.Tick.Length, p.X.Padding, p.Y.Padding = 0, 0, 0
			clients = max(clients, len(rows))
			panels = append(panels, p)
		}
	}
	if len(panels) > maxBarPanels {
		return nil, unfit("%d runs, want at most %d: name fewer", len(panels), maxBarPanels)
	}
	for _, p := range panels {
		f.panels = append(f.panels, []*plot.Plot{p})
	}
	alike(panels...)
	for _, p := range panels { // bars stand on the axis
		if p.Y.Min = floor; m.Name == "acc" {
			p.Y.Max = 100
		}
	}
	f.width = min(1000, max(440, vg.Length(clients)*24))
	if len(m.models) > 1 {
		for i, mo := range m.models {
			if used[i] {
				f.legend = append(f.legend, entry{mo.title, []plot.Thumbnailer{barStyle(i)}})
			}
		}
	}
	return f, nil
}

// barStyle is one dark and one light color, which differ in grey as well.
func barStyle(i int) box {
	return box{lineStyle([]int{0, 4}[i])}
}

// A box is a filled rectangle.
type box struct{ draw.LineStyle }

func (b box) fill(c *draw.Canvas, r vg.Rectangle) {
	c.SetColor(b.Color)
	c.Fill(r.Path())
}

// Thumbnail implements [plot.Thumbnailer].
func (b box) Thumbnail(c *draw.Canvas) { b.fill(c, c.Rectangle) }

// bars are groups of bars, a group a client, or another thing with a number.
type bars struct {
	names  []int
	series []series
}

// A series is one bar of each group, as those of one model.
type series struct {
	values []float64
	there  []bool
	style  box
}

// room is the share of a group's place that its bars take.
const room = 0.8

// Plot implements [plot.Plotter].
func (b *bars) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	width := room / float64(len(b.series))
	for i, s := range b.series {
		for j, v := range s.values {
			if !s.there[j] {
				continue
			}
			left := float64(j) - room/2 + float64(i)*width
			low, high := min(0, v), max(0, v)
			s.style.fill(&c, vg.Rectangle{Min: vg.Point{X: trX(left), Y: trY(low)}, Max: vg.Point{X: trX(left + width), Y: trY(high)}})
		}
	}
}

// DataRange implements [plot.DataRanger].
func (b *bars) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, s := range b.series {
		for _, v := range s.values {
			ymin, ymax = min(ymin, v), max(ymax, v)
		}
	}
	return -0.5, float64(len(b.names)) - 0.5, ymin, ymax
}

// ticks name so many groups that their names do not touch.
func (b *bars) ticks() plot.ConstantTicks {
	step := (len(b.names) + 39) / 40
	var ticks plot.ConstantTicks
	for i := 0; i < len(b.names); i += step {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: strconv.Itoa(b.names[i])})
	}
	return ticks
}
