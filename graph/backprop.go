package graph

import (
	"cmp"
	"slices"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// differentiate returns the gradient of loss with respect to each of params as nodes, nil where loss does not depend on one.
//
// It differs from gorgonia.Grad in three ways, each of them time at run time: only what leads to params is built; all
// contributions to a gradient are summed by one operation, scale factors included; parts of a flat vector are written
// where they belong and not added.
func differentiate(g *gorgonia.ExprGraph, loss *Node, params Nodes) Nodes {
	sorted, err := gorgonia.Sort(g) // users before what they use
	if err != nil {
		panic(err)
	}
	leads := map[*Node]bool{}
	for _, p := range params {
		leads[p] = true
	}
	for i := len(sorted) - 1; i >= 0; i-- {
		if o, ok := sorted[i].Op().(*op); ok {
			leads[sorted[i]] = slices.Contains(needs(g, sorted[i], o, leads), true)
		}
	}
	parts := map[*Node][]part{loss: {whole(g.AddNode(gorgonia.NewConstant(float32(1))))}}
	for _, n := range sorted {
		o, ok := n.Op().(*op)
		if !ok || len(parts[n]) == 0 || !leads[n] {
			continue
		}
		in, need := operands(g, n), needs(g, n, o, leads)
		grads := o.diff(in, n, total(parts[n]), need)
		for j, ok := range need {
			if !ok {
				continue
			}
			parts[in[j]] = append(parts[in[j]], grads[j])
		}
	}
	grads := make(Nodes, len(params))
	for i, p := range params {
		if len(parts[p]) > 0 {
			grads[i] = total(parts[p])
		}
	}
	return grads
}

// needs says which operands of n need a gradient.
func needs(g *gorgonia.ExprGraph, n *Node, o *op, leads map[*Node]bool) []bool {
	need := make([]bool, o.Arity())
	for j, w := range o.wrt() {
		need[j] = w
	}
	for j, x := range operands(g, n) {
		need[j] = need[j] && leads[x]
	}
	return need
}

// A part is one contribution to a gradient: x, or scale·x, or x at its place in a vector of zeros.
// The zero part stands for an operand that needs no gradient.
type part struct {
	x      *Node
	scale  *Node // nil for 1
	offset int
	of     int // size of the vector; 0 where x is the whole
}

func whole(x *Node) part { return part{x: x} }

func times(x, scale *Node) part {
	if isOne(scale) {
		return whole(x)
	}
	return part{x: x, scale: scale}
}

// node makes one node of p alone.
func (p part) node() *Node {
	switch {
	case p.of > 0:
		return apply("embed", embed{offset: p.offset}, tensor.Shape{p.of}, p.x)
	case p.scale != nil:
		return apply("times", scaled{}, p.x.Shape(), p.x, p.scale)
	}
	return p.x
}

// total sums the contributions to one gradient.
func total(parts []part) *Node {
	if len(parts) == 1 {
		return parts[0].node()
	}
	// Wholes first, then the places of a vector in order.
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Or(cmp.Compare(min(a.of, 1), min(b.of, 1)), a.offset-b.offset) })
	wholes := slices.IndexFunc(parts, func(p part) bool { return p.of > 0 })
	switch {
	case wholes == 0 && tiles(parts):
		return pack(parts)
	case wholes > 0 && tiles(parts[wholes:]):
		parts = append([]part{whole(pack(parts[wholes:]))}, parts[:wholes]...)
	}
	for i, p := range parts {
		if p.of > 0 {
			parts[i] = whole(p.node())
		}
	}
	return combine(parts)
}

// tiles reports whether parts, in order of their offsets, cover a vector without gap or overlap.
func tiles(parts []part) bool {
	end := 0
	for _, p := range parts {
		if p.of == 0 || p.offset != end {
			return false
		}
		end += size(p.x.Shape())
	}
	return end == parts[0].of
}

// isOne reports the constant 1, the gradient of a loss with respect to itself.
func isOne(n *Node) bool {
	if _, ours := n.Op().(*op); ours || n.Op() == nil {
		return false
	}
	v, ok := n.Value().(*gorgonia.F32)
	return ok && *v == 1
}
