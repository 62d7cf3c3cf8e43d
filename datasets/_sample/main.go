// Command _sample draws the embedded sample of MNIST: 1,000 images of each digit from all 70,000.
//
//	go run ./datasets/_sample DIR
//
// DIR holds the four published files. The sample is written to datasets/embedded, sorted by digit (which packs best),
// within a digit in the order of the files, every pixel as it was.
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
	"fedbayes/internal/rng"
)

// The sample's address. Another seed is another sample, and changes every result that the README quotes.
const (
	seed     = 1
	perDigit = 1000
	out      = "datasets/embedded"
)

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
	d, err := datasets.Load("mnist", dir)
	if err != nil {
		return err
	}
	byDigit := make([][]int, d.Classes)
	for i, c := range d.Labels {
		byDigit[c] = append(byDigit[c], i)
	}
	dim := d.Dim()
	var pixels, labels []byte
	for c, indices := range byDigit {
		r := rng.Stream{Seed: seed, Purpose: rng.Partition, Client: c}.Rand()
		r.Shuffle(len(indices), func(i, j int) { indices[i], indices[j] = indices[j], indices[i] })
		drawn := indices[:perDigit]
		slices.Sort(drawn)
		for _, i := range drawn {
			pixels = append(pixels, d.Pixels[i*dim:(i+1)*dim]...)
			labels = append(labels, byte(c))
		}
	}
	if err := write("sample-images-idx3-ubyte.gz", pixels, len(labels), 28, 28); err != nil {
		return err
	}
	return write("sample-labels-idx1-ubyte.gz", labels, len(labels))
}

// write stores bytes with these extents as a gzipped IDX file.
func write(name string, data []byte, extents ...int) error {
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
	path := filepath.Join(out, name)
	fmt.Printf("%s: %d bytes\n", path, b.Len())
	return os.WriteFile(path, b.Bytes(), 0o644)
}
