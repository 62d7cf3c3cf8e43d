package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
	"fedbayes/internal/tensorboard"
)

// Facts are what decides the results of a run, by name: two runs with the same facts have the same results.
type Facts map[string]string

// Differ lists what is not the same, as "zeta is 5 there, 10 here".
func (f Facts) Differ(here Facts) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f)) {
		switch v, ok := here[name]; {
		case !ok:
			all = append(all, fmt.Sprintf("%s is %s there, and not a setting here", name, f[name]))
		case v != f[name]:
			all = append(all, fmt.Sprintf("%s is %s there, %s here", name, f[name], v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(here)) {
		if _, ok := f[name]; !ok {
			all = append(all, fmt.Sprintf("%s is %s here, and not a setting there", name, here[name]))
		}
	}
	return all
}

// about is what the JSON of a checkpoint says of its run.
type about struct {
	Run   string `json:"run"` // its name in the CSVs
	Facts Facts  `json:"facts"`
	mark
}

// A mark is where the files of a run are after a round, without its evaluation.
type mark struct {
	RoundsBytes  int64        `json:"rounds_csv_bytes"`
	ClientsBytes int64        `json:"clients_csv_bytes"`
	BeliefsBytes int64        `json:"beliefs_csv_bytes,omitempty"` // 0 without the file
	Summary      Summary      `json:"summary"`
	Recent       []accuracies `json:"recent"`
}

// resumed is what a run has to do before it goes on.
type resumed struct {
	*checkpoint.Checkpoint
	config any
}

// Finished returns the number of rounds of the run in a folder, if it is finished with all that belongs to it, and else 0; early
// says that they are fewer than it was to have, for want of a better model.
func Finished(dir string) (rounds int, early bool) {
	var s Summary
	text, err := os.ReadFile(filepath.Join(dir, summaryFile))
	if err != nil || json.Unmarshal(text, &s) != nil || s.Status != "finished" || s.Error != "" {
		return 0, false
	}
	return s.Rounds, s.Early
}

// Config reads config.json of the run in a folder into v.
func Config(dir string, v any) error {
	text, err := os.ReadFile(filepath.Join(dir, configFile))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, configFile), err)
	}
	return nil
}

// Resume opens the run in a folder to go on from its newest whole checkpoint, of which damaged ones are newer. Nothing is
// changed until [Run.Restore]; then the CSVs and event files are cut to what they were at the checkpoint, config.json becomes
// config, and summary.json, reliability.csv and holdout.csv go.
//
// An error is a *Held if the run still goes on, a *[checkpoint.Unusable] if there is no whole checkpoint, or one of a run
// with other facts or files.
func Resume(dir string, head Head, config any) (r *Run, damaged []error, err error) {
	r = &Run{head: head, dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	for _, f := range r.sheets() {
		if *f.file, err = os.OpenFile(filepath.Join(dir, f.name), os.O_RDWR|os.O_APPEND, 0); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = unusable(dir, "it has no %s", f.name)
			}
			*f.file = nil
			return r, nil, err
		}
	}
	if !lock(r.rounds) || !in(dir, r.rounds) {
		return r, nil, &Held{Dir: dir, Busy: true}
	}
	c, damaged, err := checkpoint.Open(filepath.Join(dir, checkpoints))
	if err != nil {
		return r, nil, err
	}
	var a about
	if err := json.Unmarshal(c.About, &a); err != nil {
		return r, nil, unusable(dir, "its checkpoint of round %d: %v", c.Round, err)
	}
	if all := a.Facts.Differ(head.Facts); len(all) > 0 {
		return r, nil, unusable(dir, "its checkpoint is of another run: %s", strings.Join(all, "; "))
	}
	r.name, r.mark, r.sum, r.recent = a.Run, a.mark, a.Summary, a.Recent
	r.from = &resumed{c, config}
	for _, f := range r.sheets() {
		if err := r.reaches(*f.file, *f.bytes); err != nil {
			return r, damaged, err
		}
	}
	return r, damaged, nil
}

func unusable(dir, format string, args ...any) error {
	return &checkpoint.Unusable{Dir: dir, Why: fmt.Sprintf(format, args...)}
}

