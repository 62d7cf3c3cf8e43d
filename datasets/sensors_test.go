package datasets

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// int16s returns an IDX file of such numbers.
func int16s(values []int16, extents ...uint32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.BigEndian.AppendUint16(data, uint16(v))
	}
	return idxOf(idxInt16, data, extents...)
}

// vehicles returns the files of three recordings of two sensors.
func vehicles() fstest.MapFS {
	features := make([]int16, 300)
	features[0], features[1], features[200], features[299] = 32767, -32767, 16384, 1
	return fstest.MapFS{
		"vsn-features-idx2-int16": {Data: int16s(features, 3, 100)},
		"vsn-labels-idx1-ubyte":   {Data: idxFile([]byte{0, 1, 1}, 3)},
		"vsn-sensors-idx1-ubyte":  {Data: idxFile([]byte{58, 4, 58}, 3)},
	}
}

func TestLoadSensors(t *testing.T) {
	d, err := loadSensors(vehicles(), vsn())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Labels, []uint8{0, 1, 1}) || !slices.Equal(d.Owner, []int{1, 0, 1}) || !slices.Equal(d.Owners, []string{"4", "58"}) {
		t.Errorf("labels %v, owners %v of %v", d.Labels, d.Owner, d.Owners)
	}
	if d.Dim() != 100 || d.Pixels != nil || len(d.Values) != 300 || d.Values[0] != 1 || d.Values[1] != -1 || d.Values[200] != float32(16384)/32767 || d.Values[299] != float32(1)/32767 || d.Values[2] != 0 {
		t.Errorf("%d values: %v", len(d.Values), d.Values)
	}
	if want := "3 examples of 2 clients, and vsn has 49264 of 23: its results are not comparable"; len(d.Notes) != 1 || d.Notes[0] != want {
		t.Errorf("notes %q, want %q", d.Notes, want)
	}
}

