package gp

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Model says how Gaussian processes are to tell classes apart.
type Model struct {
	Kernel    Kernel
	Inference Inference
	OneVsRest bool   // a process for each class, in place of those of a tree
	Source    Source // of the clusters that a tree's search starts from
}

// scheme returns the questions about the classes of labels y, the tree's by the means of their directions x.
func (m Model) scheme(x *mat.Dense, y []float32) scheme {
	classes := slices.Clone(y)
	slices.Sort(classes)
	classes = slices.Compact(classes)
	if m.OneVsRest {
		return oneVsRest(classes)
	}
	_, width := x.Dims()
	means, count := mat.NewDense(len(classes), width, nil), make([]float64, len(classes))
	for i, label := range y {
		c, _ := slices.BinarySearch(classes, label)
		floats.Add(means.RawRowView(c), x.RawRowView(i))
		count[c]++
	}
	for c, n := range count {
		floats.Scale(1/n, means.RawRowView(c))
	}
	return tree(classes, means, m.Source)
}

// answers returns κ, ½ for yes and −½ for no, of examples that lie by place, each place where start says.
func (s split) answers(start []int) []float64 {
	kappa := make([]float64, start[s.hi]-start[s.lo])
	for c := s.lo; c < s.hi; c++ {
		k := -0.5
		if s.holds(c) {
			k = 0.5
		}
		for i := start[c]; i < start[c+1]; i++ {
			kappa[i-start[s.lo]] = k
		}
	}
	return kappa
}

// gather returns rows of x.
func gather(x *mat.Dense, rows []int) *mat.Dense {
	_, width := x.Dims()
	g := mat.NewDense(len(rows), width, nil)
	for i, r := range rows {
		g.SetRow(i, x.RawRowView(r))
	}
	return g
}
