package datasets

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// smallCIFAR10 is cifar10 with images of 2 × 2 pixels.
func smallCIFAR10() Entry {
	e := cifar10()
	e.Shape = []int{2, 2, 3}
	return e
}

// records returns a batch of e's images with these labels. Image i has the planes 10i …, 10i+100 … and 10i+200 ….
func records(e Entry, labels ...uint8) []byte {
	var file []byte
	plane := e.Shape[0] * e.Shape[1]
	for i, label := range labels {
		file = append(file, label)
		for c := range 3 {
			for p := range plane {
				file = append(file, uint8(10*i+100*c+p))
			}
		}
	}
	return file
}

// cifarFiles returns a folder of six batches of two images. The labels of batch b are b and 9-b.
func cifarFiles(e Entry) fstest.MapFS {
	fsys := fstest.MapFS{}
	for b, name := range e.Files {
		fsys[name] = &fstest.MapFile{Data: records(e, uint8(b), uint8(9-b))}
	}
	return fsys
}

// cifarLabels are the labels of cifarFiles in the order of the published names.
func cifarLabels() []uint8 { return []uint8{0, 9, 1, 8, 2, 7, 3, 6, 4, 5, 5, 4} }

// member is a file of a tar archive; a folder if its name ends with a slash.
type member struct {
	name string
	data []byte
}

