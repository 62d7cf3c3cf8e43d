package algorithms

import (
	"slices"
	"testing"

	"fedbayes/internal/rng"
)

// sgd64 is SGD on the mean cross-entropy of mini-batches, in float64.
func sgd64(w []float64, data *Data, lr, momentum, decay float64) {
	x, y, v := make([]float32, testBatch*testIn), make([]float32, testBatch), make([]float64, len(w))
	for range data.Steps {
		rows := data.Next(x, y)
		g := network64(w, x, y, rows)
		for i := range w {
			v[i] = momentum*v[i] + g[i]/float64(rows) + decay*w[i]
			w[i] -= lr * v[i]
		}
	}
}

// TestFedAvgRound holds one round of two clients of unlike size against float64.
func TestFedAvgRound(t *testing.T) {
	for _, momentum := range []float64{0, 0.9} {
		m := NewFedAvg()
		m.Momentum, m.WeightDecay = momentum, 1e-3
		w := testWorker(t, erase(m))
		s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
		var ups []Upload[[]float32]
		want := make([]float64, len(s))
		for i, n := range []int{7, 21} {
			ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2, Client: i}
			ref := widened(s)
			sgd64(ref, testData(ex, 6, r), m.LR, momentum, 1e-3)
			up, _, err := m.Train(t.Context(), w, s, &None{}, testData(ex, 6, r), r)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "upload", up, ref, 2e-6)
			ups = append(ups, Upload[[]float32]{Client: i, Examples: n, Msg: up})
			for k := range want {
				want[k] += ref[k] * float64(n) / 28
			}
		}
		m.Aggregate(&s, ups)
		near(t, "server", s, want, 2e-6)
	}
}

// TestFedAvgOneClient checks that with one client the server is that client: federated is central SGD.
func TestFedAvgOneClient(t *testing.T) {
	m := NewFedAvg()
	w, r, ex := testWorker(t, erase(m)), rng.Stream{Seed: 3}, testExamples(3, 9)
	s := m.Server(w.Task, w.CPU, r)
	one, local := slices.Clone(s), LocalState{W: slices.Clone(s)}
	data := testData(ex, 4, r)
	for range 3 {
		up, _, err := m.Train(t.Context(), w, one, &None{}, data, r)
		if err != nil {
			t.Fatal(err)
		}
		m.Aggregate(&one, []Upload[[]float32]{{Examples: 9, Msg: up}})
	}
	if _, _, err := NewLocal().Train(t.Context(), w, None{}, &local, testData(ex, 12, r), r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(one, local.W) {
		t.Error("three rounds of four steps differ from twelve steps alone")
	}
}

// TestFedAvgIsLargeBatch checks that one step of every client on all its examples is one step on all examples of all.
func TestFedAvgIsLargeBatch(t *testing.T) {
	m := NewFedAvg()
	w, r := testWorker(t, erase(m)), rng.Stream{Seed: 4}
	s := m.Server(w.Task, w.CPU, r)
	all := testExamples(9, 0)
	var ups []Upload[[]float32]
	for i, n := range []int{1, 3} { // no more than a batch each
		ex := testExamples(uint64(i), n)
		up, _, err := m.Train(t.Context(), w, s, &None{}, testData(ex, 1, r), r)
		if err != nil {
			t.Fatal(err)
		}
		ups = append(ups, Upload[[]float32]{Client: i, Examples: n, Msg: up})
		all.X, all.Y = append(all.X, ex.X...), append(all.Y, ex.Y...)
	}
	want := widened(s)
	sgd64(want, testData(all, 1, r), m.LR, 0, 0)
	m.Aggregate(&s, ups)
	near(t, "server", s, want, 1e-6)
}

// TestLocalKeepsMomentum checks that Local's optimizer runs on over rounds: two rounds of three steps are six steps.
func TestLocalKeepsMomentum(t *testing.T) {
	m := NewLocal()
	m.Momentum = 0.9
	w, r, ex := testWorker(t, erase(m)), rng.Stream{Seed: 5}, testExamples(5, 9)
	s := m.Server(w.Task, w.CPU, r)
	a, b := m.Client(w.Task, w.CPU, s, r), m.Client(w.Task, w.CPU, s, r)
	data := testData(ex, 3, r)
	for range 2 {
		if _, _, err := m.Train(t.Context(), w, None{}, &a, data, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := m.Train(t.Context(), w, None{}, &b, testData(ex, 6, r), r); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.W, b.W) {
		t.Error("two rounds of three steps differ from one of six")
	}
	if slices.Equal(a.W, s) {
		t.Error("nothing was trained, or the state is the server's memory")
	}
}
