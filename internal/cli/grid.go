package cli

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedbayes/internal/results"
)

// A repeated is the value of a flag that can be given several times.
type repeated []string

// Set implements [flag.Value].
func (r *repeated) Set(s string) error {
	*r = append(*r, s)
	return nil
}

// String implements [flag.Value].
func (r *repeated) String() string { return strings.Join(*r, " ") }

// An axis is a flag of a grid with its values.
type axis struct {
	flag   string
	values []string
}

// parseGrid reads axes, each as in zeta=0.5,1,5. Their flags count as given from then on.
func parseGrid(specs []string, ts texts) ([]axis, error) {
	names := settingNames()
	var axes []axis
	for _, spec := range specs {
		name, list, ok := strings.Cut(spec, "=")
		if !ok || list == "" {
			return nil, usagef("--grid %q: want a flag and its values, as zeta=0.5,1,5", spec)
		}
		name = strings.TrimPrefix(name, "--")
		a := axis{name, strings.Split(list, ",")}
		switch {
		case name == "seed" || name == "seeds":
			return nil, usagef("--grid %q: want --seeds %s", spec, list)
		case slices.Contains(free, name) && name != "rounds" || slices.Contains([]string{"out", "force", "watch", "watch-rounds"}, name):
			return nil, usagef("--grid %q: no result depends on it", spec)
		case !slices.Contains(names, name):
			hint := ""
			if near := nearest(name, names); near != "" {
				hint = fmt.Sprintf(" (did you mean %s?)", near)
			}
			return nil, usagef("--grid %q: train has no such flag%s", spec, hint)
		case slices.ContainsFunc(axes, func(b axis) bool { return b.flag == name }):
			return nil, usagef("--grid %q: %s is there twice, want all its values in one list", spec, name)
		case ts.has(name):
			return nil, usagef("--%s: the grid has it too, want one of them", name)
		}
		for i, v := range a.values {
			if v == "" || slices.Contains(a.values[:i], v) {
				return nil, usagef("--grid %q: want values with a comma between, each once (a hyphen stands for a comma within one, as mlp:200-100)", spec)
			}
		}
		axes = append(axes, a)
	}
	for _, a := range axes { // a file of settings gives way to them
		ts[a.flag] = &text{given: 1, value: a.values[0]}
	}
	return axes, nil
}

// settingNames lists the flags of a run's settings.
func settingNames() []string {
	var names []string
	for _, o := range defaults().options() {
		names = append(names, o.Name)
	}
	for _, f := range methodFlags() {
		names = append(names, f.Name)
	}
	return names
}

// A cell is a run of a sweep.
type cell struct {
	point  string   // as "zeta-0.5-rho--1", of which its folder is named
	label  string   // as "zeta 0.5, rho -1, seed 1"
	values []string // by axis
	given  texts
	plan   *plan

	begun bool             // there is a run in its folder
	ended *results.Summary // of that run, nil if it did not come to its end
	share *share           // of the progress that is shown
}

// points returns the combinations of values, the last axis going fastest.
func points(axes []axis) [][]string {
	all := [][]string{nil}
	for _, a := range axes {
		var longer [][]string
		for _, values := range all {
			for _, v := range a.values {
				longer = append(longer, append(slices.Clone(values), v))
			}
		}
		all = longer
	}
	return all
}

// newCell plans the run of a point and a seed.
func (s *sweep) newCell(values []string, seed int) (*cell, error) {
	c := &cell{values: values}
	flags := map[string]string{"seed": strconv.Itoa(seed), "force": "true", "quiet": "true"}
	var point, label []string
	for i, a := range s.axes {
		flags[a.flag] = values[i]
		point = append(point, a.flag+"-"+values[i])
		label = append(label, a.flag+" "+values[i])
	}
	c.point = strings.Join(point, "-")
	c.label = strings.Join(append(label, fmt.Sprint("seed ", seed)), ", ")
	flags["out"] = filepath.Join(s.dir, strings.Join(append(point, fmt.Sprint("seed-", seed)), "-"))
	c.given = s.given.with(flags)
	var err error
	if c.plan, err = newPlan(c.given, s.now, s.data); err != nil {
		return nil, fmt.Errorf("%s: %w", c.label, err)
	}
	return c, nil
}