func tarred(t testing.TB, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		h := &tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data)), Typeflag: tar.TypeReg}
		if strings.HasSuffix(m.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// cifarMembers are cifarFiles as the published archive has them: in no order, with company.
func cifarMembers(e Entry) []member {
	fsys := cifarFiles(e)
	members := []member{{e.Folder + "/", nil}, {e.Folder + "/batches.meta.txt", []byte("airplane\n")}}
	for _, b := range []int{2, 0, 5, 4, 1, 3} {
		members = append(members, member{e.Folder + "/" + e.Files[b], fsys[e.Files[b]].Data})
	}
	return append(members, member{e.Folder + "/readme.html", []byte("<html>")})
}

// wantCIFAR fails unless d is what cifarFiles and cifarMembers hold.
func wantCIFAR(t *testing.T, name string, d *Dataset, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if !slices.Equal(d.Labels, cifarLabels()) {
		t.Errorf("%s: labels %v, want %v", name, d.Labels, cifarLabels())
	}
	// Red, green and blue of each pixel side by side: first and second image of each file.
	image := []uint8{0, 100, 200, 1, 101, 201, 2, 102, 202, 3, 103, 203}
	for i := range d.Labels {
		for j, p := range d.Pixels[12*i : 12*i+12] {
			if want := image[j] + uint8(10*(i%2)); p != want {
				t.Errorf("%s: image %d, value %d: %d, want %d", name, i, j, p, want)
			}
		}
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "not the published files of cifar10") {
		t.Errorf("%s: notes %q, want one that these are not the published files", name, d.Notes)
	}
}

func TestLoadCIFAR10(t *testing.T) {
	e := smallCIFAR10()
	d, err := loadCIFAR10(cifarFiles(e), e)
	wantCIFAR(t, "files", d, err)

	zipped := fstest.MapFS{}
	for name, f := range cifarFiles(e) {
		zipped[name+".gz"] = &fstest.MapFile{Data: gzipped(t, f.Data)}
	}
	d, err = loadCIFAR10(zipped, e)
	wantCIFAR(t, "gzipped files", d, err)

	archive := tarred(t, cifarMembers(e)...)
	d, err = loadCIFAR10Tar(bytes.NewReader(archive), e)
	wantCIFAR(t, "tar", d, err)
	d, err = loadCIFAR10Tar(bytes.NewReader(gzipped(t, archive)), e)
	wantCIFAR(t, "tar.gz", d, err)
}

func TestLoadCIFAR10Published(t *testing.T) {
	e := smallCIFAR10()
	fsys := cifarFiles(e)
	for _, name := range e.Files {
		fsys[name] = &fstest.MapFile{Data: records(e, e.begins...)}
	}
	if d, err := loadCIFAR10(fsys, e); err != nil || len(d.Notes) > 0 {
		t.Errorf("labels as published: error %v, notes %v", err, d.Notes)
	}
}

func TestLoadCIFAR10Errors(t *testing.T) {
	e := smallCIFAR10()
	for _, test := range []struct {
		name   string
		change func(fstest.MapFS)
		want   string
	}{
		{"a batch missing", func(f fstest.MapFS) { delete(f, "data_batch_3.bin") }, "data_batch_3.bin: file does not exist"},
		{"the test batch missing", func(f fstest.MapFS) { delete(f, "test_batch.bin") }, "test_batch.bin: file does not exist"},
		{"empty", func(f fstest.MapFS) { f["data_batch_2.bin"].Data = nil }, "data_batch_2.bin: empty, want records of 13 bytes"},
		{"cut in a record", func(f fstest.MapFS) { f["data_batch_2.bin"].Data = records(e, 1, 2)[:20] },
			"data_batch_2.bin: record 1 ends after 7 of 13 bytes: unexpected EOF (truncated download?)"},
		{"cut behind a record", func(f fstest.MapFS) { f["data_batch_2.bin"].Data = records(e, 1) },
			"data_batch_2.bin: 1 records, but 2 in data_batch_1.bin: want 10000 in each (truncated download?)"},
		{"text", func(f fstest.MapFS) { f["data_batch_1.bin"].Data = []byte("<html>404 not found</html>") },
			"data_batch_1.bin: record 0 has label 60, want 0 to 9 (not a batch of cifar10?)"},
		{"wrong label", func(f fstest.MapFS) { f["test_batch.bin"].Data = records(e, 9, 10) },
			"test_batch.bin: record 1 has label 10, want 0 to 9"},
		{"too long", func(f fstest.MapFS) { f["data_batch_1.bin"].Data = records(e, make([]uint8, maxRecords+1)...) },
			"data_batch_1.bin: more than 10000 records of 13 bytes"},
		{"gzip cut", func(f fstest.MapFS) {
			f["data_batch_1.bin"].Data = gzipped(t, records(e, 1, 2))[:20]
		}, "data_batch_1.bin: record 0 ends after "},
	} {
		fsys := cifarFiles(e)
		test.change(fsys)
		d, err := loadCIFAR10(fsys, e)
		if err == nil || d != nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestLoadCIFAR10TarErrors(t *testing.T) {
	e := smallCIFAR10()
	members := cifarMembers(e)
	good := tarred(t, members...)
	zip := gzipped(t, good)
	badSum := slices.Clone(zip)
	badSum[len(badSum)-8] ^= 1
	wrong := cifarMembers(e)
	wrong[4].data = records(e, 1, 77)
	for _, test := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "no data_batch_1.bin, data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, data_batch_5.bin, test_batch.bin in it"},
		{"text", []byte("<html>404</html>"), "not a whole tar archive: "},
		{"gzip of text", gzipped(t, bytes.Repeat([]byte("<html>404</html>"), 100)), "not a whole tar archive: "},
		{"gzip cut in its header", zip[:5], "gzip header: unexpected EOF (truncated download?)"},
		{"gzip cut", zip[:len(zip)/2], "unexpected EOF (truncated download?)"},
		{"gzip cut in its checksum", zip[:len(zip)-2], "unexpected EOF (truncated download?)"},
		{"gzip with a wrong checksum", badSum, "invalid checksum"},
		{"tar cut in a member", good[:6*512+20], "cifar-10-batches-bin/data_batch_1.bin: record 1 ends after"},
		{"tar cut in a header", good[:7*512+20], "not a whole tar archive: unexpected EOF (truncated download?)"},
		{"members missing", tarred(t, append(slices.Clone(members[:3]), members[4:6]...)...), "no data_batch_1.bin, data_batch_2.bin, data_batch_4.bin in it"},
		{"other members", tarred(t, member{"cifar-10-batches-py/data_batch_1", []byte("(dp1")}), "no data_batch_1.bin, "},
		{"a folder for a member", tarred(t, append(members[3:4:4], member{"data_batch_2.bin/", nil})...), "no data_batch_2.bin, data_batch_3.bin"},
		{"a member twice", tarred(t, append(slices.Clone(members), members[4])...), "test_batch.bin: there twice"},
		{"a wrong label", tarred(t, wrong...), "cifar-10-batches-bin/test_batch.bin: record 1 has label 77, want 0 to 9"},
	} {
		d, err := loadCIFAR10Tar(bytes.NewReader(test.file), e)
		if err == nil || d != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

// A short archive that unpacks without end must fail.
func TestLoadCIFAR10TarIsBounded(t *testing.T) {
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "long", Size: 1 << 40, Typeflag: tar.TypeReg, Format: tar.FormatGNU}); err != nil {
		t.Fatal(err)
	}
	tail := &endless{}
	_, err := loadCIFAR10Tar(io.MultiReader(&head, tail), cifar10())
	if err == nil || err.Error() != "unpacks to more than 1073741824 bytes" {
		t.Errorf("got %v", err)
	}
	if tail.given > maxTar+1<<16 {
		t.Errorf("read %d bytes, want at most %d", tail.given, maxTar)
	}
}

func TestReadBatchAllocatesByInput(t *testing.T) {
	e := cifar10()
	file := records(e, 1, 2, 3)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := readBatch(bytes.NewReader(file), e); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<16 {
		t.Errorf("allocated %d bytes for a file of %d", got, len(file))
	}
}

func TestFindCIFAR10(t *testing.T) {
	e := cifar10()
	write := func(dir, name string) {
		t.Helper()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	own := filepath.Join(root, "cifar10")
	missing := func(want string) {
		t.Helper()
		_, err := Find("cifar10", root)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "cifar-10-binary.tar.gz (170,052,171 bytes, sha256 c4a38c50") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v, want %q and where to get it", err, want)
		}
	}
	missing(root + " (not there): get https://")
	unpacked := filepath.Join(root, e.Folder)
	write(unpacked, e.Files[0])
	missing(root + " (cifar-10-batches-bin without data_batch_2.bin, data_batch_3.bin,")

	// Each step adds a place that comes before those that are there already.
	write(root, e.Archive)
	wantFound(t, root, filepath.Join(root, e.Archive))
	for _, dir := range []string{unpacked, root, filepath.Join(own, e.Folder), own} {
		for _, name := range e.Files {
			write(dir, name)
		}
		wantFound(t, root, dir)
	}
}

