// Package results writes a run's folder while the run goes: a row of rounds.csv for each evaluation, a row of clients.csv
// for each client and evaluation, rows of beliefs.csv if an example is watched, config.json at the start, reliability.csv,
// summary.json and, if clients were held out, holdout.csv at the end. Of a run that keeps snapshots it holds the checkpoints, from which [Resume] goes on.
//
// The files can be read at any moment. A row is one write, which is taken back if it fails half-way, so a CSV holds whole
// lines; the JSON files are renamed into place when they are complete. A round's rows in clients.csv are there before its
// row in rounds.csv. No cell has a comma or a quote in it, so that awk can read what encoding/csv wrote.
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
	"slices"
	"strings"

	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
	"fedbayes/internal/tensorboard"
)

// The files of a run.
const (
	roundsFile  = "rounds.csv"
	clientsFile = "clients.csv"
	beliefsFile = "beliefs.csv"
	configFile  = "config.json"
	summaryFile = "summary.json"

	reliabilityFile = "reliability.csv"
	holdoutFile     = "holdout.csv"

	checkpoints = "checkpoint" // a folder
)

func files() []string {
	return []string{roundsFile, clientsFile, beliefsFile, configFile, summaryFile, reliabilityFile, holdoutFile}
}

// A Head says what a run is. The first two lines are in every row of rounds.csv.
type Head struct {
	Algo, Dataset, Regime, Model string
	Seed                         uint64
	Rounds                       int   // that were asked for
	Facts                        Facts // that a run must share with the one it resumes

	Validates, Fails bool // whether rounds.csv has the columns of validation, and those of clients that drop out or are slow
	Watches          bool // whether there is a beliefs.csv

	Events string // folder in which the run's event files have one of the run's name; "" if there are to be none
}

// A Run records one run into its folder.
type Run struct {
	head    Head
	dir     string
	name    string // of the run, in the CSVs
	rounds  *os.File
	clients *os.File
	beliefs *os.File            // nil if the run has none
	events  *tensorboard.Writer // likewise
	sum     Summary
	recent  []accuracies // of the last evaluations, at most meanOver

	mark mark     // where the files were after the last round, without its evaluation
	from *resumed // where to go on from; nil for a run from the start, or one that has gone on
}

var (
	_ federation.Recorder = (*Run)(nil)
	_ federation.Watcher  = (*Run)(nil)
	_ federation.Keeper   = (*Run)(nil)
)

// ErrLost says that a run's files were removed or replaced while it went on. What is in the folder is not its own, so it
// writes nothing more.
var ErrLost = errors.New("the run's files were removed or replaced while it went on")

// A Held error says that a folder holds a run already.
type Held struct {
	Dir   string
	Files []string
	Busy  bool // another process is writing it
}

func (h *Held) Error() string {
	if h.Busy {
		return fmt.Sprintf("%s: another run is writing there: wait for its end, or name another folder", h.Dir)
	}
	return fmt.Sprintf("%s already holds a run (%s): name another folder, or replace it with --force", h.Dir, strings.Join(h.Files, ", "))
}

// held returns an error if the folder holds files of a run.
func held(dir string) error {
	var there []string
	for _, name := range append(files(), checkpoints) {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			there = append(there, name)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return &Held{Dir: dir, Files: there}
}

// Check returns an error if dir cannot be a folder, or holds files of a run that are not to be replaced by force.
func Check(dir string, force bool) error {
	info, err := os.Stat(dir)
	var path *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &path):
		return fmt.Errorf("%q: %w", dir, path.Err)
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s: want a folder, this is a file", dir)
	case force:
		return nil
	}
	return held(dir)
}

// Fresh makes a new folder in parent and returns its path: name, or name-2, name-3 and so on if runs that began in the
// same second have it already.
func Fresh(parent, name string) (string, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", err
	}
	dir := filepath.Join(parent, name)
	for n := 2; ; n++ {
		err := os.Mkdir(dir, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return dir, err
		}
		dir = filepath.Join(parent, fmt.Sprintf("%s-%d", name, n))
	}
}

