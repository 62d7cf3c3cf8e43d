package datasets

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// toy returns a data set of 2×3 images with these counts of the classes, classes interleaved. Image i has pixels
// 6i, 6i+1, … modulo 256.
func toy(counts ...int) *Dataset {
	d := &Dataset{Name: "toy", Shape: []int{2, 3}, Classes: len(counts)}
	left := slices.Clone(counts)
	for len(d.Labels) < sum(counts) {
		for c := range left {
			if left[c] > 0 {
				left[c]--
				d.Labels = append(d.Labels, uint8(c))
			}
		}
	}
	for i := range 6 * len(d.Labels) {
		d.Pixels = append(d.Pixels, uint8(i))
	}
	return d
}

// idxFile returns a well-formed IDX file of bytes.
func idxFile(data []byte, extents ...uint32) []byte {
	return idxOf(idxBytes, data, extents...)
}

// idxOf is the same of other elements.
func idxOf(of element, data []byte, extents ...uint32) []byte {
	file := []byte{0, 0, byte(of), byte(len(extents))}
	for _, n := range extents {
		file = binary.BigEndian.AppendUint32(file, n)
	}
	return append(file, data...)
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// fullData returns a folder of full data sets, or skips the test.
func fullData(t testing.TB, name string) string {
	t.Helper()
	for _, dir := range []string{os.Getenv(EnvDir), filepath.FromSlash("../../shared/data")} {
		if dir == "" {
			continue
		}
		if _, err := Find(name, dir); err == nil {
			return dir
		}
	}
	t.Skipf("needs the full %s: name its folder in $%s", name, EnvDir)
	return ""
}

func TestExamples(t *testing.T) {
	d := toy(2, 1) // labels 0 1 0
	e := d.Examples([]int{2, 1})
	if e.Len() != 2 || e.Dim != 6 {
		t.Fatalf("got %d examples of %d values, want 2 of 6", e.Len(), e.Dim)
	}
	if want := []float32{0, 1}; !slices.Equal(e.Y, want) {
		t.Errorf("labels %v, want %v", e.Y, want)
	}
	for j, p := range []float32{12, 13, 14, 15, 16, 17, 6, 7, 8, 9, 10, 11} {
		if e.X[j] != p/255 {
			t.Errorf("value %d is %v, want %v/255", j, e.X[j], p)
		}
	}
}

func TestExamplesScale(t *testing.T) {
	d := &Dataset{Name: "two", Shape: []int{2}, Classes: 1, Pixels: []uint8{0, 255}, Labels: []uint8{0}}
	if e := d.Examples([]int{0}); e.X[0] != 0 || e.X[1] != 1 {
		t.Errorf("pixels 0 and 255 became %v, want 0 and 1", e.X)
	}
}

// TestExamplesThatAreNoImages are taken as they are.
func TestExamplesThatAreNoImages(t *testing.T) {
	d := &Dataset{Name: "numbers", Shape: []int{2}, Classes: 2, Values: []float32{-1, 0.5, 3, 4}, Labels: []uint8{0, 1}}
	e := d.Examples([]int{1, 0})
	if !slices.Equal(e.X, []float32{3, 4, -1, 0.5}) || !slices.Equal(e.Y, []float32{1, 0}) {
		t.Errorf("got %v with %v", e.X, e.Y)
	}
	if d.Normalisation() != "none" || d.Noun() != "example" || toy(1).Noun() != "image" || d.Bytes() != 16 || toy(1).Bytes() != 6 {
		t.Errorf("normalisation %q, nouns %q and %q, %d and %d bytes", d.Normalisation(), d.Noun(), toy(1).Noun(), d.Bytes(), toy(1).Bytes())
	}
}

func TestExamplesNormalised(t *testing.T) {
	d := &Dataset{
		Name: "one", Shape: []int{1, 2, 3}, Classes: 1, Pixels: []uint8{0, 51, 102, 153, 204, 255}, Labels: []uint8{0},
		Mean: []float32{0.5, 0.25, 0}, Std: []float32{0.5, 0.25, 2},
	}
	got := d.Examples([]int{0}).X
	for j, want := range []float64{-1, -0.2, 0.2, 0.2, 2.2, 0.5} { // (p/255 − mean)/std, channel by channel
		if math.Abs(float64(got[j])-want) > 1e-6 {
			t.Errorf("value %d is %v, want %v", j, got[j], want)
		}
	}
	if d.Normalisation() != "(x/255 − mean)/std" || toy(1).Normalisation() != "x/255" {
		t.Errorf("it says %q, and without a mean %q", d.Normalisation(), toy(1).Normalisation())
	}
}

func TestClients(t *testing.T) {
	d := toy(3, 3)
	clients := Clients(d, []Split{
		{Labels: []int{0}, Train: []int{0, 2}, Test: []int{4}},
		{Labels: []int{1}, Train: []int{1}, Test: []int{3, 5}},
	})
	for i, want := range []struct{ train, test int }{{2, 1}, {1, 2}} {
		c := clients[i]
		if c.ID != i || c.Train.Len() != want.train || c.Test.Len() != want.test || !slices.Equal(c.Labels, []int{i}) {
			t.Errorf("client %d: id %d, labels %v, %d + %d examples, want %d + %d",
				i, c.ID, c.Labels, c.Train.Len(), c.Test.Len(), want.train, want.test)
		}
		if c.Train.Y[0] != float32(i) || c.Test.Y[0] != float32(i) {
			t.Errorf("client %d holds examples of another class", i)
		}
	}
}

func TestCounts(t *testing.T) {
	if got := toy(2, 0, 5).Counts(); !slices.Equal(got, []int{2, 0, 5}) {
		t.Errorf("got %v, want [2 0 5]", got)
	}
}
