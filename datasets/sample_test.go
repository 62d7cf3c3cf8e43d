package datasets

import (
	"bytes"
	"io/fs"
	"slices"
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

func TestFashionSample(t *testing.T) {
	d, err := Load("fashion-mnist-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	if d.Len() != 4000 || len(d.Pixels) != 4000*784 || d.Source != "embedded" || d.Normalisation() != "x/255" {
		t.Fatalf("%d images, %d pixels from %s, %s", d.Len(), len(d.Pixels), d.Source, d.Normalisation())
	}
	ink := make([]int, 10)
	seen := map[string]int{}
	for i, c := range d.Labels {
		image := d.Pixels[784*i : 784*(i+1)]
		for _, p := range image {
			ink[c] += int(p)
		}
		if j, ok := seen[string(image)]; ok {
			t.Errorf("images %d and %d are the same", j, i)
		}
		seen[string(image)] = i
	}
	for c, n := range d.Counts() {
		if n != 400 {
			t.Errorf("%d images of class %d, want 400", n, c)
		}
	}
	// The mean pixel of all of Fashion-MNIST is 72.9; sandals (5) have least ink, pullovers and coats (2, 4) most.
	if mean := float64(sum(ink)) / (4000 * 784); mean < 71 || mean > 75 {
		t.Errorf("mean pixel %.2f, want about 72.9", mean)
	}
	if slices.Index(ink, slices.Min(ink)) != 5 || ink[2] < 2*ink[5] || ink[4] < 2*ink[5] {
		t.Errorf("ink of the classes %v: labels mixed up?", ink)
	}
}

// Samples are large enough as they are: the program carries them.
func TestFashionSampleSize(t *testing.T) {
	info, err := fs.Stat(embedded, "embedded/fashion-mnist/sample-images.packed")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 1_500_000 {
		t.Errorf("%d bytes, want at most 1.5 MB", info.Size())
	}
}

func TestSamplesAreFromTheFullSets(t *testing.T) {
	for _, name := range []string{"mnist", "fashion-mnist"} {
		t.Run(name, func(t *testing.T) {
			full, err := Load(name, fullData(t, name))
			if err != nil {
				t.Fatal(err)
			}
			label := make(map[string]uint8, full.Len())
			for i, c := range full.Labels {
				label[string(full.Pixels[784*i:784*(i+1)])] = c
			}
			d, err := Load(name+"-sample", "")
			if err != nil {
				t.Fatal(err)
			}
			for i, c := range d.Labels {
				got, ok := label[string(d.Pixels[784*i:784*(i+1)])]
				if !ok || got != c {
					t.Errorf("image %d with label %d: in the full set %v with label %d", i, c, ok, got)
				}
			}
		})
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

func TestFashionSampleAttribution(t *testing.T) {
	for file, wants := range map[string][]string{
		"README.md": {"Han Xiao", "Kashif Rasul", "Roland Vollgraf", "Zalando SE", "MIT", "No pixel"},
		"LICENSE":   {"The MIT License (MIT)", "Copyright © 2017 Zalando SE", "Permission is hereby granted", "WITHOUT WARRANTY"},
	} {
		text, err := fs.ReadFile(embedded, "embedded/fashion-mnist/"+file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s does not say %q", file, want)
			}
		}
	}
}

func BenchmarkLoadFashionSample(b *testing.B) {
	for b.Loop() {
		if _, err := Load("fashion-mnist-sample", ""); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLoadSample(b *testing.B) {
	for b.Loop() {
		loadSampleOf(b)
	}
}
