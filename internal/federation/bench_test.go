package federation

import (
	"context"
	"fmt"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/layers"
)

// BenchmarkRound times a round of pFedBayes with its evaluation: ten clients of twenty steps, batch 100, network
// 784-100-10, on all of MNIST where $FEDBAYES_DATA or another usual place has it and on the sample elsewhere.
func BenchmarkRound(b *testing.B) {
	name := "mnist"
	d, err := datasets.Load(name, "")
	if err != nil {
		name = "mnist-sample"
		if d, err = datasets.Load(name, ""); err != nil {
			b.Fatal(err)
		}
	}
	splits, _, err := datasets.Partition(d, datasets.PartitionConfig{
		Kind: "labels", Assign: "pairs", Clients: 10, LabelsPerClient: 5, TrainPerClass: 50, TestPerClass: 950, Seed: 1,
	})
	if err != nil {
		b.Fatal(err)
	}
	net, err := layers.New("mlp", d.Shape, d.Classes)
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
			m, err := algorithms.New("pfedbayes", "")
			if err != nil {
				b.Fatal(err)
			}
			r := &run{
				Config:  Config{LocalSteps: 20, Batch: 100, PerRound: 10, Workers: workers, Seed: 1, ISA: kernels.Best()},
				method:  m,
				clients: datasets.Clients(d, splits),
			}
			if err := r.start(net); err != nil {
				b.Fatal(err)
			}
			ctx, t := context.Background(), 0
			for b.Loop() {
				t++
				trained, err := r.round(ctx, t)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.evaluate(ctx, t, 0, trained); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "ms/round")
		})
	}
}
