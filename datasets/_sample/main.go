// Command _sample draws the embedded samples of MNIST and Fashion-MNIST: as many images of each class, from all 70,000.
//
//	go run ./datasets/_sample DIR
//
// DIR holds the folders mnist and fashion-mnist, each with the four published files. The samples are written to
// datasets/embedded, sorted by class (which packs best), within a class in the order of the files, every pixel as it was.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"fedbayes/datasets"
	"fedbayes/datasets/internal/packed"
	"fedbayes/internal/rng"
)

// The samples' address. Another seed is other samples, and changes every result that the README quotes.
const seed = 1

const out = "datasets/embedded"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./datasets/_sample DIR")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir string) error {
	pixels, labels, err := draw("mnist", dir, 1000)
	if err != nil {
		return err
	}
	if err := writeIDX("sample-images-idx3-ubyte.gz", pixels, len(labels), 28, 28); err != nil {
		return err
	}
	if err := writeIDX("sample-labels-idx1-ubyte.gz", labels, len(labels)); err != nil {
		return err
	}

	// 400 of each class are what 1.5 MB have place for, and divide well among ten clients.
	if pixels, labels, err = draw("fashion-mnist", dir, 400); err != nil {
		return err
	}
	file, err := packed.Pack(pixels, 28, 28)
	if err != nil {
		return err
	}
	if err := write("fashion-mnist/sample-images.packed", file); err != nil {
		return err
	}
	return writeIDX("fashion-mnist/sample-labels-idx1-ubyte.gz", labels, len(labels))
}

// draw returns so many images of each class of a data set, and their labels.
func draw(name, dir string, perClass int) (pixels, labels []byte, err error) {
	d, err := datasets.Load(name, dir)
	if err != nil {
		return nil, nil, err
	}
	byClass := make([][]int, d.Classes)
	for i, c := range d.Labels {
		byClass[c] = append(byClass[c], i)
	}
	dim := d.Dim()
	for c, indices := range byClass {
		r := rng.Stream{Seed: seed, Purpose: rng.Partition, Client: c}.Rand()
		r.Shuffle(len(indices), func(i, j int) { indices[i], indices[j] = indices[j], indices[i] })
		drawn := indices[:perClass]
		slices.Sort(drawn)
		for _, i := range drawn {
			pixels = append(pixels, d.Pixels[i*dim:(i+1)*dim]...)
			labels = append(labels, byte(c))
		}
	}
	return pixels, labels, nil
}

// writeIDX stores bytes with these extents as a gzipped IDX file.
func writeIDX(name string, data []byte, extents ...int) error {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	header := []byte{0, 0, 0x08, byte(len(extents))}
	for _, n := range extents {
		header = binary.BigEndian.AppendUint32(header, uint32(n))
	}
	for _, part := range [][]byte{header, data} {
		if _, err := z.Write(part); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	return write(name, b.Bytes())
}

func write(name string, file []byte) error {
	path := filepath.Join(out, filepath.FromSlash(name))
	fmt.Printf("%s: %d bytes\n", path, len(file))
	return os.WriteFile(path, file, 0o644)
}
