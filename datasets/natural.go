package datasets

import (
	"fmt"
	"slices"
	"strings"
)

// natural gives each client of the data its own examples. Of those that have enough, the ones with the most take part, and
// keep their order. How the examples of one are split depends on the seed and on who it is, not on who else takes part. Where
// they overlap, one trains on the first of them and is tested on the last.
func natural(d *Dataset, cfg PartitionConfig) ([]Split, []string, error) {
	if d.Owner == nil {
		var names []string
		for _, e := range All() {
			if e.Defaults.Partition == "natural" {
				names = append(names, e.Name)
			}
		}
		return nil, nil, fmt.Errorf("nothing says whose its %ss are: want another --partition, or one of the data sets %s", d.Noun(), strings.Join(names, ", "))
	}
	owned, able := cfg.able(d)
	least := cfg.least() + d.Gap
	if len(able) < cfg.Clients {
		return nil, nil, fmt.Errorf("--clients %d: %d of the data's %d have at least %d %ss: %s",
			cfg.Clients, len(able), len(owned), least, d.Noun(), cfg.lower(len(able)))
	}
	var notes []string
	if left := len(owned) - len(able); left > 0 {
		notes = []string{fmt.Sprintf("clients with fewer than %d %ss are left out: %d of the data's %d", least, d.Noun(), left, len(owned))}
	}
	slices.SortStableFunc(able, func(a, b int) int { return len(owned[b]) - len(owned[a]) })
	taking := able[:cfg.Clients]
	slices.Sort(taking)
	splits := make([]Split, len(taking))
	for i, o := range taking {
		if d.Gap == 0 {
			shuffle(owned[o], cfg.stream(drawOwned, o))
		}
		splits[i] = cfg.cut(owned[o], d.Gap)
		splits[i].Owner = d.Owners[o]
	}
	return splits, notes, nil
}

// Able returns how many clients of the data have enough examples for a natural partition.
func Able(d *Dataset, cfg PartitionConfig) int {
	_, able := cfg.able(d)
	return len(able)
}

// able returns the examples of each client of the data, and which of these have enough.
func (cfg PartitionConfig) able(d *Dataset) (owned [][]int, able []int) {
	owned = make([][]int, len(d.Owners))
	for i, o := range d.Owner {
		owned[o] = append(owned[o], i)
	}
	for o := range owned {
		if len(owned[o]) >= cfg.least()+d.Gap {
			able = append(able, o)
		}
	}
	return owned, able
}

// lower says what to ask for where so many clients have enough examples.
func (cfg PartitionConfig) lower(able int) string {
	var ways []string
	if able > 0 {
		ways = append(ways, fmt.Sprintf("lower --clients to %d", able))
	}
	if cfg.MinSamples > 1 {
		ways = append(ways, "lower --min-samples")
	}
	if cfg.TestPerClient >= 1 {
		ways = append(ways, "lower --test-per-client")
	}
	return strings.Join(ways, ", or ")
}
