package algorithms

import (
	"testing"

	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// steps is how many local steps one call of Train does in a benchmark.
const steps = 20

// bench returns a worker and a client of 300 random images of MNIST's size, in batches of 100.
func bench(tb testing.TB, m Algorithm, isa kernels.ISA) (*Worker, *Data) {
	tb.Helper()
	net, err := layers.New("mlp", []int{28, 28}, 10)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := Compile(m, Task{Net: net, Batch: 100})
	if err != nil {
		tb.Fatal(err)
	}
	const n = 300
	ex := &datasets.Examples{X: make([]float32, n*net.In), Y: make([]float32, n), Dim: net.In}
	r := rng.Stream{Seed: 1}.Rand()
	for i := range ex.X {
		ex.X[i] = max(0, r.Float32()-0.8)
	}
	for i := range ex.Y {
		ex.Y[i] = float32(r.IntN(net.Classes))
	}
	return p.NewWorker(kernels.New(isa)), &Data{Batches: &datasets.Batches{Of: ex, Size: 100}, Steps: steps}
}

// BenchmarkStep times one local step of a client: batch 100, the network 784-100-10, noise, both gradients and all
// updates included.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"pfedbayes", "virtual", "fedavg"} {
		for _, isa := range kernels.Available() {
			b.Run(name+"/"+isa.String(), func(b *testing.B) {
				m, err := New(name, "")
				if err != nil {
					b.Fatal(err)
				}
				w, data := bench(b, m, isa)
				r := rng.Stream{Seed: 1}
				s := m.Server(w.Task, w.CPU, r)
				c := m.Client(w.Task, w.CPU, s, r)
				round := 0
				for b.Loop() {
					round++
					if _, _, err := m.Train(b.Context(), w, m.Download(s, 0), c, data, r.At(round, 0)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*steps), "µs/step")
			})
		}
	}
}

// TestNoGarbage checks that the steps of a round allocate nothing: three take no more allocations than one. Those of pFedGP
// do: the sizes of its matrices are those of its classes, and their arithmetic is Gonum's.
func TestNoGarbage(t *testing.T) {
	for _, e := range All() {
		if e.Name == "pfedgp" {
			continue
		}
		for _, p := range e.Presets {
			t.Run(e.Name+"/"+p.Name, func(t *testing.T) {
				m := p.New()
				w, data := bench(t, m, kernels.Best())
				data.Size = 10 // a shuffle does allocate, so the steps stay within an epoch
				r := rng.Stream{Seed: 1}
				s := m.Server(w.Task, w.CPU, r)
				c := m.Client(w.Task, w.CPU, s, r)
				allocs := func(n int) float64 {
					data.Steps = n
					return testing.AllocsPerRun(3, func() {
						data.Epoch, data.Pos = 0, 0
						if _, _, err := m.Train(t.Context(), w, m.Download(s, 0), c, data, r); err != nil {
							t.Fatal(err)
						}
					})
				}
				// The count is the process's: what the runtime allocates meanwhile can be in it once, not each time.
				one, three := allocs(1), allocs(3)
				for range 3 {
					if three > one {
						one, three = allocs(1), allocs(3)
					}
				}
				if three > one {
					t.Errorf("%v allocations in a round of one step, %v in a round of three", one, three)
				}
			})
		}
	}
}
