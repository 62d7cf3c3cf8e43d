package datasets

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file is about the data set that is a CSV of the user's own.

// tableFile is what it is called in a folder.
const tableFile = "data.csv"

// maxClasses is how many classes a byte tells apart.
const maxClasses = 256

func table() Entry {
	return Entry{
		Name:     "csv",
		About:    "a CSV of your own: features, label and client of each example",
		Origin:   "yours",
		License:  "yours",
		Defaults: Defaults{PerRound: 10, Partition: "natural"},
		Files:    []string{tableFile},
		Format: []string{
			"a CSV, gzipped or not: " + tableFile + " in a folder, or the file itself as --data-dir",
			"its first line names the columns, in any order: label, client, and each feature",
			"each line after that is an example; all cells have something in them",
			"a feature is a finite number, and taken as it is",
			fmt.Sprintf("labels are whole numbers from 0, or else texts, numbered as they sort; at most %d", maxClasses),
			"clients are whole numbers or texts, numbered as they sort",
		},
		load:   loadTable,
		unpack: readTable,
	}
}

// Open reports whether shape, classes and clients are known only when the data are read; see As.
func (e Entry) Open() bool { return e.Shape == nil }

// As returns the entry of an open data set as its data turned out.
func (e Entry) As(d *Dataset) Entry {
	e.Shape, e.Classes, e.Names = d.Shape, d.Classes, d.ClassNames
	e.Defaults.Clients = len(d.Owners)
	return e
}

func loadTable(fsys fs.FS, e Entry) (*Dataset, error) {
	spelling, err := locate(fsys, tableFile)
	if err != nil {
		return nil, err
	}
	f, err := fsys.Open(spelling)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	d, err := readTable(f, e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spelling, err)
	}
	return d, nil
}

// readTable reads the examples of a CSV. What it allocates grows with what r gives.
func readTable(r io.Reader, e Entry) (*Dataset, error) {
	t, err := newTableReader(r)
	if err != nil {
		return nil, err
	}
	d := &Dataset{Name: e.Name, Shape: []int{len(t.names) - 2}}
	var labels, clients distinct
	for {
		cells, err := t.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, cell := range cells {
			switch {
			case cell == "":
				return nil, t.wrong(i, "it is empty")
			case i == t.label:
				labels.add(cell, t.line(i))
			case i == t.client:
				clients.add(cell, t.line(i))
			default:
				v, ok := finite(cell)
				if !ok {
					return nil, t.wrong(i, "%q, want a finite number", cell)
				}
				d.Values = append(d.Values, v)
			}
		}
	}
	if len(labels.of) == 0 {
		return nil, errors.New("no example in it")
	}
	if line, wrong := d.classify(labels); wrong != "" {
		return nil, fmt.Errorf("line %d, column %d \"label\": %s", line, t.label+1, wrong)
	}
	d.Owners, d.Owner = clients.sorted()
	d.Sum = hex.EncodeToString(t.sum.Sum(nil))
	return d, nil
}

// classify gives the examples their classes, or says in which line a label is wrong, and how.
func (d *Dataset) classify(labels distinct) (line int, wrong string) {
	names, of := labels.sorted()
	classes := make([]int, len(names)) // by name
	for k, name := range names {
		n, ok := number(name)
		if !ok || n < 0 {
			classes, d.ClassNames = upTo(len(names)), names
			break
		}
		classes[k] = n
	}
	switch d.Classes = 1 + slices.Max(classes); {
	case len(names) > maxClasses:
		return labels.lines[maxClasses], fmt.Sprintf("%q is the label after %d others, want no more", labels.texts[maxClasses], maxClasses)
	case d.Classes > maxClasses:
		most := names[len(names)-1]
		return labels.lines[labels.number[most]], fmt.Sprintf("%s, want 0 to %d", most, maxClasses-1)
	case len(names) < 2:
		return labels.lines[0], fmt.Sprintf("all labels are %q, want two at least", names[0])
	}
	for _, k := range of {
		d.Labels = append(d.Labels, uint8(classes[k]))
	}
	if none := slices.Index(d.Counts(), 0); none >= 0 {
		d.Notes = append(d.Notes, fmt.Sprintf("labels are 0 to %d, and no example has label %d", d.Classes-1, none))
	}
	return 0, ""
}

