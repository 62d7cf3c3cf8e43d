package datasets

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small and colourful are data sets of 2 × 3 pixels.
func small() Entry { return Entry{Name: "small", Classes: 3, Shape: []int{2, 3}} }
func colourful() Entry {
	return Entry{Name: "colourful", Classes: 10, Names: cifar10().Names, Shape: []int{2, 3, 3}, Mean: []float32{0, 0, 0}, Std: []float32{1, 1, 1}}
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shades is an image of grey values.
func shades(width int, values ...uint8) *image.Gray {
	img := image.NewGray(image.Rect(0, 0, width, len(values)/width))
	copy(img.Pix, values)
	return img
}

// painted is an image of one colour but for its pixel in the second row and third column.
func painted(c, other color.Color) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	for y := range 2 {
		for x := range 3 {
			img.Set(x, y, c)
		}
	}
	img.Set(2, 1, other)
	return img
}

func TestImages(t *testing.T) {
	six := []uint8{0, 1, 2, 253, 254, 255}
	red, clear := color.NRGBA{255, 0, 0, 255}, color.NRGBA{200, 200, 200, 0}
	for _, test := range []struct {
		name     string
		e        Entry
		file     []byte
		pixels   []uint8
		labels   []uint8
		labelled bool
	}{
		{"idx", small(), idxFile(append(six, six...), 2, 2, 3), append(six, six...), []uint8{0, 0}, false},
		{"gzipped idx", small(), gzipped(t, idxFile(six, 1, 2, 3)), six, []uint8{0}, false},
		{"grey png", small(), pngOf(t, shades(3, six...)), six, []uint8{0}, false},
		{"png of colours for grey", small(), pngOf(t, painted(red, color.White)), []uint8{76, 76, 76, 76, 76, 255}, []uint8{0}, false}, // 0.299 of red
		{"png with a transparent pixel", small(), pngOf(t, painted(color.White, clear)), []uint8{255, 255, 255, 255, 255, 0}, []uint8{0}, false},
		{"grey png for colours", colourful(), pngOf(t, shades(3, six...)), []uint8{0, 0, 0, 1, 1, 1, 2, 2, 2, 253, 253, 253, 254, 254, 254, 255, 255, 255}, []uint8{0}, false},
		{"png of colours", colourful(), pngOf(t, painted(red, color.White)), []uint8{255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 255, 255, 255}, []uint8{0}, false},
		{"csv", small(), []byte("0,1,2,253,254,255\n"), six, []uint8{0}, false},
		{"csv with labels", small(), []byte("2,0,1,2,253,254,255\n0,0,1,2,253,254,255"), append(six, six...), []uint8{2, 0}, true},
		{"csv with a line of names", small(), []byte("label,1x1,1x2,1x3,2x1,2x2,2x3\r\n1,0,1,2,253,254,255\r\n"), six, []uint8{1}, true},
		{"csv with numbers for names", small(), []byte("label,0,1,2,3,4,5\n1,0,1,2,253,254,255\n"), six, []uint8{1}, true},
		{"csv with names and no labels", small(), []byte("a,b,c,d,e,f\n0,1,2,253,254,255\n"), six, []uint8{0}, false},
		{"csv with names of classes", colourful(), []byte("truck" + strings.Repeat(",7", 18)), bytes.Repeat([]byte{7}, 18), []uint8{9}, true},
	} {
		path := filepath.Join(t.TempDir(), "some file")
		if err := os.WriteFile(path, test.file, 0o644); err != nil {
			t.Fatal(err)
		}
		d, labelled, err := test.e.Images(path)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !slices.Equal(d.Pixels, test.pixels) || !slices.Equal(d.Labels, test.labels) || labelled != test.labelled || d.Source != path {
			t.Errorf("%s: got %v with %v (%t), want %v with %v (%t)", test.name, d.Pixels, d.Labels, labelled, test.pixels, test.labels, test.labelled)
		}
		if got := d.All(); got.Len() != len(test.labels) || got.X[5] != float32(test.pixels[5])/255 {
			t.Errorf("%s: examples %v", test.name, got)
		}
	}
}

