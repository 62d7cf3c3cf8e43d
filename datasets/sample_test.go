package datasets

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
)

func loadSampleOf(t testing.TB) *Dataset {
	t.Helper()
	d, err := Load("mnist-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSample(t *testing.T) {
	d := loadSampleOf(t)
	if d.Len() != 10000 || len(d.Pixels) != 10000*784 || d.Source != "embedded" {
		t.Fatalf("%d images, %d pixels from %s", d.Len(), len(d.Pixels), d.Source)
	}
	for c, n := range d.Counts() {
		if n != 1000 {
			t.Errorf("%d images of digit %d, want 1000", n, c)
		}
	}
	// Digits are bright strokes on black, no two alike, and zeros have more ink than ones.
	ink := make([]int, 10)
	seen := map[string]int{}
	for i, c := range d.Labels {
		image := d.Pixels[784*i : 784*(i+1)]
		total, brightest := 0, uint8(0)
		for _, p := range image {
			total += int(p)
			brightest = max(brightest, p)
		}
		ink[c] += total
		if mean := total / 784; mean < 3 || mean > 120 || brightest < 200 {
			t.Errorf("image %d (digit %d): mean %d, brightest %d: not a digit", i, c, mean, brightest)
		}
		if image[0] != 0 || image[27] != 0 || image[783] != 0 {
			t.Errorf("image %d: a corner is not black", i)
		}
		if j, ok := seen[string(image)]; ok {
			t.Errorf("images %d and %d are the same", j, i)
		}
		seen[string(image)] = i
	}
	// The mean pixel of all of MNIST is 33.3.
	if mean := float64(sum(ink)) / (10000 * 784); mean < 32 || mean > 35 {
		t.Errorf("mean pixel %.2f, want about 33.3", mean)
	}
	if ink[0] < 2*ink[1] {
		t.Errorf("zeros have %d ink and ones %d: labels mixed up?", ink[0], ink[1])
	}
}

func TestSampleIsFromMNIST(t *testing.T) {
	full, err := Load("mnist", fullData(t, "mnist"))
	if err != nil {
		t.Fatal(err)
	}
	label := make(map[string]uint8, full.Len())
	for i, c := range full.Labels {
		label[string(full.Pixels[784*i:784*(i+1)])] = c
	}
	d := loadSampleOf(t)
	for i, c := range d.Labels {
		got, ok := label[string(d.Pixels[784*i:784*(i+1)])]
		if !ok || got != c {
			t.Errorf("image %d with label %d: in MNIST %v with label %d", i, c, ok, got)
		}
	}
}

func TestSampleAttribution(t *testing.T) {
	text, err := fs.ReadFile(embedded, "embedded/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Yann LeCun", "Corinna Cortes", "Christopher J.C. Burges", "Attribution-ShareAlike 3.0", "No pixel"} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the attribution does not say %q", want)
		}
	}
	e, err := Lookup("mnist-sample")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(e.License, "BY-SA") || !strings.Contains(e.Origin, "LeCun") {
		t.Errorf("entry says %q, %q", e.License, e.Origin)
	}
}

func BenchmarkLoadSample(b *testing.B) {
	for b.Loop() {
		loadSampleOf(b)
	}
}
