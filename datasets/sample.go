package datasets

import (
	"embed"
	"fmt"
	"io/fs"

	"fedbayes/datasets/internal/packed"
)

// embedded holds the samples and their attributions. "go run ./datasets/_sample DIR" makes them anew.
//
//go:embed embedded
var embedded embed.FS

func mnistSample() Entry {
	e := mnist()
	e.Name = "mnist-sample"
	e.About = "10,000 images of mnist, 1,000 a digit; part of the program"
	e.Regimes[0].Test = 150 // ten clients with five labels each then use every image
	e.Files, e.Published, e.marks = nil, nil, nil
	e.load = loadMNISTSample
	return e
}

func loadMNISTSample(fsys fs.FS, e Entry) (*Dataset, error) {
	return readImages(fsys, e, "embedded/sample-images-idx3-ubyte", "embedded/sample-labels-idx1-ubyte")
}

func fashionMNISTSample() Entry {
	e := fashionMNIST()
	e.Name = "fashion-mnist-sample"
	e.About = "4,000 images of fashion-mnist, 400 a class; part of the program"
	e.Regimes[0].Test = 30 // ten clients with five labels each then use every image
	e.Files, e.Published, e.marks, e.Sample = nil, nil, nil, ""
	e.load = loadFashionMNISTSample
	return e
}

func loadFashionMNISTSample(fsys fs.FS, e Entry) (*Dataset, error) {
	const images, labels = "embedded/fashion-mnist/sample-images.packed", "embedded/fashion-mnist/sample-labels-idx1-ubyte"
	f, err := fsys.Open(images)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	pixels, err := packed.Unpack(f, e.Shape[0], e.Shape[1])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", images, err)
	}
	y, err := readLabels(fsys, e, labels, len(pixels)/size(e.Shape), images)
	if err != nil {
		return nil, err
	}
	return e.dataset(pixels, y), nil
}
