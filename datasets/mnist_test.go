package datasets

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tiny returns the four files of a data set of 28×28 images with these labels.
func tiny(train, test []uint8) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, labels := range map[string][]uint8{"train": train, "t10k": test} {
		pixels := bytes.Repeat([]byte{1}, 784*len(labels))
		fsys[name+"-images-idx3-ubyte"] = &fstest.MapFile{Data: idxFile(pixels, uint32(len(labels)), 28, 28)}
		fsys[name+"-labels-idx1-ubyte"] = &fstest.MapFile{Data: idxFile(labels, uint32(len(labels)))}
	}
	return fsys
}

func TestLoadMNISTPools(t *testing.T) {
	d, err := loadMNIST(tiny([]uint8{3, 1}, []uint8{4}), mnist())
	if err != nil {
		t.Fatal(err)
	}
	if want := []uint8{3, 1, 4}; !slices.Equal(d.Labels, want) || len(d.Pixels) != 3*784 || d.Dim() != 784 || d.Len() != 3 {
		t.Errorf("got labels %v and %d pixels, want %v and %d", d.Labels, len(d.Pixels), want, 3*784)
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "not the published files of mnist") {
		t.Errorf("notes %q, want one that these are not the published files", d.Notes)
	}
}

func TestLoadMNISTErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
	}{
		{"label out of range", func(f fstest.MapFS) { f["t10k-labels-idx1-ubyte"].Data[8] = 10 },
			"t10k-labels-idx1-ubyte: label 0 is 10, want 0 to 9"},
		{"a label short", func(f fstest.MapFS) { f["train-labels-idx1-ubyte"].Data = idxFile([]byte{1}, 1) },
			"train-labels-idx1-ubyte: 1 labels, but 2 images in train-images-idx3-ubyte"},
		{"other size", func(f fstest.MapFS) { f["t10k-images-idx3-ubyte"].Data = idxFile(make([]byte, 32*28), 1, 32, 28) },
			"t10k-images-idx3-ubyte: images of [32 28], want [28 28]"},
		{"images for labels", func(f fstest.MapFS) { f["train-labels-idx1-ubyte"] = f["train-images-idx3-ubyte"] },
			"train-labels-idx1-ubyte: 3 dimensions, want 1"},
		{"labels for images", func(f fstest.MapFS) { f["t10k-images-idx3-ubyte"] = f["t10k-labels-idx1-ubyte"] },
			"t10k-images-idx3-ubyte: 1 dimensions, want 3"},
		{"no training labels", func(f fstest.MapFS) { delete(f, "train-labels-idx1-ubyte") }, "train-labels-idx1-ubyte: "},
		{"no test images", func(f fstest.MapFS) { delete(f, "t10k-images-idx3-ubyte") }, "t10k-images-idx3-ubyte: "},
	} {
		fsys := tiny([]uint8{3, 1}, []uint8{4})
		test.change(fsys)
		_, err := loadMNIST(fsys, mnist())
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestFullData(t *testing.T) {
	for name, want := range map[string][]int{
		"mnist":         {6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958},
		"fashion-mnist": {7000, 7000, 7000, 7000, 7000, 7000, 7000, 7000, 7000, 7000},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Load(name, fullData(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if got := d.Counts(); !slices.Equal(got, want) {
				t.Errorf("counts %v, want %v", got, want)
			}
			if len(d.Pixels) != 70000*784 || len(d.Notes) != 0 {
				t.Errorf("%d pixels, notes %v", len(d.Pixels), d.Notes)
			}
		})
	}
}
