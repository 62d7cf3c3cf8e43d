package plots

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Figure is panels in rows and columns, with a line above them and a legend below.
type Figure struct {
	Title string

	panels        [][]*plot.Plot // [row][column]; nil leaves a place empty
	width, height vg.Length      // of a panel
	legend        []entry
}

// An entry of the legend has a name and a small picture of what it names.
type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// Measures of a figure.
const (
	margin     = 12 * vg.Length(1)
	padding    = 14 * vg.Length(1) // between panels
	thumbWidth = 32 * vg.Length(1)
	gap        = 6 * vg.Length(1)  // between a thumbnail and its name
	apart      = 18 * vg.Length(1) // from one entry to the next
	lineHeight = 16 * vg.Length(1)
)

// resolution is that of a PNG, in dots an inch.
const resolution = 192

// Formats lists what Write can make.
func Formats() []string { return []string{"png", "svg"} }

// Write draws the figure.
func (f *Figure) Write(w io.Writer, format string) error {
	width, height := f.size()
	switch format {
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(resolution))
		f.draw(draw.New(c))
		_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(w)
		return err
	case "svg":
		c := vgsvg.New(width, height)
		f.draw(draw.New(c))
		var text bytes.Buffer
		if _, err := c.WriteTo(&text); err != nil {
			return err
		}
		// Where there are no Liberation fonts, Arial and Helvetica are as wide.
		_, err := w.Write(bytes.ReplaceAll(text.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")))
		return err
	}
	return fmt.Errorf("plots: format %q, want one of %v", format, Formats())
}

func style(size vg.Length) text.Style {
	return text.Style{Color: grey(0), Font: sans(size), Handler: plot.DefaultTextHandler}
}

// size returns the size of the whole: that of the panels, or more if the title or an entry is wider.
func (f *Figure) size() (width, height vg.Length) {
	rows, columns := vg.Length(len(f.panels)), vg.Length(len(f.panels[0]))
	width = columns*f.width + (columns-1)*padding
	width = max(width, f.entryWidth(), style(titleSize).Width(printable(f.Title)))
	_, lines := f.legendGrid(width)
	height = rows*f.height + (rows-1)*padding + f.titleHeight() + vg.Length(lines)*lineHeight
	if lines > 0 {
		height += gap
	}
	return width + 2*margin, height + 2*margin
}

func (f *Figure) titleHeight() vg.Length {
	if f.Title == "" {
		return 0
	}
	return lineHeight + gap
}

// entryWidth is the width of the widest entry of the legend.
func (f *Figure) entryWidth() vg.Length {
	var widest vg.Length
	for _, e := range f.legend {
		widest = max(widest, thumbWidth+gap+style(tickSize).Width(printable(e.name)))
	}
	return widest
}

// legendGrid returns how many entries stand in a line, and how many lines there are.
func (f *Figure) legendGrid(width vg.Length) (columns, lines int) {
	n := len(f.legend)
	if n == 0 {
		return 0, 0
	}
	columns = min(n, max(1, int((width+apart)/(f.entryWidth()+apart))))
	lines = (n + columns - 1) / columns
	return (n + lines - 1) / lines, lines
}

func (f *Figure) draw(c draw.Canvas) {
	c.SetColor(grey(255))
	c.Fill(c.Path())
	c = draw.Crop(c, margin, -margin, margin, -margin)
	if f.Title != "" {
		s := style(titleSize)
		s.YAlign = draw.YTop
		c.FillText(s, vg.Point{X: c.Min.X, Y: c.Max.Y}, printable(f.Title))
		c = draw.Crop(c, 0, 0, 0, -f.titleHeight())
	}
	if columns, lines := f.legendGrid(c.Max.X - c.Min.X); lines > 0 {
		f.drawLegend(c, columns, lines)
		c = draw.Crop(c, 0, 0, vg.Length(lines)*lineHeight+gap, 0)
	}
	// Panels keep their width where the title or the legend is wider.
	columns := vg.Length(len(f.panels[0]))
	c.Max.X = c.Min.X + columns*f.width + (columns-1)*padding
	tiles := draw.Tiles{Rows: len(f.panels), Cols: len(f.panels[0]), PadX: padding, PadY: padding}
	canvases := plot.Align(f.panels, tiles, c)
	for i, row := range f.panels {
		for j, p := range row {
			if p != nil {
				p.Draw(canvases[i][j])
			}
		}
	}
}

// drawLegend draws the entries at the foot of c, line by line.
func (f *Figure) drawLegend(c draw.Canvas, columns, lines int) {
	step := f.entryWidth() + apart
	s := style(tickSize)
	s.YAlign = draw.YCenter
	for i, e := range f.legend {
		x := c.Min.X + vg.Length(i%columns)*step
		y := c.Min.Y + vg.Length(lines-1-i/columns)*lineHeight
		icon := draw.Canvas{Canvas: c.Canvas, Rectangle: vg.Rectangle{
			Min: vg.Point{X: x, Y: y + 2}, Max: vg.Point{X: x + thumbWidth, Y: y + lineHeight - 2},
		}}
		for _, t := range e.thumbs {
			t.Thumbnail(&icon)
		}
		c.FillText(s, vg.Point{X: x + thumbWidth + gap, Y: y + lineHeight/2}, printable(e.name))
	}
}

// alike gives panels one range of their vertical axes, so that they can be compared, with room for marks at its ends.
func alike(panels ...*plot.Plot) {
	var low, high []float64
	for _, p := range panels {
		low, high = append(low, p.Y.Min), append(high, p.Y.Max)
	}
	least, most := spread(slices.Min(low), slices.Max(high))
	for _, p := range panels {
		p.Y.Min, p.Y.Max = least-0.04*(most-least), most+0.04*(most-least)
	}
}

// spread widens a range that has no width to speak of, in which no two ticks would have different labels.
func spread(low, high float64) (float64, float64) {
	size := max(high, -low)
	if high-low > 1e-5*size {
		return low, high
	}
	if size == 0 {
		size = 1
	}
	middle := (low + high) / 2
	return middle - size/50, middle + size/50
}
