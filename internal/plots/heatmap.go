package plots

import (
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"fedbayes/internal/runs"
)

// Bounds of a heat map: more cannot be read.
const (
	maxCells  = 40 // in a row or column
	maxPanels = 24
)

// Size of a cell, at least.
const (
	cellWidth  = 44 * vg.Length(1)
	cellHeight = 24 * vg.Length(1)
)

// HeatMap draws a metric after a round, 0 for the last, over two settings, "" for those with the most values of all that
// vary. There is a panel for personal models and one for the global model, and a row of them for each combination of the
// settings that are left. Darker is more; the best cell has a frame; one without a number, as of a run that diverged, is
// grey.
func HeatMap(groups []runs.Group, m Metric, x, y string, round int) (*Figure, error) {
	x, y, err := pickTwo(groups, x, y)
	if err != nil {
		return nil, err
	}
	models, err := m.present(groups)
	if err != nil {
		return nil, err
	}
	families := runs.Families(groups, x, y)
	xs, ys := runs.Values(groups, x), runs.Values(groups, y)
	if n := len(families) * len(models); n == 0 || n > maxPanels || len(xs) > maxCells || len(ys) > maxCells {
		return nil, unfit("%d panels of %d × %d cells, want 1 to %d of at most %d × %d: name fewer runs, or others with --x and --y",
			n, len(xs), len(ys), maxPanels, maxCells, maxCells)
	}
	grids := make([][]*cells, len(families))
	seen := map[int]bool{}
	for i, family := range families {
		for _, mo := range models {
			g := newCells(len(xs), len(ys))
			for _, group := range family.Groups {
				if p, ok := group.At(mo.column, round); ok {
					g.z[slices.Index(ys, group.Settings[y])][slices.Index(xs, group.Settings[x])] = m.scale() * p.Mean
					seen[p.Round] = true
				}
			}
			grids[i] = append(grids[i], g)
		}
	}
	if len(seen) == 0 {
		return nil, unfit("no run has an evaluation after round %d", round)
	}
	width := cellWidth
	for _, x := range xs {
		width = max(width, style(tickSize).Width(printable(x))+8)
	}
	f := &Figure{Title: join(titled(groups, seen), m.About), width: vg.Length(len(xs))*width + 70, height: vg.Length(len(ys))*cellHeight + 70}
	for j := range models { // one scale for all panels of a model
		share(column(grids, j), m.Lower)
	}
	for i, family := range families {
		var row []*plot.Plot
		for j, mo := range models {
			title := mo.name
			if family.Label != "" {
				title += ": " + printable(family.Label)
			}
			p := newPlot(title, x, y)
			nominal(&p.X, xs)
			nominal(&p.Y, ys)
			p.Add(grids[i][j])
			f.width = max(f.width, p.Title.TextStyle.Width(title))
			row = append(row, p)
		}
		f.panels = append(f.panels, row)
	}
	return f, nil
}

func pickTwo(groups []runs.Group, x, y string) (string, string, error) {
	free := runs.Free(groups)
	slices.SortStableFunc(free, func(a, b string) int { return len(runs.Values(groups, b)) - len(runs.Values(groups, a)) })
	free = slices.DeleteFunc(free, func(name string) bool { return name == x || name == y })
	for _, axis := range []struct {
		flag string
		name *string
	}{{"x", &x}, {"y", &y}} {
		if *axis.name == "" {
			if len(free) == 0 {
				return "", "", unfit("a heat map is over two settings, and fewer vary among the runs")
			}
			*axis.name, free = free[0], free[1:]
			continue
		}
		if _, err := pick(groups, axis.flag, *axis.name); err != nil {
			return "", "", err
		}
	}
	if x == y {
		return "", "", unfit("--x and --y are both %s, want two settings", x)
	}
	return x, y, nil
}

func column(grids [][]*cells, j int) []*cells {
	var all []*cells
	for _, row := range grids {
		all = append(all, row[j])
	}
	return all
}

