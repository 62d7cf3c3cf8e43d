package cli

import (
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/federation"
	"fedbayes/internal/results"
)

// A loaded run is one whose folder is read to use its models: its plan, its data, and its last checkpoint. Nothing is
// written into the folder, and the run may go on.
type loaded struct {
	*plan
	about   algorithms.Entry  // of the method
	splits  []datasets.Split  // of all clients
	clients []datasets.Client // that take part
	heldOut []datasets.Client
	models  *federation.Trained
}

// load reads the run in a folder. Where dataDir is not "", its data are there now.
func load(dir, dataDir string, workers int, stderr io.Writer) (*loaded, error) {
	old, err := configOf("--run", dir)
	if err != nil {
		return nil, err
	}
	flags := maps.Clone(old.Flags)
	if dataDir != "" {
		flags["data-dir"] = dataDir
	}
	delete(flags, "tensorboard") // to which nothing is written either
	flags["workers"] = strconv.Itoa(workers)
	p, err := newPlan(texts{}.with(flags), time.Now(), newShelf())
	if err != nil {
		return nil, fmt.Errorf("--run %s: %w", dir, err)
	}
	p.Out, p.old = dir, old
	data, splits, err := p.load()
	if err != nil {
		return nil, err
	}
	here, err := p.config(data, splits).facts()
	if err != nil {
		return nil, err
	}
	differ := func(there results.Facts) []string { return elsewhere(there).Differ(elsewhere(here)) }
	if all := differ(old.facts()); len(all) > 0 {
		return nil, dataError{fmt.Errorf("--run %s: its config.json is of another run: %s", dir, strings.Join(all, "; "))}
	}
	keeper, damaged, err := results.View(dir, differ)
	for _, d := range damaged {
		fmt.Fprintf(stderr, "note: %v: the one before is used\n", d)
	}
	if err != nil {
		return nil, err
	}
	if v := version(); v != old.Version {
		fmt.Fprintf(stderr, "note: version %s made the run, and this is %s\n", old.Version, v)
	}
	all := datasets.Clients(data, splits)
	l := &loaded{plan: p, splits: splits, clients: all[:p.Clients], heldOut: all[p.Clients:]}
	l.about, _ = algo(p.Algo)
	l.models, err = federation.Restore(p.federation(l.clients), keeper, p.method, p.net, l.clients)
	return l, err
}

// elsewhere are the facts that models share with a run on another machine, or of another version: its settings and data.
func elsewhere(f results.Facts) results.Facts {
	f = maps.Clone(f)
	for _, name := range []string{"version", "platform", "instruction set"} {
		delete(f, name)
	}
	return f
}

// draws returns the draws of a prediction: those that were asked for, or usualDraws of a model that has a distribution.
func draws(ts texts, bayesian bool, what string) (int, error) {
	if !bayesian && ts.has("mc") {
		return 0, usagef("--mc: %s has no distribution to draw weights from", what)
	}
	mc := 0
	if bayesian {
		mc = usualDraws
	}
	return mc, ts.assign(mcParam(&mc))
}

// usualDraws are the draws of a prediction that is to say how sure it is.
const usualDraws = 20

func mcParam(v *int) algorithms.Param {
	return algorithms.Param{Name: "mc", Usage: "draws of the weights in a prediction; 0 takes their mean", Value: v, Max: 256}
}

// A lookFlag is a flag of a command that looks at a run.
type lookFlag struct {
	algorithms.Param
	shown string
}

// looks makes the flags.
func (ts texts) looks(flags []lookFlag) []cli.Flag {
	var all []cli.Flag
	for _, f := range flags {
		_, boolean := f.Value.(*bool)
		all = append(all, ts.add(f.Name, usageOf(f.Param), f.shown, "", boolean))
	}
	return all
}

// read assigns the flags, of which some must be there.
func (ts texts) read(flags []lookFlag, required ...string) error {
	if err := ts.twice(); err != nil {
		return err
	}
	for _, f := range flags {
		if err := ts.assign(f.Param); err != nil {
			return err
		}
	}
	for _, name := range required {
		if !ts.has(name) {
			return usagef("--%s: want it", name)
		}
	}
	return nil
}

// excludes returns an error where a flag and another are there.
func (ts texts) excludes(name string, others ...string) error {
	for _, other := range others {
		if ts.has(name) && ts.has(other) {
			return usagef("--%s and --%s: want one of them", name, other)
		}
	}
	return nil
}

func folder(name, usage string, v *string) algorithms.Param {
	return algorithms.Param{Name: name, Usage: usage, Value: v}
}
