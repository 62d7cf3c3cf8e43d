package datasets

import (
	"math"
	"slices"
)

// setAside moves a part of each client's training images to its validation part, label by label: of n images of a label the
// whole number nearest to fraction·n, but never all. Which ones depends on the seed, the client and the label alone; those that
// stay keep their order. Of examples that overlap it is the last part, whatever their labels.
func setAside(d *Dataset, splits []Split, cfg PartitionConfig) {
	for i := range splits {
		s := &splits[i]
		if d.Gap > 0 {
			s.Train, s.Val = lastOf(s.Train, d.Gap, cfg.ValFraction)
			continue
		}
		byLabel := make([][]int, d.Classes)
		for _, image := range s.Train {
			byLabel[d.Labels[image]] = append(byLabel[d.Labels[image]], image)
		}
		away := map[int]bool{}
		for label, images := range byLabel {
			if len(images) == 0 {
				continue
			}
			shuffle(images, cfg.stream(drawValidation, i*d.Classes+label))
			n := min(int(math.Round(cfg.ValFraction*float64(len(images)))), len(images)-1)
			for _, image := range images[:n] {
				away[image] = true
			}
		}
		s.Val = nil
		for _, image := range s.Train {
			if away[image] {
				s.Val = append(s.Val, image)
			}
		}
		s.Train = slices.DeleteFunc(s.Train, func(image int) bool { return away[image] })
	}
}

// lastOf takes a fraction of examples in order of time from their end, and leaves gap examples out before it. Where there are
// too few, none is taken.
func lastOf(train []int, gap int, fraction float64) (before, last []int) {
	n := len(train) - gap
	taken := min(int(math.Round(fraction*float64(n))), n-1)
	if taken < 1 {
		return train, nil
	}
	return train[:n-taken], train[len(train)-taken:]
}
