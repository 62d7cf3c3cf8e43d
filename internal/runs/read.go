package runs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The files of a run that are read here.
const (
	roundsFile      = "rounds.csv"
	clientsFile     = "clients.csv"
	reliabilityFile = "reliability.csv"
	beliefsFile     = "beliefs.csv"
	configFile      = "config.json"
	summaryFile     = "summary.json"
)

// measured lists the columns of a CSV of evaluations that are results. Besides run, seed and round, all others are settings.
func measured() []string {
	return []string{
		"pm_acc", "gm_acc", "pm_nll", "gm_nll", "pm_ece", "gm_ece", "pm_acc_worst", "gm_acc_worst",
		"train_loss", "kl", "bytes_up", "bytes_down", "train_seconds", "eval_seconds",
		"pm_val_acc", "gm_val_acc", "dropped", "stragglers", "empty_rounds", "gm_norm", "gm_sigma",
	}
}

// silent lists the settings on which no result depends.
func silent() []string {
	return []string{"workers", "data-dir", "out", "force", "quiet", "checkpoint-every", "resume", "watch", "watch-rounds", "final-mc"}
}

// readFolder reads the run of a folder.
func readFolder(dir string) ([]Run, error) {
	all, err := readCSV(filepath.Join(dir, roundsFile))
	if err != nil {
		return nil, err
	}
	if len(all) > 1 {
		return nil, fmt.Errorf("%s: %d runs, want one", filepath.Join(dir, roundsFile), len(all))
	}
	run := Run{Settings: map[string]string{}}
	if len(all) == 1 {
		run = all[0]
	}
	run.Source, run.Dir = dir, dir
	if err := run.configure(filepath.Join(dir, configFile)); err != nil {
		return nil, err
	}
	var summary struct{ Status, Error string }
	if _, err := readJSON(filepath.Join(dir, summaryFile), &summary); err != nil {
		return nil, err
	}
	run.About.Status, run.About.Error = summary.Status, summary.Error
	return []Run{run}, nil
}

// readJSON reports whether there is such a file.
func readJSON(path string, v any) (bool, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return false, fmt.Errorf("%s: %w", path, err)
	}
	return true, nil
}

// configure takes what config.json says, if there is one.
func (r *Run) configure(path string) error {
	var config struct {
		Version, ISA, Started string
		Notes                 []string
		Flags                 map[string]string
		Settings, Method      map[string]json.RawMessage
	}
	if there, err := readJSON(path, &config); err != nil || !there {
		return err
	}
	r.About = About{Version: config.Version, ISA: config.ISA, Started: config.Started, Notes: config.Notes}
	settings := map[string]string{}
	for _, part := range []map[string]json.RawMessage{config.Settings, config.Method} {
		for name, value := range part {
			settings[name] = plain(value)
		}
	}
	// How many test images there are for it depends on the seed; what was asked for does not.
	delete(settings, "test-per-class")
	if asked, ok := config.Flags["test-per-class"]; ok {
		settings["test-per-class"] = asked
	}
	r.Seed = settings["seed"]
	for _, name := range append(silent(), "seed") {
		delete(settings, name)
	}
	r.Settings = settings
	return nil
}

// plain is a JSON value without the quotes of a text.
func plain(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	var short bytes.Buffer
	if json.Compact(&short, value) != nil {
		return string(value)
	}
	return short.String()
}

// readCSV reads the runs of a CSV of evaluations: a run's rounds.csv, what sweep.sh joins, or a grid of search.sh, where the
// row of a point that diverged has no round.
func readCSV(path string) ([]Run, error) {
	t, err := readTable(path)
	if err != nil {
		return nil, err
	}
	if err := t.need("round", "pm_acc", "gm_acc"); err != nil {
		return nil, err
	}
	var settings []string
	for _, name := range t.names {
		if name != "run" && name != "seed" && name != "round" && !slices.Contains(measured(), name) && !slices.Contains(settings, name) {
			settings = append(settings, name)
		}
	}
	var all []*Run
	place := map[string]*Run{}
	seen := map[string]bool{}
	for i := range t.rows {
		run := &Run{Source: path, Seed: t.text(i, "seed"), Settings: map[string]string{}}
		for _, name := range settings {
			run.Settings[name] = t.text(i, name)
		}
		key := run.identity() + "\n" + run.Seed
		if there, ok := place[key]; ok {
			run = there
		} else {
			place[key] = run
			all = append(all, run)
		}
		if t.text(i, "round") == "" {
			continue
		}
		row, err := t.row(i)
		if err != nil {
			return nil, err
		}
		at := fmt.Sprint(key, "\n", row.Round)
		if seen[at] {
			return nil, fmt.Errorf("%s: line %d is the second of round %d with these settings and seed", path, t.lines[i], row.Round)
		}
		seen[at] = true
		run.Rows = append(run.Rows, row)
	}
	var found []Run
	for _, run := range all {
		slices.SortFunc(run.Rows, func(a, b Row) int { return cmp.Compare(a.Round, b.Round) })
		found = append(found, *run)
	}
	return found, nil
}