// reaches returns an error unless a row ends where a file is to be cut.
func (r *Run) reaches(f *os.File, size int64) error {
	end := make([]byte, 1)
	if _, err := f.ReadAt(end, size-1); err != nil || end[0] != '\n' {
		return unusable(r.dir, "%s is not what it was at the checkpoint of round %d: no row ends at byte %d", filepath.Base(f.Name()), r.sum.Rounds, size)
	}
	return nil
}

// Restore implements [federation.Keeper].
func (r *Run) Restore(s *federation.Snapshot) error {
	from := r.from
	if from == nil {
		return nil
	}
	if err := restore(r.dir, from.Checkpoint, s); err != nil {
		return err
	}
	if r.head.Events != "" {
		var err error
		if r.events, err = tensorboard.Resume(r.eventsDir(), from.Round); err != nil {
			return fmt.Errorf("event files: %w", err)
		}
	}
	// A run that is killed in between is resumed from the same checkpoint, and cut once more.
	for _, f := range slices.Backward(r.sheets()) {
		if err := (*f.file).Truncate(*f.bytes); err != nil {
			return err
		}
	}
	for _, name := range []string{summaryFile, reliabilityFile, holdoutFile} {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	r.from = nil
	return r.writeJSON(configFile, from.config)
}

// note marks where the files are.
func (r *Run) note() error {
	all := r.sheets()
	sizes := make([]int64, len(all))
	for i, f := range all {
		info, err := (*f.file).Stat()
		if err != nil {
			return err
		}
		sizes[i] = info.Size()
	}
	r.mark.Summary, r.mark.Recent = r.sum, r.recent
	for i, f := range all {
		*f.bytes = sizes[i]
	}
	return nil
}

// Keep implements [federation.Keeper]: it writes a checkpoint.
func (r *Run) Keep(s *federation.Snapshot) error {
	if err := r.lost(); err != nil {
		return err
	}
	// A checkpoint must not outlive the rows and events before it.
	for _, f := range r.sheets() {
		if err := (*f.file).Sync(); err != nil {
			return err
		}
	}
	if r.events != nil {
		if err := r.events.Sync(); err != nil {
			return err
		}
	}
	return checkpoint.Save(filepath.Join(r.dir, checkpoints), s.Round, about{r.name, r.head.Facts, r.mark}, s.Tensors())
}

// View returns the newest whole checkpoint of the run in a folder, of which damaged ones are newer, to be looked at: the
// folder stays as it is, and the run may go on. Differ lists in what respect the checkpoint's facts are of another run.
// Errors are those of [Resume].
func View(dir string, differ func(Facts) []string) (k federation.Keeper, damaged []error, err error) {
	c, damaged, err := checkpoint.Open(filepath.Join(dir, checkpoints))
	if err != nil {
		return nil, nil, err
	}
	var a about
	if err := json.Unmarshal(c.About, &a); err != nil {
		return nil, nil, unusable(dir, "its checkpoint of round %d: %v", c.Round, err)
	}
	if all := differ(a.Facts); len(all) > 0 {
		return nil, nil, unusable(dir, "its checkpoint is of another run: %s", strings.Join(all, "; "))
	}
	return &viewed{dir, c}, damaged, nil
}

// viewed is a keeper that gives a checkpoint away and keeps none.
type viewed struct {
	dir string
	*checkpoint.Checkpoint
}

// Restore implements [federation.Keeper].
func (v *viewed) Restore(s *federation.Snapshot) error { return restore(v.dir, v.Checkpoint, s) }

// Keep implements [federation.Keeper].
func (*viewed) Keep(*federation.Snapshot) error { return nil }

// restore fills a snapshot with all that a checkpoint has.
func restore(dir string, c *checkpoint.Checkpoint, s *federation.Snapshot) error {
	err := s.Fill(c.Take)
	if left := c.Left(); err == nil && len(left) > 0 {
		err = fmt.Errorf("it has %s, which the run has not", left[0])
	}
	if err != nil {
		return unusable(dir, "its checkpoint of round %d: %v", c.Round, err)
	}
	return nil
}
