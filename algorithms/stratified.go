package algorithms

import (
	"slices"

	"fedbayes/datasets"
	"fedbayes/internal/gp"
)

// byClass returns the examples of each class that has some.
func byClass(of *datasets.Examples) (classes [][]int) {
	var place []int // in classes, of each label; −1 for none
	for i, label := range of.Y {
		for len(place) <= int(label) {
			place = append(place, -1)
		}
		if place[int(label)] < 0 {
			place[int(label)] = len(classes)
			classes = append(classes, nil)
		}
		k := place[int(label)]
		classes[k] = append(classes[k], i)
	}
	return classes
}

// choose returns n of the ids at random, or all of them in random order if there are no more.
func choose(ids []int, n int, src gp.Source) []int {
	ids = slices.Clone(ids)
	n = min(n, len(ids))
	for i := range n {
		j := i + src.IntN(len(ids)-i)
		ids[i], ids[j] = ids[j], ids[i]
	}
	return ids[:n]
}

// halves chooses up to 2n examples of each class: known ones, which come first in ids, and targets. Of an odd number one
// more is known; the only example of a class is both.
func halves(classes [][]int, n int, src gp.Source) (ids []int, known int) {
	var targets []int
	for _, class := range classes {
		some := choose(class, 2*n, src)
		k := (len(some) + 1) / 2
		ids, targets = append(ids, some[:k]...), append(targets, some[min(k, len(some)-1):]...)
	}
	return append(ids, targets...), len(ids)
}

// labelsOf returns the labels of some of the examples.
func labelsOf(of *datasets.Examples, ids []int) []float32 {
	y := make([]float32, len(ids))
	for i, id := range ids {
		y[i] = of.Y[id]
	}
	return y
}
