package results

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A Member is a run of a sweep.
type Member struct {
	Dir    string
	Head   Head
	Values []string // of the flags that the sweep is over
}

// Join writes the rounds.csv of runs as one CSV, whose first columns are the flags of the sweep. A run without an evaluation
// has a row without numbers. A column that only some of the runs have is empty for the others.
func Join(w io.Writer, flags []string, members []Member) error {
	header := roundsHeader(Head{})
	tables := make([][][]string, len(members))
	for i, m := range members {
		var err error
		if tables[i], err = m.table(); err != nil {
			return err
		}
		for _, name := range tables[i][0] {
			if !slices.Contains(header, name) {
				header = append(header, name)
			}
		}
	}
	out := csv.NewWriter(w)
	if err := out.Write(slices.Concat(flags, header)); err != nil {
		return err
	}
	for i, m := range members {
		var values []string
		for _, v := range m.Values {
			values = append(values, cell(v))
		}
		for _, there := range tables[i][1:] {
			row := make([]string, len(header))
			for j, name := range tables[i][0] {
				row[slices.Index(header, name)] = there[j]
			}
			if err := out.Write(slices.Concat(values, row)); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// table reads the run's rounds.csv: its header, and one row at least.
func (m Member) table() ([][]string, error) {
	f, err := os.Open(filepath.Join(m.Dir, roundsFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	table, err := csv.NewReader(f).ReadAll()
	if err == nil && len(table) == 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if len(table) == 1 {
		h := m.Head
		row := make([]string, len(table[0]))
		copy(row, []string{cell(filepath.Base(m.Dir)), cell(h.Algo), cell(h.Dataset), cell(h.Regime), cell(h.Model), strconv.FormatUint(h.Seed, 10)})
		table = append(table, row)
	}
	return table, nil
}

// Ended reads summary.json of the run in a folder, if it came to its end: its last round, or one at which it diverged, as it
// would again. Otherwise it returns nil.
func Ended(dir string) (*Summary, error) {
	text, err := os.ReadFile(filepath.Join(dir, summaryFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := new(Summary)
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, summaryFile), err)
	}
	if s.Status == "finished" && s.Error == "" || s.Status == Diverged {
		return s, nil
	}
	return nil, nil
}
