package datasets

// Stats says what a partition gives to whom, counted from the indices themselves.
type Stats struct {
	Train, Val, Test [][]int // [clients, classes], images

	SharedByClients int   // images that more than one client has
	TrainedAndTest  int   // test images that some client trains on, or validates on
	Unseen          []int // [clients], test images whose label is not among the client's training images
	Unused          int   // images that no client has
}

// StatsOf counts. Of what [Partition] returns the overlaps are 0, as it checks itself; this is for those who look.
func StatsOf(d *Dataset, splits []Split) Stats {
	var s Stats
	owner := make([]int, d.Len()) // of each image, one above the client
	shared := make([]bool, d.Len())
	fitted, tested := make([]bool, d.Len()), make([]bool, d.Len())
	for i, split := range splits {
		train, val, test := d.countsOf(split.Train), d.countsOf(split.Val), d.countsOf(split.Test)
		s.Train, s.Val, s.Test = append(s.Train, train), append(s.Val, val), append(s.Test, test)
		unseen := 0
		for label, n := range test {
			if train[label] == 0 {
				unseen += n
			}
		}
		s.Unseen = append(s.Unseen, unseen)
		for _, part := range []struct {
			indices []int
			seen    []bool
		}{{split.Train, fitted}, {split.Val, fitted}, {split.Test, tested}} {
			for _, image := range part.indices {
				shared[image] = shared[image] || owner[image] != 0 && owner[image] != i+1
				owner[image], part.seen[image] = i+1, true
			}
		}
	}
	for image := range owner {
		if owner[image] == 0 {
			s.Unused++
		}
		if shared[image] {
			s.SharedByClients++
		}
		if fitted[image] && tested[image] {
			s.TrainedAndTest++
		}
	}
	return s
}

// UnseenShare returns the share of all test images whose label their client never trained on; 0 where there are none.
func (s Stats) UnseenShare() float64 {
	unseen, tests := 0, 0
	for i, n := range s.Unseen {
		unseen += n
		tests += sum(s.Test[i])
	}
	return share(unseen, tests)
}

// ClientUnseenShare is the same of one client.
func (s Stats) ClientUnseenShare(client int) float64 {
	return share(s.Unseen[client], sum(s.Test[client]))
}

func share(part, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(part) / float64(of)
}
