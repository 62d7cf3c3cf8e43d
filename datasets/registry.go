package datasets

import (
	"fmt"
	"io/fs"
	"strings"
)

// A Regime is how many images of each label a client gets.
type Regime struct {
	Name        string
	Train, Test int // per class and client
}

// An Entry is a data set that can be loaded by name.
type Entry struct {
	Name    string
	About   string // one line
	Origin  string // who made it, and where it is published
	License string
	Classes int
	Shape   []int    // of one image
	Regimes []Regime // smallest first
	Files   []string // what a folder must hold, names without ".gz"; nil if embedded

	begins []uint8 // the first training labels as published; tells data sets apart that use the same file names
	load   func(fsys fs.FS, e Entry) (*Dataset, error)
}

// Embedded reports whether the data set is part of the program.
func (e Entry) Embedded() bool { return e.Files == nil }

// Regime returns the regime of this name.
func (e Entry) Regime(name string) (Regime, error) {
	names := make([]string, len(e.Regimes))
	for i, r := range e.Regimes {
		if r.Name == name {
			return r, nil
		}
		names[i] = r.Name
	}
	return Regime{}, fmt.Errorf("datasets: %s: no regime %q: want %s", e.Name, name, strings.Join(names, ", "))
}

// regimes are the sizes that Zhang et al. (ICML 2022) use for MNIST and Fashion-MNIST.
func regimes() []Regime {
	return []Regime{{"small", 50, 950}, {"medium", 200, 800}, {"large", 900, 300}}
}

// All returns the data sets in the order in which they are listed; the first is the default.
func All() []Entry {
	return []Entry{mnistSample(), mnist(), fashionMNIST()}
}

// Lookup returns the data set of this name.
func Lookup(name string) (Entry, error) {
	var names []string
	for _, e := range All() {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return Entry{}, fmt.Errorf("datasets: no data set %q: want %s", name, strings.Join(names, ", "))
}
