package cli

import (
	"strconv"
	"strings"

	"fedbayes/datasets"
	"fedbayes/internal/federation"
)

// lookAt reads which test image the run watches, and after which rounds.
func (p *plan) lookAt(ts texts) error {
	rounds, err := wholes("watch-rounds", p.WatchRounds)
	if err != nil {
		return err
	}
	if p.Watch == "" {
		if ts.has("watch-rounds") {
			return usagef("--watch-rounds: it belongs to --watch")
		}
		return nil
	}
	client, image, _ := strings.Cut(p.Watch, ":")
	w := &federation.Watch{Rounds: rounds}
	for _, part := range []struct {
		text string
		v    *int
	}{{client, &w.Owner}, {image, &w.Example}} {
		if *part.v, err = strconv.Atoi(part.text); err != nil || *part.v < 0 {
			return usagef("--watch %q: want a client and the number of one of its test images, both from 0, as 0:17", p.Watch)
		}
	}
	if w.Owner >= p.Clients {
		return usagef("--watch %s: want a client from 0 to %d", p.Watch, p.Clients-1)
	}
	if e, _ := algo(p.Algo); e.Bayesian {
		w.MC = usualDraws
		if p.MC > 0 {
			w.MC = p.MC
		}
	}
	p.watched = w
	return nil
}

// sees refuses an image that its client has not.
func (p *plan) sees(splits []datasets.Split) error {
	w := p.watched
	if w == nil || w.Example < len(splits[w.Owner].Test) {
		return nil
	}
	return usagef("--watch %s: client %d has %s, numbered from 0", p.Watch, w.Owner, counted(len(splits[w.Owner].Test), "test image"))
}
