package datasets

import (
	"math"
	"slices"
)

// setAside moves a part of each client's training images to its validation part, label by label: of n images of a label the
// whole number nearest to fraction·n, but never all. Which ones depends on the seed, the client and the label alone; those that
// stay keep their order.
func setAside(d *Dataset, splits []Split, cfg PartitionConfig) {
	for i := range splits {
		s := &splits[i]
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
