// Package runs reads what runs left behind: their folders, and the CSVs in which scripts join many of them.
//
// [Load] returns a [Run] for each. [Groups] puts together those that differ in their seed alone, so that
//
//	all, err := runs.Load("results/sweep_zeta/sweep_zeta.csv", "results/mine")
//	groups, err := runs.Groups(all)
//	points := groups[0].Points("pm_acc")
//
// are the mean accuracy and its deviation over seeds, by round. Errors name the file, and its line where there is one.
package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Run is what is known of one run.
type Run struct {
	Source   string            // its folder, or the CSV that it is in
	Dir      string            // its folder; "" if it is in a CSV alone
	Seed     string            // "" if nothing says
	Settings map[string]string // that may decide its results, by name; without the seed
	Rows     []Row             // its evaluations, rounds ascending; none if it diverged before the first
	About    About
}

// About is what else the files of a run say of it.
type About struct {
	Status  string // how it ended; "" if it has not, or nothing says
	Error   string // why, unless it is finished
	Version string // of the program
	ISA     string
	Started string
	Notes   []string
}

// A Row is one evaluation. Columns without a number in their cell are left out.
type Row struct {
	Round  int
	Values map[string]float64 // by the column's name in rounds.csv
}

// Load reads runs. A path is the folder of a run, a folder that has such folders in it, or a CSV with a row an evaluation.
func Load(paths ...string) ([]Run, error) {
	var all []Run
	for _, path := range paths {
		more, err := load(path)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

func load(path string) ([]Run, error) {
	info, err := os.Stat(path)
	var reason *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such folder or file", path)
	case errors.As(err, &reason):
		return nil, fmt.Errorf("%s: %w", path, reason.Err)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return readCSV(path)
	case isRun(path):
		return readFolder(path)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var all []Run
	for _, e := range entries {
		dir := filepath.Join(path, e.Name())
		if !isRun(dir) {
			continue
		}
		run, err := readFolder(dir)
		if err != nil {
			return nil, err
		}
		all = append(all, run...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no run: want a folder with %s, or with such folders in it", path, roundsFile)
	}
	return all, nil
}

func isRun(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, roundsFile))
	return err == nil
}

// column returns the values of a column, by round.
func (r Run) column(name string) map[int]float64 {
	values := map[int]float64{}
	for _, row := range r.Rows {
		if v, ok := row.Values[name]; ok {
			values[row.Round] = v
		}
	}
	return values
}

// Last returns the round of the last evaluation, 0 if there is none.
func (r Run) Last() int {
	if len(r.Rows) == 0 {
		return 0
	}
	return r.Rows[len(r.Rows)-1].Round
}

// identity is the same for runs that differ in nothing but their seed.
func (r Run) identity() string {
	var parts []string
	for name, value := range r.Settings {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}
