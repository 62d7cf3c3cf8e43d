package packed

import (
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// pictures returns n images of noisy bright spots on black.
func pictures(n, height, width int) []uint8 {
	r := rand.New(rand.NewPCG(1, 2))
	var images []uint8
	for range n {
		y, x, bright := r.IntN(height), r.IntN(width), 100+r.IntN(100)
		for row := range height {
			for column := range width {
				pixel := bright - (row-y)*(row-y) - (column-x)*(column-x)
				if pixel > 0 {
					pixel += r.IntN(1 + pixel/8)
				}
				images = append(images, uint8(max(0, pixel)))
			}
		}
	}
	return images
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		height, width := rapid.IntRange(1, 9).Draw(t, "height"), rapid.IntRange(1, 9).Draw(t, "width")
		n := rapid.IntRange(0, 5).Draw(t, "images") * height * width
		images := rapid.SliceOfN(rapid.SampledFrom([]uint8{0, 0, 1, 7, 100, 128, 254, 255}), n, n).Draw(t, "pixels")
		file, err := Pack(images, height, width)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Unpack(bytes.NewReader(file), height, width)
		if err != nil || !bytes.Equal(got, images) {
			t.Fatalf("got %v, %v, want %v", got, err, images)
		}
	})
}

func TestSmallerThanGzip(t *testing.T) {
	images := pictures(500, 28, 28)
	file, err := Pack(images, 28, 28)
	if err != nil {
		t.Fatal(err)
	}
	if zip := zipped(t, images); len(file) > len(zip)*9/10 {
		t.Errorf("%d bytes, want less than 90 %% of gzip's %d", len(file), len(zip))
	}
}

func TestPaeth(t *testing.T) {
	for _, test := range []struct{ left, up, corner, want uint8 }{
		{0, 0, 0, 0}, {10, 10, 10, 10},
		{10, 20, 10, 20}, // a row like the last: as above
		{20, 10, 10, 20}, // a column like the last: as to the left
		{10, 30, 20, 20}, // a slope: 20 exactly
		{5, 5, 9, 5},
		{255, 255, 0, 255},
		{1, 2, 0, 2},
	} {
		if got := paeth(test.left, test.up, test.corner); got != test.want {
			t.Errorf("left %d, up %d, corner %d: got %d, want %d", test.left, test.up, test.corner, got, test.want)
		}
	}
}

func zipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// counted returns what Pack would gzip: counts, 0 but for those given, and differences.
func counted(counts map[int]uint8, differences ...uint8) []byte {
	data := make([]byte, contexts)
	for c, n := range counts {
		data[c] = n
	}
	return append(data, differences...)
}

func TestErrors(t *testing.T) {
	good, err := Pack(pictures(3, 4, 4), 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	badSum := slices.Clone(good)
	badSum[len(badSum)-8] ^= 1
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "gzip header: EOF"},
		{"text", []byte("<html>404</html>"), "gzip header: gzip: invalid header"},
		{"cut", good[:len(good)/2], "unexpected EOF"},
		{"wrong checksum", badSum, "invalid checksum"},
		{"no counts", zipped(t, nil), "no count of context 0 among 0 bytes"},
		{"huge count", zipped(t, bytes.Repeat([]byte{0xff, 0xff, 0xff, 0x7f}, contexts)), "no count of context 0 among"},
		{"few differences", zipped(t, counted(map[int]uint8{0: 2, 3: 2}, 0, 0, 0)), "1 differences of context 3, want 2"},
		{"many differences", zipped(t, counted(map[int]uint8{0: 2}, 0, 0, 0)), "1 bytes after the last difference"},
		{"no whole image", zipped(t, counted(map[int]uint8{0: 3}, 0, 0, 0)), "3 pixels are not images of 4 × 4"},
		{"wrong context", zipped(t, counted(map[int]uint8{1: 16}, make([]byte, 16)...)), "pixel 0 is in context 0, which has no more"},
	} {
		_, err := Unpack(bytes.NewReader(test.file), 4, 4)
		if err == nil || !strings.HasPrefix(err.Error(), "packed: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := Pack(make([]uint8, 17), 4, 4); err == nil || !strings.Contains(err.Error(), "17 pixels are not images of 4 × 4") {
		t.Errorf("a pixel too many: got %v", err)
	}
}

func FuzzUnpack(f *testing.F) {
	good, err := Pack(pictures(3, 4, 4), 4, 4)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{nil, good, good[:20], zipped(f, nil), zipped(f, counted(map[int]uint8{1: 16}, make([]byte, 16)...))} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		images, err := Unpack(bytes.NewReader(file), 4, 4)
		if err != nil {
			return
		}
		again, err := Pack(images, 4, 4)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := Unpack(bytes.NewReader(again), 4, 4); err != nil || !bytes.Equal(back, images) {
			t.Fatalf("%d pixels do not survive a second packing: %v", len(images), err)
		}
	})
}