// Create makes the folder with the heads of the CSVs and config.json, and begins the event file. With force, the files of a
// run that is already there are removed, and no others; without, they are a *Held error, and so is, with force too, a run
// that still goes on.
func Create(dir string, force bool, head Head, config any) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if force {
		old, err := claim(dir)
		if err != nil {
			return nil, err
		}
		defer func() { _ = old.Close() }()
		if held(dir) != nil {
			if err := clear(dir); err != nil {
				return nil, err
			}
		}
	} else if err := held(dir); err != nil {
		return nil, err
	}
	r := &Run{head: head, dir: dir, name: filepath.Base(dir)}
	if err := r.begin(force, config); err != nil {
		var other *Held
		if !errors.As(err, &other) {
			_ = clear(dir)     // no use to anyone, and in the way of the next run
			_ = os.Remove(dir) // unless there is something else in it
		}
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

// A sheet is a CSV that grows with the run.
type sheet struct {
	name   string
	header []string
	file   **os.File
	bytes  *int64 // of it, in the mark
}

// sheets lists those that the run has. The one whose lock says that somebody is at it comes first.
func (r *Run) sheets() []sheet {
	all := []sheet{
		{roundsFile, roundsHeader(r.head), &r.rounds, &r.mark.RoundsBytes},
		{clientsFile, clientsHeader(), &r.clients, &r.mark.ClientsBytes},
	}
	if r.head.Watches {
		all = append(all, sheet{beliefsFile, beliefsHeader(), &r.beliefs, &r.mark.BeliefsBytes})
	}
	return all
}

// begin makes the files.
func (r *Run) begin(force bool, config any) error {
	for _, f := range r.sheets() {
		// Not even a run that started at the same moment is overwritten.
		file, err := os.OpenFile(filepath.Join(r.dir, f.name), os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return &Held{Dir: r.dir, Files: []string{f.name}}
		}
		if err != nil {
			return err
		}
		*f.file = file
		if f.name == roundsFile && (!lock(file) || r.lost() != nil) {
			return &Held{Dir: r.dir, Busy: true}
		}
		if err := appendRows(file, f.header); err != nil {
			return err
		}
	}
	if err := r.writeJSON(configFile, config); err != nil || r.head.Events == "" {
		return err
	}
	var err error
	if r.events, err = tensorboard.Create(r.eventsDir(), force); err != nil {
		return fmt.Errorf("event files: %w", err)
	}
	return nil
}

// claim makes sure that nobody writes the run in a folder that is to be replaced, and keeps others from replacing it until
// what it returns, nil if there is no run, is closed.
func claim(dir string) (*os.File, error) {
	for {
		f, err := os.Open(filepath.Join(dir, roundsFile))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !lock(f) {
			_ = f.Close()
			return nil, &Held{Dir: dir, Busy: true}
		}
		if in(dir, f) {
			return f, nil
		}
		_ = f.Close() // replaced between opening and locking it
	}
}

// clear removes the files of a run, and what a killed one may have left of them. The one whose lock says that somebody is
// at it goes last.
func clear(dir string) error {
	if err := checkpoint.Clear(filepath.Join(dir, checkpoints)); err != nil {
		return err
	}
	for _, name := range slices.Backward(files()) {
		for _, path := range []string{filepath.Join(dir, name), filepath.Join(dir, name+temporary)} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// in reports whether f is the file rounds.csv that dir has now.
func in(dir string, f *os.File) bool {
	there, err := os.Stat(filepath.Join(dir, roundsFile))
	if err != nil {
		return false
	}
	ours, err := f.Stat()
	return err == nil && os.SameFile(there, ours)
}

// lost returns ErrLost if the folder does not hold this run any more.
func (r *Run) lost() error {
	if in(r.dir, r.rounds) {
		return nil
	}
	return fmt.Errorf("%s: %w", r.dir, ErrLost)
}

// Rounds returns the number of rounds that were completed.
func (r *Run) Rounds() int { return r.sum.Rounds }

// Round implements [federation.Recorder].
func (r *Run) Round(round int) error {
	r.sum.Rounds = round
	if err := r.lost(); err != nil {
		return err
	}
	return r.note()
}

// Evaluation implements [federation.Recorder].
func (r *Run) Evaluation(e federation.Evaluation) error {
	if err := r.lost(); err != nil {
		return err
	}
	rows := make([][]string, len(e.Clients))
	for i, c := range e.Clients {
		rows[i] = clientRow(r.name, e.Round, c)
	}
	if err := appendRows(r.clients, rows...); err != nil {
		return err
	}
	if err := r.show(e); err != nil {
		return err
	}
	if err := appendRows(r.rounds, roundRow(r.name, r.head, e)); err != nil {
		return err
	}
	r.count(e)
	return nil
}

// Finish writes reliability.csv, holdout.csv and summary.json of a run that ended with runErr, nil if it reached its last round, and closes the files. A run
// that was to go on from a checkpoint and did not get there leaves its files as they are.
func (r *Run) Finish(res federation.Result, runErr error) (Summary, error) {
	if r.from != nil {
		return r.sum, r.close()
	}
	r.conclude(res, runErr)
	err := r.lost()
	if err == nil {
		err = errors.Join(r.writeReliability(res), r.writeHoldout(res.Newcomers), r.writeJSON(summaryFile, r.sum))
	} else if errors.Is(runErr, ErrLost) {
		err = nil // said already
	}
	return r.sum, errors.Join(err, r.close())
}

// close closes the files that are open.
func (r *Run) close() error {
	var errs []error
	for _, f := range []*os.File{r.rounds, r.clients, r.beliefs} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	if r.events != nil {
		errs = append(errs, r.events.Close())
	}
	return errors.Join(errs...)
}

// appendRows appends rows, each in one write. If one fails, as on a full disk, the file is cut back to what it was.
func appendRows(f *os.File, rows ...[]string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	for _, cells := range rows {
		if err := writeRow(f, cells); err != nil {
			return errors.Join(err, f.Truncate(info.Size()))
		}
	}
	return nil
}

// writeRow writes one line in one write.
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

// temporary ends the name of a file until it is complete.
const temporary = ".tmp"

// writeJSON makes v a file of the folder.
func (r *Run) writeJSON(name string, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return r.replace(name, text.Bytes())
}

// replace writes a file of the folder under another name and renames it.
func (r *Run) replace(name string, text []byte) error {
	path := filepath.Join(r.dir, name)
	err := os.WriteFile(path+temporary, text, 0o644)
	if err == nil {
		err = os.Rename(path+temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(path+temporary))
	}
	return nil
}