// finite reads a cell with a finite number that a float32 can be.
func finite(cell string) (v float32, ok bool) {
	wide, err := strconv.ParseFloat(cell, 32)
	return float32(wide), err == nil && !math.IsNaN(wide) && !math.IsInf(wide, 0)
}

// unmarked passes over the mark that some programs begin a text of UTF-8 with.
func unmarked(r io.Reader) *bufio.Reader {
	const mark = "\ufeff"
	text := bufio.NewReader(r)
	if begin, _ := text.Peek(len(mark)); string(begin) == mark {
		_, _ = text.Discard(len(mark))
	}
	return text
}

// A tableReader reads a CSV line by line.
type tableReader struct {
	csv           *csv.Reader
	sum           hash.Hash // SHA-256 of what was read, unpacked
	names         []string  // of the columns
	label, client int       // columns
}

// newTableReader reads the names of the columns.
func newTableReader(r io.Reader) (*tableReader, error) {
	r, err := unzipped(r)
	if err != nil {
		return nil, err
	}
	t := &tableReader{sum: sha256.New()}
	t.csv = csv.NewReader(unmarked(io.TeeReader(r, t.sum)))
	t.csv.FieldsPerRecord = -1 // ours to say
	t.csv.TrimLeadingSpace = true
	names, err := t.csv.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, whole(err)
	}
	t.names = names
	for i, name := range names {
		switch {
		case name == "":
			return nil, fmt.Errorf("line 1, column %d: it has no name", i+1)
		case slices.Contains(names[:i], name):
			return nil, t.wrong(i, "there is such a column already")
		}
	}
	t.label, t.client = slices.Index(names, "label"), slices.Index(names, "client")
	switch {
	case t.label < 0:
		return nil, errors.New("line 1: no column is called label")
	case t.client < 0:
		return nil, errors.New("line 1: no column is called client")
	case len(names) == 2:
		return nil, errors.New("line 1: label and client alone, want a feature too")
	}
	t.csv.ReuseRecord = true
	return t, nil
}

// next returns the cells of the next line; they hold until the one after it.
func (t *tableReader) next() ([]string, error) {
	cells, err := t.csv.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, whole(err)
	}
	if err == nil && len(cells) != len(t.names) {
		return nil, fmt.Errorf("line %d: %d cells, want %d as in line 1", t.line(0), len(cells), len(t.names))
	}
	return cells, err
}

// line returns where a cell of the line at hand stands: a cell in quotes can be several lines long.
func (t *tableReader) line(column int) int {
	line, _ := t.csv.FieldPos(column)
	return line
}

// wrong is an error about a cell of the line at hand.
func (t *tableReader) wrong(column int, format string, args ...any) error {
	return fmt.Errorf("line %d, column %d %q: %s", t.line(column), column+1, t.names[column], fmt.Sprintf(format, args...))
}

// A distinct is a column of texts: which there are, and which of them each example has.
type distinct struct {
	number map[string]int // of a text, by its first appearance
	texts  []string
	lines  []int // of these first appearances
	of     []int
}

// add takes the text of the next example, in a line.
func (d *distinct) add(text string, line int) {
	n, ok := d.number[text]
	if !ok {
		if d.number == nil {
			d.number = map[string]int{}
		}
		n, text = len(d.texts), strings.Clone(text) // from a line that need not be kept
		d.number[text], d.texts, d.lines = n, append(d.texts, text), append(d.lines, line)
	}
	d.of = append(d.of, n)
}

// sorted returns the texts, by their value if all are whole numbers, and which of them each example has.
func (d *distinct) sorted() (texts []string, of []int) {
	texts = slices.Clone(d.texts)
	if slices.ContainsFunc(texts, func(s string) bool { _, ok := number(s); return !ok }) {
		slices.Sort(texts)
	} else {
		slices.SortFunc(texts, func(a, b string) int {
			x, _ := number(a)
			y, _ := number(b)
			return cmp.Compare(x, y)
		})
	}
	place := make([]int, len(texts))
	for k, text := range texts {
		place[d.number[text]] = k
	}
	for _, n := range d.of {
		of = append(of, place[n])
	}
	return texts, of
}

// number reads a whole number that is written as numbers are.
func number(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && strconv.Itoa(n) == s
}