func TestImagesRefused(t *testing.T) {
	whole := pngOf(t, shades(3, 1, 2, 3, 4, 5, 6))
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "the file is empty"},
		{"another format", []byte("\xff\xd8\xff\xe0\x00\x10JFIF"), "neither an IDX file, nor a PNG, nor a CSV"},
		{"larger png", pngOf(t, shades(4, make([]uint8, 20)...)), "4 × 5 pixels (width × height), want 3 × 2 as in small"},
		{"png that is cut", whole[:len(whole)-20], "unexpected EOF"},
		{"png that is cut at once", whole[:10], "unexpected EOF"},
		{"idx of labels", idxFile([]byte{1, 2}, 2), "1 dimensions, want 3"},
		{"idx of another size", idxFile(make([]byte, 9), 1, 3, 3), "images of [3 3], want [2 3]"},
		{"short row", []byte("1,2,3\n"), "line 1: 3 values, want 6, or 7 with a label in front"},
		{"rows of two lengths", []byte("1,2,3,4,5,6\n1,1,2,3,4,5,6\n"), "line 2: 7 values, want 6 as in line 1"},
		{"value that is too large", []byte("1,2,3,4,5,6\n1,2,3,4,256,6\n"), `line 2: value 5 of the image is "256", want a whole number from 0 to 255`},
		{"value that is none", []byte("1,2,x,4,5,6\n"), `line 1: value 3 of the image is "x"`},
		{"value that is not whole", []byte("1,2,0.5,4,5,6\n"), `line 1: value 3 of the image is "0.5"`},
		{"label that is too large", []byte("3,1,2,3,4,5,6\n"), `line 1: label "3", want 0 to 2`},
		{"names alone", []byte("a,b,c,d,e,f\n"), "no image in it"},
		{"quote in the middle", []byte("1,2,\"3,4,5,6\n"), `extraneous or missing " in quoted-field`},
	} {
		path := filepath.Join(t.TempDir(), "some file")
		if err := os.WriteFile(path, test.file, 0o644); err != nil {
			t.Fatal(err)
		}
		d, _, err := small().Images(path)
		if err == nil || d != nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, %v, want an error with %q", test.name, d, err, test.want)
		}
	}
	if _, _, err := small().Images("nowhere.png"); err == nil || err.Error() != "nowhere.png: no such file or directory" {
		t.Errorf("no file: %v", err)
	}
}

func TestLabelled(t *testing.T) {
	six := []uint8{0, 1, 2, 253, 254, 255}
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if _, err := small().Labelled(dir); err == nil || !strings.HasPrefix(err.Error(), dir+": images.idx: ") {
		t.Errorf("an empty folder: %v", err)
	}
	write("images.idx", idxFile(append(six, six...), 2, 2, 3))
	if _, err := small().Labelled(dir); err == nil || !strings.HasPrefix(err.Error(), dir+": labels.idx: ") {
		t.Errorf("a folder without labels: %v", err)
	}
	write("labels.idx.gz", gzipped(t, idxFile([]byte{2, 1}, 2)))
	d, err := small().Labelled(dir)
	if err != nil || !slices.Equal(d.Labels, []uint8{2, 1}) || len(d.Pixels) != 12 {
		t.Errorf("a folder: %v, %v", d, err)
	}
	if d, err := small().Labelled(write("some.csv", []byte("2,0,1,2,253,254,255\n"))); err != nil || d.Labels[0] != 2 {
		t.Errorf("a CSV: %v, %v", d, err)
	}
	bare := write("bare.csv", []byte("0,1,2,253,254,255\n"))
	if _, err := small().Labelled(bare); err == nil || err.Error() != bare+": it has no labels: want a CSV with label and 6 values a row, or a folder with images.idx and labels.idx" {
		t.Errorf("a CSV without labels: %v", err)
	}
}

// readings are a data set of three numbers.
func readings() Entry {
	return Entry{Name: "readings", Classes: 2, Names: []string{"off", "on"}, Shape: []int{3}}
}

