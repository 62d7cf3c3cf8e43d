package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestAcross(t *testing.T) {
	nan := math.NaN()
	eleven := make([]Report, 11) // accuracies 0.0, 0.1, … 1.0: the percentile is the second value
	for i := range eleven {
		eleven[i] = Report{N: 10, Accuracy: float64(i) / 10}
	}
	tests := []struct {
		name string
		in   []Report
		want Spread
	}{
		{"none", nil, Spread{0, nan, nan, nan, nan}},
		{"only empty ones", []Report{Stat{}.Report()}, Spread{0, nan, nan, nan, nan}},
		{"one", []Report{{N: 4, Accuracy: 0.75}}, Spread{1, 0.75, 0.75, 0.75, 0.75}},
		// 10th percentile of (0.5, 1): 0.5 + 0.1·0.5.
		{"two and an empty one", []Report{{N: 30, Accuracy: 1}, Stat{}.Report(), {N: 10, Accuracy: 0.5}}, Spread{2, 0.875, 0.75, 0.5, 0.55}},
		{"eleven", eleven, Spread{11, 0.5, 0.5, 0, 0.1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Across(tt.in)
			if got.Clients != tt.want.Clients {
				t.Errorf("Clients = %d, want %d", got.Clients, tt.want.Clients)
			}
			g, w := [...]float64{got.Micro, got.Macro, got.Worst, got.P10}, [...]float64{tt.want.Micro, tt.want.Macro, tt.want.Worst, tt.want.P10}
			for i, name := range []string{"Micro", "Macro", "Worst", "P10"} {
				if math.IsNaN(g[i]) != math.IsNaN(w[i]) || math.Abs(g[i]-w[i]) > 1e-15 {
					t.Errorf("%s = %v, want %v", name, g[i], w[i])
				}
			}
		})
	}
}

// TestAcrossIsPooled checks that the micro mean is the accuracy of the merged Stats, and that order does not count.
func TestAcrossIsPooled(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	var pooled Stat
	var reports []Report
	for i := range 100 {
		s := random(uint64(i), 1, r.IntN(300), 4, 2).stat()
		pooled.Merge(s)
		reports = append(reports, s.Report())
	}
	two := []Report{{N: 22, Accuracy: 15. / 22}, {N: 23, Accuracy: 13. / 23}} // accuracy·N, unrounded, gives less than 28
	if got := Across(two).Micro; got != 28./45 {
		t.Errorf("micro mean of 15 of 22 and 13 of 23: %v, want %v", got, 28./45)
	}
	want := Across(reports)
	if got := pooled.Report().Accuracy; got != want.Micro {
		t.Errorf("micro mean %v, accuracy of the pool %v", want.Micro, got)
	}
	for range 20 {
		r.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
		if got := Across(reports); got != want {
			t.Fatalf("shuffled clients: %+v, want %+v", got, want)
		}
	}
}

func ExampleStat() {
	// Two members, one example of class 0: probabilities (0.9, 0.1) and (0.5, 0.5), so p̄ = (0.7, 0.3).
	logp := []float32{-0.105361, -2.302585, -0.693147, -0.693147}
	var s Stat
	s.Add(logp, 2, 1, 2, []float32{0})
	r := s.Report()
	fmt.Printf("accuracy %.0f  NLL %.4f  Brier %.4f  ECE %.4f\n", r.Accuracy, r.NLL, r.Brier, r.ECE)
	fmt.Printf("entropy %.4f = aleatoric %.4f + mutual information %.4f\n", r.Entropy, r.Aleatoric, r.MutualInformation)
	// Output:
	// accuracy 1  NLL 0.3567  Brier 0.1800  ECE 0.3000
	// entropy 0.6109 = aleatoric 0.5091 + mutual information 0.1017
}
