package cli

import (
	"encoding/json"
	"fmt"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
	"fedbayes/internal/results"
	"fedbayes/layers"
)

// A savedModel is what the JSON of a model says.
type savedModel struct {
	Kind    string         `json:"kind"` // as federation.ModelTensors has it
	Version string         `json:"version"`
	Dataset string         `json:"dataset"`         // whose images it is for
	Shape   []int          `json:"shape,omitempty"` // of an open data set's examples
	Classes int            `json:"classes,omitempty"`
	Names   []string       `json:"names,omitempty"` // of the classes
	Model   string         `json:"model"`
	Algo    string         `json:"algo"`
	Method  map[string]any `json:"method"`
	Seed    uint64         `json:"seed"`
	Round   int            `json:"round"` // of the run that it was made from
	Train   int            `json:"train"`
	Test    int            `json:"test"`
	Steps   int            `json:"steps"`
	MC      int            `json:"mc"`
	Before  results.Number `json:"before_acc"`
	After   results.Number `json:"after_acc"`
}

// save writes a new client's model.
func (l *loaded) save(name string, n federation.Newcomer) error {
	kind, tensors := federation.ModelTensors(l.net, n.Model)
	if tensors == nil {
		return usagef("--out: a model of %s is more than weights, and cannot be kept", l.Algo)
	}
	method := map[string]any{}
	for _, m := range l.method.Params() {
		method[m.Name] = value(m)
	}
	about := savedModel{
		Kind: kind, Version: version(), Dataset: l.Dataset, Model: l.Model, Algo: l.Algo, Method: method, Seed: uint64(l.Seed),
		Round: l.models.Round(), Train: n.Train, Test: n.Test, Steps: n.Steps, MC: n.MC,
		Before: results.Number(n.Before.Accuracy), After: results.Number(n.After.Accuracy),
	}
	if e, err := datasets.Lookup(l.Dataset); err == nil && e.Open() {
		about.Shape, about.Classes, about.Names = l.entry.Shape, l.entry.Classes, l.entry.Names
	}
	return checkpoint.Write(name, about, tensors)
}

// A readyModel is a saved one that was read.
type readyModel struct {
	savedModel
	entry     datasets.Entry
	net       *layers.Model
	predictor algorithms.Predictor
}

// readModel reads what save has written.
func readModel(name string) (*readyModel, error) {
	fail := func(err error) (*readyModel, error) { return nil, dataError{fmt.Errorf("--model %w", err)} }
	c, err := checkpoint.Read(name)
	if err != nil {
		return fail(err)
	}
	m := new(readyModel)
	if err := json.Unmarshal(c.About, &m.savedModel); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	if m.entry, err = datasets.Lookup(m.Dataset); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	if m.entry.Open() {
		if len(m.Shape) != 1 || m.Shape[0] < 1 || m.Shape[0] > maxParameters || m.Classes < 2 || m.Classes > maxParameters {
			return fail(fmt.Errorf("%s: examples of shape %v in %d classes, want those of a data set", name, m.Shape, m.Classes))
		}
		m.entry.Shape, m.entry.Classes, m.entry.Names = m.Shape, m.Classes, m.Names
	}
	if m.net, err = newModel(m.Model, m.entry); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	if m.predictor, err = federation.FillModel(m.net, m.Kind, c.Take); err != nil {
		return fail(fmt.Errorf("%s: %w", name, err))
	}
	return m, nil
}
