package datasets

import (
	"fmt"
	"slices"

	"fedbayes/internal/rng"
)

// A Split is one client's share of a data set: which images it trains on and which it is tested on.
type Split struct {
	Labels      []int // the classes it holds, ascending
	Train, Test []int // indices into the data set
	Val         []int // of images that it is validated on, taken from what it would train on; empty unless asked for
}

// A PartitionConfig says how a data set is divided. Which fields count depends on Kind:
//
//	labels      each client holds LabelsPerClient classes, given out as Assign says,
//	            and TrainPerClass + TestPerClass images of each
//	iid         equal random shares, a quarter of each for testing
//	dirichlet   each class is divided by a draw from a symmetric Dir(Alpha), until every client has
//	            MinSamples images; a quarter of each share for testing, class by class
type PartitionConfig struct {
	Kind    string // "labels", "iid" or "dirichlet"
	Clients int
	Seed    uint64

	Assign          string // "pairs", "sliding" or "blocks"
	LabelsPerClient int
	TrainPerClass   int // per client; given exactly or refused
	TestPerClass    int // per client; where the data are too few, what remains (and a note)

	Alpha      float64
	MinSamples int // training and test together, at least 1

	ValFraction float64 // of a client's training images of each label, below 1, that it is validated on instead
}

// Partition divides a data set among clients. It is a pure function of its arguments. No image is given out twice:
// neither to two clients, nor to two of training, validation and test. Every client has at least one training image; only in a Dirichlet
// partition can one have no test image, if it has one image in all.
//
// The notes say, a line each, where the result is not quite what was asked for.
func Partition(d *Dataset, cfg PartitionConfig) (splits []Split, notes []string, err error) {
	defer func() {
		if err != nil {
			splits, notes, err = nil, nil, fmt.Errorf("datasets: %s: %w", d.Name, err)
		}
	}()
	if cfg.Clients < 1 || cfg.Clients > d.Len() {
		return nil, nil, fmt.Errorf("--clients %d: want 1 to %d, the number of images", cfg.Clients, d.Len())
	}
	switch cfg.Kind {
	case "labels":
		splits, notes, err = byLabels(d, cfg)
	case "iid":
		splits, err = iid(d, cfg)
	case "dirichlet":
		splits, err = dirichlet(d, cfg)
	default:
		return nil, nil, fmt.Errorf("no partition %q: want labels, iid or dirichlet", cfg.Kind)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", cfg.Kind, err)
	}
	for i := range splits {
		splits[i].Labels = held(d, splits[i])
	}
	if cfg.ValFraction > 0 {
		setAside(d, splits, cfg)
	}
	return splits, notes, checkSplits(d.Len(), splits)
}

// The draws of a partition. The values are part of a partition's identity: add at the end, reorder nothing.
const (
	drawLabels     = iota // which client holds which class
	drawClass             // the order of a class's images; the client is the class
	drawAll               // the order of all images
	drawMixture           // Dirichlet shares; the client is the attempt
	drawValidation        // the order of a client's training images of a class; the client is client·classes + class
)

func (cfg PartitionConfig) stream(draw, i int) rng.Stream {
	return rng.Stream{Seed: cfg.Seed}.For(rng.Partition).At(draw, i)
}

// shuffle permutes indices in place, in an order that depends on the stream alone.
func shuffle(indices []int, s rng.Stream) {
	s.Rand().Shuffle(len(indices), func(i, j int) { indices[i], indices[j] = indices[j], indices[i] })
}

// shuffledClasses returns each class's images in an order that depends on the seed alone.
func shuffledClasses(d *Dataset, cfg PartitionConfig) [][]int {
	byClass := d.classes()
	for c, indices := range byClass {
		shuffle(indices, cfg.stream(drawClass, c))
	}
	return byClass
}

// held returns the classes that a split has images of, ascending.
func held(d *Dataset, s Split) []int {
	has := make([]bool, d.Classes)
	for _, indices := range [][]int{s.Train, s.Val, s.Test} {
		for _, i := range indices {
			has[d.Labels[i]] = true
		}
	}
	var labels []int
	for c, yes := range has {
		if yes {
			labels = append(labels, c)
		}
	}
	return labels
}

// checkSplits returns an error if an index is not one of n images or is given out twice, or if a client has no
// training image. A partition that leaks test images into training would look like a good result, so each is checked.
func checkSplits(n int, splits []Split) error {
	owner := make([]string, n)
	for client, s := range splits {
		if len(s.Train) == 0 {
			return fmt.Errorf("client %d has no training images", client)
		}
		for _, part := range []struct {
			name    string
			indices []int
		}{{"train", s.Train}, {"validation", s.Val}, {"test", s.Test}} {
			who := fmt.Sprintf("client %d's %s part", client, part.name)
			for _, i := range part.indices {
				if i < 0 || i >= n {
					return fmt.Errorf("%s has image %d, want 0 to %d", who, i, n-1)
				}
				if owner[i] != "" {
					return fmt.Errorf("image %d is in %s and in %s", i, owner[i], who)
				}
				owner[i] = who
			}
		}
	}
	return nil
}

// testShare returns how many of n images a client keeps for testing: the whole number nearest to a quarter, so none of
// one and one of two.
func testShare(n int) int { return (n + 2) / 4 }

// iid deals equal random shares. A client's share is in random order, so its last quarter is as good as any.
func iid(d *Dataset, cfg PartitionConfig) ([]Split, error) {
	n := d.Len()
	if n < 2*cfg.Clients {
		return nil, fmt.Errorf("%d images for %d clients: each wants one to train on and one to test: lower --clients to %d",
			n, cfg.Clients, n/2)
	}
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	shuffle(all, cfg.stream(drawAll, 0))
	splits := make([]Split, cfg.Clients)
	for i := range splits {
		share := all[i*n/cfg.Clients : (i+1)*n/cfg.Clients]
		train := len(share) - testShare(len(share))
		splits[i] = Split{Train: slices.Clone(share[:train]), Test: slices.Clone(share[train:])}
	}
	return splits, nil
}