func TestImagesThatAreNone(t *testing.T) {
	for _, test := range []struct {
		text     string
		values   []float32
		labels   []uint8
		labelled bool
	}{
		{"0.5,-1,2e3\n", []float32{0.5, -1, 2000}, []uint8{0}, false},
		{"1,0.5,-1,2e3\noff,1,1,1\n", []float32{0.5, -1, 2000, 1, 1, 1}, []uint8{1, 0}, true},
		{"a,b,c\n0.5,-1,2e3\n", []float32{0.5, -1, 2000}, []uint8{0}, false},
		{"\ufeffa,client,b,label,c\n0.5,x,-1,on,2e3\n", []float32{0.5, -1, 2000}, []uint8{1}, true},
		{"client,a,b,c\nx,0.5,-1,2e3\n", []float32{0.5, -1, 2000}, []uint8{0}, false},
	} {
		d, labelled, err := readings().images(strings.NewReader(test.text))
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		if all := d.All(); !slices.Equal(all.X, test.values) || !slices.Equal(d.Labels, test.labels) || labelled != test.labelled || all.Len() != len(test.labels) {
			t.Errorf("%q: got %v with %v (%t), want %v with %v (%t)", test.text, all.X, d.Labels, labelled, test.values, test.labels, test.labelled)
		}
	}
	for text, want := range map[string]string{
		"1,2\n":                    "line 1: 2 values, want 3, or 4 with a label in front",
		"a,b,label\n1,2,0\n":       "line 1: 3 values, want 3, or 4 with a label in front",
		"1,2,3\n1,x,3\n":           `line 2: value 2 of the example is "x", want a finite number`,
		"1,2,NaN\n":                `line 1: value 3 of the example is "NaN", want a finite number`,
		"up,1,2,3\n":               `line 1: label "up", want 0 to 1`,
		"a,b,c\n":                  "no example in it",
		"\x89PNG\r\n\x1a\n":        "readings has no images: want a CSV with 3 values a row",
		string(idxFile(nil, 1, 3)): "readings has no images: want a CSV with 3 values a row",
	} {
		if d, _, err := readings().images(strings.NewReader(text)); err == nil || d != nil || err.Error() != want {
			t.Errorf("%q: got %v, %v, want %s", text, d, err, want)
		}
	}
	bare := filepath.Join(t.TempDir(), "bare.csv")
	writeFile(t, bare, []byte("1,2,3\n"))
	if _, err := readings().Labelled(bare); err == nil || err.Error() != bare+": it has no labels: want a CSV with label and 3 values a row" {
		t.Errorf("without labels: %v", err)
	}
}

func TestClassNames(t *testing.T) {
	for _, e := range All() {
		seen := map[string]bool{}
		for c := range e.Classes {
			name := e.ClassName(c)
			if seen[name] || name == "" {
				t.Errorf("%s: two classes are called %q", e.Name, name)
			}
			seen[name] = true
			for _, text := range []string{name, fmt.Sprint(c)} {
				if got, ok := e.class(text); !ok || got != c {
					t.Errorf("%s: %q is class %d (%t), want %d", e.Name, text, got, ok, c)
				}
			}
		}
	}
	if got := fashionMNISTSample().ClassName(9); got != "ankle boot" {
		t.Errorf("class 9 of fashion-mnist-sample is %q", got)
	}
	if got := mnist().ClassName(9); got != "9" {
		t.Errorf("class 9 of mnist is %q", got)
	}
}

func FuzzImages(f *testing.F) {
	f.Add([]byte("2,0,1,2,253,254,255\n"), 0)
	f.Add([]byte("label,0,1,2,3,4,5\n1,0,1,2,253,254,255\n"), 0)
	f.Add(pngOf(f, shades(3, 1, 2, 3, 4, 5, 6)), 1)
	f.Add(pngOf(f, painted(color.White, color.Black)), 1)
	f.Add(idxFile([]byte{1, 2, 3, 4, 5, 6}, 1, 2, 3), 0)
	f.Add([]byte("a,client,b,label,c\n0.5,x,-1,on,2e3\n"), 2)
	f.Fuzz(func(t *testing.T, file []byte, of int) {
		all := []Entry{small(), colourful(), readings()}
		e := all[uint(of)%uint(len(all))]
		d, _, err := e.images(bytes.NewReader(file))
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an error without a word")
			}
			return
		}
		if n := len(d.Pixels) + len(d.Values); d.Len() == 0 || n != d.Len()*size(e.Shape) || n > 1100*(1+len(file)) {
			t.Errorf("%d images of %d values from %d bytes", d.Len(), n, len(file))
		}
		for _, c := range d.Labels {
			if int(c) >= e.Classes {
				t.Errorf("label %d", c)
			}
		}
	})
}