func wantFound(t *testing.T, root, want string) {
	t.Helper()
	if got, err := Find("cifar10", root); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestLoadCIFAR10FromPlaces(t *testing.T) {
	e := cifar10()
	for name, put := range map[string]func(dir string) error{
		"files": func(dir string) error {
			var errs []error
			for _, f := range e.Files {
				errs = append(errs, os.WriteFile(filepath.Join(dir, f), records(e, 3, 4), 0o644))
			}
			return errors.Join(errs...)
		},
		"archive": func(dir string) error {
			var members []member
			for _, f := range e.Files {
				members = append(members, member{e.Folder + "/" + f, records(e, 3, 4)})
			}
			return os.WriteFile(filepath.Join(dir, e.Archive), gzipped(t, tarred(t, members...)), 0o644)
		},
	} {
		dir := t.TempDir()
		if err := put(dir); err != nil {
			t.Fatal(err)
		}
		d, err := Load("cifar10", dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Len() != 12 || d.Dim() != 3072 || d.Channels() != 3 || !strings.HasPrefix(d.Source, dir) {
			t.Errorf("%s: %d images of %d values from %s", name, d.Len(), d.Dim(), d.Source)
		}
	}

	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, e.Archive), []byte("<html>404</html>"), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "datasets: cifar10: " + filepath.Join(dir, e.Archive) + ": not a whole tar archive: "
	if _, err := Load("cifar10", dir); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("archive that is none: got %v, want %q", err, want)
	}
}

