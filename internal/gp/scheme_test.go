package gp

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestTree checks a tree of four points in two pairs: the first question is between the pairs.
func TestTree(t *testing.T) {
	means := mat.NewDense(4, 2, []float64{0, 1, 9, 0, 0, 2, 9, 1})
	s := tree([]float32{3, 4, 5, 7}, means, source(1))
	want := []split{{0, 4, 0, 2}, {0, 2, 0, 1}, {2, 4, 2, 3}}
	if !slices.Equal(s.splits, want) || !slices.Equal(s.classes, []float32{3, 5, 4, 7}) {
		t.Errorf("tree %+v, want splits %v of classes 3, 5 and 4, 7", s, want)
	}
}

// TestSchemes checks for each number of classes that every class has a place and that its probabilities sum to 1.
func TestSchemes(t *testing.T) {
	for _, classes := range []int{1, 2, 3, 5, 10, 11, 40} {
		r := source(uint64(classes))
		z, y := clusters(r, 2*classes, 4, classes, 0.1)
		x, _ := directions(z, 4)
		for _, ovr := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d classes/one-vs-rest %v", classes, ovr), func(t *testing.T) {
				s := Model{OneVsRest: ovr, Source: r}.scheme(x, y)
				sorted := slices.Clone(s.classes)
				slices.Sort(sorted)
				if len(slices.Compact(sorted)) != classes || len(s.classes) != classes {
					t.Fatalf("classes %v, want %d different ones", s.classes, classes)
				}
				questions := classes - 1
				if ovr {
					questions = classes
				}
				if len(s.splits) != questions {
					t.Errorf("%d questions, want %d", len(s.splits), questions)
				}
				yes, no := make([]float64, questions), make([]float64, questions)
				for q := range yes {
					yes[q] = r.Float64()
					no[q] = 1 - yes[q]
				}
				p := make([]float64, classes)
				s.probabilities(p, yes, no)
				within(t, "sum of probabilities", floats.Sum(p), 1, 1e-12)
				if floats.Min(p) <= 0 {
					t.Errorf("probabilities %v, want all positive", p)
				}
			})
		}
	}
}

// TestBisect checks clusters against the best of all divisions, and points that are one.
func TestBisect(t *testing.T) {
	r := source(2)
	for range 20 {
		const n, width = 8, 3
		points := mat.NewDense(n, width, nil)
		for i := range n {
			for j := range width {
				points.Set(i, j, r.NormFloat64())
			}
		}
		ids := []int{0, 1, 2, 3, 4, 5, 6, 7}
		left, right := bisect(ids, points, r)
		best := math.Inf(1)
		for mask := 1; mask < 1<<(n-1); mask++ {
			var parts [2][]int
			for i := range n {
				parts[mask>>i&1] = append(parts[mask>>i&1], i)
			}
			best = math.Min(best, scatter(points, parts[0])+scatter(points, parts[1]))
		}
		if got := scatter(points, left) + scatter(points, right); got > 1.05*best || len(left)+len(right) != n {
			t.Errorf("clusters %v and %v of cost %v, the best has %v", left, right, got, best)
		}
	}
	left, right := bisect([]int{0, 1, 2}, mat.NewDense(3, 2, nil), r)
	if !slices.Equal(left, []int{0}) || !slices.Equal(right, []int{1, 2}) {
		t.Errorf("one point thrice became %v and %v, want both with something", left, right)
	}
}

// scatter is the sum of squared distances from the mean of some points.
func scatter(points *mat.Dense, ids []int) (sum float64) {
	for _, i := range ids {
		for _, j := range ids {
			d := floats.Distance(points.RawRowView(i), points.RawRowView(j), 2)
			sum += d * d / float64(2*len(ids))
		}
	}
	return sum
}
