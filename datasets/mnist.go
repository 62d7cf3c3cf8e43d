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

// published returns the four files, gzipped as they are published in some folders of the web, with their sizes and
// checksums in the order of mnistFiles.
func published(sizes [4]int64, sums [4]string, folders ...string) []Published {
	var files []Published
	for i, name := range mnistFiles() {
		file := Published{Name: name + ".gz", Size: sizes[i], SHA256: sums[i]}
		for _, folder := range folders {
			file.From = append(file.From, folder+file.Name)
		}
		files = append(files, file)
	}
	return files
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
		// Computed from files whose MD5 is the published one: f68b3c2dcbeaaa9fbdd348bbdeb94873, d53e105ee54ea40749a09fcbcd1e9432,
		// 9fb629c4189551a2d022fa330f9573f3, ec29112dd5afa0611ce80d1b7f02629c. The makers' own address, yann.lecun.com, has come to
		// refuse downloads; of these two PyTorch and TensorFlow get the files.
		Published: published(
			[4]int64{9912422, 28881, 1648877, 4542},
			[4]string{
				"440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
				"3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
				"8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
				"f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
			},
			"https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/",
		),
		marks: []mark{0x2856a56c84e405ff, 0x233efa1dbe91f0af, 0x3fcb0aa02023f8c2, 0x7ffccb55d5a0a571},
		load:  loadMNIST,
	}
}

func fashionMNIST() Entry {
	return Entry{
		Name:    "fashion-mnist",
		About:   "70,000 pictures of clothes",
		Origin:  "Han Xiao, Kashif Rasul, Roland Vollgraf (Zalando Research): Fashion-MNIST",
		License: "MIT",
		Classes: 10,
		Names:   []string{"t-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"},
		Shape:   []int{28, 28},
		Regimes: regimes(),
		Files:   mnistFiles(),
		Sample:  "fashion-mnist-sample",
		// Computed from files whose MD5 is the published one: 8d4fb7e6c68d591d4c3dfef9ec88bf0d, 25c81989df183df01b3e8a0aad5dffbe,
		// bef4ecab320f06d8554ea6380940ec79, bb300cfdad3c16e7a12a480ee83cd310.
		Published: published(
			[4]int64{26421880, 29515, 4422102, 5148},
			[4]string{
				"3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
				"a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
				"346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
				"67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
			},
			"http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
			"https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
		),
		marks: []mark{0x1b6e5cbbd163f70d, 0xbd0e4221b00c2802, 0x75f2f3986c2083e8, 0x0dd68b5401033ffb},
		load:  loadMNIST,
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
	train.Training = train.Len()
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
	y, err := readLabels(fsys, e, labels, x.extents[0], images)
	if err != nil {
		return nil, err
	}
	return e.dataset(x.data, y), nil
}

// readLabels reads the labels of n examples that were read from another file.
func readLabels(fsys fs.FS, e Entry, labels string, n int, examples string) ([]uint8, error) {
	y, err := readIDX(fsys, labels, 1)
	if err != nil {
		return nil, err
	}
	if y.extents[0] != n {
		return nil, fmt.Errorf("%s: %d labels, but %d %ss in %s", labels, y.extents[0], n, e.Noun(), examples)
	}
	for i, c := range y.data {
		if int(c) >= e.Classes {
			return nil, fmt.Errorf("%s: label %d is %d, want 0 to %d", labels, i, c, e.Classes-1)
		}
	}
	return y.data, nil
}
