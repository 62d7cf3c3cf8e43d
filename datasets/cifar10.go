package datasets

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

const (
	cifar10Archive = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
	cifar10Sum     = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
)

func cifar10() Entry {
	return Entry{
		Name:    "cifar10",
		About:   "60,000 colour pictures of animals and vehicles",
		Origin:  "Alex Krizhevsky: Learning Multiple Layers of Features from Tiny Images, 2009",
		License: "none stated",
		Classes: 10,
		Names:   []string{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"},
		Shape:   []int{32, 32, 3},
		// Red, green and blue over all pixels of the 50,000 training images, as most public code has them. (The smaller
		// deviations in some, 0.2023, 0.1994 and 0.2010, are means of those of single images.)
		Mean:     []float32{0.4914, 0.4822, 0.4465},
		Std:      []float32{0.2470, 0.2435, 0.2616},
		Regimes:  []Regime{{"small", 25, 475}, {"medium", 100, 400}, {"large", 450, 150}},
		Defaults: Defaults{Clients: 20, PerRound: 10, Model: "vgg"},
		Files: []string{
			"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin",
			"test_batch.bin",
		},
		Archive: "cifar-10-binary.tar.gz",
		Folder:  "cifar-10-batches-bin",
		Get:     "get " + cifar10Archive + " (170,052,171 bytes, sha256 " + cifar10Sum + ") and put it there, packed or unpacked",
		// Size and checksum were not computed here: they are those of TensorFlow Datasets. The makers' page has an MD5 alone,
		// c32a1d4ab5d03f1284b67883e8d87530. Both addresses are of their university.
		Published: []Published{{
			Name: "cifar-10-binary.tar.gz", Size: 170_052_171, SHA256: cifar10Sum,
			From: []string{cifar10Archive, "https://cave.cs.toronto.edu/kriz/cifar-10-binary.tar.gz"},
		}},
		begins: []uint8{6, 9, 9, 4, 1, 1, 2, 7, 8, 3, 4, 7, 7, 2, 9, 9, 9, 3, 2, 6},
		load:   loadCIFAR10,
		unpack: loadCIFAR10Tar,
	}
}

// maxRecords is how many images a published batch has, and the most that one is read of.
const maxRecords = 10_000

// A batch is the images of one file, pixels with the channels last.
type batch struct{ pixels, labels []uint8 }

// loadCIFAR10 reads and pools the batches in a folder.
func loadCIFAR10(fsys fs.FS, e Entry) (*Dataset, error) {
	batches := make([]batch, len(e.Files))
	for i, name := range e.Files {
		spelling, err := locate(fsys, name)
		if err != nil {
			return nil, err
		}
		f, err := fsys.Open(spelling)
		if err != nil {
			return nil, err
		}
		batches[i], err = readBatch(f, e)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", spelling, err)
		}
	}
	return pool(batches, e)
}

// maxTar bounds what an archive unpacks to; the published one has 184 MB.
const maxTar = 1 << 30

// loadCIFAR10Tar reads and pools the batches in an archive, whatever their order there; other members are passed over.
func loadCIFAR10Tar(r io.Reader, e Entry) (*Dataset, error) {
	r, err := unzipped(r)
	if err != nil {
		return nil, err
	}
	bounded := &io.LimitedReader{R: r, N: maxTar}
	archive := tar.NewReader(bounded)
	batches := make([]batch, len(e.Files))
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && bounded.N == 0 {
			return nil, fmt.Errorf("unpacks to more than %d bytes", maxTar)
		}
		if err != nil {
			return nil, fmt.Errorf("not a whole tar archive: %w", whole(err))
		}
		i := slices.Index(e.Files, path.Base(h.Name))
		if i < 0 || h.Typeflag != tar.TypeReg {
			continue
		}
		if batches[i].labels != nil {
			return nil, fmt.Errorf("%s: there twice", e.Files[i])
		}
		if batches[i], err = readBatch(archive, e); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	// To the end, where gzip has its checksum.
	if _, err := io.Copy(io.Discard, bounded); err != nil {
		return nil, fmt.Errorf("after the last member: %w", whole(err))
	}
	return pool(batches, e)
}

// readBatch reads one batch to the end of r. What it allocates grows with what r gives. A record is
//
//	label, then the red, the green and the blue plane, row-major
func readBatch(r io.Reader, e Entry) (batch, error) {
	r, err := unzipped(r)
	if err != nil {
		return batch{}, err
	}
	var b batch
	dim, channels := size(e.Shape), e.Shape[2]
	record := make([]uint8, 1+dim)
	for {
		n, err := io.ReadFull(r, record)
		i := len(b.labels)
		switch {
		case errors.Is(err, io.EOF) && i > 0:
			return b, nil
		case errors.Is(err, io.EOF):
			return batch{}, fmt.Errorf("empty, want records of %d bytes", len(record))
		case err != nil:
			return batch{}, fmt.Errorf("record %d ends after %d of %d bytes: %w", i, n, len(record), whole(err))
		case i == maxRecords:
			return batch{}, fmt.Errorf("more than %d records of %d bytes", maxRecords, len(record))
		case int(record[0]) >= e.Classes:
			return batch{}, fmt.Errorf("record %d has label %d, want 0 to %d (not a batch of %s?)", i, record[0], e.Classes-1, e.Name)
		}
		b.labels = append(b.labels, record[0])
		b.pixels = slices.Grow(b.pixels, dim)[:(i+1)*dim]
		image, planes := b.pixels[i*dim:], record[1:]
		for c := range channels {
			for j, p := range planes[c*dim/channels : (c+1)*dim/channels] {
				image[j*channels+c] = p
			}
		}
	}
}

// pool joins the batches of e.Files, all of which must be there and of one size: a file that was cut just behind a
// record is not whole either.
func pool(batches []batch, e Entry) (*Dataset, error) {
	var missing []string
	for i, b := range batches {
		if b.labels == nil {
			missing = append(missing, e.Files[i])
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("no %s in it", strings.Join(missing, ", "))
	}
	var pixels, labels [][]uint8
	for i, b := range batches {
		if got, want := len(b.labels), len(batches[0].labels); got != want {
			return nil, fmt.Errorf("%s: %d records, but %d in %s: want %d in each (truncated download?)",
				e.Files[i], got, want, e.Files[0], maxRecords)
		}
		pixels, labels = append(pixels, b.pixels), append(labels, b.labels)
	}
	d := e.dataset(slices.Concat(pixels...), slices.Concat(labels...))
	d.Training = d.Len() - len(batches[len(batches)-1].labels)
	d.Notes = unpublished(d.Labels, e)
	return d, nil
}

// unpublished returns a note if these are not the labels of e as published.
func unpublished(labels []uint8, e Entry) []string {
	if bytes.HasPrefix(labels, e.begins) {
		return nil
	}
	return []string{fmt.Sprintf("these are not the published files of %s (other labels): its results are not comparable", e.Name)}
}
