// Package graphtest checks losses and gradients of graphs against a reference in float64.
package graphtest

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/diff/fd"

	"fedbayes/graph"
	"fedbayes/internal/kernels"
)

// A Case is an objective, where to evaluate it, and what it should be.
type Case struct {
	// Build declares one objective named "loss".
	Build func(b *graph.Builder)

	// Params are the parameters with a gradient, Data the other inputs, Scalars the scalars.
	Params, Data map[string][]float32
	Scalars      map[string]float32

	// Rows is how many rows of the batch hold examples; 0 stands for all of them. A tape runs whole batches only, so it
	// is left out where Rows is given.
	Rows int

	// Loss is the objective in float64, written plainly, as a function of parameters and data.
	Loss func(v map[string][]float64) float64

	// Tolerance bounds the error relative to the largest value of the reference; 0 stands for 1e-4.
	Tolerance float64
}

// Check compares loss and gradients with the reference and its central differences, on an executor for each
// instruction set of the machine and on a tape. Points should keep away from kinks.
func Check(t *testing.T, c Case) {
	t.Helper()
	p, err := graph.Build(c.Build)
	if err != nil {
		t.Fatal(err)
	}
	loss, grads := reference(c)
	for _, isa := range kernels.Available() {
		e := p.NewExecutor(kernels.New(isa))
		for _, in := range []map[string][]float32{c.Params, c.Data} {
			for name, v := range in {
				e.Feed(name, v)
			}
		}
		for name, v := range c.Scalars {
			e.Set(name, v)
		}
		rows := c.Rows
		if rows == 0 {
			rows = math.MaxInt
		}
		for range 2 { // the second run meets the buffers of the first
			e.Run(rows)
		}
		c.compare(t, isa.String()+": loss", []float32{e.Loss("loss")}, []float64{loss})
		for name := range c.Params {
			c.compare(t, isa.String()+": gradient of "+name, e.Grad(name), grads[name])
		}
	}
	if c.Rows > 0 {
		return
	}
	tape := p.NewTape()
	defer tape.Close()
	for _, in := range []map[string][]float32{c.Params, c.Data} {
		for name, v := range in {
			fatal(t, tape.Feed(name, v))
		}
	}
	for name, v := range c.Scalars {
		fatal(t, tape.Set(name, v))
	}
	fatal(t, tape.Run())
	got, err := tape.Loss("loss")
	fatal(t, err)
	c.compare(t, "tape: loss", []float32{got}, []float64{loss})
	for name := range c.Params {
		g, err := tape.Grad(name)
		fatal(t, err)
		c.compare(t, "tape: gradient of "+name, g, grads[name])
	}
}

func fatal(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// reference evaluates the float64 loss and its central differences.
func reference(c Case) (loss float64, grads map[string][]float64) {
	v := map[string][]float64{}
	for _, in := range []map[string][]float32{c.Params, c.Data} {
		for name, x := range in {
			v[name] = widen(x)
		}
	}
	for name, x := range c.Scalars {
		v[name] = []float64{float64(x)}
	}
	loss = c.Loss(v)
	grads = map[string][]float64{}
	for name := range c.Params {
		at := v[name]
		grads[name] = fd.Gradient(nil, func(x []float64) float64 {
			v[name] = x
			defer func() { v[name] = at }()
			return c.Loss(v)
		}, at, &fd.Settings{Formula: fd.Central})
	}
	return loss, grads
}

func widen(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func (c Case) compare(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	tol := c.Tolerance
	if tol == 0 {
		tol = 1e-4
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, want %d", what, len(got), len(want))
	}
	scale := 1e-3
	for _, w := range want {
		scale = math.Max(scale, math.Abs(w))
	}
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= tol*scale) {
			t.Errorf("%s: [%d] = %v, want %v", what, i, got[i], w)
			return
		}
	}
}
