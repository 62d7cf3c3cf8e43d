package datasets

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// The first labels of the training and test files, as published.
var firstLabels = map[string][2][]uint8{
	"mnist": {
		{5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7, 2, 8, 6, 9},
		{7, 2, 1, 0, 4, 1, 4, 9, 5, 9, 0, 6, 9, 0, 1, 5, 9, 7, 3, 4},
	},
	"fashion-mnist": {
		{9, 0, 0, 3, 0, 2, 7, 2, 5, 5, 0, 9, 5, 5, 7, 9, 1, 0, 6, 4},
		{9, 2, 1, 1, 6, 1, 4, 6, 5, 7, 4, 5, 7, 3, 4, 1, 2, 4, 8, 0},
	},
}

func TestMarksOfLabels(t *testing.T) {
	for _, e := range []Entry{mnist(), fashionMNIST()} {
		for i, labels := range firstLabels[e.Name] {
			if got, want := markOf(append(slices.Clone(labels), 1, 2, 3), 1), e.marks[2*i+1]; got != want {
				t.Errorf("%s, %s: mark %#x, want %#x", e.Name, e.Files[2*i+1], got, want)
			}
		}
	}
}

// lookalikes returns two data sets with files of the same names, and a folder of each.
func lookalikes() (entries []Entry, folders []fstest.MapFS) {
	for i, name := range []string{"cats", "dogs"} {
		e := mnist()
		e.Name, e.marks = name, nil
		folder := tiny(slices.Repeat([]uint8{uint8(i), 1}, 12), slices.Repeat([]uint8{uint8(i), 2}, 11))
		for j, file := range e.Files {
			rank := 3 - 2*(j%2)
			header := 4 + 4*rank
			data := folder[file].Data
			if rank == 3 {
				data = append(slices.Clone(data[:header]), bytes.Repeat([]byte{uint8(10*i + j)}, len(data)-header)...)
			}
			folder[file] = &fstest.MapFile{Data: data}
			e.marks = append(e.marks, markOf(data[header:], rank))
		}
		entries, folders = append(entries, e), append(folders, folder)
	}
	return entries, folders
}

// TestMixedFolders: each folder with files of two data sets, in all mixtures, plain and gzipped, is known for what it is.
func TestMixedFolders(t *testing.T) {
	entries, folders := lookalikes()
	files := entries[0].Files
	for mixture := range 16 {
		folder := fstest.MapFS{}
		var others []string
		for i, name := range files {
			from := mixture >> i & 1
			file := folders[from][name]
			if i == 2 {
				name, file = name+".gz", &fstest.MapFile{Data: gzipped(t, file.Data)}
			}
			folder[name] = file
			if from == 1 {
				others = append(others, files[i]+" is "+files[i]+" of dogs")
			}
		}
		want := strings.Join(others, ", ")
		if mixture == 15 {
			want = "the files there are those of dogs"
		}
		if got := foreign(folder, entries[0], entries); got != want {
			t.Errorf("mixture %04b: %q, want %q", mixture, got, want)
		}
	}
	// Training images for those of the test would be trained on and tested with.
	swapped := fstest.MapFS{files[0]: folders[0][files[0]], files[1]: folders[0][files[1]], files[2]: folders[0][files[0]], files[3]: folders[0][files[1]]}
	want := files[2] + " is " + files[0] + " of cats, " + files[3] + " is " + files[1] + " of cats"
	if got := foreign(swapped, entries[0], entries); got != want {
		t.Errorf("training files for test files: %q, want %q", got, want)
	}
}

// TestUnknownFiles: a file that is nobody's is used, and noted by name.
func TestUnknownFiles(t *testing.T) {
	entries, folders := lookalikes()
	e := entries[0]
	for i, name := range e.Files {
		folder := fstest.MapFS{}
		for _, f := range e.Files {
			folder[f] = folders[0][f]
		}
		d, err := loadMNIST(folder, e)
		if err != nil || len(d.Notes) > 0 {
			t.Fatalf("as published: %v, notes %v", err, d.Notes)
		}
		data := slices.Clone(folder[name].Data)
		data[16+i] ^= 1 // behind the header of either kind
		folder[name] = &fstest.MapFile{Data: data}
		d, err = loadMNIST(folder, e)
		want := name + ": not the published files of cats: its results are not comparable"
		if err != nil || !slices.Equal(d.Notes, []string{want}) {
			t.Errorf("%s: %v, notes %v, want %s", name, err, d.Notes, want)
		}
		if got := foreign(folder, e, entries); got != "" {
			t.Errorf("%s: taken for another's: %s", name, got)
		}
	}
}

// TestFindTellsApart: a folder of one data set is not where another is found, and neither is a mixture.
func TestFindTellsApart(t *testing.T) {
	names := []string{"mnist", "fashion-mnist"}
	for i, name := range names {
		dir, other := t.TempDir(), names[1-i]
		labels := firstLabels[name]
		for file, content := range tiny(labels[0], labels[1]) {
			if err := os.WriteFile(filepath.Join(dir, file), content.Data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := Find(name, dir); err != nil || got != dir {
			t.Errorf("%s as itself: %s, %v", name, got, err)
		}
		want := "(train-labels-idx1-ubyte is train-labels-idx1-ubyte of " + name + ", t10k-labels-idx1-ubyte is t10k-labels-idx1-ubyte of " + name + ")"
		_, err := Find(other, dir)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s as %s: %v, want %s", name, other, err, want)
		}
		if _, err := Load(other, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s loaded as %s: %v, want %s", name, other, err, want)
		}
	}
}

// TestFullDataMixed puts each published file into the folder of the other data set.
func TestFullDataMixed(t *testing.T) {
	for _, name := range []string{"mnist", "fashion-mnist"} {
		root, _ := Find(name, fullData(t, name))
		other := map[string]string{"mnist": "fashion-mnist", "fashion-mnist": "mnist"}[name]
		foreigners, _ := Find(other, fullData(t, other))
		for _, odd := range mnistFiles() {
			dir := t.TempDir()
			for _, file := range mnistFiles() {
				from := root
				if file == odd {
					from = foreigners
				}
				spelling, err := locate(os.DirFS(from), file)
				if err != nil {
					t.Fatal(err)
				}
				content, err := fs.ReadFile(os.DirFS(from), spelling)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, spelling), content, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want := odd + " is " + odd + " of " + other
			if _, err := Load(name, dir); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s with %s of %s: %v, want %s", name, odd, other, err, want)
			}
		}
	}
}
