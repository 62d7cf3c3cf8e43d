package graph

import (
	"fmt"
	"slices"
	"unsafe"

	"gorgonia.org/gorgonia"

	"fedbayes/internal/kernels"
)

// A Program is a compiled graph. It is immutable; executors share it.
type Program struct {
	g          *gorgonia.ExprGraph
	leaves     map[string]*Node
	slots      map[*Node]int
	names      map[string]int // leaves and outputs
	grads      map[string]int // by parameter
	objectives map[string]plan
	outputs    map[string][]int // indices into steps
	all        []int
	steps      []step
	sizes      []int     // of each slot
	constants  []float32 // of each slot, where it is one
	constant   []bool
	fixed      []bool // leaves that are, and what is computed of them once
}

// A plan is the part of a program that one objective needs.
type plan struct {
	loss  int
	steps []int
}

// A step runs one operation.
type step struct {
	op   *op
	in   []int
	out  int
	view viewer // set where the output is a part of the first input
	once bool   // the output is fixed
}

// compile orders the nodes of b and gives each a slot.
func compile(b *Builder) (*Program, error) {
	sorted, err := gorgonia.Sort(b.g) // users before what they use
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	slices.Reverse(sorted)
	p := &Program{
		g:          b.g,
		leaves:     b.leaves,
		slots:      map[*Node]int{},
		names:      map[string]int{},
		grads:      map[string]int{},
		objectives: map[string]plan{},
		outputs:    map[string][]int{},
		sizes:      make([]int, len(sorted)),
		constants:  make([]float32, len(sorted)),
		constant:   make([]bool, len(sorted)),
		fixed:      make([]bool, len(sorted)),
	}
	for i, n := range sorted {
		p.slots[n] = i
		p.sizes[i] = size(n.Shape())
		switch o := n.Op().(type) {
		case nil:
			p.fixed[i] = b.fixed[n]
		case *op:
			s := step{op: o, out: i}
			for _, x := range operands(b.g, n) {
				s.in = append(s.in, p.slots[x])
			}
			s.view, _ = o.kernel.(viewer)
			if _, ok := o.kernel.(steady); ok {
				s.once = !slices.ContainsFunc(s.in, func(i int) bool { return !p.fixed[i] })
				p.fixed[i] = s.once
			}
			p.steps = append(p.steps, s)
		default: // the constant gradient of a loss
			v, err := floats(n.Value())
			if err != nil {
				return nil, err
			}
			p.constant[i], p.constants[i] = true, v[0]
		}
	}
	needed := map[*Node]bool{}
	for _, o := range b.objectives {
		reach := map[*Node]bool{}
		for _, n := range append(Nodes{o.loss}, o.grads...) {
			p.mark(n, reach)
			p.mark(n, needed)
		}
		p.objectives[o.name] = plan{p.slots[o.loss], p.among(reach)}
	}
	for name, n := range b.outputs {
		reach := map[*Node]bool{}
		p.mark(n, reach)
		p.mark(n, needed)
		p.names[name], p.outputs[name] = p.slots[n], p.among(reach)
	}
	for name, n := range b.leaves {
		p.names[name] = p.slots[n]
	}
	for name, n := range b.grads {
		p.grads[name] = p.slots[n]
	}
	p.all = p.among(needed)
	return p, check(b.g, needed)
}

// mark adds n and all that it is computed from to reach.
func (p *Program) mark(n *Node, reach map[*Node]bool) {
	if reach[n] {
		return
	}
	reach[n] = true
	for _, x := range operands(p.g, n) {
		p.mark(x, reach)
	}
}

func (p *Program) among(reach map[*Node]bool) []int {
	in := make([]bool, len(p.sizes))
	for n := range reach {
		in[p.slots[n]] = true
	}
	var ids []int
	for i, s := range p.steps {
		if in[s.out] {
			ids = append(ids, i)
		}
	}
	return ids
}

// Has reports whether the program has an input, a scalar or an output of a name.
func (p *Program) Has(name string) bool { _, ok := p.names[name]; return ok }

func (p *Program) slot(name string) int {
	i, ok := p.names[name]
	if !ok {
		panic("graph: nothing is named " + name)
	}
	return i
}

// An Executor runs a program with buffers of its own. One goroutine uses it at a time. It allocates nothing after the
// first run. Wrong names and sizes are programmer's errors and panic.
type Executor struct {
	*Program
	machine machine
	values  [][]float32 // the value of each slot
	in      [][][]float32
	fresh   []bool // steps that need not run again, of those that run once
}

// NewExecutor returns an executor that computes with cpu.
func (p *Program) NewExecutor(cpu *kernels.CPU) *Executor {
	e := &Executor{Program: p, machine: machine{cpu: cpu}, values: make([][]float32, len(p.sizes)), fresh: make([]bool, len(p.steps))}
	users := p.users()
	for i := range e.values {
		if p.constant[i] {
			e.values[i] = []float32{p.constants[i]}
		}
	}
	// Backwards, so that a pack comes before what it packs, and an operation before what it may write over.
	for k := len(p.steps) - 1; k >= 0; k-- {
		s := p.steps[k]
		if s.view != nil {
			continue // set at each run
		}
		if e.values[s.out] == nil {
			e.values[s.out] = buffer(p.sizes[s.out])
		}
		switch kernel := s.op.kernel.(type) {
		case packed:
			place(p, e.values, users, s)
		case inplace:
			for _, i := range kernel.over() {
				if p.lend(e.values, users, s.in[i], e.values[s.out]) {
					break
				}
			}
		}
	}
	for _, s := range p.steps {
		e.in = append(e.in, make([][]float32, len(s.in)))
	}
	for _, n := range p.leaves {
		if n.IsScalar() {
			e.values[p.slots[n]] = make([]float32, 1)
		}
	}
	return e
}

