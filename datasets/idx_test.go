package datasets

import (
	"bytes"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestReadIDX(t *testing.T) {
	data := []byte{1, 2, 3, 4, 5, 6}
	plain := idxFile(data, 3, 2)
	for name, fsys := range map[string]fstest.MapFS{
		"plain":            {"a-idx2-ubyte": {Data: plain}},
		"dotted":           {"a.idx2-ubyte": {Data: plain}},
		"gzip":             {"a-idx2-ubyte.gz": {Data: gzipped(t, plain)}},
		"dotted gzip":      {"a.idx2-ubyte.gz": {Data: gzipped(t, plain)}},
		"gzip in parts":    {"a-idx2-ubyte.gz": {Data: append(gzipped(t, plain[:14]), gzipped(t, plain[14:])...)}},
		"gzip by content":  {"a-idx2-ubyte": {Data: gzipped(t, plain)}},
		"plain by content": {"a-idx2-ubyte.gz": {Data: plain}},
		"plain first":      {"a-idx2-ubyte": {Data: plain}, "a-idx2-ubyte.gz": {Data: []byte("not this one")}},
	} {
		a, err := readIDX(fsys, "a-idx2-ubyte", 2)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(a.extents, []int{3, 2}) || !bytes.Equal(a.data, data) {
			t.Errorf("%s: got %v %v, want [3 2] %v", name, a.extents, a.data, data)
		}
	}
}

func TestReadIDXErrors(t *testing.T) {
	good := idxFile([]byte{1, 2, 3, 4, 5, 6}, 3, 2)
	zip := gzipped(t, good)
	badSum := slices.Clone(zip)
	badSum[len(badSum)-8] ^= 1
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty file", nil, "header ends after 0 of 4 bytes"},
		{"cut in the magic number", good[:3], "header ends after 3 of 4 bytes"},
		{"cut in the extents", good[:9], "header ends before extent 2 of 2"},
		{"text", []byte("<html>404</html>"), "not an IDX file: begins with bytes 60 104, want 0 0"},
		{"other element type", append([]byte{0, 0, 0x0d, 2}, good[4:]...), "element type 0x0d, want 0x08"},
		{"other rank", idxFile([]byte{1, 2, 3}, 3), "1 dimensions, want 2"},
		{"nothing in it", idxFile(nil, 0, 2), "extent 1 of 2 is 0"},
		{"huge", idxFile(nil, 1<<31, 2), "claims more than 1073741824 bytes"},
		{"huge product", idxFile(nil, 1<<20, 1<<20), "claims more than 1073741824 bytes"},
		{"product over 64 bits", idxFile(nil, 1<<32-1, 1<<32-1), "claims more than 1073741824 bytes"},
		{"no data", good[:12], "0 bytes of data, want 6 for [3 2] (truncated download?)"},
		{"short data", good[:17], "5 bytes of data, want 6 for [3 2] (truncated download?)"},
		{"long data", append(slices.Clone(good), 7), "more than the 6 bytes of data that its header gives for [3 2]"},
		{"gzip cut in its header", zip[:5], "gzip header: unexpected EOF (truncated download?)"},
		{"gzip cut in its data", zip[:len(zip)-10], "unexpected EOF (truncated download?)"},
		{"gzip cut in its checksum", zip[:len(zip)-2], "unexpected EOF (truncated download?)"},
		{"gzip with a wrong checksum", badSum, "invalid checksum"},
		{"gzip with a tail", append(slices.Clone(zip), "tail"...), "after 6 of 6 bytes of data: bytes that are not gzip follow the gzipped data"},
		{"gzip with a long tail", append(slices.Clone(zip), "a longer tail than a header"...), "after 6 of 6 bytes of data: bytes that are not gzip follow the gzipped data"},
		{"gzip with another's beginning", append(slices.Clone(zip), zip[:5]...), "after 6 of 6 bytes of data: gzip header: unexpected EOF (truncated download?)"},
		{"gzip of long data", gzipped(t, append(slices.Clone(good), 7)), "more than the 6 bytes of data"},
		{"gzip of text", gzipped(t, []byte("<html>")), "not an IDX file"},
	} {
		fsys := fstest.MapFS{"some-idx2-ubyte.gz": {Data: test.file}}
		_, err := readIDX(fsys, "some-idx2-ubyte", 2)
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, "some-idx2-ubyte.gz: ") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want the file's name and %q", test.name, got, test.want)
		}
	}
	if _, err := readIDX(fstest.MapFS{}, "some-idx2-ubyte", 2); err == nil || !strings.Contains(err.Error(), "some-idx2-ubyte") {
		t.Errorf("missing file: got %v", err)
	}
	if _, err := readIDX(fstest.MapFS{"some-idx2-ubyte/x": {}}, "some-idx2-ubyte", 2); err == nil {
		t.Error("folder in place of a file: no error")
	}
}