// look finds out what there is in the cell's folder. A run with other settings is refused, unless it is to be replaced.
func (c *cell) look(replace bool) error {
	dir := c.plan.Out
	old := new(pastRecord)
	switch err := results.Config(dir, old); {
	case errors.Is(err, fs.ErrNotExist):
		return c.plan.placeEvents(replace) // those of another sweep may be there
	case err != nil:
		return err
	}
	chosen, err := c.plan.chosen()
	if err != nil {
		return err
	}
	if all := old.chosen().Differ(chosen); len(all) > 0 {
		if replace {
			return nil
		}
		return usagef("%s: it holds another run: %s (name another folder with --out, or replace the run with --force)", dir, strings.Join(all, "; "))
	}
	c.begun = true
	c.ended, err = results.Ended(dir)
	return err
}

// resumed returns the plan that goes on with the run in the cell's folder, nil if there is no way on.
func (c *cell) resumed(now time.Time) *plan {
	if !c.begun || c.plan.CheckpointEvery == 0 {
		return nil
	}
	ts := texts{"resume": &text{given: 1, value: c.plan.Out}}
	for _, name := range free {
		if c.given.has(name) {
			ts[name] = c.given[name]
		}
	}
	p, err := planOf(ts, now, c.plan.shelf)
	if err != nil {
		return nil
	}
	p.Workers, p.Quiet, p.watch = c.plan.Workers, true, c.plan.watch
	return p
}

// others returns the runs of the cell's point with further seeds that came to their end in earlier sweeps, ascending.
func (s *sweep) others(c *cell) ([]*cell, error) {
	start := filepath.Join(s.dir, strings.TrimPrefix(c.point+"-seed-", "-"))
	found, err := filepath.Glob(escaped(start) + "*")
	if err != nil {
		return nil, err
	}
	var more []int
	for _, path := range found {
		seed, err := strconv.Atoi(strings.TrimPrefix(path, start))
		if err == nil && seed >= 0 && path == start+strconv.Itoa(seed) && !slices.Contains(s.seeds, seed) {
			more = append(more, seed)
		}
	}
	slices.Sort(more)
	var cells []*cell
	for _, seed := range more {
		other, err := s.newCell(c.values, seed)
		if err != nil {
			return nil, err
		}
		if err := other.look(true); err != nil {
			return nil, err
		}
		if other.ended != nil {
			cells = append(cells, other)
		}
	}
	return cells, nil
}

// escaped is a path as a pattern that it alone matches.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// sweepFolder is where a sweep goes that names no folder: the same for the same axes and other flags, whatever the values
// and seeds.
func sweepFolder(axes []axis, given texts) string {
	name := "sweep"
	other := map[string]string{}
	for flag, value := range recorded(given) {
		if flag == "rounds" || !slices.Contains(free, flag) {
			other[flag] = value
		}
	}
	for _, a := range axes {
		name += "_" + a.flag
		delete(other, a.flag)
	}
	if len(other) > 0 {
		name += fmt.Sprintf("-%.4x", sha256.Sum256(fmt.Append(nil, other))) // a map is printed in the order of its keys
	}
	return filepath.Join("results", name)
}

// command is the cell's run as a line for a shell.
func (c *cell) command(program string) string {
	words := []string{quoted(program), "train"}
	for _, name := range c.given.givenNames() {
		if name != "quiet" {
			words = append(words, quoted("--"+name+"="+c.given[name].value))
		}
	}
	return strings.Join(words, " ")
}

// quoted is a word as a shell takes it for one.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_=.,:/+@%", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
