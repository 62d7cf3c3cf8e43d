package datasets

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func readTableOf(text string) (*Dataset, error) { return readTable(strings.NewReader(text), table()) }

func TestReadTable(t *testing.T) {
	for name, test := range map[string]struct {
		text       string
		values     []float32
		labels     []uint8
		classNames []string
		owner      []int
		owners     []string
	}{
		"numbers": {
			"label,client,a,b\n1,20,0.5,-1e3\n0,3,2,3\n2,20,4,5\n",
			[]float32{0.5, -1000, 2, 3, 4, 5}, []uint8{1, 0, 2}, nil, []int{1, 0, 1}, []string{"3", "20"},
		},
		"texts, in another order of columns": {
			"a,client,label\n1,x,walk\n2,b,run\n3,x,run\n",
			[]float32{1, 2, 3}, []uint8{1, 0, 0}, []string{"run", "walk"}, []int{1, 0, 1}, []string{"b", "x"},
		},
		"numbers that are no classes": {
			"a,client,label\n1,-1,-1\n2,2,1\n", []float32{1, 2}, []uint8{0, 1}, []string{"-1", "1"}, []int{0, 1}, []string{"-1", "2"},
		},
		"numbers that are not written as such": {
			"a,client,label\n1,2,01\n2,10,1\n", []float32{1, 2}, []uint8{0, 1}, []string{"01", "1"}, []int{0, 1}, []string{"2", "10"},
		},
		"quotes, blanks and a mark": {
			"\ufefflabel, client, \"a, b\"\r\n1, \"x, y\", 7\r\n0, z, 8", []float32{7, 8}, []uint8{1, 0}, nil, []int{0, 1}, []string{"x, y", "z"},
		},
	} {
		d, err := readTableOf(test.text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !slices.Equal(d.Values, test.values) || !slices.Equal(d.Labels, test.labels) || !slices.Equal(d.ClassNames, test.classNames) ||
			!slices.Equal(d.Owner, test.owner) || !slices.Equal(d.Owners, test.owners) || d.Len() != len(test.labels) || d.Dim() != len(test.values)/len(test.labels) {
			t.Errorf("%s: got %+v", name, d)
		}
		e := table().As(d)
		if e.Open() || e.Classes != d.Classes || e.Defaults.Clients != len(test.owners) || (test.classNames != nil) != (e.ClassName(0) != "0") {
			t.Errorf("%s: entry %+v", name, e)
		}
	}
	d, err := readTableOf("label,client,a\n1,1,1\n3,1,1\n")
	if want := "labels are 0 to 3, and no example has label 0"; err != nil || d.Classes != 4 || len(d.Notes) != 1 || d.Notes[0] != want {
		t.Errorf("labels that count from 1: %+v, %v, want the note %q", d, err, want)
	}
	other, err := readTableOf("label,client,a\n1,1,1\n3,1,2\n")
	if err != nil || other.Sum == d.Sum || len(d.Sum) != 64 {
		t.Errorf("other data have the sum %s too (%v)", other.Sum, err)
	}
}

func TestReadTableErrors(t *testing.T) {
	var many strings.Builder
	many.WriteString("client,label,a\n")
	for i := range 257 {
		fmt.Fprintf(&many, "1,x%d,0\n", i)
	}
	const head = "label,client,a,b\n0,1,2,3\n"
	for text, want := range map[string]string{
		"":                               "the file is empty",
		"a,client\n1,2\n":                "line 1: no column is called label",
		"a,label\n1,2\n":                 "line 1: no column is called client",
		"client,label\n1,2\n":            "line 1: label and client alone, want a feature too",
		"label,client,a,a\n":             `line 1, column 4 "a": there is such a column already`,
		"label,client,a,label\n":         `line 1, column 4 "label": there is such a column already`,
		"label,client,,a\n":              "line 1, column 3: it has no name",
		"label,client,a\n":               "no example in it",
		head + "1,1,2\n":                 "line 3: 3 cells, want 4 as in line 1",
		head + "1,1,2,3,4\n":             "line 3: 5 cells, want 4 as in line 1",
		head + "1,1,2,x\n":               `line 3, column 4 "b": "x", want a finite number`,
		head + "1,1,NaN,3\n":             `line 3, column 3 "a": "NaN", want a finite number`,
		head + "1,1,-Inf,3\n":            `line 3, column 3 "a": "-Inf", want a finite number`,
		head + "1,1,1e39,3\n":            `line 3, column 3 "a": "1e39", want a finite number`,
		head + "1,1,,3\n":                `line 3, column 3 "a": it is empty`,
		head + "1,,2,3\n":                `line 3, column 2 "client": it is empty`,
		head + ",1,2,3\n":                `line 3, column 1 "label": it is empty`,
		head + "256,1,2,3\n1,1,2,3\n":    `line 3, column 1 "label": 256, want 0 to 255`,
		head:                             `line 2, column 1 "label": all labels are "0", want two at least`,
		many.String():                    `line 258, column 2 "label": "x256" is the label after 256 others, want no more`,
		head + "1,1,\"2,3\n":             `extraneous or missing "`,
		head + "1,1,2\"2,3\n":            `line 3, column 6: bare "`,
		string([]byte{0x1f, 0x8b, 8, 0}): "gzip header: ",
		head + "\"a\nb\",1,2,3\n1,x,y,3": `line 5, column 3 "a": "y", want a finite number`,
	} {
		d, err := readTableOf(text)
		if err == nil || d != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: got %v, want %s", text, err, want)
		}
	}
}

