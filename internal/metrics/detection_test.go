package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// pairsAUROC counts pairs.
func pairsAUROC(score []float64, detect []bool) float64 {
	var hits, pairs float64
	for i := range score {
		for j := range score {
			if detect[i] && !detect[j] {
				pairs++
				switch {
				case score[i] > score[j]:
					hits++
				case score[i] == score[j]:
					hits += 0.5
				}
			}
		}
	}
	return hits / pairs
}

// drawn returns n examples whose scores have many ties.
func drawn(r *rand.Rand, n int) (score []float64, marked []bool) {
	for range n {
		score = append(score, float64(r.IntN(5))/4)
		marked = append(marked, r.IntN(3) == 0)
	}
	return score, marked
}

func TestAUROC(t *testing.T) {
	for _, test := range []struct {
		name   string
		score  []float64
		detect []bool
		want   float64
	}{
		{"perfect", []float64{0.1, 0.2, 0.8, 0.9}, []bool{false, false, true, true}, 1},
		{"the wrong way round", []float64{0.9, 0.8, 0.2, 0.1}, []bool{false, false, true, true}, 0},
		{"all equal", []float64{3, 3, 3, 3, 3}, []bool{false, true, true, false, false}, 0.5},
		// Of the pairs, 0.8 is above both others, 0.4 above one, and equal to none.
		{"three of four pairs", []float64{0.1, 0.6, 0.4, 0.8}, []bool{false, false, true, true}, 0.75},
		{"a tie", []float64{1, 2, 2}, []bool{false, false, true}, 0.75},
		{"nothing to detect", []float64{1, 2}, []bool{false, false}, math.NaN()},
		{"nothing else", []float64{1, 2}, []bool{true, true}, math.NaN()},
		{"no example", nil, nil, math.NaN()},
		{"not a number", []float64{1, math.NaN()}, []bool{true, false}, math.NaN()},
	} {
		if got := AUROC(test.score, test.detect); got != test.want && !(math.IsNaN(got) && math.IsNaN(test.want)) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		score, detect := drawn(r, 1+r.IntN(30))
		got, want := AUROC(score, detect), pairsAUROC(score, detect)
		if math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
			t.Fatalf("%v %v: got %v, want %v", score, detect, got, want)
		}
		// Only the order of the scores counts, and what is not to be detected turns it around.
		up, others := slices.Clone(score), slices.Clone(detect)
		for i := range up {
			up[i], others[i] = math.Exp(3*up[i]), !detect[i]
		}
		if same := AUROC(up, detect); same != got && !math.IsNaN(got) {
			t.Fatalf("scores of the same order give %v and %v", got, same)
		}
		if back := AUROC(score, others); math.Abs(1-back-got) > 1e-12 {
			t.Fatalf("%v and, turned around, %v do not add up to 1", got, back)
		}
	}
}

func TestRejection(t *testing.T) {
	for _, test := range []struct {
		name  string
		score []float64
		good  []bool
		want  []float64
	}{
		{"perfect", []float64{0.9, 0.1, 0.8, 0.2}, []bool{false, true, false, true}, []float64{0.5, 2. / 3, 1, 1}},
		{"the wrong way round", []float64{0.1, 0.9, 0.2, 0.8}, []bool{false, true, false, true}, []float64{0.5, 1. / 3, 0, 0}},
		{"all equal", []float64{1, 1, 1, 1}, []bool{true, true, true, false}, []float64{0.75, 0.75, 0.75, 0.75}},
		{"a tie", []float64{0, 2, 2}, []bool{true, true, false}, []float64{2. / 3, 0.75, 1}},
		{"one", []float64{0}, []bool{true}, []float64{1}},
		{"none", nil, nil, []float64{}},
		{"not a number", []float64{math.NaN()}, []bool{true}, nil},
	} {
		got := Rejection(test.score, test.good)
		if len(got) != len(test.want) || (got == nil) != (test.want == nil) || !near(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
	if got := Area([]float64{0.5, 2. / 3, 1, 1}); math.Abs(got-19./24) > 1e-15 {
		t.Errorf("area %v, want 19/24", got)
	}
	if got := Area(nil); !math.IsNaN(got) {
		t.Errorf("area %v without an example, want NaN", got)
	}
}

func near(a, b []float64) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-12 {
			return false
		}
	}
	return true
}

// TestRejectionOfTies: the curve is the mean over all orders of what has equal scores. All permutations of the examples,
// sorted stably, give each order equally often.
func TestRejectionOfTies(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		score, good := drawn(r, 6)
		sum, orders := make([]float64, 6), 0.0
		permutations(6, func(order []int) {
			by := slices.Clone(order)
			slices.SortStableFunc(by, func(a, b int) int { // the highest first
				switch {
				case score[a] > score[b]:
					return -1
				case score[a] < score[b]:
					return 1
				}
				return 0
			})
			for k := range by {
				n := 0.0
				for _, i := range by[k:] {
					if good[i] {
						n++
					}
				}
				sum[k] += n / float64(len(by)-k)
			}
			orders++
		})
		for k := range sum {
			sum[k] /= orders
		}
		if got := Rejection(score, good); !near(got, sum) {
			t.Fatalf("%v %v: got %v, want %v", score, good, got, sum)
		}
	}
}

func permutations(n int, f func([]int)) {
	var extend func(order []int)
	extend = func(order []int) {
		if len(order) == n {
			f(order)
			return
		}
		for i := range n {
			if !slices.Contains(order, i) {
				extend(append(slices.Clone(order), i))
			}
		}
	}
	extend(nil)
}

// TestPredictions holds predictions against the sums of a Stat.
func TestPredictions(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	const rows, classes = 40, 4
	for _, members := range []int{1, 3} {
		logp, labels := make([]float32, 0, members*rows*classes), make([]float32, rows)
		for range members * rows {
			var p [classes]float64
			var sum float64
			for c := range p {
				p[c] = r.ExpFloat64()
				sum += p[c]
			}
			for _, v := range p {
				logp = append(logp, float32(math.Log(v/sum)))
			}
		}
		for i := range labels {
			labels[i] = float32(r.IntN(classes))
		}
		var s Stat
		s.Add(logp, members, rows, classes, labels)
		var sum Stat
		for i, p := range Predictions(logp, members, rows, classes, labels) {
			sum.N++
			if p.Class == int(labels[i]) {
				sum.Correct++
			}
			sum.NLL += p.NLL
			sum.Entropy += p.Entropy
			sum.MutualInformation += p.MutualInformation
			if p.Confidence < 1./classes || p.Confidence > 1 {
				t.Errorf("confidence %v", p.Confidence)
			}
		}
		if sum.N != s.N || sum.Correct != s.Correct || sum.NLL != s.NLL || sum.Entropy != s.Entropy || sum.MutualInformation != s.MutualInformation {
			t.Errorf("%d members: predictions add up to %+v, want %+v", members, sum, s)
		}
		for i, p := range Predictions(logp, members, rows, classes, nil) {
			if !math.IsNaN(p.NLL) || p.Class < 0 || p.Class >= classes {
				t.Errorf("row %d without a label: %+v", i, p)
			}
		}
	}
	inf := float32(math.Inf(1))
	if p := Predictions([]float32{0, inf}, 1, 1, 2, nil)[0]; p.Class != -1 || !math.IsNaN(p.Confidence) || !math.IsNaN(p.Entropy) {
		t.Errorf("with an infinite probability: %+v", p)
	}
}
