package plots

import (
	"image/color"
	"strings"
	"unicode"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// palette is that of M. Okabe and K. Ito, Color Universal Design, 2002, without its yellow, which is too light for a line on
// white paper.
func palette() []color.NRGBA {
	return []color.NRGBA{
		{0, 114, 178, 255},   // blue
		{213, 94, 0, 255},    // vermilion
		{0, 158, 115, 255},   // bluish green
		{204, 121, 167, 255}, // reddish purple
		{230, 159, 0, 255},   // orange
		{86, 180, 233, 255},  // sky blue
		{0, 0, 0, 255},
	}
}

// dashes are as many as have no divisor in common with the colours, so that a pair of the two comes again late.
func dashes() [][]vg.Length {
	return [][]vg.Length{nil, {6, 3}, {1.5, 2.5}, {8, 2.5, 1.5, 2.5}}
}

func glyphs() []draw.GlyphDrawer {
	return []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}}
}

// maxLines is the number of lines that differ in colour or dash.
const maxLines = 28

func lineStyle(i int) draw.LineStyle {
	c, d := palette(), dashes()
	return draw.LineStyle{Color: c[i%len(c)], Width: vg.Points(1.6), Dashes: d[i%len(d)]}
}

func glyphStyle(i int) draw.GlyphStyle {
	c, g := palette(), glyphs()
	return draw.GlyphStyle{Color: c[i%len(c)], Radius: vg.Points(2.8), Shape: g[i%len(g)]}
}

// faint is a colour for an area behind lines.
func faint(i int) color.NRGBA {
	c := palette()[i%len(palette())]
	c.A = 48
	return c
}

// Sizes of text, in points.
const (
	titleSize = 12
	labelSize = 12
	tickSize  = 10
)

func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

func grey(y uint8) color.Color { return color.NRGBA{y, y, y, 255} }

// newPlot returns a panel with fonts, grid and names.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font, p.Title.Padding = sans(titleSize), 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font, a.Label.Padding = sans(labelSize), 4
		a.Tick.Label.Font, a.Tick.Length = sans(tickSize), 4
		a.Padding, a.Tick.Marker = 3, multiples{}
	}
	return p
}

// newLined is newPlot with a grid.
func newLined(title, x, y string) *plot.Plot {
	p := newPlot(title, x, y)
	p.Add(grid(true))
	return p
}

// grid are lines at the ticks, across and, if both, upright.
func grid(both bool) *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = grey(225), nil
	if both {
		g.Vertical.Color = grey(225)
	}
	return g
}

// maxText bounds a text that comes from a file.
const maxText = 90

// printable is a text that a picture can hold, whatever a file says.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > maxText {
		return string(r[:maxText-1]) + "…"
	}
	return s
}
