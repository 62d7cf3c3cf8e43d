// Package datasets loads labelled images, or other examples that are rows of numbers, divides them among clients and deals
// their mini-batches.
//
// A [Dataset] pools the published training and test files: with ten clients the small regime wants 4,750 test images
// of a label, and MNIST's test file has about a thousand. So "test accuracy" is never that of the official test file.
// [Partition] gives every client training and test examples of its own, which no other client sees; [Clients] copies
// them out as float32, normalised channel by channel where the data set has colours, and [Batches] deals one client's
// training examples in an order that depends on nothing but the seed, the client and the epoch. Images are stored as
// rows of height × width × channels, the channels last. A data set that says whose its examples are has clients of its own,
// which the partition "natural" keeps. Where its examples are windows of a text, training and test are parts of it that follow
// each other, and no window lies in both.
//
//	d, err := datasets.Load("mnist-sample", "")
//	splits, notes, err := datasets.Partition(d, datasets.PartitionConfig{
//		Kind: "labels", Assign: "pairs", Clients: 10, LabelsPerClient: 5,
//		TrainPerClass: 50, TestPerClass: 150, Seed: 1,
//	})
//	for _, c := range datasets.Clients(d, splits) {
//		b := datasets.Batches{Of: &c.Train, Size: 50, Stream: rng.Stream{Seed: 1, Client: c.ID}}
//		rows := b.Next(x, y)
//	}
//
// To add a data set, write one file with a function that reads it from an [fs.FS] and add one [Entry] to [All]: the
// search for its files, the listing and the command line follow from the entry.
package datasets
