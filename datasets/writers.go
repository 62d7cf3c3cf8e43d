package datasets

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
)

func mnistWriters() Entry {
	e := mnist()
	e.Name = "mnist-writers"
	e.About = "the 60,000 training images of mnist by who wrote them, 539 people"
	e.Origin += "; writers by Chhavi Yadav, Léon Bottou: Cold Case: The Lost MNIST Digits, 2019 (QMNIST)"
	e.License += "; writers under a BSD-style licence"
	e.Regimes, e.Published, e.marks = nil, nil, nil
	e.Defaults = Defaults{Clients: 539, PerRound: 10, Partition: "natural", TestPerClient: 0.2}
	e.Base = "mnist"
	e.Files = []string{"mnist-train-writers-idx1-int16"}
	e.Archive = "qmnist-train-labels-idx2-int.gz"
	e.Get = "get https://raw.githubusercontent.com/facebookresearch/qmnist/master/" + e.Archive +
		" (MD5 0058f8dd561b90ffdd0f734c6a30e5e4) and put it there, or " + e.Files[0]
	e.Format = []string{
		"those of mnist, and who wrote each training image, in their order: either qmnist-train-labels-idx2-int.gz, of which column 0",
		"is the digit and 2 the writer, from https://raw.githubusercontent.com/facebookresearch/qmnist/master/, or the same column",
		"alone, as mnist-train-writers-idx1-int16, plain or .gz",
	}
	e.examples = 60000
	e.load, e.unpack = loadWriters, loadQMNIST
	return e
}

// loadWriters reads who wrote the training images.
func loadWriters(fsys fs.FS, e Entry) (*Dataset, error) {
	who, err := readIDXOf(fsys, e.Files[0], idxInt16, 1)
	if err != nil {
		return nil, err
	}
	d := e.dataset(nil, nil)
	d.own(who.extents[0], who.at)
	return d, nil
}

// loadQMNIST reads the same and the digits from the labels of QMNIST. Its columns are digit, series, writer and five more.
func loadQMNIST(r io.Reader, e Entry) (*Dataset, error) {
	const columns, digit, writer = 8, 0, 2
	a, err := parseIDX(r, idxInt32, 2)
	if err != nil {
		return nil, err
	}
	if a.extents[1] != columns {
		return nil, fmt.Errorf("%d columns, want %d", a.extents[1], columns)
	}
	n := a.extents[0]
	d := e.dataset(nil, make([]uint8, n))
	for i := range n {
		c := a.at(columns*i + digit)
		if c < 0 || c >= e.Classes {
			return nil, fmt.Errorf("row %d: digit %d, want 0 to %d", i, c, e.Classes-1)
		}
		d.Labels[i] = uint8(c)
	}
	d.own(n, func(i int) int { return a.at(columns*i + writer) })
	return d, nil
}

// written returns the training images of base with their writers, who are all that d has, and maybe the digits.
func (d *Dataset) written(base *Dataset, e Entry) (*Dataset, error) {
	n := base.Training
	if len(d.Owner) != n {
		return nil, fmt.Errorf("writers of %d images, but %s has %d training images in %s", len(d.Owner), e.Base, n, base.Source)
	}
	for i, c := range d.Labels {
		if c != base.Labels[i] {
			return nil, fmt.Errorf("image %d is of digit %d, but that of %s in %s is of %d: not in its order", i, c, e.Base, base.Source, base.Labels[i])
		}
	}
	d.Pixels, d.Labels = base.Pixels[:n*base.Dim()], base.Labels[:n]
	d.Notes = slices.Concat(base.Notes, e.unlike(d))
	return d, nil
}
