package runs

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Group is the runs that differ in their seed alone.
type Group struct {
	Label    string // what tells it from the other groups
	Settings map[string]string
	Runs     []Run
}

// MeanStd is how the seeds of a [Group] become one in its points.
const MeanStd = "mean ± std"

// A Point is a mean over seeds.
type Point struct {
	Round     int
	Mean, Std float64 // Std is that of a sample, 0 for one run
	N         int
}

// Groups puts runs together that differ in their seed alone. They are in the order of their methods' first run, and within
// a method in that of the settings which vary.
func Groups(all []Run) ([]Group, error) {
	var groups []Group
	place := map[string]int{}
	for _, run := range all {
		key := run.identity()
		i, ok := place[key]
		if !ok {
			i = len(groups)
			place[key] = i
			groups = append(groups, Group{Settings: run.Settings})
		}
		for _, other := range groups[i].Runs {
			if other.Seed == run.Seed {
				return nil, fmt.Errorf("%s and %s are runs of the same settings and seed %s: want one of them", other.Source, run.Source, run.Seed)
			}
		}
		groups[i].Runs = append(groups[i].Runs, run)
	}
	for i := range groups {
		slices.SortStableFunc(groups[i].Runs, func(a, b Run) int { return compare(a.Seed, b.Seed) })
	}
	order(groups)
	label(groups)
	return groups, nil
}

// compare orders values by their number, where both have one, and else as texts.
func compare(a, b string) int {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil {
		return cmp.Compare(x, y)
	}
	return cmp.Compare(a, b)
}

func order(groups []Group) {
	var algos []string
	for _, g := range groups {
		if !slices.Contains(algos, g.Settings["algo"]) {
			algos = append(algos, g.Settings["algo"])
		}
	}
	names := Varying(groups)
	slices.SortStableFunc(groups, func(a, b Group) int {
		if c := cmp.Compare(slices.Index(algos, a.Settings["algo"]), slices.Index(algos, b.Settings["algo"])); c != 0 {
			return c
		}
		for _, name := range names {
			if c := compare(a.Settings[name], b.Settings[name]); c != 0 {
				return c
			}
		}
		return 0
	})
}

// subject lists the settings that say what a run is about.
func subject() []string { return []string{"algo", "dataset", "regime", "model"} }