func TestLoadSensorsErrors(t *testing.T) {
	for name, test := range map[string]struct {
		change func(fstest.MapFS)
		want   string
	}{
		"label out of range": {func(f fstest.MapFS) { f["vsn-labels-idx1-ubyte"].Data[9] = 2 }, "vsn-labels-idx1-ubyte: label 1 is 2, want 0 to 1"},
		"a label short":      {func(f fstest.MapFS) { f["vsn-labels-idx1-ubyte"].Data = idxFile([]byte{1, 1}, 2) }, "vsn-labels-idx1-ubyte: 2 labels, but 3 examples in vsn-features-idx2-int16"},
		"a sensor short":     {func(f fstest.MapFS) { f["vsn-sensors-idx1-ubyte"].Data = idxFile([]byte{1, 1}, 2) }, "vsn-sensors-idx1-ubyte: it is of 2 examples, but there are 3 in vsn-features-idx2-int16"},
		"other features":     {func(f fstest.MapFS) { f["vsn-features-idx2-int16"].Data = int16s(make([]int16, 50), 1, 50) }, "vsn-features-idx2-int16: 50 features, want 100"},
		"bytes":              {func(f fstest.MapFS) { f["vsn-features-idx2-int16"].Data = idxFile(make([]byte, 100), 1, 100) }, "vsn-features-idx2-int16: element type 0x08, want 0x0b (int16)"},
	} {
		fsys := vehicles()
		test.change(fsys)
		if _, err := loadSensors(fsys, vsn()); err == nil || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

// TestFullSensors holds the files against what was published of them: sizes, and examples of each client and class.
func TestFullSensors(t *testing.T) {
	for name, want := range map[string]struct {
		counts        []int
		clients       int
		fewest, most  int // examples of a client
		first, second string
	}{
		"hapt":          {[]int{1722, 1544, 1407, 1801, 1979, 1958, 70, 33, 107, 85, 139, 84}, 30, 295, 434, "1", "2"},
		"vsn":           {[]int{26423, 22841}, 23, 1432, 2926, "1", "2"},
		"mnist-writers": {[]int{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949}, 539, 19, 131, "0", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Load(name, fullData(t, name))
			if err != nil {
				t.Fatal(err)
			}
			of := make([]int, len(d.Owners))
			for _, o := range d.Owner {
				of[o]++
			}
			if got := d.Counts(); !slices.Equal(got, want.counts) {
				t.Errorf("counts %v, want %v", got, want.counts)
			}
			if len(of) != want.clients || slices.Min(of) != want.fewest || slices.Max(of) != want.most || d.Owners[0] != want.first || d.Owners[1] != want.second {
				t.Errorf("%d clients, %s, %s and so on, of %d to %d examples, want %+v", len(of), d.Owners[0], d.Owners[1], slices.Min(of), slices.Max(of), want)
			}
			if len(d.Notes) > 0 {
				t.Errorf("notes %q", d.Notes)
			}
			e, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			splits, notes, err := Partition(d, PartitionConfig{Kind: "natural", Clients: e.Defaults.Clients, TestPerClient: e.Defaults.TestPerClient, Seed: 1, MinSamples: 10})
			if err != nil || len(notes) > 0 {
				t.Fatalf("%v, notes %q", err, notes)
			}
			if s := StatsOf(d, splits); s.SharedByClients != 0 || s.TrainedAndTest != 0 || s.Unused != 0 {
				t.Errorf("%d shared, %d trained on and tested, %d unused", s.SharedByClients, s.TrainedAndTest, s.Unused)
			}
		})
	}
}

// writersFolder returns a folder with three training images of mnist and one for testing, and no writers.
func writersFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, file := range tiny([]uint8{3, 1, 3}, []uint8{4}) {
		writeFile(t, filepath.Join(dir, "mnist", name), file.Data)
	}
	return dir
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// qmnist returns the labels of QMNIST of images of these digits and writers.
func qmnist(digits, writers []uint32) []byte {
	var data []byte
	for i := range digits {
		for _, v := range []uint32{digits[i], 4, writers[i], 7, 30, 9, 0, 0} {
			data = binary.BigEndian.AppendUint32(data, v)
		}
	}
	return idxOf(idxInt32, data, uint32(len(digits)), 8)
}

func TestWriters(t *testing.T) {
	for name, file := range map[string][]byte{
		"mnist-writers/mnist-train-writers-idx1-int16":  int16s([]int16{2154, 0, 2154}, 3),
		"mnist-train-writers-idx1-int16.gz":             gzipped(t, int16s([]int16{2154, 0, 2154}, 3)),
		"mnist-writers/qmnist-train-labels-idx2-int.gz": gzipped(t, qmnist([]uint32{3, 1, 3}, []uint32{2154, 0, 2154})),
	} {
		dir := writersFolder(t)
		writeFile(t, filepath.Join(dir, name), file)
		d, err := Load("mnist-writers", dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(d.Labels, []uint8{3, 1, 3}) || !slices.Equal(d.Owner, []int{1, 0, 1}) || !slices.Equal(d.Owners, []string{"0", "2154"}) ||
			len(d.Pixels) != 3*784 || d.Training != 0 || d.Name != "mnist-writers" || !strings.HasPrefix(d.Source, dir) {
			t.Errorf("%s: labels %v, owners %v of %v, %d pixels, from %s", name, d.Labels, d.Owner, d.Owners, len(d.Pixels), d.Source)
		}
		if len(d.Notes) != 2 || !strings.Contains(d.Notes[0], "not the published files of mnist") || !strings.HasPrefix(d.Notes[1], "3 examples of 2 clients, and mnist-writers has 60000 of 539") {
			t.Errorf("%s: notes %q", name, d.Notes)
		}
	}
}

func TestWritersErrors(t *testing.T) {
	const writers, labels = "mnist-writers/mnist-train-writers-idx1-int16", "mnist-writers/qmnist-train-labels-idx2-int.gz"
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{writers, int16s([]int16{1, 2}, 2), ": writers of 2 images, but mnist has 3 training images in "},
		{writers, idxFile([]byte{1, 2, 3}, 3), ": mnist-train-writers-idx1-int16: element type 0x08, want 0x0b (int16)"},
		{labels, qmnist([]uint32{3, 1, 4}, []uint32{1, 1, 1}), ": image 2 is of digit 4, but that of mnist in "},
		{labels, qmnist([]uint32{3, 1, 10}, []uint32{1, 1, 1}), ": row 2: digit 10, want 0 to 9"},
		{labels, idxOf(idxInt32, make([]byte, 8), 1, 2), ": 2 columns, want 8"},
		{"elsewhere", nil, "; fedbayes datasets mnist-writers tells what they are"},
		{"elsewhere", nil, ": get https://raw.githubusercontent.com/facebookresearch/qmnist/master/qmnist-train-labels-idx2-int.gz (MD5 "},
	} {
		dir := writersFolder(t)
		writeFile(t, filepath.Join(dir, test.name), test.file)
		_, err := Load("mnist-writers", dir)
		if err == nil || !strings.HasPrefix(err.Error(), "datasets: mnist-writers: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	alone := t.TempDir()
	writeFile(t, filepath.Join(alone, writers), int16s([]int16{1}, 1))
	if _, err := Find("mnist-writers", alone); err == nil || !strings.HasPrefix(err.Error(), "datasets: mnist-writers: it is of the images of mnist: datasets: mnist: not found in ") {
		t.Errorf("without mnist: %v", err)
	}
}
