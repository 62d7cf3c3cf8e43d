package cli

import (
	"fmt"

	"fedbayes/datasets"
)

// Float32s of memory for each parameter of each client, with what is garbage and not collected yet, which is as much again
// as what is in use. They are bounds over the settings of a method: a client of pfedbayes keeps a mean and a ρ and Adam's
// two moments of both, the moments of the global distribution too with --optimizer-state persist, and what it uploads
// lasts until the round ends: twice 2 + 4 + 4 + 2. Growth of the peak from 10 to 210 clients of 79,510 parameters: 25.7,
// and 17.2 without persist; 10.2 for bnfed, 9.0 for heurfedamp, 8.8 for ditto with Adam and --train-all, 6.1 for pfedme, 4.3
// for local with Adam, 3.9 and less for the others.
const (
	floatsBayesian = 26
	floatsOther    = 11
)

// fits refuses a run whose states and examples do not fit into so many bytes of memory, 0 if that is not known. What the
// workers compute in is left out, as models do not tell the sizes of what is between their layers: it grows with --workers
// and --batch, not with --clients.
func (p *plan) fits(d *datasets.Dataset, splits []datasets.Split, memory uint64) error {
	if memory == 0 {
		return nil
	}
	data, client := p.bytes(d, splits)
	need := data + uint64(p.Clients)*client
	if need <= memory {
		return nil
	}
	way := "want a smaller --model"
	if most := (memory - min(data, memory)) / client; most > 0 {
		way = fmt.Sprintf("want at most %d, or a smaller --model", most)
	}
	return usagef("--clients %d: their models of %s and the data take about %.1f GB, and this machine has %.1f GB: %s",
		p.Clients, counted(p.net.Size(), "parameter"), float64(need)/1e9, float64(memory)/1e9, way)
}

// bytes estimates the memory of the data, and that of each client's models.
func (p *plan) bytes(d *datasets.Dataset, splits []datasets.Split) (data, client uint64) {
	floats := uint64(floatsOther)
	if e, _ := algo(p.Algo); e.Bayesian {
		floats = floatsBayesian
	}
	data = uint64(d.Bytes())
	for _, s := range splits {
		data += 4 * uint64(len(s.Train)+len(s.Val)+len(s.Test)) * uint64(d.Dim())
	}
	return data, 4 * floats * uint64(p.net.Size())
}
