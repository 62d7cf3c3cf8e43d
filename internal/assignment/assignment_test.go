package assignment

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// best tries every assignment of the rows from row on to columns that are not in use.
func best(value []float64, rows, cols, row int, used []bool) float64 {
	if row == rows {
		return 0
	}
	most := math.Inf(-1)
	for col := range cols {
		if used[col] {
			continue
		}
		used[col] = true
		most = max(most, value[row*cols+col]+best(value, rows, cols, row+1, used))
		used[col] = false
	}
	return most
}

// total returns the sum of an assignment's values; NaN if it takes a column twice.
func total(value []float64, cols int, colOf []int) float64 {
	var sum float64
	for row, col := range colOf {
		if slices.Index(colOf, col) != row {
			return math.NaN()
		}
		sum += value[row*cols+col]
	}
	return sum
}

func TestMaxIsBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, shape := range [][2]int{{0, 0}, {0, 3}, {1, 1}, {1, 5}, {2, 2}, {3, 4}, {5, 5}, {6, 8}} {
		rows, cols := shape[0], shape[1]
		for name, draw := range map[string]func() float64{
			"normal": r.NormFloat64,
			"ties":   func() float64 { return float64(r.IntN(3)) },
			"equal":  func() float64 { return -7 },
			"wide":   func() float64 { return math.Exp(20*r.NormFloat64()) * float64(1-2*r.IntN(2)) },
		} {
			t.Run(fmt.Sprint(name, " ", rows, "×", cols), func(t *testing.T) {
				for range 20 {
					value := make([]float64, rows*cols)
					for i := range value {
						value[i] = draw()
					}
					colOf := Max(value, rows, cols)
					got, want := total(value, cols, colOf), best(value, rows, cols, 0, make([]bool, cols))
					if !(math.Abs(got-want) <= 1e-12*math.Abs(want)) || len(colOf) != rows {
						t.Fatalf("%v has the sum %v, want %v, for %v", colOf, got, want, value)
					}
					if again := Max(value, rows, cols); !slices.Equal(again, colOf) {
						t.Fatalf("%v, and then %v, for %v", colOf, again, value)
					}
				}
			})
		}
	}
}

// TestMaxFindsPermutation hides a permutation in a matrix too large to try.
func TestMaxFindsPermutation(t *testing.T) {
	const rows, cols = 60, 90
	r := rand.New(rand.NewPCG(2, 2))
	want := r.Perm(cols)[:rows]
	value := make([]float64, rows*cols)
	for i := range value {
		value[i] = r.Float64()
	}
	for row, col := range want {
		value[row*cols+col] += 2
	}
	if got := Max(value, rows, cols); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestMaxPanics(t *testing.T) {
	for name, f := range map[string]func(){
		"more rows than columns": func() { Max(make([]float64, 6), 3, 2) },
		"a value is missing":     func() { Max(make([]float64, 5), 2, 3) },
		"NaN":                    func() { Max([]float64{math.NaN()}, 1, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		})
	}
}

// BenchmarkMax has the size that a client of a hundred neurons meets at a server of seven hundred.
func BenchmarkMax(b *testing.B) {
	const rows, cols = 100, 800
	r := rand.New(rand.NewPCG(3, 3))
	value := make([]float64, rows*cols)
	for i := range value {
		value[i] = r.NormFloat64()
	}
	for b.Loop() {
		Max(value, rows, cols)
	}
}
