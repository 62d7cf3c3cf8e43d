// Package assignment solves the linear assignment problem: which row takes which column, none of them twice.
package assignment

import (
	"fmt"
	"math"
)

// Max returns the column of each row in an assignment whose values have the largest sum. No column is taken twice.
// value is [rows, cols], row-major and finite; it panics unless rows ≤ cols. Equal arguments give equal results, where
// several assignments are best too.
//
// It takes O(rows²·cols) steps: a shortest augmenting path for each row, found with dual variables as Jonker and Volgenant
// do, on a matrix that need not be square.
//
// Crouse, On implementing 2D rectangular assignment algorithms. IEEE Transactions on Aerospace and Electronic Systems 2016.
func Max(value []float64, rows, cols int) []int {
	if rows < 0 || rows > cols || len(value) != rows*cols {
		panic(fmt.Sprintf("assignment: %d values for %d rows and %d columns, want rows·cols, and no more rows than columns", len(value), rows, cols))
	}
	s := solver{
		value: value, cols: cols,
		rowDual: make([]float64, rows), colDual: make([]float64, cols),
		colOf: constant(rows, none), rowOf: constant(cols, none),
		from: make([]int, cols), dist: make([]float64, cols), open: make([]int, cols),
	}
	for row := range rows {
		s.augment(row)
	}
	return s.colOf
}

// none stands for the partner of a row or a column that has none.
const none = -1

// solver minimises the sum of the costs −value.
type solver struct {
	value            []float64
	cols             int
	rowDual, colDual []float64
	colOf, rowOf     []int // partners

	// Of one search: the row before a column on the shortest path to it, its length, and the columns not yet reached.
	from []int
	dist []float64
	open []int
}

// augment gives row a column, along the shortest path that ends at a free one.
func (s *solver) augment(row int) {
	free, length, reached := s.search(row)
	s.rowDual[row] += length
	for _, col := range reached {
		s.rowDual[s.rowOf[col]] += length - s.dist[col]
		s.colDual[col] -= length - s.dist[col]
	}
	for col := free; ; {
		r := s.from[col]
		s.rowOf[col] = r
		s.colOf[r], col = col, s.colOf[r]
		if r == row {
			return
		}
	}
}

// search is Dijkstra's, from row over reduced costs. It returns the nearest free column, the length of the path to it and
// the columns that are nearer, all of them taken.
func (s *solver) search(row int) (free int, length float64, reached []int) {
	s.open = s.open[:s.cols]
	for col := range s.open {
		s.open[col], s.dist[col] = col, math.Inf(1)
	}
	for {
		costs, nearest := s.value[row*s.cols:(row+1)*s.cols], none
		for k, col := range s.open {
			if d := length - costs[col] - s.rowDual[row] - s.colDual[col]; d < s.dist[col] {
				s.dist[col], s.from[col] = d, row
			}
			if s.dist[col] < math.Inf(1) && (nearest == none || s.before(col, s.open[nearest])) {
				nearest = k
			}
		}
		if nearest == none {
			panic("assignment: a value is not finite")
		}
		col := s.open[nearest]
		length = s.dist[col]
		if s.rowOf[col] == none {
			return col, length, reached
		}
		reached, row = append(reached, col), s.rowOf[col]
		last := len(s.open) - 1
		s.open[nearest], s.open = s.open[last], s.open[:last]
	}
}

// before says whether column a is to be reached before b: it is nearer, or as near and free, which ends the search.
func (s *solver) before(a, b int) bool {
	if s.dist[a] != s.dist[b] {
		return s.dist[a] < s.dist[b]
	}
	return s.rowOf[a] == none && s.rowOf[b] != none
}

func constant(n, v int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = v
	}
	return s
}
