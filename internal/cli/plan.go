package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/federation"
	"fedbayes/internal/results"
	"fedbayes/layers"
)

// A plan is a checked command line of train. Making one looks where the data are, reads none that are not open, and writes
// nothing.
type plan struct {
	*settings
	entry     datasets.Entry // of the data set
	method    algorithms.Algorithm
	net       *layers.Model
	partition datasets.PartitionConfig
	regime    string            // of the partition, as the column of rounds.csv has it
	clients   int               // of a round
	watched   *federation.Watch // nil for none
	fresh     string            // name of the folder below results, where Out names none
	old       *pastRecord       // config.json of the run that is resumed
	flags     map[string]string // that were given, as config.json has them
	tests     span              // images of a label that a client is tested on
	notes     []string

	shelf *shelf              // of the data, which several runs may share
	watch federation.Recorder // of a run among several; nil for one alone
}

func newPlan(ts texts, now time.Time, data *shelf) (*plan, error) {
	p, err := check(ts, now, data)
	return p, ts.located(err)
}

func check(ts texts, now time.Time, data *shelf) (*plan, error) {
	if err := ts.twice(); err != nil {
		return nil, err
	}
	p := &plan{settings: defaults(), flags: recorded(ts), shelf: data}
	if err := p.parse(ts); err != nil {
		return nil, err
	}
	if err := p.locate(ts); err != nil {
		return nil, err
	}
	var err error
	if p.method, err = p.newMethod(ts); err != nil {
		return nil, err
	}
	if p.clients, err = p.perRound(); err != nil {
		return nil, err
	}
	if err := p.divide(); err != nil {
		return nil, err
	}
	if err := p.holdOut(ts); err != nil {
		return nil, err
	}
	if err := p.lookAt(ts); err != nil {
		return nil, err
	}
	if p.net, err = newModel(p.Model, p.entry); err != nil {
		return nil, err
	}
	if err := p.method.Accepts(p.net); err != nil {
		return nil, usagef("--model %s: not for %s: %w", p.Model, p.Algo, err)
	}
	switch {
	case p.Resume != "":
		p.Out = p.Resume
	case p.Out == "":
		p.fresh = fmt.Sprintf("%s-%s-%s-%d-%s", p.Algo, p.Dataset, p.regime, p.Seed, now.Format("20060102-150405"))
	default:
		if err := results.Check(p.Out, p.Force); err != nil {
			return nil, usagef("--out %w", err)
		}
	}
	return p, p.placeEvents(p.Force || p.Resume != "")
}

// placeEvents returns an error if the event files have no place, or would be beside others that are not to be replaced.
func (p *plan) placeEvents(replace bool) error {
	if p.Tensorboard == "" {
		return nil
	}
	if err := results.CheckEvents(p.Tensorboard, cmp.Or(p.fresh, filepath.Base(p.Out)), replace); err != nil {
		return usagef("--tensorboard %w", err)
	}
	return nil
}

// locate finds the data set, and takes its defaults. An open one is read, as nothing else says what it has.
func (p *plan) locate(ts texts) error {
	entry, notes, err := datasets.Resolve(p.Dataset, p.DataDir)
	if err != nil {
		return usageError{err}
	}
	if entry.Embedded() && ts.has("data-dir") {
		return embeddedError(entry)
	}
	if entry.Open() {
		d, err := p.shelf.load(p.Dataset, p.DataDir)
		if err != nil {
			return dataError{err}
		}
		entry = entry.As(d)
		if p.Partition == "natural" {
			entry.Defaults.Clients = max(1, datasets.Able(d, datasets.PartitionConfig{MinSamples: p.MinSamples, TestPerClient: p.TestPerClient}))
		}
	}
	p.entry, p.Dataset, p.notes = entry, entry.Name, notes
	p.follow(entry.Defaults, ts)
	return nil
}

// divide fills the partition.
func (p *plan) divide() error {
	e := p.entry
	p.partition = datasets.PartitionConfig{
		Kind: p.Partition, Clients: p.Clients + p.HoldoutClients, Seed: uint64(p.Seed),
		PermuteLabels: p.PermuteLabels, ValFraction: p.ValFraction,
	}
	if most := min(p.Clients, e.Classes); p.PermuteLabels > most {
		return usagef("--permute-labels %d: want 2 to %d, as many groups as there are clients and labels", p.PermuteLabels, most)
	}
	c := &p.partition
	switch p.Partition {
	case "labels":
		if p.LabelsPerClient > e.Classes {
			return usagef("--labels-per-client %d: want a whole number from 1 to %d, the labels of %s", p.LabelsPerClient, e.Classes, e.Name)
		}
		c.Assign, c.LabelsPerClient = p.Assign, p.LabelsPerClient
		var err error
		c.TrainPerClass, c.TestPerClass, p.regime, err = p.perClass(e)
		return err
	case "dirichlet":
		c.Alpha, c.MinSamples = p.Alpha, p.MinSamples
		p.regime = fmt.Sprintf("dirichlet-%v", p.Alpha)
	case "natural":
		c.MinSamples = p.MinSamples
		p.regime = p.Partition
	default:
		c.Order = p.Order
		p.regime = p.Partition
	}
	c.TestPerClient = p.TestPerClient
	return nil
}

// maxParameters bounds what a width in --model may ask for: a client of some methods keeps ten numbers a parameter.
const maxParameters = 1 << 26

func newModel(spec string, e datasets.Entry) (*layers.Model, error) {
	name, _, _ := strings.Cut(spec, ":")
	known := false
	for _, m := range layers.All() {
		known = known || m.Name == name
	}
	if !known {
		return nil, usagef("--model %q: %s", spec, oneOf(name, modelNames()))
	}
	net, err := layers.New(spec, e.Shape, e.Classes)
	if err != nil {
		return nil, usagef("--%w", err)
	}
	switch {
	case net.Text && !e.Text:
		return nil, usagef("--model %s: it reads text, and %s has none", spec, e.Name)
	case e.Text && !net.Text:
		return nil, usagef("--model %s: %s is text: want %s", spec, e.Name, e.Defaults.Model)
	}
	if n := net.Size(); n > maxParameters {
		return nil, usagef("--model %s: %d parameters, want at most %d", spec, n, maxParameters)
	}
	return net, nil
}