// Varying returns the settings that have two values or more among the groups: those of the subject first, the others in
// alphabetical order.
func Varying(groups []Group) []string {
	var names []string
	seen := map[string]map[string]bool{}
	for _, g := range groups {
		for name, value := range g.Settings {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][value] = true
		}
	}
	for _, name := range append(subject(), slices.Sorted(maps.Keys(seen))...) {
		if len(seen[name]) > 1 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Values returns what a setting is among the groups: numbers in order, others as they come.
func Values(groups []Group, name string) []string {
	var values []string
	for _, g := range groups {
		if v, ok := g.Settings[name]; ok && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	if !slices.ContainsFunc(values, func(v string) bool { _, err := strconv.ParseFloat(v, 64); return err != nil }) {
		slices.SortStableFunc(values, compare)
	}
	return values
}

// Free returns the settings that vary of themselves. Those that another one decides which says what a run is about do not:
// methods have learning rates of their own, regimes their numbers of images.
func Free(groups []Group) []string {
	varying := Varying(groups)
	var free []string
	for i, name := range varying {
		decided := slices.ContainsFunc(varying[:i], func(by string) bool {
			return slices.Contains(subject(), by) && decides(by, name, groups)
		})
		if !decided {
			free = append(free, name)
		}
	}
	return free
}

// decides reports whether groups with the same value of one setting have the same of another.
func decides(by, name string, groups []Group) bool {
	known := map[string]string{}
	for _, g := range groups {
		at, value := g.Settings[by], g.Settings[name]
		if other, ok := known[at]; ok && other != value {
			return false
		}
		known[at] = value
	}
	return true
}

// label says of each group by what it differs from the others.
func label(groups []Group) {
	free := Free(groups)
	count := map[string]int{}
	for i := range groups {
		g := &groups[i]
		var parts []string
		for _, name := range Varying(groups) {
			switch value := g.Settings[name]; {
			case value == "":
			case slices.Contains(subject(), name):
				parts = append(parts, value)
			case slices.Contains(free, name):
				parts = append(parts, name+" "+value)
			}
		}
		if len(parts) == 0 {
			parts = append(parts, g.Settings["algo"])
		}
		g.Label = strings.Join(parts, ", ")
		count[g.Label]++
	}
	for i := range groups {
		if g := &groups[i]; count[g.Label] > 1 || g.Label == "" {
			g.Label = strings.TrimPrefix(g.Label+", "+g.Runs[0].Source, ", ")
		}
	}
}

// A Family is groups that differ in the settings alone by which they were put together.
type Family struct {
	Label  string // "" if there is one family only
	Groups []Group
}

// Families puts groups together that differ in these settings alone, and in what they decide. Groups without one of the
// settings are left out.
func Families(groups []Group, names ...string) []Family {
	var families []Family
	var common []Group // what the groups of a family share, with its label
	place := map[string]int{}
	for _, g := range groups {
		rest := maps.Clone(g.Settings)
		missing := false
		for _, name := range names {
			_, ok := rest[name]
			missing = missing || !ok
			delete(rest, name)
			for other := range rest {
				if slices.Contains(subject(), name) && decides(name, other, groups) {
					delete(rest, other)
				}
			}
		}
		if missing {
			continue
		}
		key := Run{Settings: rest}.identity()
		i, ok := place[key]
		if !ok {
			i = len(families)
			place[key] = i
			families = append(families, Family{})
			common = append(common, Group{Settings: rest, Runs: g.Runs})
		}
		families[i].Groups = append(families[i].Groups, g)
	}
	if len(families) > 1 {
		label(common)
		for i := range families {
			families[i].Label = common[i].Label
		}
	}
	return families
}

// Points returns the mean of a column over the runs of a group, at each round for which all of them have it.
func (g Group) Points(column string) []Point {
	var points []Point
	columns := make([]map[int]float64, len(g.Runs))
	for i, r := range g.Runs {
		columns[i] = r.column(column)
	}
	for _, round := range slices.Sorted(maps.Keys(columns[0])) {
		var values []float64
		for _, c := range columns {
			if v, ok := c[round]; ok {
				values = append(values, v)
			}
		}
		if len(values) == len(columns) {
			points = append(points, mean(round, values))
		}
	}
	return points
}

// At returns the point of a round, 0 for the last one.
func (g Group) At(column string, round int) (Point, bool) {
	points := g.Points(column)
	if n := len(points); round == 0 && n > 0 {
		return points[n-1], true
	}
	for _, p := range points {
		if p.Round == round {
			return p, true
		}
	}
	return Point{}, false
}

func mean(round int, values []float64) Point {
	p := Point{Round: round, N: len(values)}
	n := float64(p.N)
	for _, v := range values {
		p.Mean += v / n
	}
	if p.N < 2 {
		return p
	}
	var squares float64
	for _, v := range values {
		squares += (v - p.Mean) * (v - p.Mean)
	}
	p.Std = math.Sqrt(squares / (n - 1))
	return p
}

// Cut says of each group some of whose runs end before the others where that is: means go no further.
func Cut(groups []Group) []string {
	var notes []string
	for _, g := range groups {
		shortest, longest := g.Runs[0], g.Runs[0]
		for _, r := range g.Runs {
			if r.Last() < shortest.Last() {
				shortest = r
			}
			if r.Last() > longest.Last() {
				longest = r
			}
		}
		if shortest.Last() < longest.Last() {
			notes = append(notes, fmt.Sprintf("%s: means end at round %d with seed %s; seed %s goes on to %d",
				g.Label, shortest.Last(), shortest.Seed, longest.Seed, longest.Last()))
		}
	}
	return notes
}

// Subject says what all groups have in common: method, data set, regime and network.
func Subject(groups []Group) string {
	var parts []string
	for _, name := range subject() {
		if v := Values(groups, name); len(v) == 1 && v[0] != "" {
			parts = append(parts, v[0])
		}
	}
	return strings.Join(parts, " · ")
}

// Seeds says which seeds the groups have and how they became one, as in "mean ± std of seeds 1, 2".
func Seeds(groups []Group, how string) string {
	var seeds []string
	fewest, most := math.MaxInt, 0
	for _, g := range groups {
		fewest, most = min(fewest, len(g.Runs)), max(most, len(g.Runs))
		for _, r := range g.Runs {
			if r.Seed != "" && !slices.Contains(seeds, r.Seed) {
				seeds = append(seeds, r.Seed)
			}
		}
	}
	slices.SortFunc(seeds, compare)
	switch {
	case len(seeds) == 0:
		return ""
	case len(seeds) == 1:
		return "seed " + seeds[0]
	case most == 1:
		return "a seed each"
	case fewest < most || fewest < len(seeds):
		return fmt.Sprintf("%s of %s seeds", how, between(fewest, most))
	case most > 8:
		return fmt.Sprintf("%s of %d seeds", how, most)
	}
	return how + " of seeds " + strings.Join(seeds, ", ")
}

func between(fewest, most int) string {
	if fewest == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", fewest, most)
}
