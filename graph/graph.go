// Package graph builds training steps as expression graphs of Gorgonia and runs them without garbage.
//
// It is the only package that knows Gorgonia. There are three phases:
//
//   - Build calls a function that declares parameters, inputs and losses on a Builder. Operations are functions from
//     nodes to nodes; wrong shapes panic there, with a message, and Build returns the panic as an error.
//   - Minimize asks for gradients. They are derived symbolically, by each operation's SymDiff, as further nodes of the
//     same graph: two losses over shared parts (a personal and a local one) share these parts when they run.
//   - An Executor owns buffers for one goroutine. Feed binds slices to inputs (no copy), Run computes, Grad and Fetch
//     return what was computed. A Program is immutable: any number of executors may run it at once.
//
// A Tape runs the same program on Gorgonia's TapeMachine: slower, and the check that nothing here leans on the executor.
//
// A model's parameters are one flat vector; Slice names parts of it. A batch has a fixed number of rows at build; Run
// takes how many of them hold examples.
package graph

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Node is a value of the graph that is known by its shape until it is run.
type Node = gorgonia.Node

// Nodes is a list of nodes.
type Nodes = gorgonia.Nodes

// building serialises what touches Gorgonia's own globals: adding and differentiating nodes.
var building sync.Mutex

// A Builder collects the inputs, parameters, losses and outputs of a program.
type Builder struct {
	g          *gorgonia.ExprGraph
	leaves     map[string]*Node
	fixed      map[*Node]bool // of the leaves
	outputs    map[string]*Node
	grads      map[string]*Node // by parameter
	objectives []objective
}

// An objective is a loss with the gradients that are asked of it.
type objective struct {
	name  string
	loss  *Node
	grads Nodes
}

// Build makes a program of what f declares. Errors name the operation or the leaf that is wrong.
func Build(f func(b *Builder)) (p *Program, err error) {
	building.Lock()
	defer building.Unlock()
	defer rescue(&err)
	b := &Builder{
		g:       gorgonia.NewGraph(),
		leaves:  map[string]*Node{},
		fixed:   map[*Node]bool{},
		outputs: map[string]*Node{},
		grads:   map[string]*Node{},
	}
	f(b)
	return compile(b)
}

// Param declares a trainable vector of n values.
func (b *Builder) Param(name string, n int) *Node { return b.Input(name, n) }

// Input declares data of a shape: a batch of examples, labels, noise. Nothing tells it from a parameter but that no
// gradient is asked for it.
func (b *Builder) Input(name string, shape ...int) *Node {
	for _, n := range shape {
		if n <= 0 {
			panic(fmt.Errorf("%s: shape %v", name, shape))
		}
	}
	return b.leaf(name, gorgonia.NewTensor(b.g, gorgonia.Float32, len(shape), gorgonia.WithShape(shape...), gorgonia.WithName(name)))
}

// Fixed declares a vector of n values that stand still: what is fed is not written to until it is fed anew, so that an
// executor computes what depends on it alone once and not in each run. No gradient is asked for it.
func (b *Builder) Fixed(name string, n int) *Node {
	v := b.Input(name, n)
	b.fixed[v] = true
	return v
}

// Scalar declares a number that is set before a run, such as the weight of a loss.
func (b *Builder) Scalar(name string) *Node {
	return b.leaf(name, gorgonia.NewScalar(b.g, gorgonia.Float32, gorgonia.WithName(name)))
}

// leaf registers n. Gorgonia merges leaves of one name, type and shape in silence, so a name is taken once.
func (b *Builder) leaf(name string, n *Node) *Node {
	if b.leaves[name] != nil {
		panic(fmt.Errorf("%s: the name is taken", name))
	}
	b.leaves[name] = n
	return n
}

// Output gives a node a name for Fetch.
func (b *Builder) Output(name string, n *Node) {
	if b.outputs[name] != nil {
		panic(fmt.Errorf("%s: the output is declared twice", name))
	}
	b.outputs[name] = n
}

// Minimize declares a loss (a scalar) and asks for its gradient with respect to parameters, and to nothing else.
func (b *Builder) Minimize(name string, loss *Node, params ...*Node) {
	if !loss.IsScalar() {
		panic(fmt.Errorf("objective %s: a loss of shape %v, want a scalar", name, loss.Shape()))
	}
	if slices.ContainsFunc(b.objectives, func(o objective) bool { return o.name == name }) {
		panic(fmt.Errorf("objective %s: declared twice", name))
	}
	grads := differentiate(b.g, loss, params)
	for i, p := range params {
		if b.leaves[p.Name()] != p {
			panic(fmt.Errorf("objective %s: %s is not a parameter", name, p.Name()))
		}
		if b.fixed[p] {
			panic(fmt.Errorf("objective %s: %s is fixed", name, p.Name()))
		}
		if b.grads[p.Name()] != nil {
			panic(fmt.Errorf("objective %s: %s has a gradient of another objective", name, p.Name()))
		}
		if grads[i] == nil {
			panic(fmt.Errorf("objective %s: the loss does not depend on %s", name, p.Name()))
		}
		b.grads[p.Name()] = grads[i]
	}
	b.objectives = append(b.objectives, objective{name, loss, grads})
}

// operands returns the inputs of n in order.
func operands(g *gorgonia.ExprGraph, n *Node) Nodes {
	var in Nodes
	for it := g.From(n.ID()); it.Next(); {
		in = append(in, it.Node().(*Node))
	}
	return in
}

// check refuses graphs that Gorgonia has altered by merging, and nodes that nothing needs: a TapeMachine would run them.
func check(g *gorgonia.ExprGraph, needed map[*Node]bool) error {
	seen := map[uint32]*Node{}
	for _, n := range g.AllNodes() {
		if m := seen[n.Hashcode()]; m != nil {
			return fmt.Errorf("graph: %v and %v have one hash", m, n)
		}
		seen[n.Hashcode()] = n
		// The constant gradient of a loss may go unused, where it only had a scale to multiply.
		if !needed[n] && !isOne(n) {
			return fmt.Errorf("graph: %v %v: no loss, gradient or output needs it", n, n.Shape())
		}
	}
	if len(seen) == 0 {
		return errors.New("graph: nothing was declared")
	}
	return nil
}

func size(s tensor.Shape) int {
	if s.Dims() == 0 {
		return 1
	}
	return s.TotalSize()
}

// want panics unless n has the shape.
func want(op string, n *Node, shape ...int) {
	if !n.Shape().Eq(tensor.Shape(shape)) {
		panic(fmt.Errorf("%s: an operand of shape %v, want %v", op, n.Shape(), shape))
	}
}
