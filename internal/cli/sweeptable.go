package cli

import (
	"fmt"
	"math"
	"strings"

	"fedbayes/internal/results"
)

// A row is a point of a sweep's table: the runs of its seeds.
type row struct {
	values []string
	runs   []*results.Summary
}

// A column is a number of a run; ok is false where it has none.
type column struct {
	name string
	of   func(s *results.Summary) (v float64, ok bool)
}

// tableColumns lists the numbers of a table in which runs have personal models, global ones, or both, and a round that
// validation chose.
func tableColumns(pm, gm, validated bool) []column {
	var all []column
	add := func(name string, score func(s *results.Summary) *results.Score, number func(s *results.Score) results.Number) {
		all = append(all, column{name, func(s *results.Summary) (float64, bool) {
			if sc := score(s); sc != nil {
				return float64(number(sc)), true
			}
			return 0, false
		}})
	}
	accuracy := func(s *results.Score) results.Number { return s.Acc }
	worst := func(s *results.Score) results.Number { return s.Worst }
	bestPM := func(s *results.Summary) *results.Score { return s.BestPM }
	lastPM := func(s *results.Summary) *results.Score { return s.LastPM }
	bestGM := func(s *results.Summary) *results.Score { return s.BestGM }
	lastGM := func(s *results.Summary) *results.Score { return s.LastGM }
	if pm {
		add("best PM", bestPM, accuracy)
		add("last PM", lastPM, accuracy)
	}
	if gm {
		add("best GM", bestGM, accuracy)
		add("last GM", lastGM, accuracy)
	}
	chosen := func(name string, of func(v *results.Validated) *results.Chosen) {
		all = append(all, column{name, func(s *results.Summary) (float64, bool) {
			if s.Validation == nil || of(s.Validation) == nil {
				return 0, false
			}
			return float64(of(s.Validation).Acc), true
		}})
	}
	if pm && validated {
		chosen("PM by validation", func(v *results.Validated) *results.Chosen { return v.PM })
	}
	if gm && validated {
		chosen("GM by validation", func(v *results.Validated) *results.Chosen { return v.GM })
	}
	if pm {
		add("worst client, last PM", lastPM, worst)
	}
	if gm {
		add("worst client, last GM", lastGM, worst)
	}
	return all
}

const tableNote = `In percent, mean ± standard deviation over seeds, without runs that diverged. A best round is chosen by the accuracy itself. The
worst client is that of each run, so that the spread over clients is in no ±.
`

// markdown is the table of a sweep over some flags.
func markdown(flags []string, rows []row) string {
	pm, gm, validated := false, false, false
	for _, r := range rows {
		for _, s := range r.runs {
			pm, gm, validated = pm || s.LastPM != nil, gm || s.LastGM != nil, validated || s.Validation != nil
		}
	}
	columns := tableColumns(pm, gm, validated)
	head := append(append([]string{}, flags...), "seeds")
	for _, c := range columns {
		head = append(head, c.name)
	}
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	b.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, r := range rows {
		var runs []*results.Summary
		for _, s := range r.runs {
			if s.Status != results.Diverged {
				runs = append(runs, s)
			}
		}
		seeds := fmt.Sprint(len(runs))
		if n := len(r.runs) - len(runs); n > 0 {
			seeds += fmt.Sprintf(", %d diverged", n)
		}
		cells := append(append([]string{}, r.values...), seeds)
		for _, c := range columns {
			cells = append(cells, spread(runs, c))
		}
		line(cells)
	}
	return b.String() + "\n" + tableNote
}

// spread is the mean of a column over runs and its standard deviation, of n-1, in percent; a dash if none has a number.
func spread(runs []*results.Summary, c column) string {
	var n, sum, squares float64
	for _, s := range runs {
		if v, ok := c.of(s); ok {
			n++
			sum += 100 * v
		}
	}
	if n == 0 {
		return "–"
	}
	mean := sum / n
	if n == 1 {
		return fmt.Sprintf("%.2f", mean)
	}
	for _, s := range runs {
		if v, ok := c.of(s); ok {
			squares += (100*v - mean) * (100*v - mean)
		}
	}
	return fmt.Sprintf("%.2f ± %.2f", mean, math.Sqrt(squares/(n-1)))
}
