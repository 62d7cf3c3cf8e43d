package datasets

import (
	"fmt"
	"slices"
)

// permuteLabels makes PermuteLabels groups of clients, client i being of group i mod PermuteLabels, that call the classes by
// the same labels in another order: the groups stand on a random circle of all labels, group g calling a class by the label
// g places on from it. So the first calls each by its own, and no two groups agree on any.
func permuteLabels(d *Dataset, splits []Split, cfg PartitionConfig) error {
	groups := cfg.PermuteLabels
	if most := min(d.Classes, len(splits)); groups < 2 || groups > most {
		return fmt.Errorf("--permute-labels %d: want 2 to %d, as groups have each a client and no label of a class in common", groups, most)
	}
	circle := cfg.stream(drawCircle, 0).Rand().Perm(d.Classes)
	for i := range splits {
		splits[i].Group = i % groups
		splits[i].LabelOf = make([]int, d.Classes)
		for place, class := range circle {
			splits[i].LabelOf[class] = circle[(place+i%groups)%d.Classes]
		}
	}
	return nil
}

// relabel gives examples the labels that labelOf has for their classes. A nil one leaves them as they are.
func (e *Examples) relabel(labelOf []int) {
	if labelOf == nil {
		return
	}
	for i, class := range e.Y {
		e.Y[i] = float32(labelOf[int(class)])
	}
}

// labels returns the client's labels of the classes that it holds, ascending.
func (s Split) labels() []int {
	labels := slices.Clone(s.Labels)
	if s.LabelOf != nil {
		for i, class := range labels {
			labels[i] = s.LabelOf[class]
		}
		slices.Sort(labels)
	}
	return labels
}
