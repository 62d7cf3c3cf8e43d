package datasets

import (
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
		marks:   []mark{0x2856a56c84e405ff, 0x233efa1dbe91f0af, 0x3fcb0aa02023f8c2, 0x7ffccb55d5a0a571},
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
		marks:   []mark{0x1b6e5cbbd163f70d, 0xbd0e4221b00c2802, 0x75f2f3986c2083e8, 0x0dd68b5401033ffb},
		load:    loadMNIST,
	}
}

// loadMNIST reads and pools the training and test files of e.
func loadMNIST(fsys fs.FS, e Entry) (*Dataset, error) {
	train, err := readImages(fsys, e, e.Files[0], e.Files[1])
	if err != nil {
		return nil, err
	}
	test, err := readImages(fsys, e, e.Files[2], e.Files[3])
	if err != nil {
		return nil, err
	}
	notes := unknown(e, []mark{
		markOf(train.Pixels, 1+len(e.Shape)), markOf(train.Labels, 1), markOf(test.Pixels, 1+len(e.Shape)), markOf(test.Labels, 1),
	})
	train.Pixels = append(train.Pixels, test.Pixels...)
	train.Labels = append(train.Labels, test.Labels...)
	train.Notes = notes
	return train, nil
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
