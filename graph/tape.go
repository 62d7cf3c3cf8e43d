package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A Tape runs a program on Gorgonia's TapeMachine. It is the compatibility path: slower than an Executor, with garbage,
// always over whole batches. It keeps values in the graph itself, so a program has one Tape at a time, and no other
// program is built while it is made.
type Tape struct {
	p  *Program
	vm gorgonia.VM
}

// NewTape returns a tape of p.
func (p *Program) NewTape() *Tape {
	building.Lock()
	defer building.Unlock()
	return &Tape{p, gorgonia.NewTapeMachine(p.g)}
}

// Close frees the machine.
func (t *Tape) Close() error { return t.vm.Close() }

// Feed copies v into an input or parameter.
func (t *Tape) Feed(name string, v []float32) error {
	n := t.p.leaves[name]
	if n == nil || size(n.Shape()) != len(v) {
		return fmt.Errorf("graph: %d values for %s", len(v), name)
	}
	return gorgonia.Let(n, tensor.New(tensor.WithShape(n.Shape()...), tensor.WithBacking(append([]float32(nil), v...))))
}

// Set gives a scalar its value.
func (t *Tape) Set(name string, v float32) error {
	n := t.p.leaves[name]
	if n == nil || !n.IsScalar() {
		return fmt.Errorf("graph: %s is not a scalar", name)
	}
	return gorgonia.Let(n, v)
}

// Run computes all that the program declares.
func (t *Tape) Run() error {
	t.vm.Reset()
	return t.vm.RunAll()
}

// Loss returns the value of an objective after a run.
func (t *Tape) Loss(objective string) (float32, error) {
	p, ok := t.p.objectives[objective]
	if !ok {
		return 0, fmt.Errorf("graph: no objective is named %s", objective)
	}
	v, err := t.value(p.loss)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Grad returns the gradient of a parameter after a run.
func (t *Tape) Grad(param string) ([]float32, error) {
	i, ok := t.p.grads[param]
	if !ok {
		return nil, fmt.Errorf("graph: no gradient of %s", param)
	}
	return t.value(i)
}

// Fetch returns an output after a run.
func (t *Tape) Fetch(name string) ([]float32, error) {
	i, ok := t.p.names[name]
	if !ok {
		return nil, fmt.Errorf("graph: nothing is named %s", name)
	}
	return t.value(i)
}

func (t *Tape) value(slot int) ([]float32, error) {
	for n, i := range t.p.slots {
		if i == slot {
			return floats(n.Value())
		}
	}
	return nil, fmt.Errorf("graph: no node has slot %d", slot)
}