// nominal puts names at 0, 1, 2, …
func nominal(a *plot.Axis, names []string) {
	var ticks plot.ConstantTicks
	for i, name := range names {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: printable(name)})
	}
	a.Tick.Marker, a.Tick.Length, a.Width, a.Padding = ticks, 0, 0, 2
	a.Min, a.Max = -0.5, float64(len(names))-0.5
}

// A cells is what a heat map shows.
type cells struct {
	z           [][]float64 // [y][x]; NaN where there is none
	least, most float64     // of the color scale
	best        float64
	decimals    int
}

func newCells(columns, rows int) *cells {
	g := &cells{z: make([][]float64, rows)}
	for i := range g.z {
		g.z[i] = make([]float64, columns)
		for j := range g.z[i] {
			g.z[i][j] = math.NaN()
		}
	}
	return g
}

// share gives cells one scale of colors, and as many decimals as tell their cells apart.
func share(grids []*cells, lower bool) {
	var all []float64
	for _, g := range grids {
		for _, row := range g.z {
			for _, v := range row {
				if !math.IsNaN(v) {
					all = append(all, v)
				}
			}
		}
	}
	if len(all) == 0 {
		return
	}
	least, most := slices.Min(all), slices.Max(all)
	best := most
	if lower {
		best = least
	}
	decimals := 1
	for decimals < 4 && (most-least)*math.Pow10(decimals) < 20 {
		decimals++
	}
	for _, g := range grids {
		g.least, g.most, g.best, g.decimals = least, most, best, decimals
	}
}

// Plot implements [plot.Plotter].
func (g *cells) Plot(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	label := style(tickSize)
	label.XAlign, label.YAlign = draw.XCenter, draw.YCenter
	for i, row := range g.z {
		for j, v := range row {
			x, y := float64(j), float64(i)
			box := vg.Rectangle{Min: vg.Point{X: trX(x-0.5) + 1, Y: trY(y-0.5) + 1}, Max: vg.Point{X: trX(x+0.5) - 1, Y: trY(y+0.5) - 1}}
			middle := vg.Point{X: trX(x), Y: trY(y)}
			if math.IsNaN(v) {
				c.SetColor(grey(235))
				c.Fill(box.Path())
				label.Color = grey(90)
				c.FillText(label, middle, "–")
				continue
			}
			shade := 0.5
			if g.most > g.least {
				shade = (v - g.least) / (g.most - g.least)
			}
			fill, ink := blue(shade)
			c.SetColor(fill)
			c.Fill(box.Path())
			label.Color = ink
			c.FillText(label, middle, strconv.FormatFloat(v, 'f', g.decimals, 64))
			if v == g.best {
				c.SetLineStyle(draw.LineStyle{Color: palette()[1], Width: 2.2})
				c.Stroke(box.Path())
			}
		}
	}
}

// DataRange implements [plot.DataRanger].
func (g *cells) DataRange() (xmin, xmax, ymin, ymax float64) {
	return -0.5, float64(len(g.z[0])) - 0.5, -0.5, float64(len(g.z)) - 0.5
}

// blue returns the colour of a share in [0, 1], and that of text on it. Lightness falls evenly from one stop to the next,
// which reads in grey as well (the stops of "Blues", colorbrewer2.org).
func blue(share float64) (fill, ink color.Color) {
	stops := []color.NRGBA{{247, 251, 255, 255}, {198, 219, 239, 255}, {107, 174, 214, 255}, {33, 113, 181, 255}, {8, 48, 107, 255}}
	at := share * float64(len(stops)-1)
	i := min(int(at), len(stops)-2)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + (at-float64(i))*(float64(b)-float64(a)))) }
	a, b := stops[i], stops[i+1]
	fill = color.NRGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 255}
	if share > 0.55 {
		return fill, grey(255)
	}
	return fill, grey(0)
}
