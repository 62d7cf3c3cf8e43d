package datasets

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
)

// This file is about data sets of sensors: rows of features, with the person or the sensor that each is of.

func hapt() Entry {
	return Entry{
		Name:     "hapt",
		About:    "10,929 windows of a smartphone's motion sensors, 12 activities and changes between them, of 30 people",
		Origin:   "Jorge L. Reyes-Ortiz, Luca Oneto, Albert Samà, Xavier Parra, Davide Anguita: Transition-Aware Human Activity Recognition Using Smartphones, 2015",
		License:  "unclear, its terms contradict each other",
		Classes:  12,
		Names:    []string{"walking", "walking upstairs", "walking downstairs", "sitting", "standing", "laying", "stand to sit", "sit to stand", "sit to lie", "lie to sit", "stand to lie", "lie to stand"},
		Shape:    []int{561},
		Defaults: Defaults{Clients: 30, PerRound: 10, Partition: "natural"},
		Files:    []string{"hapt-features561-idx2-int16", "hapt-labels-idx1-ubyte", "hapt-subjects-idx1-ubyte"},
		Format: []string{
			"hapt-features561-idx2-int16: the 561 features of each window, 32767 times what they are",
			"hapt-labels-idx1-ubyte: its activity, from 0; hapt-subjects-idx1-ubyte: its subject, from 1",
			"IDX files, plain or .gz, made of Smartphone-Based Recognition of Human Activities and Postural Transitions (archive.ics.uci.edu),",
			"training and test windows together; activities count from 1 there",
		},
		examples: 10929,
		load:     loadSensors,
	}
}

func vsn() Entry {
	return Entry{
		Name:     "vsn",
		About:    "49,264 recordings of two military vehicles, AAV and DW, that pass 23 acoustic and seismic sensors",
		Origin:   "Marco F. Duarte, Yu Hen Hu: Vehicle Classification in Distributed Sensor Networks, 2004",
		License:  "none stated",
		Classes:  2,
		Names:    []string{"dw", "aav"},
		Shape:    []int{100},
		Defaults: Defaults{Clients: 23, PerRound: 10, Partition: "natural"},
		Files:    []string{"vsn-features-idx2-int16", "vsn-labels-idx1-ubyte", "vsn-sensors-idx1-ubyte"},
		Format: []string{
			"vsn-features-idx2-int16: 50 acoustic and 50 seismic features of each recording, 32767 times what they are",
			"vsn-labels-idx1-ubyte: 1 for AAV and 0 for DW; vsn-sensors-idx1-ubyte: the number of its sensor",
			"IDX files, plain or .gz, made of the event data in www.ecs.umass.edu/~mduarte/images/event.zip",
		},
		examples: 49264,
		load:     loadSensors,
	}
}

// one is what the int16 files of features have for 1.
const one = 32767

// loadSensors reads the files of e: features, labels and owners.
func loadSensors(fsys fs.FS, e Entry) (*Dataset, error) {
	x, err := readIDXOf(fsys, e.Files[0], idxInt16, 2)
	if err != nil {
		return nil, err
	}
	if x.extents[1] != size(e.Shape) {
		return nil, fmt.Errorf("%s: %d features, want %d", e.Files[0], x.extents[1], size(e.Shape))
	}
	n := x.extents[0]
	labels, err := readLabels(fsys, e, e.Files[1], n, e.Files[0])
	if err != nil {
		return nil, err
	}
	who, err := readIDX(fsys, e.Files[2], 1)
	if err != nil {
		return nil, err
	}
	if who.extents[0] != n {
		return nil, fmt.Errorf("%s: it is of %d examples, but there are %d in %s", e.Files[2], who.extents[0], n, e.Files[0])
	}
	d := e.dataset(nil, labels)
	d.Values = make([]float32, n*d.Dim())
	for i := range d.Values {
		d.Values[i] = float32(x.at(i)) / one
	}
	d.own(n, who.at)
	d.Notes = e.unlike(d)
	return d, nil
}

// own gives each of n examples to the client of the data that has its id, and names clients by their ids, ascending.
func (d *Dataset) own(n int, id func(i int) int) {
	number := map[int]int{}
	for i := range n {
		number[id(i)] = 0
	}
	for k, v := range slices.Sorted(maps.Keys(number)) {
		number[v] = k
		d.Owners = append(d.Owners, strconv.Itoa(v))
	}
	for i := range n {
		d.Owner = append(d.Owner, number[id(i)])
	}
}

// unlike returns a note if d has not as many examples and clients as were published of e.
func (e Entry) unlike(d *Dataset) []string {
	if d.Len() == e.examples && len(d.Owners) == e.Defaults.Clients {
		return nil
	}
	return []string{fmt.Sprintf("%d examples of %d clients, and %s has %d of %d: its results are not comparable", d.Len(), len(d.Owners), e.Name, e.examples, e.Defaults.Clients)}
}