// endless gives zeros and counts them.
type endless struct{ given int }

func (e *endless) Read(p []byte) (int, error) {
	clear(p)
	e.given += len(p)
	return len(p), nil
}

func TestParseIDXStopsAtSize(t *testing.T) {
	tail := &endless{}
	_, err := parseIDX(io.MultiReader(bytes.NewReader(idxFile(nil, 100, 10)), tail), idxBytes, 2)
	if err == nil || !strings.Contains(err.Error(), "more than the 1000 bytes") {
		t.Errorf("got %v", err)
	}
	if tail.given > 1<<16 {
		t.Errorf("read %d bytes to find that there are more than 1000", tail.given)
	}
}

func TestParseIDXAllocatesByInput(t *testing.T) {
	file := idxFile([]byte{1, 2, 3}, 1<<29)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := parseIDX(bytes.NewReader(file), idxBytes, 1); err == nil {
		t.Fatal("no error")
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("allocated %d bytes for a file of %d", got, len(file))
	}
}

func TestElements(t *testing.T) {
	for _, test := range []struct {
		of   element
		data []byte
		want []int
	}{
		{idxBytes, []byte{0, 128, 255}, []int{0, 128, 255}},
		{idxInt16, []byte{0, 1, 0x7f, 0xff, 0x80, 0, 0xff, 0xfe}, []int{1, 32767, -32768, -2}},
		{idxInt32, []byte{0, 0, 1, 2, 0xff, 0xff, 0xff, 0xff}, []int{258, -1}},
	} {
		a, err := parseIDX(bytes.NewReader(idxOf(test.of, test.data, uint32(len(test.want)))), test.of, 1)
		if err != nil {
			t.Errorf("%v: %v", test.of, err)
			continue
		}
		for i, want := range test.want {
			if got := a.at(i); got != want {
				t.Errorf("%v: element %d is %d, want %d", test.of, i, got, want)
			}
		}
	}
	_, err := parseIDX(bytes.NewReader(idxOf(idxInt16, []byte{1, 2, 3}, 2)), idxInt16, 1)
	if err == nil || err.Error() != "3 bytes of data, want 4 for [2] (truncated download?)" {
		t.Errorf("half an element: %v", err)
	}
	_, err = parseIDX(bytes.NewReader(idxFile([]byte{1}, 1)), idxInt16, 1)
	if err == nil || err.Error() != "element type 0x08, want 0x0b (int16)" {
		t.Errorf("bytes for int16: %v", err)
	}
}

func FuzzParseIDX(f *testing.F) {
	good := idxFile([]byte{1, 2, 3, 4, 5, 6}, 3, 2)
	for _, seed := range [][]byte{nil, good, good[:9], good[:17], append(slices.Clone(good), 0), gzipped(f, good),
		gzipped(f, good)[:20], idxFile(nil, 1<<29, 1), idxFile(nil, 1<<32-1, 1<<32-1), {0x1f, 0x8b}} {
		f.Add(seed, byte(idxBytes), 2)
	}
	f.Add(idxFile([]byte{7}, 1), byte(idxBytes), 1)
	f.Add(idxOf(idxInt16, []byte{7, 8}, 1), byte(idxInt16), 1)
	f.Add(idxOf(idxInt32, []byte{7, 8, 9, 10}, 1, 1), byte(idxInt32), 2)
	f.Fuzz(func(t *testing.T, file []byte, code byte, rank int) {
		of := element(code)
		a, err := parseIDX(bytes.NewReader(file), of, rank)
		if err != nil {
			return
		}
		if len(a.extents) != rank || size(a.extents)*of.width() != len(a.data) {
			t.Fatalf("extents %v for rank %d and %d bytes", a.extents, rank, len(a.data))
		}
		if len(a.data) > 0 {
			a.at(size(a.extents) - 1)
		}
		extents := make([]uint32, rank)
		for i, n := range a.extents {
			extents[i] = uint32(n)
		}
		// What was read is what a writer would have written.
		if !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) && !bytes.Equal(file, idxOf(of, a.data, extents...)) {
			t.Fatalf("%v of %d bytes is not what the file says", a.extents, len(a.data))
		}
	})
}
