package plots

import (
	"bytes"
	"image/color"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"fedbayes/internal/runs"
)

// group makes one with two seeds, whose accuracies are ±0.01 around those given, from round 10 on.
func group(label, zeta string, accuracies ...float64) runs.Group {
	g := runs.Group{Label: label, Settings: map[string]string{"zeta": zeta}}
	for i, shift := range []float64{-0.01, 0.01} {
		r := runs.Run{Source: label, Seed: string(rune('1' + i)), Settings: g.Settings}
		for k, a := range accuracies {
			r.Rows = append(r.Rows, runs.Row{Round: 10 * (k + 1), Values: map[string]float64{"pm_acc": a + shift}})
		}
		g.Runs = append(g.Runs, r)
	}
	return g
}

// TestLine: what is drawn is the mean in percent, and a standard deviation to either side.
func TestLine(t *testing.T) {
	l := newLine("", group("a", "1", 0.5, 0.75).Points("pm_acc"), 100, 0)
	std := 100 * 0.01 * math.Sqrt2
	near := func(got plotter.XYs, want ...float64) bool {
		return len(got) == 2 && got[0].X == 10 && got[1].X == 20 && math.Abs(got[0].Y-want[0]) < 1e-9 && math.Abs(got[1].Y-want[1]) < 1e-9
	}
	if !near(l.middle, 50, 75) || !near(l.lower, 50-std, 75-std) || !near(l.upper, 50+std, 75+std) || !l.spread {
		t.Errorf("line %v, lower %v, upper %v", l.middle, l.lower, l.upper)
	}
	around := l.band().XYs[0]
	if want := append(slices.Clone(l.upper), l.lower[1], l.lower[0]); !slices.Equal(around, want) {
		t.Errorf("band %v, want %v", around, want)
	}
	bars := l.errorBars()
	if math.Abs(bars.YErrors[0].Low-std) > 1e-9 || math.Abs(bars.YErrors[1].High-std) > 1e-9 {
		t.Errorf("error bars %v, want %v", bars.YErrors, std)
	}
}

// TestStyles: of as many lines as are allowed, no two are alike in colour and dash, and in grey neighbours have other
// dashes.
func TestStyles(t *testing.T) {
	type look struct {
		color color.Color
		dash  int
	}
	seen := map[look]int{}
	for i := range maxLines {
		s := lineStyle(i)
		l := look{s.Color, i % len(dashes())}
		if other, ok := seen[l]; ok {
			t.Errorf("lines %d and %d are alike", other, i)
		}
		seen[l] = i
		if i > 0 && slices.Equal(s.Dashes, lineStyle(i-1).Dashes) {
			t.Errorf("lines %d and %d have the same dashes", i-1, i)
		}
	}
}

// TestTicks: a handful of round numbers within the range, whose labels differ.
func TestTicks(t *testing.T) {
	for _, r := range [][2]float64{{0, 1}, {0, 100}, {87.3, 94.6}, {-3, -1}, {0.90001, 0.90009}, {1, 1000}, {0, 1e38}, {-1e-7, 1e-7}, {1e6, 1e6 + 20}, {3.999, 8.001}} {
		ticks := multiples{}.Ticks(r[0], r[1])
		if n := len(ticks); n < 3 || n > 11 {
			t.Errorf("%v: %d ticks", r, n)
		}
		labels := map[string]bool{}
		for _, tick := range ticks {
			if tick.Value < r[0]-1e-9*(r[1]-r[0]) || tick.Value > r[1]+1e-9*(r[1]-r[0]) || labels[tick.Label] || tick.Label == "-0" {
				t.Errorf("%v: tick %v %q", r, tick.Value, tick.Label)
			}
			labels[tick.Label] = true
		}
	}
	for _, tick := range (multiples{whole: true}).Ticks(1, 3) {
		if tick.Value != math.Trunc(tick.Value) {
			t.Errorf("round %v", tick.Value)
		}
	}
}

// TestSpread: ranges without width get one, others stay.
func TestSpread(t *testing.T) {
	for _, v := range []float64{0, 90, -2, 1e50, 1e-9} {
		low, high := spread(v, v)
		if !(low < v && v < high) {
			t.Errorf("%v: from %v to %v", v, low, high)
		}
	}
	if low, high := spread(94.31, 94.35); low != 94.31 || high != 94.35 {
		t.Errorf("from %v to %v", low, high)
	}
}

// TestAxis: numbers that go over more than a decade are on a logarithmic scale, texts side by side.
func TestAxis(t *testing.T) {
	for _, c := range []struct {
		values string
		log    bool
		named  bool
	}{
		{"0.001 0.01 0.1", true, false}, {"1 2 10", false, false}, {"-3 -2 -1", false, false}, {"0 100", false, false},
		{"a b", false, true}, {"1 two", false, true}, {"NaN 1", false, true}, {"5", false, false},
	} {
		if a := newAxis(strings.Fields(c.values)); a.log != c.log || a.named != c.named {
			t.Errorf("%s: logarithmic %v, named %v", c.values, a.log, a.named)
		}
	}
}

// TestLegendBelow: the legend stands under the panels, so that no point is behind it, and no entry is cut off: the picture
// grows with them.
func TestLegendBelow(t *testing.T) {
	acc, _ := FindMetric("acc")
	var groups []runs.Group
	for i := range maxLines {
		groups = append(groups, group(strings.Repeat("long name ", i%9+1), string(rune('a'+i)), 0.5, 0.6))
	}
	f, err := Curves(groups, acc)
	if err != nil {
		t.Fatal(err)
	}
	width, height := f.size()
	columns, lines := f.legendGrid(width - 2*margin)
	if columns*lines < maxLines || (f.entryWidth()+apart)*vg.Length(columns)-apart > width-2*margin {
		t.Errorf("%d columns of %d entries, each %v wide, in %v", columns, lines, f.entryWidth(), width)
	}
	if height < f.height+vg.Length(lines)*lineHeight {
		t.Errorf("height %v has no room for the panel and %d lines", height, lines)
	}
	if _, err := Curves(append(groups, group("one more", "z", 0.5)), acc); err == nil || !strings.Contains(err.Error(), "29 curves, want at most 28") {
		t.Errorf("one curve more: %v", err)
	}
}

// TestFormats: there are two, and a picture of any other is an error.
func TestFormats(t *testing.T) {
	acc, _ := FindMetric("acc")
	f, err := Curves([]runs.Group{group("a", "1", 0.5)}, acc)
	if err != nil {
		t.Fatal(err)
	}
	for format, start := range map[string]string{"png": "\x89PNG", "svg": "<?xml"} {
		var b bytes.Buffer
		if err := f.Write(&b, format); err != nil || !strings.HasPrefix(b.String(), start) {
			t.Errorf("%s: %.10q (%v)", format, b.String(), err)
		}
	}
	if err := f.Write(&bytes.Buffer{}, "gif"); err == nil {
		t.Error("gif: no error")
	}
}

// TestCells: the best cell is that with the most, or with the least where less is better; cells that differ by little get
// more decimals.
func TestCells(t *testing.T) {
	grid := newCells(2, 1)
	grid.z[0] = []float64{94.311, 94.352}
	share([]*cells{grid}, false)
	if grid.best != 94.352 || grid.decimals < 3 {
		t.Errorf("best %v, %d decimals", grid.best, grid.decimals)
	}
	share([]*cells{grid}, true)
	if grid.best != 94.311 {
		t.Errorf("of what is to be small the best is %v", grid.best)
	}
	share([]*cells{newCells(3, 3)}, false) // of no number, none is the best
}
