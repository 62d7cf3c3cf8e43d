package runs

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A table is a CSV with names in its first line.
type table struct {
	path   string
	names  []string
	column map[string]int // of two with one name, the first
	rows   [][]string
	lines  []int // of the file, by row
}

// readTable reads a CSV, all of whose rows are as long as the first. A run may be writing it.
func readTable(path string) (*table, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file", path)
	}
	if err != nil {
		return nil, err
	}
	t := &table{path: path, column: map[string]int{}}
	r := csv.NewReader(bytes.NewReader(settled(text)))
	r.FieldsPerRecord = -1 // the error is ours
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var wrong *csv.ParseError
		if errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s: line %d: %w", path, wrong.Line, wrong.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		line, _ := r.FieldPos(0)
		if t.names == nil {
			t.names = cells
			for i, name := range slices.Backward(cells) {
				t.column[name] = i
			}
			continue
		}
		if len(cells) != len(t.names) {
			return nil, fmt.Errorf("%s: line %d has %d cells, want %d as in the first line", path, line, len(cells), len(t.names))
		}
		t.rows, t.lines = append(t.rows, cells), append(t.lines, line)
	}
	if t.names == nil {
		return nil, fmt.Errorf("%s: empty", path)
	}
	return t, nil
}

// page is what divides the size of any page of a file.
const page = 4096

// settled returns the text without a row that is being written. A row is one write, but a file system may show a write page by
// page, so that for a moment the file ends with a page, in the middle of the row.
func settled(text []byte) []byte {
	if len(text)%page != 0 {
		return text
	}
	return text[:bytes.LastIndexByte(text, '\n')+1]
}

// need returns an error unless the table has these columns.
func (t *table) need(names ...string) error {
	for _, name := range names {
		if _, ok := t.column[name]; !ok {
			return fmt.Errorf("%s: no column %s; it has %s", t.path, name, strings.Join(t.names, ", "))
		}
	}
	return nil
}

// text returns a cell, "" where there is no such column.
func (t *table) text(row int, name string) string {
	i, ok := t.column[name]
	if !ok {
		return ""
	}
	return t.rows[row][i]
}

// whole returns the number in a cell, which is to be ≥ 0.
func (t *table) whole(row int, name string) (int, error) {
	s := t.text(row, name)
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: line %d: %s is %q, want a whole number ≥ 0", t.path, t.lines[row], name, s)
	}
	return n, nil
}

// largest bounds what can be drawn, and summed without overflow. A float32, in which runs compute, is far below it.
const largest = 1e100

// number returns the number in a cell. There is none in an empty one, and none where it is NaN or infinite.
func (t *table) number(row int, name string) (v float64, ok bool, err error) {
	s := t.text(row, name)
	if s == "" {
		return 0, false, nil
	}
	v, err = strconv.ParseFloat(s, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, false, fmt.Errorf("%s: line %d: %s is %q, want a number", t.path, t.lines[row], name, s)
	}
	if math.Abs(v) > largest && !math.IsInf(v, 0) {
		return 0, false, fmt.Errorf("%s: line %d: %s is %v, want a number up to %v", t.path, t.lines[row], name, v, largest)
	}
	return v, !math.IsNaN(v) && !math.IsInf(v, 0), nil
}
