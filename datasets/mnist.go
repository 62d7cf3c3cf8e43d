package datasets

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
)

// mnistFiles are the four files of MNIST and of all that is laid out like it.
func mnistFiles() []string {
	return []string{
		"train-images-idx3-ubyte", "train-labels-idx1-ubyte",
		"t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte",
	}
}

func mnist() Entry {
	return Entry{
		Name:    "mnist",
		About:   "70,000 handwritten digits",
		Origin:  "Yann LeCun, Corinna Cortes, Christopher J.C. Burges: The MNIST database of handwritten digits",
		License: "CC BY-SA 3.0",
		Classes: 10,
		Shape:   []int{28, 28},
		Regimes: regimes(),
		Files:   mnistFiles(),
		begins:  []uint8{5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7, 2, 8, 6, 9},
		load:    loadMNIST,
	}
}

func fashionMNIST() Entry {
	return Entry{
		Name:    "fashion-mnist",
		About:   "70,000 pictures of clothes",
		Origin:  "Han Xiao, Kashif Rasul, Roland Vollgraf (Zalando Research): Fashion-MNIST",
		License: "MIT",
		Classes: 10,
		Shape:   []int{28, 28},
		Regimes: regimes(),
		Files:   mnistFiles(),
		Sample:  "fashion-mnist-sample",
		begins:  []uint8{9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0, 9, 5, 5, 7, 9, 1, 0, 6, 4},
		load:    loadMNIST,
	}
}

// loadMNIST reads and pools the training and test files of e.
func loadMNIST(fsys fs.FS, e Entry) (*Dataset, error) {
	train, err := readImages(fsys, e, e.Files[0], e.Files[1])
	if err != nil {
		return nil, err
	}
	if other := stranger(train.Labels, e); other != "" {
		return nil, fmt.Errorf("%s: these are the files of %s, not of %s: both use the same names", e.Files[1], other, e.Name)
	}
	test, err := readImages(fsys, e, e.Files[2], e.Files[3])
	if err != nil {
		return nil, err
	}
	train.Pixels = append(train.Pixels, test.Pixels...)
	train.Labels = append(train.Labels, test.Labels...)
	train.Notes = unpublished(train.Labels, e)
	return train, nil
}

// unpublished returns a note if these are not the labels of e as published.
func unpublished(labels []uint8, e Entry) []string {
	if bytes.HasPrefix(labels, e.begins) {
		return nil
	}
	return []string{fmt.Sprintf("these are not the published files of %s (other labels): its results are not comparable", e.Name)}
}

// stranger returns the other data set whose training labels these are, "" if none's.
func stranger(labels []uint8, e Entry) string {
	for _, other := range All() {
		if other.Name != e.Name && other.begins != nil && bytes.HasPrefix(labels, other.begins) {
			return other.Name
		}
	}
	return ""
}

// readImages reads one pair of files, images and labels.
func readImages(fsys fs.FS, e Entry, images, labels string) (*Dataset, error) {
	x, err := readIDX(fsys, images, 1+len(e.Shape))
	if err != nil {
		return nil, err
	}
	if !slices.Equal(x.extents[1:], e.Shape) {
		return nil, fmt.Errorf("%s: images of %v, want %v", images, x.extents[1:], e.Shape)
	}
	return readLabels(fsys, e, labels, x.data, images)
}

// readLabels reads the labels of images that were read from another file.
func readLabels(fsys fs.FS, e Entry, labels string, pixels []uint8, images string) (*Dataset, error) {
	y, err := readIDX(fsys, labels, 1)
	if err != nil {
		return nil, err
	}
	if n := len(pixels) / size(e.Shape); y.extents[0] != n {
		return nil, fmt.Errorf("%s: %d labels, but %d images in %s", labels, y.extents[0], n, images)
	}
	for i, c := range y.data {
		if int(c) >= e.Classes {
			return nil, fmt.Errorf("%s: label %d is %d, want 0 to %d", labels, i, c, e.Classes-1)
		}
	}
	return e.dataset(pixels, y.data), nil
}
