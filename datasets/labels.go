package datasets

import (
	"fmt"
	"slices"
)

// byLabels gives each client some of the classes, and of each class images of its own.
//
// Zhang et al., Personalized Federated Learning via Variational Bayesian Inference. ICML 2022: 5 of 10 labels, with 50
// training and 950 test images of each (small), 200 and 800 (medium) or 900 and 300 (large); of CIFAR-10, with 20 clients,
// 25 and 475, 100 and 400 or 450 and 150. The last uses every image, so each label must be held by exactly half of the
// clients. The paper does not say which client holds which labels; see assign.
func byLabels(d *Dataset, cfg PartitionConfig) ([]Split, []string, error) {
	if cfg.TrainPerClass < 1 {
		return nil, nil, fmt.Errorf("--train-per-class %d: want at least 1", cfg.TrainPerClass)
	}
	if cfg.TestPerClass < 1 {
		return nil, nil, fmt.Errorf("--test-per-class %d: want at least 1", cfg.TestPerClass)
	}
	labels, err := assign(d.Classes, cfg)
	if err != nil {
		return nil, nil, err
	}
	counts := d.Counts()
	if err := feasible(counts, labels, cfg.TrainPerClass); err != nil {
		return nil, nil, err
	}
	tests, notes := testsPerClass(counts, holders(d.Classes, labels), cfg)

	byClass := shuffledClasses(d, cfg)
	deal := func(c, n int) []int {
		hand := byClass[c][:n]
		byClass[c] = byClass[c][n:]
		return hand
	}
	splits := make([]Split, cfg.Clients)
	for i := range splits {
		for _, c := range labels[i] {
			splits[i].Train = append(splits[i].Train, deal(c, cfg.TrainPerClass)...)
			splits[i].Test = append(splits[i].Test, deal(c, tests[c])...)
		}
	}
	return splits, notes, nil
}

// assign returns the labels of each client, ascending. A client's labels do not depend on how many come after it.
//
//	pairs     random permutations of all labels, cut into runs: with half of the labels each, the two clients of a
//	          pair share one permutation. No label is held by two clients more than another.
//	sliding   client u holds u, u+1, …: as many label sets as there are labels
//	blocks    with k labels each, client u holds ku, ku+1, …: with half of the labels each, only two label sets
func assign(classes int, cfg PartitionConfig) ([][]int, error) {
	k := cfg.LabelsPerClient
	if k < 1 || k > classes {
		return nil, fmt.Errorf("%d labels per client: want 1 to %d", k, classes)
	}
	labels := make([][]int, cfg.Clients)
	switch cfg.Assign {
	case "pairs":
		pairs(labels, classes, cfg)
	case "sliding":
		for u := range labels {
			labels[u] = circle(u, k, classes)
		}
	case "blocks":
		for u := range labels {
			labels[u] = circle(k*u, k, classes)
		}
	default:
		return nil, fmt.Errorf("no assignment %q: want pairs, sliding or blocks", cfg.Assign)
	}
	for _, l := range labels {
		slices.Sort(l)
	}
	return labels, nil
}

// circle returns k successive labels from start on, round and round.
func circle(start, k, classes int) []int {
	labels := make([]int, k)
	for j := range labels {
		labels[j] = (start + j) % classes
	}
	return labels
}

// pairs cuts one random permutation after the other into runs of LabelsPerClient. Where a run goes over the end of a
// permutation, the next one gives it labels that it does not yet hold.
func pairs(labels [][]int, classes int, cfg PartitionConfig) {
	var deck []int
	for u := range labels {
		hand := slices.Clone(deck[:min(len(deck), cfg.LabelsPerClient)])
		deck = deck[len(hand):]
		if missing := cfg.LabelsPerClient - len(hand); missing > 0 {
			next := cfg.stream(drawLabels, u).Rand().Perm(classes)
			for _, c := range next {
				if missing > 0 && !slices.Contains(hand, c) {
					hand = append(hand, c)
					missing--
				} else {
					deck = append(deck, c)
				}
			}
		}
		labels[u] = hand
	}
}

// holders counts the clients that hold each class.
func holders(classes int, labels [][]int) []int {
	h := make([]int, classes)
	for _, l := range labels {
		for _, c := range l {
			h[c]++
		}
	}
	return h
}

// feasible returns an error, with the ways out, if a class has too few images to give each of its holders train images
// and one to test.
func feasible(counts []int, labels [][]int, train int) error {
	short, clients := -1, len(labels) // the first class to run out, and how many clients it is enough for
	held := make([]int, len(counts))
	for u, l := range labels {
		for _, c := range l {
			held[c]++
			if short < 0 && held[c]*(train+1) > counts[c] {
				short, clients = c, u
			}
		}
	}
	if short < 0 {
		return nil
	}
	most := train
	for c, h := range held {
		if h > 0 {
			most = min(most, counts[c]/h-1)
		}
	}
	var ways string
	switch {
	case most > 0 && clients > 0:
		ways = fmt.Sprintf("lower --train-per-class to %d or --clients to %d", most, clients)
	case most > 0:
		ways = fmt.Sprintf("lower --train-per-class to %d", most)
	case clients > 0:
		ways = fmt.Sprintf("lower --clients to %d", clients)
	default:
		ways = "take a larger data set"
	}
	return fmt.Errorf("class %d has %d images, want %d: %d to train on and at least 1 to test for each client that holds it (%d): %s",
		short, counts[short], held[short]*(train+1), train, held[short], ways)
}

// testsPerClass returns how many test images each holder of a class gets: TestPerClass, or, where the data are too few,
// an equal share of what the training parts leave.
func testsPerClass(counts, held []int, cfg PartitionConfig) (tests []int, notes []string) {
	tests = make([]int, len(counts))
	fewest, most := cfg.TestPerClass, 0
	for c, h := range held {
		if h == 0 {
			continue
		}
		tests[c] = min(cfg.TestPerClass, counts[c]/h-cfg.TrainPerClass)
		fewest, most = min(fewest, tests[c]), max(most, tests[c])
	}
	if fewest == cfg.TestPerClass {
		return tests, nil
	}
	used := fmt.Sprint(fewest)
	if most > fewest {
		used = fmt.Sprintf("%d to %d", fewest, most)
	}
	return tests, []string{fmt.Sprintf(
		"per client and label, %d training and %d test images were asked for; the data leave %s for the test, which are used",
		cfg.TrainPerClass, cfg.TestPerClass, used)}
}
