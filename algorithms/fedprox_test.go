package algorithms

import (
	"slices"
	"testing"

	"fedbayes/internal/rng"
)

// prox trains one client for a round from the server's weights.
func prox(t *testing.T, mu, lr float64, steps int) (got []float32, server []float32) {
	t.Helper()
	m := NewFedProx()
	m.Mu, m.LR = mu, lr
	w, r := testWorker(t, erase(m)), rng.Stream{Seed: 7}
	server = m.Server(w.Task, w.CPU, r)
	got, _, err := m.Train(t.Context(), w, server, &None{}, testData(testExamples(7, 7), steps, r), r)
	if err != nil {
		t.Fatal(err)
	}
	return got, server
}

// TestFedProxRound holds a round against float64: w ← w − η(g + μ(w − w_server)).
func TestFedProxRound(t *testing.T) {
	const mu, lr, steps = 2, 0.05, 6
	got, server := prox(t, mu, lr, steps)
	want, anchor := widened(server), widened(server)
	data := testData(testExamples(7, 7), steps, rng.Stream{Seed: 7})
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	for range steps {
		rows := data.Next(x, y)
		g := network64(want, x, y, rows)
		for i := range want {
			want[i] -= lr * (g[i]/float64(rows) + mu*(want[i]-anchor[i]))
		}
	}
	near(t, "upload", got, want, 2e-6)
}

// TestFedProxWithoutTerm checks that μ = 0 is FedAvg, to the bit.
func TestFedProxWithoutTerm(t *testing.T) {
	got, server := prox(t, 0, 0.05, 20)
	m := NewFedAvg()
	m.LR = 0.05
	w, r := testWorker(t, erase(m)), rng.Stream{Seed: 7}
	want, _, err := m.Train(t.Context(), w, server, &None{}, testData(testExamples(7, 7), 20, r), r)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Error("μ = 0 differs from FedAvg")
	}
}
