// Package results writes a run's folder while the run goes: a row of rounds.csv for each evaluation, a row of clients.csv
// for each client and evaluation, config.json at the start and summary.json at the end.
//
// The files can be read at any moment. A row is one write, so a CSV holds whole lines; the JSON files are renamed into
// place when they are complete. A round's rows in clients.csv are there before its row in rounds.csv.
package results

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"fedbayes/internal/federation"
)

// The files of a run.
const (
	roundsFile  = "rounds.csv"
	clientsFile = "clients.csv"
	configFile  = "config.json"
	summaryFile = "summary.json"
)

func files() []string { return []string{roundsFile, clientsFile, configFile, summaryFile} }

// A Head is what every row of rounds.csv says of its run.
type Head struct {
	Algo, Dataset, Regime, Model string
	Seed                         uint64
}

// A Run records one run into its folder.
type Run struct {
	head    Head
	dir     string
	rounds  *os.File
	clients *os.File
	sum     Summary
	recent  []federation.Evaluation // the last of them, at most meanOver, without their clients
}

var _ federation.Recorder = (*Run)(nil)

// Check returns an error if dir cannot be a folder, or holds files of a run that are not to be replaced by force.
func Check(dir string, force bool) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: want a folder, this is a file", dir)
	case force:
		return nil
	}
	var held []string
	for _, name := range files() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			held = append(held, name)
		}
	}
	if len(held) > 0 {
		return fmt.Errorf("%s already holds a run (%s): name another folder, or replace it with --force", dir, strings.Join(held, ", "))
	}
	return nil
}

// Create makes the folder with the heads of both CSVs and config.json. With force, the files of a run that is already
// there are removed, and no others; without, they are an error.
func Create(dir string, force bool, head Head, config any) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if force {
		for _, name := range files() {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
	}
	r := &Run{head: head, dir: dir}
	for _, f := range []struct {
		file   **os.File
		name   string
		header []string
	}{{&r.rounds, roundsFile, roundsHeader()}, {&r.clients, clientsFile, clientsHeader()}} {
		var err error
		// Not even a run that started at the same moment is overwritten.
		*f.file, err = os.OpenFile(filepath.Join(dir, f.name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			err = writeRow(*f.file, f.header)
		}
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	if err := r.writeJSON(configFile, config); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// Dir returns the run's folder.
func (r *Run) Dir() string { return r.dir }

// Round implements [federation.Recorder].
func (r *Run) Round(round int) error {
	r.sum.Rounds = round
	return nil
}

// Evaluation implements [federation.Recorder].
func (r *Run) Evaluation(e federation.Evaluation) error {
	name := filepath.Base(r.dir)
	for _, c := range e.Clients {
		if err := writeRow(r.clients, clientRow(name, e.Round, c)); err != nil {
			return err
		}
	}
	if err := writeRow(r.rounds, roundRow(name, r.head, e)); err != nil {
		return err
	}
	r.note(e)
	return nil
}

// Finish writes summary.json of a run that ended with runErr, nil if it reached its last round, and closes the files.
func (r *Run) Finish(res federation.Result, runErr error) (Summary, error) {
	r.conclude(res, runErr)
	err := r.writeJSON(summaryFile, r.sum)
	return r.sum, errors.Join(err, r.close())
}

// close closes the CSVs that are open.
func (r *Run) close() error {
	var errs []error
	for _, f := range []*os.File{r.rounds, r.clients} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// writeRow appends one line in one write.
func writeRow(f *os.File, cells []string) error {
	var line bytes.Buffer
	w := csv.NewWriter(&line)
	if err := w.Write(cells); err != nil {
		return err
	}
	w.Flush()
	_, err := f.Write(line.Bytes())
	return err
}

// writeJSON writes a file of the folder under another name and renames it.
func (r *Run) writeJSON(name string, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	path := filepath.Join(r.dir, name)
	if err := os.WriteFile(path+".tmp", text.Bytes(), 0o644); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}
