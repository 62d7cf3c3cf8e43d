package graph

import (
	"fmt"
	"hash"
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"fedbayes/internal/kernels"
)

// A kernel is what distinguishes one operation from another: what it computes, and its gradient as nodes.
// It holds sizes, never data, so that one graph serves any number of executors.
type kernel interface {
	// run writes the output into out. A scalar is a slice of length one. An operation over examples computes the first
	// m.rows of them only, and leaves the others as they were.
	run(m *machine, out []float32, in [][]float32)

	// diff returns what the output's gradient contributes to the gradient of each input that needs one.
	diff(in Nodes, out, grad *Node, need []bool) []part

	// wrt says which inputs have a gradient.
	wrt() []bool
}

// A viewer is a kernel whose output is a part of its first input. An executor takes the part and runs nothing.
type viewer interface {
	view(in []float32) []float32
}

// A steady kernel computes its whole output from its inputs alone, whatever number of rows the batch has. Where they are
// fixed, an executor keeps the output from run to run.
type steady interface{ steady() }

// An inplace kernel may write its output over an input of one of these numbers.
type inplace interface{ over() []int }

// machine is what an operation computes with.
type machine struct {
	cpu  *kernels.CPU
	rows int // examples in the batch at hand
}

// terminal is the half of a kernel that is never differentiated: an operation that only stands in gradients.
type terminal struct{}

func (terminal) diff(Nodes, *Node, *Node, []bool) []part { return nil }
func (terminal) wrt() []bool                             { return nil }

// An op makes a kernel an operation of Gorgonia, for its expression graph, its symbolic differentiation and its TapeMachine.
type op struct {
	kernel
	name string
	id   uint32 // Gorgonia merges nodes of equal hash, so each instance has its own number
	in   []tensor.Shape
	out  tensor.Shape
}

// instances numbers the operations of the process.
var instances atomic.Uint32

// apply adds an operation to the graph. It panics on what Gorgonia refuses: building panics, Build returns errors.
func apply(name string, k kernel, out tensor.Shape, in ...*Node) *Node {
	o := &op{kernel: k, name: name, id: instances.Add(1), out: out}
	for _, n := range in {
		o.in = append(o.in, n.Shape())
	}
	n, err := gorgonia.ApplyOp(o, in...)
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return n
}

func (o *op) Arity() int { return len(o.in) }

func (o *op) Type() hm.Type {
	ts := make([]hm.Type, 0, len(o.in)+1)
	for _, s := range o.in {
		ts = append(ts, typeOf(s))
	}
	return hm.NewFnType(append(ts, typeOf(o.out))...)
}

func typeOf(s tensor.Shape) hm.Type {
	if s.Dims() == 0 {
		return gorgonia.Float32
	}
	return gorgonia.TensorType{Dims: s.Dims(), Of: gorgonia.Float32}
}

func (o *op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.out, nil }
func (o *op) ReturnsPtr() bool                                      { return true }
func (o *op) CallsExtern() bool                                     { return false }
func (o *op) OverwritesInput() int                                  { return -1 }
func (o *op) WriteHash(h hash.Hash)                                 { fmt.Fprintf(h, "%s#%d", o.name, o.id) }
func (o *op) Hashcode() uint32                                      { return o.id }
func (o *op) String() string                                        { return o.name }
func (o *op) DiffWRT(int) []bool                                    { return o.wrt() }

// SymDiff gives Gorgonia's own driver every gradient that there is.
func (o *op) SymDiff(in gorgonia.Nodes, out, grad *gorgonia.Node) (ns gorgonia.Nodes, err error) {
	defer rescue(&err)
	for _, p := range o.diff(in, out, grad, o.wrt()) {
		ns = append(ns, p.node())
	}
	return ns, nil
}

// Do runs the operation for a TapeMachine: over whole batches, into a fresh value.
func (o *op) Do(in ...gorgonia.Value) (gorgonia.Value, error) {
	if o.out.Dims() == 0 {
		return o.UsePreallocDo(gorgonia.NewF32(0), in...)
	}
	return o.UsePreallocDo(tensor.New(tensor.WithShape(o.out...), tensor.Of(tensor.Float32)), in...)
}

// UsePreallocDo is Do into a value of the caller's.
func (o *op) UsePreallocDo(out gorgonia.Value, in ...gorgonia.Value) (v gorgonia.Value, err error) {
	// A panic under a TapeMachine would end the process.
	defer rescue(&err)
	dst, err := floats(out)
	if err != nil {
		return nil, err
	}
	src := make([][]float32, len(in))
	for i, v := range in {
		if src[i], err = floats(v); err != nil {
			return nil, err
		}
	}
	o.run(&machine{cpu: kernels.New(kernels.Best()), rows: math.MaxInt}, dst, src)
	return out, nil
}

// floats returns the data of a value of Gorgonia's without copying it.
func floats(v gorgonia.Value) ([]float32, error) {
	switch v := v.(type) {
	case *gorgonia.F32:
		return unsafe.Slice((*float32)(v), 1), nil
	case *tensor.Dense:
		if v.Dtype() == tensor.Float32 {
			return v.Float32s(), nil
		}
	}
	return nil, fmt.Errorf("graph: a value of type %T, want float32", v)
}

// rescue turns a panic into an error.
func rescue(err *error) {
	switch r := recover().(type) {
	case nil:
	case error:
		*err = fmt.Errorf("graph: %w", r)
	default:
		*err = fmt.Errorf("graph: %v", r)
	}
}