func TestFindTable(t *testing.T) {
	dir := t.TempDir()
	text := []byte("label,client,a\n0,1,0.5\n1,2,1.5\n")
	own := filepath.Join(dir, "mine.csv")
	writeFile(t, own, text)
	writeFile(t, filepath.Join(dir, "packed", "csv", "data.csv.gz"), gzipped(t, text))
	writeFile(t, filepath.Join(dir, "broken", "data.csv"), text[:18])
	for path, source := range map[string]string{own: own, filepath.Join(dir, "packed"): filepath.Join(dir, "packed", "csv")} {
		d, err := Load("csv", path)
		if err != nil || d.Source != source || d.Len() != 2 {
			t.Errorf("%s: %+v, %v", path, d, err)
		}
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "broken"): "datasets: csv: " + filepath.Join(dir, "broken") + ": data.csv: line 2: 2 cells, want 3 as in line 1",
		filepath.Join(dir, "none"):   "none (no such folder): put data.csv there, plain or .gz, or name the file with --data-dir; fedbayes datasets csv tells what is in it",
	} {
		if _, err := Load("csv", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
	if _, err := Load("hapt", own); err == nil || !strings.Contains(err.Error(), "mine.csv (not a folder)") {
		t.Errorf("a file for hapt: %v", err)
	}
}

func FuzzReadTable(f *testing.F) {
	for _, text := range []string{"", "label,client,a\n", "label,client,a,b\n1,20,0.5,-1e3\n0,3,2,3\n", "a,client,label\n1,x,walk\n2,b,run\n",
		"\ufefflabel,client,a\r\n1,\"x\ny\",7\r\n", "label,client,a\n0,1,NaN\n", "label,client,a\n0,1\n", "label,client,a\n300,1,1\n0,1,1\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readTable(strings.NewReader(string(text)), table())
		if err != nil {
			if d != nil || strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("%v with the error %q", d, err)
			}
			return
		}
		n := d.Len()
		if n == 0 || d.Dim() < 1 || len(d.Values) != n*d.Dim() || len(d.Owner) != n || d.Classes < 2 || d.Classes > maxClasses ||
			d.ClassNames != nil && len(d.ClassNames) != d.Classes || len(d.Owners) < 1 {
			t.Fatalf("%d examples of %d values (%d), %d owners of %d, %d classes of names %v", n, d.Dim(), len(d.Values), len(d.Owner), len(d.Owners), d.Classes, d.ClassNames)
		}
		for i := range n {
			if int(d.Labels[i]) >= d.Classes || d.Owner[i] < 0 || d.Owner[i] >= len(d.Owners) {
				t.Fatalf("example %d has label %d of %d and owner %d of %d", i, d.Labels[i], d.Classes, d.Owner[i], len(d.Owners))
			}
		}
		for i, v := range d.Values {
			if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
				t.Fatalf("value %d is %v", i, v)
			}
		}
	})
}
