package datasets

import (
	"embed"
	"io/fs"
)

// embedded holds the sample and its attribution. "go run ./datasets/_sample DIR" makes it anew.
//
//go:embed embedded
var embedded embed.FS

func mnistSample() Entry {
	e := mnist()
	e.Name = "mnist-sample"
	e.About = "10,000 images of mnist, 1,000 a digit; part of the program"
	e.Regimes[0].Test = 150 // ten clients with five labels each then use every image
	e.Files, e.begins = nil, nil
	e.load = loadSample
	return e
}

func loadSample(fsys fs.FS, e Entry) (*Dataset, error) {
	return readImages(fsys, e, "embedded/sample-images-idx3-ubyte", "embedded/sample-labels-idx1-ubyte")
}
