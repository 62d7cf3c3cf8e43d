package gp

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A scheme tells classes apart by binary questions. It puts the classes in an order in which all that a question asks about
// stand side by side.
type scheme struct {
	classes   []float32 // in this order
	splits    []split
	oneVsRest bool // probabilities are normalised answers, not products along paths
}

// A split asks of a class at the places lo … hi−1 of the order whether it is at the places a … b−1 among them.
type split struct{ lo, hi, a, b int }

// holds reports whether a place is among those with the answer yes.
func (s split) holds(place int) bool { return s.a <= place && place < s.b }

// oneVsRest asks of each class whether it is that one.
func oneVsRest(classes []float32) scheme {
	s := scheme{classes: classes, oneVsRest: true}
	for c := range classes {
		s.splits = append(s.splits, split{0, len(classes), c, c + 1})
	}
	return s
}

// tree divides classes in two by their means [classes, width], and each part again, until every class is alone. A product
// of answers along the path to a class is its probability.
func tree(classes []float32, means *mat.Dense, src Source) scheme {
	var s scheme
	var grow func(ids []int)
	grow = func(ids []int) {
		if len(ids) == 1 {
			s.classes = append(s.classes, classes[ids[0]])
			return
		}
		left, right := bisect(ids, means, src)
		lo := len(s.classes)
		s.splits = append(s.splits, split{lo, lo + len(ids), lo, lo + len(left)})
		grow(left)
		grow(right)
	}
	all := make([]int, len(classes))
	for i := range all {
		all[i] = i
	}
	grow(all)
	return s
}

// Bounds of the search for two clusters.
const (
	restarts   = 50 // as the public code has
	iterations = 100
)

// bisect divides two or more of the points into two clusters of least squared distance, neither empty.
//
// Lloyd's iteration starts from each pair of points, where there are no more pairs than restarts: for up to ten classes
// nothing is random, and names of classes do not matter. Else it starts from random pairs.
func bisect(ids []int, points *mat.Dense, src Source) (left, right []int) {
	best := math.Inf(1)
	for _, pair := range pairs(len(ids), src) {
		l, r, cost := lloyd(ids, points, ids[pair[0]], ids[pair[1]])
		if cost < best {
			left, right, best = l, r, cost
		}
	}
	if left == nil { // all points are one
		return ids[:len(ids)/2], ids[len(ids)/2:]
	}
	return left, right
}

// pairs returns all pairs of n points, or as many as restarts at random.
func pairs(n int, src Source) (ps [][2]int) {
	if n*(n-1)/2 > restarts {
		for range restarts {
			i, j := src.IntN(n), src.IntN(n-1)
			if j >= i {
				j++
			}
			ps = append(ps, [2]int{i, j})
		}
		return ps
	}
	for i := range n {
		for j := range i {
			ps = append(ps, [2]int{j, i})
		}
	}
	return ps
}

// lloyd iterates from the points a and b as centres. The cost of clusters of which one is empty is infinite.
func lloyd(ids []int, points *mat.Dense, a, b int) (left, right []int, cost float64) {
	centres := [2][]float64{slices.Clone(points.RawRowView(a)), slices.Clone(points.RawRowView(b))}
	for range iterations {
		was := left
		left, right, cost = nil, nil, 0
		for _, id := range ids {
			p := points.RawRowView(id)
			da, db := floats.Distance(p, centres[0], 2), floats.Distance(p, centres[1], 2)
			if db < da {
				right, cost = append(right, id), cost+db*db
			} else {
				left, cost = append(left, id), cost+da*da
			}
		}
		if len(left) == 0 || len(right) == 0 {
			return nil, nil, math.Inf(1)
		}
		if slices.Equal(left, was) {
			break
		}
		for k, part := range [][]int{left, right} {
			clear(centres[k])
			for _, id := range part {
				floats.AddScaled(centres[k], 1/float64(len(part)), points.RawRowView(id))
			}
		}
	}
	return left, right, cost
}

// probabilities writes into dst, by place, what the answers of one example say: yes and no are those of each split.
func (s scheme) probabilities(dst, yes, no []float64) {
	for c := range dst {
		dst[c] = 1
		for q, sp := range s.splits {
			switch {
			case sp.holds(c):
				dst[c] *= yes[q]
			case !s.oneVsRest && sp.lo <= c && c < sp.hi:
				dst[c] *= no[q]
			}
		}
	}
	if sum := floats.Sum(dst); s.oneVsRest && sum > 0 {
		floats.Scale(1/sum, dst)
	}
}

// arrange returns the examples with labels y by the place of their class, and where each place begins: those of place c are
// rows[start[c]:start[c+1]].
func (s scheme) arrange(y []float32) (rows, start []int) {
	start = append(start, 0)
	for _, class := range s.classes {
		for i, label := range y {
			if label == class {
				rows = append(rows, i)
			}
		}
		start = append(start, len(rows))
	}
	return rows, start
}
