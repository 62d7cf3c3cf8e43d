package datasets_test

import (
	"fmt"

	"fedbayes/datasets"
	"fedbayes/internal/rng"
)

func ExamplePartition() {
	d, err := datasets.Load("mnist-sample", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	splits, _, err := datasets.Partition(d, datasets.PartitionConfig{
		Kind: "labels", Assign: "blocks", Clients: 10, LabelsPerClient: 5, TrainPerClass: 50, TestPerClass: 150, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range datasets.Clients(d, splits)[:2] {
		fmt.Println(c.ID, c.Labels, c.Train.Len(), c.Test.Len())
	}
	// Output:
	// 0 [0 1 2 3 4] 250 750
	// 1 [5 6 7 8 9] 250 750
}

func ExampleBatches() {
	train := datasets.Examples{X: []float32{0, 0.1, 0.2, 0.3, 0.4}, Y: []float32{0, 1, 2, 3, 4}, Dim: 1}
	b := datasets.Batches{Of: &train, Size: 2, Stream: rng.Stream{Seed: 1}}
	x, y := make([]float32, 2), make([]float32, 2)
	for range b.PerEpoch() {
		rows := b.Next(x, y)
		fmt.Println(rows, "examples")
	}
	fmt.Println("epoch", b.Epoch)
	// Output:
	// 2 examples
	// 2 examples
	// 1 examples
	// epoch 1
}
