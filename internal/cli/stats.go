package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/plots"
)

const statsHelp = `Divides a data set among clients as train with the same flags does, and prints what each of them gets: a table of images by
client and label, with a bar in each cell, and what one would ask before trusting a split.

   fedbayes datasets stats --partition dirichlet --alpha 0.1
   fedbayes datasets stats --dataset mnist --regime large --plot split.png`

func statsCommand(stderr io.Writer) *cli.Command {
	ts := texts{}
	picture := new(string)
	var flags []cli.Flag
	for _, o := range defaults().options() {
		if o.category != categoryData && o.Name != "seed" || o.Name == "holdout-steps" {
			continue
		}
		shown := o.shown
		if shown == "" {
			shown = show(o.Param)
		}
		flags = append(flags, ts.add(o.Name, o.usage(), shown, "", false))
	}
	plot := algorithms.Param{Name: "plot", Usage: "file for a picture, .png or .svg", Value: picture}
	flags = append(flags, ts.add(plot.Name, plot.Usage, "none", "", false))
	return &cli.Command{
		Name: "stats", Usage: "show how clients share a data set",
		UsageText: "fedbayes datasets stats [flags]", Description: statsHelp,
		Flags: flags,
		Action: func(c *cli.Context) error {
			if err := flagsFollow(c); err != nil {
				return err
			}
			if err := atMost(c, 0); err != nil {
				return err
			}
			if err := ts.twice(); err != nil {
				return err
			}
			if err := ts.assign(plot); err != nil {
				return err
			}
			format := ""
			if *picture != "" {
				var err error
				if format, err = checkFile("plot", *picture, plots.Formats()...); err != nil {
					return err
				}
			}
			p := &plan{settings: defaults(), shelf: newShelf()}
			if err := p.parse(ts); err != nil {
				return err
			}
			if err := p.locate(ts); err != nil {
				return err
			}
			if err := p.divide(); err != nil {
				return err
			}
			d, splits, err := p.share()
			if err != nil {
				return err
			}
			stats := datasets.StatsOf(d, splits)
			if format != "" {
				if err := p.draw(*picture, format, d, stats); err != nil {
					return err
				}
			}
			for _, note := range p.notes {
				fmt.Fprintf(stderr, "note: %s\n", note)
			}
			p.tabulate(c.App.Writer, d, splits, stats)
			return nil
		},
	}
}

// parts are the parts of the data that clients have.
func (p *plan) parts(s datasets.Stats) []plots.Part {
	noun := p.entry.Noun()
	parts := []plots.Part{{Name: "training " + noun + "s", Counts: s.Train}}
	if p.ValFraction > 0 {
		parts = append(parts, plots.Part{Name: "validation " + noun + "s", Counts: s.Val})
	}
	return append(parts, plots.Part{Name: "test " + noun + "s", Counts: s.Test})
}

// draw writes the picture.
func (p *plan) draw(path, format string, d *datasets.Dataset, s datasets.Stats) error {
	figure, err := plots.Partition(fmt.Sprintf("%s, %s, seed %d", d.Name, p.regime, p.Seed), p.parts(s))
	if err != nil {
		return usageError{fmt.Errorf("--plot: %w", err)}
	}
	return replaceFile(path, func(w io.Writer) error { return figure.Write(w, format) })
}

// tabulate prints a table a part, and what is to be said of the whole.
func (p *plan) tabulate(w io.Writer, d *datasets.Dataset, splits []datasets.Split, s datasets.Stats) {
	fmt.Fprintf(w, "%s (%s, %s), seed %d\n", d.Name, d.Source, counted(d.Len(), d.Noun()), p.Seed)
	fmt.Fprintf(w, "%s%s\n", p.shares(), p.heldOut())
	for _, part := range p.parts(s) {
		fmt.Fprintf(w, "\n%s\n", part.Name)
		printCounts(w, part.Counts)
	}
	for g, labels := range p.labelOf(splits) {
		if g == 0 {
			fmt.Fprintf(w, "\nlabels of these classes in each group of clients; client i is of group i mod %d\n", p.PermuteLabels)
		}
		fmt.Fprintf(w, "%*d  %s\n", len("client"), g, strings.Trim(fmt.Sprint(labels), "[]"))
	}
	unseen, tests := 0, 0
	for i, n := range s.Unseen {
		unseen, tests = unseen+n, tests+len(splits[i].Test)
	}
	worst := 0
	for i := range splits {
		if s.ClientUnseenShare(i) > s.ClientUnseenShare(worst) {
			worst = i
		}
	}
	things := d.Noun() + "s"
	fmt.Fprintln(w)
	for _, row := range []struct {
		what string
		n    int
	}{
		{things + " of more than one client", s.SharedByClients}, {"test " + things + " that are trained on too", s.TrainedAndTest},
		{things + " that no client has", s.Unused},
	} {
		fmt.Fprintf(w, "%-40s%d\n", row.what, row.n)
	}
	fmt.Fprintf(w, "test %s of labels that their client\n%-40s%d of %d, %s", things, "never trains on", unseen, tests, percent(s.UnseenShare()))
	if unseen > 0 {
		fmt.Fprintf(w, "; at most %s, of client %d", percent(s.ClientUnseenShare(worst)), worst)
	}
	fmt.Fprintln(w)
}

// bars are those of a cell, from one eighth to the whole of its height, and of a total.
const bars = "▁▂▃▄▅▆▇█"

// totalBar is the length of the longest bar of a total.
const totalBar = 10

// printCounts prints a table of images by client and label. The bar of a cell is relative to the most of all cells, that of a total
// to the most of all totals.
func printCounts(w io.Writer, counts [][]int) {
	most, mostOfAll := 1, 1
	totals := make([]int, len(counts))
	for i, row := range counts {
		for _, n := range row {
			totals[i] += n
			most = max(most, n)
		}
		mostOfAll = max(mostOfAll, totals[i])
	}
	width := max(len(strconv.Itoa(most)), len(strconv.Itoa(len(counts[0])-1))) + 1
	first := len("client")
	fmt.Fprintf(w, "%*s", first, "client")
	for label := range counts[0] {
		fmt.Fprintf(w, "%*d ", width, label)
	}
	fmt.Fprintf(w, "%*s\n", len(strconv.Itoa(mostOfAll))+2, "all")
	eighths := []rune(bars)
	for i, row := range counts {
		fmt.Fprintf(w, "%*d", first, i)
		for _, n := range row {
			if n == 0 {
				fmt.Fprintf(w, "%*s ", width, "·")
				continue
			}
			// Half of the eighths are rounded up, and no image is not nothing.
			height := min(max(1, int(math.Round(float64(n*len(eighths))/float64(most)))), len(eighths))
			fmt.Fprintf(w, "%*d%c", width, n, eighths[height-1])
		}
		bar := strings.Repeat("█", int(math.Round(float64(totals[i]*totalBar)/float64(mostOfAll))))
		fmt.Fprintf(w, "%*d %s\n", len(strconv.Itoa(mostOfAll))+2, totals[i], bar)
	}
}