// The constants of normalisation are means and deviations of the training images. The tolerance is for copies of the
// images that were compressed again.
func TestFullCIFAR10(t *testing.T) {
	d, err := Load("cifar10", fullData(t, "cifar10"))
	if err != nil {
		t.Fatal(err)
	}
	if want := slices.Repeat([]int{6000}, 10); !slices.Equal(d.Counts(), want) {
		t.Errorf("counts %v, want %v", d.Counts(), want)
	}
	for c := range 3 {
		var sum, square float64
		const n = 50_000 * 1024
		for i := c; i < n*3; i += 3 {
			x := float64(d.Pixels[i]) / 255
			sum += x
			square += x * x
		}
		mean, std := sum/n, math.Sqrt(square/n-sum*sum/n/n)
		if math.Abs(mean-float64(d.Mean[c])) > 0.002 || math.Abs(std-float64(d.Std[c])) > 0.002 {
			t.Errorf("channel %d: mean %.4f, deviation %.4f, want %v, %v", c, mean, std, d.Mean[c], d.Std[c])
		}
	}
	// Neighbours in a picture are alike, so planes that were taken for pixels would show.
	var rough int
	for i := range 3072 - 3 {
		rough += max(int(d.Pixels[i])-int(d.Pixels[i+3]), int(d.Pixels[i+3])-int(d.Pixels[i]))
	}
	if rough > 3072*30 {
		t.Errorf("neighbours differ by %d on average: not a picture", rough/3072)
	}
	splits, notes, err := Partition(d, PartitionConfig{Kind: "labels", Assign: "pairs", Clients: 20, LabelsPerClient: 5,
		TrainPerClass: 450, TestPerClass: 150, Seed: 3})
	if err != nil || len(notes) > 0 {
		t.Fatalf("large regime: error %v, notes %v", err, notes)
	}
	used := 0
	for _, s := range splits {
		used += len(s.Train) + len(s.Test)
	}
	if used != 60_000 {
		t.Errorf("large regime uses %d images, want all 60,000", used)
	}
}

func FuzzReadBatch(f *testing.F) {
	e := smallCIFAR10()
	good := records(e, 1, 2, 3)
	for _, seed := range [][]byte{nil, good, good[:20], gzipped(f, good), gzipped(f, good)[:20], records(e, 10), {0x1f, 0x8b}} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		b, err := readBatch(bytes.NewReader(file), e)
		if err != nil {
			return
		}
		if len(b.labels) == 0 || len(b.pixels) != 12*len(b.labels) || slices.Max(b.labels) > 9 {
			t.Fatalf("%d labels, %d pixels", len(b.labels), len(b.pixels))
		}
		// What was read is what a writer would have written.
		var again []byte
		for i, label := range b.labels {
			again = append(again, label)
			for c := range 3 {
				for p := range 4 {
					again = append(again, b.pixels[12*i+3*p+c])
				}
			}
		}
		if !bytes.HasPrefix(file, []byte{0x1f, 0x8b}) && !bytes.Equal(file, again) {
			t.Fatalf("%d records are not what the file says", len(b.labels))
		}
	})
}

func FuzzLoadCIFAR10Tar(f *testing.F) {
	e := smallCIFAR10()
	good := tarred(f, cifarMembers(e)...)
	for _, seed := range [][]byte{nil, good, good[:1000], gzipped(f, good), gzipped(f, good)[:100]} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		d, err := loadCIFAR10Tar(bytes.NewReader(file), e)
		if err != nil {
			return
		}
		if d.Len() == 0 || d.Len()%6 != 0 || len(d.Pixels) != 12*d.Len() {
			t.Fatalf("%d images, %d pixels", d.Len(), len(d.Pixels))
		}
	})
}
