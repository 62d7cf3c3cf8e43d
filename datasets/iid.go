package datasets

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// iid deals equal random shares.
func iid(d *Dataset, cfg PartitionConfig) ([]Split, error) {
	if cfg.Order == "published" {
		return inOrder(d, cfg)
	}
	if cfg.Order != "" && cfg.Order != "shuffled" {
		return nil, fmt.Errorf("no order %q: want shuffled or published", cfg.Order)
	}
	n := d.Len()
	if least := max(2, cfg.least()); n < least*cfg.Clients {
		return nil, fmt.Errorf("%d %ss for %d clients: each wants at least %d, to train on and to test: lower --clients to %d",
			n, d.Noun(), cfg.Clients, least, n/least)
	}
	all := upTo(n)
	shuffle(all, cfg.stream(drawAll, 0))
	splits := make([]Split, cfg.Clients)
	for i := range splits {
		splits[i] = cfg.cut(all[i*n/cfg.Clients:(i+1)*n/cfg.Clients], 0)
	}
	return splits, nil
}

// inOrder cuts the published training files into equal runs, and those for testing, in their own order.
//
// With a hundred clients of MNIST that is the split of Corinzia et al., Variational Federated Multi-Task Learning, 2019: 600
// training and 100 test images each.
func inOrder(d *Dataset, cfg PartitionConfig) ([]Split, error) {
	n := d.Training
	tests := d.Len() - n
	switch {
	case n == 0:
		return nil, fmt.Errorf("nothing tells which of its %ss were published for training: want --order shuffled", d.Noun())
	case min(n, tests) < cfg.Clients:
		return nil, fmt.Errorf("%d %ss to train on and %d to test, for %d clients: lower --clients to %d", n, d.Noun(), tests, cfg.Clients, min(n, tests))
	}
	all := upTo(d.Len())
	splits := make([]Split, cfg.Clients)
	for i := range splits {
		splits[i].Train = slices.Clone(all[i*n/cfg.Clients : (i+1)*n/cfg.Clients])
		splits[i].Test = slices.Clone(all[n+i*tests/cfg.Clients : n+(i+1)*tests/cfg.Clients])
	}
	return splits, nil
}

// permuted deals shares as iid does, and gives each client a permutation of the pixels of its images, or of the values of
// other examples, for training and test alike.
func permuted(d *Dataset, cfg PartitionConfig) ([]Split, error) {
	splits, err := iid(d, cfg)
	channels := d.Channels()
	for i := range splits {
		for _, pixel := range cfg.stream(drawPixels, i).Rand().Perm(d.Dim() / channels) {
			for c := range channels {
				splits[i].Order = append(splits[i].Order, pixel*channels+c)
			}
		}
	}
	return splits, err
}

// Permute puts value order[j] of each example at j. A nil order is that in which they are.
func (e *Examples) Permute(order []int) {
	if order == nil {
		return
	}
	row := make([]float32, e.Dim)
	for i := range e.Len() {
		x := e.X[i*e.Dim : (i+1)*e.Dim]
		copy(row, x)
		for j, from := range order {
			x[j] = row[from]
		}
	}
}

// quarter is the part of a client's examples that it keeps for testing, where nothing else was asked for.
const quarter = 0.25

// tests returns how many of n examples a client keeps for testing: TestPerClient, or the whole number nearest to that part
// of them; of two or more at least one, and never all.
func (cfg PartitionConfig) tests(n int) int {
	if n < 2 {
		return 0
	}
	want := cmp.Or(cfg.TestPerClient, quarter)
	if want < 1 {
		want = math.Floor(want*float64(n) + 0.5)
	}
	return min(max(1, int(want)), n-1)
}

// least returns how many examples a client must have.
func (cfg PartitionConfig) least() int {
	least := max(1, cfg.MinSamples)
	if cfg.TestPerClient >= 1 {
		least = max(least, int(cfg.TestPerClient)+1)
	}
	return least
}

// cut splits a share of more than gap examples, of which those at the end are for testing; in random order they are as good for
// that as any. It leaves gap examples out between the two parts.
func (cfg PartitionConfig) cut(share []int, gap int) Split {
	n := len(share) - gap
	train := n - cfg.tests(n)
	return Split{Train: slices.Clone(share[:train]), Test: slices.Clone(share[train+gap:])}
}