// row reads the evaluation in a row.
func (t *table) row(i int) (Row, error) {
	row := Row{Values: map[string]float64{}}
	var err error
	if row.Round, err = t.whole(i, "round"); err != nil {
		return row, err
	}
	for _, name := range measured() {
		v, ok, err := t.number(i, name)
		if err != nil {
			return row, err
		}
		if ok {
			row.Values[name] = v
		}
	}
	return row, nil
}

// A Client is a row of clients.csv.
type Client struct {
	Client int
	Values map[string]float64 // pm_acc, gm_acc and the others that are there
}

// Clients reads how the clients of a run fared after a round, 0 for the last; it returns the round, too.
func (r Run) Clients(round int) ([]Client, int, error) {
	if r.Dir == "" {
		return nil, 0, fmt.Errorf("%s: it says nothing of clients: want the folder of a run", r.Source)
	}
	t, err := readTable(filepath.Join(r.Dir, clientsFile))
	if err != nil {
		return nil, 0, err
	}
	if err := t.need("round", "client", "pm_acc", "gm_acc"); err != nil {
		return nil, 0, err
	}
	byRound := map[int][]Client{}
	last := 0
	for i := range t.rows {
		at, err := t.whole(i, "round")
		if err != nil {
			return nil, 0, err
		}
		c := Client{Values: map[string]float64{}}
		if c.Client, err = t.whole(i, "client"); err != nil {
			return nil, 0, err
		}
		for _, name := range measured() {
			v, ok, err := t.number(i, name)
			if err != nil {
				return nil, 0, err
			}
			if ok {
				c.Values[name] = v
			}
		}
		byRound[at] = append(byRound[at], c)
		last = max(last, at)
	}
	if round == 0 {
		round = last
	}
	if len(byRound[round]) == 0 {
		return nil, 0, fmt.Errorf("%s: no row of round %d", t.path, round)
	}
	return byRound[round], round, nil
}

// A Bin holds the predictions of one model whose confidence lies in one interval.
type Bin struct {
	Model                string // "pm" or "gm"
	MC                   int    // draws of the weights in a prediction, 0 for their mean
	Bin, Count           int
	Confidence, Accuracy float64 // means
}

// Reliability reads the bins of a run that have predictions, and the number of bins.
func (r Run) Reliability() (bins []Bin, of int, err error) {
	if r.Dir == "" {
		return nil, 0, fmt.Errorf("%s: it says nothing of confidence: want the folder of a run", r.Source)
	}
	t, err := readTable(filepath.Join(r.Dir, reliabilityFile))
	if err != nil {
		return nil, 0, err
	}
	if err := t.need("model", "mc", "bin", "count", "confidence", "accuracy"); err != nil {
		return nil, 0, err
	}
	for i := range t.rows {
		b := Bin{Model: t.text(i, "model")}
		for _, cell := range []struct {
			name string
			v    *int
		}{{"mc", &b.MC}, {"bin", &b.Bin}, {"count", &b.Count}} {
			if *cell.v, err = t.whole(i, cell.name); err != nil {
				return nil, 0, err
			}
		}
		of = max(of, b.Bin+1)
		var confident, accurate bool
		if b.Confidence, confident, err = t.number(i, "confidence"); err != nil {
			return nil, 0, err
		}
		if b.Accuracy, accurate, err = t.number(i, "accuracy"); err != nil {
			return nil, 0, err
		}
		if b.Count > 0 && !(confident && accurate) {
			return nil, 0, fmt.Errorf("%s: line %d counts %d predictions and lacks their confidence or accuracy", t.path, t.lines[i], b.Count)
		}
		if b.Count > 0 {
			bins = append(bins, b)
		}
	}
	if len(bins) == 0 {
		return nil, 0, fmt.Errorf("%s: no predictions", t.path)
	}
	return bins, of, nil
}
