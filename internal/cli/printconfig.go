package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/BurntSushi/toml"

	"fedbayes/algorithms"
)

// printed reports whether the settings are to be printed. The flag is gone from ts then.
func (ts texts) printed() (bool, error) {
	printed := new(bool)
	if err := ts.assign(algorithms.Param{Name: "print-config", Value: printed}); err != nil {
		return false, err
	}
	if *printed && ts.has("resume") {
		return false, usagef("--resume and --print-config: want one of them")
	}
	delete(ts, "print-config")
	return *printed, nil
}

// printConfig writes the settings of the plan as a file that --config reads. Those that nobody set and that are found when
// a run begins, as its folder, stand there as comments. given are the flags that the plan is made of, seeds those of its
// runs if there are several.
func (p *plan) printConfig(w io.Writer, given texts, seeds []int) error {
	var text bytes.Buffer
	fmt.Fprintf(&text, "# Settings for fedbayes train --config FILE. Flags on the command line go before them.\n")
	for _, category := range []string{"", categoryData, categoryRounds, categoryMethod, categoryOutput} {
		lines, open, err := p.configLines(category, given, seeds)
		if err != nil {
			return err
		}
		if category == categoryMethod {
			category = "method " + p.Algo
		}
		if category != "" {
			fmt.Fprintf(&text, "\n# --- %s ---\n", category)
		}
		fmt.Fprintln(&text)
		table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
		for _, line := range lines {
			fmt.Fprintln(table, line)
		}
		if err := table.Flush(); err != nil {
			return err
		}
		for _, line := range open {
			fmt.Fprintln(&text, line)
		}
	}
	_, err := w.Write(text.Bytes())
	return err
}

// configLines returns the settings of a category, and the lines about those that are not set.
func (p *plan) configLines(category string, given texts, seeds []int) (lines, open []string, err error) {
	line := func(name string, v any, usage string) error {
		assignment, err := toml.Marshal(map[string]any{name: v})
		lines = append(lines, fmt.Sprintf("%s\t# %s", bytes.TrimSpace(assignment), usage))
		return err
	}
	if category == categoryMethod {
		idle := p.method.Idle()
		for _, m := range p.method.Params() {
			if _, ok := idle[m.Name]; ok {
				continue
			}
			if err := line(m.Name, value(m), usageOf(m)); err != nil {
				return nil, nil, err
			}
		}
		return lines, nil, nil
	}
	for _, o := range p.options() {
		if o.category != category || p.idle(o) {
			continue
		}
		switch {
		case o.Name == "seed" && len(seeds) > 0:
			err = line("seeds", seeds, "a run for each, of everything random")
		case o.Name == "preset":
			err = line(o.Name, p.Preset, "set of defaults of the method, which the settings below go before")
		case p.open(o, given):
			open = append(open, fmt.Sprintf("# %s: %s; not set: %s", o.Name, o.usage(), p.unset(o)))
		default:
			err = line(o.Name, p.asked(o.Param), o.usage())
		}
		if err != nil {
			return nil, nil, err
		}
	}
	return lines, open, nil
}

// idle reports whether a setting has no effect on the plan, so that its flag would be refused.
func (p *plan) idle(o option) bool {
	e, _ := algo(p.Algo)
	perClass := p.TrainPerClass > 0 || p.TestPerClass > 0
	switch o.Name {
	case "resume":
		return true
	case "participation":
		return e.Alone
	case "holdout-clients":
		return e.Closed != ""
	case "holdout-steps":
		return p.HoldoutClients == 0 || e.Stepless
	case "mc":
		return !e.Bayesian
	case "final-mc":
		return !e.Bayesian || p.MC > 0
	case "watch-rounds":
		return p.Watch == ""
	case "local-steps":
		return p.LocalEpochs > 0
	case "local-epochs":
		return p.LocalEpochs == 0
	case "regime":
		return !o.in(p.Partition) || perClass
	case "train-per-class", "test-per-class":
		return !o.in(p.Partition) || !perClass
	case "test-per-client":
		return !o.in(p.Partition) || p.Order == "published"
	}
	return !o.in(p.Partition)
}

// open reports whether a setting was left to what is found when a run begins.
func (p *plan) open(o option, given texts) bool {
	if given.has(o.Name) {
		return false
	}
	if o.Name == "workers" || o.Name == "checkpoint-every" {
		return true
	}
	return o.shown != "" && slices.Contains([]any{0, 0.0, ""}, p.asked(o.Param))
}

// unset is what holds where a setting is left open.
func (p *plan) unset(o option) string {
	switch o.Name {
	case "participation":
		return "all"
	case "workers":
		return "as many as this machine has cores"
	}
	return o.shown
}

// asked is the value of a setting; that of a regime, if it was left to it.
func (p *plan) asked(param algorithms.Param) any {
	switch param.Name {
	case "regime":
		return p.regime
	case "train-per-class":
		return p.partition.TrainPerClass
	case "test-per-class":
		return p.partition.TestPerClass
	}
	return value(param)
}
