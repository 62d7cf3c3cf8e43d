package plots

import (
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// A Part is what clients have of one of the parts of a data set, as the images that they train on.
type Part struct {
	Name   string
	Counts [][]int // [clients, classes]
}

// Partition draws how many images of each class each client has, a panel a part. Darker is more; none is grey.
func Partition(title string, parts []Part) (*Figure, error) {
	clients := len(parts[0].Counts)
	classes := len(parts[0].Counts[0])
	if clients > maxCells || classes > maxCells {
		return nil, unfit("%d clients with %d labels, want at most %d of each in a picture", clients, classes, maxCells)
	}
	f := &Figure{Title: title, height: vg.Length(clients)*cellHeight + 70}
	width := cellWidth
	var row []*plot.Plot
	for _, part := range parts {
		p := newPlot(part.Name, "label", "client")
		g := newCells(classes, clients)
		for i, counts := range part.Counts {
			for c, n := range counts {
				if n > 0 {
					g.z[clients-1-i][c] = float64(n) // the first client on top
					width = max(width, style(tickSize).Width(strconv.Itoa(n))+8)
				}
			}
		}
		share([]*cells{g}, false)
		g.decimals, g.best = 0, -1 // no cell is the best
		nominal(&p.X, numbers(classes, false))
		nominal(&p.Y, numbers(clients, true))
		p.Add(g)
		row = append(row, p)
	}
	f.width = vg.Length(classes)*width + 70
	f.panels = [][]*plot.Plot{row}
	return f, nil
}

// numbers are 0 … n−1, or the other way round.
func numbers(n int, down bool) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
		if down {
			names[i] = strconv.Itoa(n - 1 - i)
		}
	}
	return names
}
