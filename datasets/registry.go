package datasets

import (
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// A Regime is how many images of each label a client gets.
type Regime struct {
	Name        string
	Train, Test int // per class and client
}

// Defaults are what the protocol of a data set's paper sets. A zero leaves the choice to the caller.
type Defaults struct {
	Clients  int
	PerRound int // clients sampled in a round
	Batch    int // examples of a mini-batch
	Model    string

	Partition     string
	TestPerClient float64 // the part of a client's examples that it is tested on
}

// An Entry is a data set that can be loaded by name.
type Entry struct {
	Name     string
	About    string // one line
	Origin   string // who made it, and where it is published
	License  string
	Classes  int
	Names    []string  // of the classes, in lower case; nil where their numbers are all the names that they have
	Shape    []int     // of one image: height, width, and channels if there are more than one; of another example its number of values
	Text     bool      // an example is characters in a row, numbers below Classes, and its class is the character that comes next
	Mean     []float32 // of each channel, as [Dataset] has it; nil if pixels are divided by 255 and no more
	Std      []float32
	Regimes  []Regime // smallest first
	Defaults Defaults

	Files     []string    // what a folder must hold, names without ".gz"; nil if embedded
	Archive   string      // the file that the files, or what they say, are published in, if there is one
	Folder    string      // in Archive, of the files
	Base      string      // the data set whose images these are, and whose files are wanted too
	Get       string      // how to get the files, where the search for them ends with an error
	Format    []string    // what the files are made of and how, in lines; nil where they are the published ones
	Published []Published // what Fetch downloads, which makes up Files; nil if embedded
	Sample    string      // an embedded data set that stands in where the files are not found; see Resolve

	begins []uint8 // the first training labels as published
	marks  []mark  // of Files as published; tells data sets apart that use the same file names
	load   func(fsys fs.FS, e Entry) (*Dataset, error)
	unpack func(r io.Reader, e Entry) (*Dataset, error) // from Archive

	examples int // as published; 0 where a mark tells
}

// Noun is what an example is called, as that of [Dataset].
func (e Entry) Noun() string {
	if len(e.Shape) < 2 {
		return "example"
	}
	return "image"
}

// Embedded reports whether the data set is part of the program.
func (e Entry) Embedded() bool { return e.Files == nil }

// dataset returns the data set with these images and labels.
func (e Entry) dataset(pixels, labels []uint8) *Dataset {
	return &Dataset{
		Name: e.Name, Shape: e.Shape, Classes: e.Classes, Mean: e.Mean, Std: e.Std,
		Pixels: pixels, Labels: labels,
	}
}

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
	return []Entry{mnistSample(), mnist(), fashionMNISTSample(), fashionMNIST(), cifar10(), mnistWriters(), hapt(), vsn(), shakespeare(), table()}
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
