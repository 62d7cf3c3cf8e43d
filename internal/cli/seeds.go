package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedbayes/algorithms"
)

// wholes reads the list of numbers that a flag has.
func wholes(flag, list string) ([]int, error) {
	var all []int
	for _, s := range strings.Split(list, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || strconv.Itoa(n) != s { // 01 would be a second run of seed 1
			return nil, usagef("--%s %q: want whole numbers ≥ 0 with a comma between, as 1,2,3", flag, list)
		}
		if slices.Contains(all, n) {
			return nil, usagef("--%s %q: %d is there twice", flag, list, n)
		}
		all = append(all, n)
	}
	return all, nil
}

// settle reads what stands above the settings of a run: the file that fills in those that are not on the command line, and
// the seeds, none if it is to be one run. Their flags are gone from ts then.
func (ts texts) settle() (seeds []int, err error) {
	if err := ts.twice(); err != nil {
		return nil, err
	}
	if ts.has("config") {
		if ts.has("resume") {
			return nil, usagef("--resume and --config: want one of them, a run goes on with its own settings")
		}
		path := new(string)
		if err := ts.assign(algorithms.Param{Name: "config", Value: path}); err != nil {
			return nil, err
		}
		file, err := readSettings(*path)
		if err != nil {
			return nil, err
		}
		if err := ts.merge(file); err != nil {
			return nil, err
		}
	}
	if ts.has("seeds") {
		for _, name := range []string{"seed", "resume"} {
			if ts.has(name) {
				return nil, ts.located(usagef("--seeds and --%s: want one of them", name))
			}
		}
		if seeds, err = wholes("seeds", ts["seeds"].value); err != nil {
			return nil, ts.located(err)
		}
	}
	delete(ts, "config")
	delete(ts, "seeds")
	return seeds, nil
}

// with returns the flags with some of them set.
func (ts texts) with(flags map[string]string) texts {
	all := maps.Clone(ts)
	for name, value := range flags {
		all[name] = &text{given: 1, value: value}
	}
	return all
}

// seedPlans returns a plan for each seed. Where --out is given, it is the folder of the runs' folders.
func seedPlans(ts texts, seeds []int, now time.Time) ([]*plan, error) {
	var plans []*plan
	data := newShelf()
	for _, seed := range seeds {
		flags := map[string]string{"seed": strconv.Itoa(seed)}
		if ts.has("out") {
			dir := new(string)
			if err := ts.assign(algorithms.Param{Name: "out", Value: dir}); err != nil {
				return nil, err
			}
			flags["out"] = filepath.Join(*dir, fmt.Sprintf("seed-%d", seed))
		}
		p, err := newPlan(ts.with(flags), now, data)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// trainEach runs plans one after the other. One that diverges leaves the others to go on, and is the error at the end; any
// other failure would most likely be theirs too.
func trainEach(ctx context.Context, plans []*plan, stdout, stderr io.Writer) error {
	var first error
	failed := 0
	for i, p := range plans {
		if i > 0 && !p.Quiet && p.LogFormat == formatText {
			fmt.Fprintln(stderr)
		}
		err := p.train(ctx, stdout, stderr)
		if err == nil {
			continue
		}
		err = fmt.Errorf("seed %d: %w", p.Seed, err)
		if !algorithms.Diverged(err) {
			return err
		}
		if failed++; first == nil {
			first = err
		}
		if i < len(plans)-1 {
			newJournal(p, 0, stderr).note(oneLine(err) + "; the other seeds go on")
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s diverged: %w", failed, counted(len(plans), "run"), first)
	}
	return nil
}