// users returns how many read each slot: operations, and whoever fetches it after a run.
func (p *Program) users() []int {
	users := make([]int, len(p.sizes))
	for _, s := range p.steps {
		for _, i := range s.in {
			users[i]++
		}
	}
	for _, i := range p.names {
		users[i]++
	}
	for _, i := range p.grads {
		users[i]++
	}
	for _, o := range p.objectives {
		users[o.loss]++
	}
	return users
}

// place lets the operations that make the parts of a pack write into it, unless somebody else reads them too.
func place(p *Program, values [][]float32, users []int, s step) {
	out := values[s.out]
	for _, i := range s.in {
		n := p.sizes[i]
		made := slices.ContainsFunc(p.steps, func(t step) bool { return t.out == i && t.view == nil })
		if made && users[i] == 1 && values[i] == nil {
			values[i] = out[:n:n]
		}
		out = out[n:]
	}
}

// lend lets the operation that makes a slot write it into out, and says whether it does: not if the slot is kept or if
// somebody else reads it too. Nor if it is of a batch, whose rows may be left as they were: they would be written over again
// and again.
func (p *Program) lend(values [][]float32, users []int, slot int, out []float32) bool {
	k := slices.IndexFunc(p.steps, func(s step) bool { return s.out == slot })
	if k < 0 || users[slot] != 1 || p.fixed[slot] || values[slot] != nil {
		return false
	}
	s := p.steps[k]
	if _, ok := s.view.(reshape); ok {
		return p.lend(values, users, s.in[0], out)
	}
	if s.view != nil || len(s.op.out) != 1 {
		return false
	}
	values[slot] = out
	return true
}

// buffer returns n floats that begin on a cache line.
func buffer(n int) []float32 {
	b := make([]float32, n+15)
	skip := 0
	for uintptr(unsafe.Pointer(&b[skip]))%64 != 0 {
		skip++
	}
	return b[skip : skip+n : skip+n]
}

// Feed binds v to an input or parameter. Runs read it in place: what the caller writes into v, they see, unless the input is
// fixed.
func (e *Executor) Feed(name string, v []float32) {
	i := e.slot(name)
	if e.leaves[name] == nil || len(v) != e.sizes[i] {
		panic(fmt.Sprintf("graph: %d values for %s, want an input of %d", len(v), name, e.sizes[i]))
	}
	e.values[i] = v
	e.refresh(i)
}

// refresh has what was computed of a leaf computed again.
func (e *Executor) refresh(leaf int) {
	if e.fixed[leaf] {
		clear(e.fresh)
	}
}

// Buffer returns the slice that an input is bound to, for the caller to fill before each run: what was fed to it, or else
// one that the executor makes. That of a fixed input is to be asked for each time that it is filled.
func (e *Executor) Buffer(name string) []float32 {
	i := e.slot(name)
	if e.values[i] == nil {
		e.Feed(name, buffer(e.sizes[i]))
	}
	e.refresh(i)
	return e.values[i]
}

// Set gives a scalar its value.
func (e *Executor) Set(name string, v float32) {
	i := e.slot(name)
	if n := e.leaves[name]; n == nil || !n.IsScalar() {
		panic("graph: " + name + " is not a scalar")
	}
	e.values[i][0] = v
}

// Run computes all objectives and outputs over the first rows examples of the batch.
func (e *Executor) Run(rows int) { e.run(e.all, rows) }

// RunFor computes one objective: its loss and its gradients.
func (e *Executor) RunFor(objective string, rows int) { e.run(e.plan(objective).steps, rows) }

// RunOutput computes one output alone: of what leads to a loss, no more than it needs itself.
func (e *Executor) RunOutput(output string, rows int) {
	steps, ok := e.outputs[output]
	if !ok {
		panic("graph: no output is named " + output)
	}
	e.run(steps, rows)
}

func (e *Executor) plan(objective string) plan {
	p, ok := e.objectives[objective]
	if !ok {
		panic("graph: no objective is named " + objective)
	}
	return p
}

func (e *Executor) run(steps []int, rows int) {
	e.machine.rows = rows
	for _, k := range steps {
		s := &e.steps[k]
		if e.fresh[k] {
			continue
		}
		in := e.in[k]
		for j, i := range s.in {
			if in[j] = e.values[i]; in[j] == nil {
				panic(fmt.Sprintf("graph: an input of %s was not fed", s.op))
			}
		}
		if s.view != nil {
			e.values[s.out] = s.view.view(in[0])
			continue
		}
		s.op.run(&e.machine, e.values[s.out], in)
		e.fresh[k] = s.once
	}
}

// Loss returns the value of an objective after a run.
func (e *Executor) Loss(objective string) float32 { return e.values[e.plan(objective).loss][0] }

// Grad returns the gradient of a parameter after a run. The next run overwrites it.
func (e *Executor) Grad(param string) []float32 {
	i, ok := e.grads[param]
	if !ok {
		panic("graph: no gradient of " + param)
	}
	return e.values[i]
}

// Fetch returns an output after a run. The next run overwrites it.
func (e *Executor) Fetch(name string) []float32 { return e.values[e.slot(name)] }

// Value returns an output that is a scalar.
func (e *Executor) Value(name string) float32 { return e.Fetch(name)[0] }
