package datasets

import (
	"fmt"

	"fedbayes/internal/rng"
)

// A Split is one client's share of a data set: which images it trains on and which it is tested on.
type Split struct {
	Labels      []int // the classes it holds, ascending
	Train, Test []int // indices into the data set
	Val         []int // of images that it is validated on, taken from what it would train on; empty unless asked for

	Order []int  // value j of its examples is value Order[j] of the data set's; nil where they are as they are there
	Owner string // what the data call the client; "" where it is none of theirs

	Group   int   // of clients that label alike; 0 unless labels are permuted
	LabelOf []int // [Classes], the label that the client gives each class; nil if it is the class itself
}

// A PartitionConfig says how a data set is divided. Which fields count depends on Kind:
//
//	labels      each client holds LabelsPerClient classes, given out as Assign says,
//	            and TrainPerClass + TestPerClass images of each
//	iid         equal random shares, or in the order in which they were published
//	permuted    shares as those of iid, and a permutation of the pixels for each client
//	natural     the clients of the data, those with the most examples and with no fewer than MinSamples
//	dirichlet   each class is divided by a draw from a symmetric Dir(Alpha), until every client has
//	            MinSamples images; a part of each share is for testing, class by class
type PartitionConfig struct {
	Kind    string // "labels", "iid", "permuted", "natural" or "dirichlet"
	Clients int
	Seed    uint64

	Assign          string // "pairs", "sliding" or "blocks"
	LabelsPerClient int
	TrainPerClass   int // per client; given exactly or refused
	TestPerClass    int // per client; where the data are too few, what remains (and a note)

	Alpha      float64
	MinSamples int // training and test together, at least 1

	TestPerClient float64 // a count, or if below 1 the part of a client's examples; 0 for a quarter
	Order         string  // "shuffled", which "" stands for, or "published"
	PermuteLabels int     // groups of clients that each give the classes other labels, see permuteLabels; 0 for none

	ValFraction float64 // of a client's training images of each label, below 1, that it is validated on instead
}

// Partition divides a data set among clients. It is a pure function of its arguments. No image is given out twice:
// neither to two clients, nor to two of training, validation and test. Every client has at least one training image; only in a Dirichlet
// or a natural partition can one have no test image, if it has one image in all.
//
// The notes say, a line each, where the result is not quite what was asked for.
func Partition(d *Dataset, cfg PartitionConfig) (splits []Split, notes []string, err error) {
	defer func() {
		if err != nil {
			splits, notes, err = nil, nil, fmt.Errorf("datasets: %s: %w", d.Name, err)
		}
	}()
	if cfg.Clients < 1 || cfg.Clients > d.Len() {
		return nil, nil, fmt.Errorf("--clients %d: want 1 to %d, the number of %ss", cfg.Clients, d.Len(), d.Noun())
	}
	if d.Gap > 0 && cfg.Kind != "natural" {
		return nil, nil, fmt.Errorf("%s: %ss of a text overlap, and clients would be tested on what others train on: want --partition natural", cfg.Kind, d.Noun())
	}
	switch cfg.Kind {
	case "labels":
		splits, notes, err = byLabels(d, cfg)
	case "iid":
		splits, err = iid(d, cfg)
	case "permuted":
		splits, err = permuted(d, cfg)
	case "natural":
		splits, notes, err = natural(d, cfg)
	case "dirichlet":
		splits, err = dirichlet(d, cfg)
	default:
		return nil, nil, fmt.Errorf("no partition %q: want labels, iid, permuted, natural or dirichlet", cfg.Kind)
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
	if cfg.PermuteLabels != 0 {
		if err := permuteLabels(d, splits, cfg); err != nil {
			return nil, nil, err
		}
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
	drawOwned             // the order of the examples of a client of the data, by its number there
	drawPixels            // the permutation of a client's pixels
	drawCircle            // the circle of labels that groups of clients permute them by
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
