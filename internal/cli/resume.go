package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fedbayes/algorithms"
	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
	"fedbayes/internal/results"
)

// free are the flags that change no result, and may differ from those of a run that is resumed. So may --rounds, upwards.
var free = []string{"resume", "rounds", "workers", "checkpoint-every", "data-dir", "quiet", "log-format", "tensorboard"}

// recorded are the flags that config.json keeps to resume the run with.
func recorded(ts texts) map[string]string {
	flags := map[string]string{}
	for _, name := range ts.givenNames() {
		if !slices.Contains([]string{"out", "force", "quiet", "log-format", "resume"}, name) {
			flags[name] = ts[name].value
		}
	}
	return flags
}

// planOf returns the plan of a command line, which may be that of a run to be resumed.
func planOf(ts texts, now time.Time, data *shelf) (*plan, error) {
	if !ts.has("resume") {
		return newPlan(ts, now, data)
	}
	if err := ts.twice(); err != nil {
		return nil, err
	}
	for _, name := range []string{"out", "force"} {
		if ts.has(name) {
			return nil, usagef("--resume and --%s: want one of them", name)
		}
	}
	dir := new(string)
	if err := ts.assign(algorithms.Param{Name: "resume", Value: dir}); err != nil {
		return nil, err
	}
	old, err := configOf("--resume", *dir)
	if err != nil {
		return nil, err
	}
	all := texts{}
	for name, value := range old.Flags {
		all[name] = &text{given: 1, value: value}
	}
	for _, name := range free {
		if ts.has(name) {
			all[name] = ts[name]
		}
	}
	p, err := newPlan(all, now, data)
	if err != nil {
		return nil, fmt.Errorf("--resume %s: %w", *dir, err)
	}
	if err := p.agrees(ts); err != nil {
		return nil, err
	}
	p.old = old
	if n, _ := strconv.Atoi(string(old.Settings["rounds"])); p.Rounds < n {
		return nil, p.refuse("--rounds is %d, and the run has %d: want no fewer", p.Rounds, n)
	}
	return p, nil
}

// A pastRecord is config.json of a run, with values as they stand there.
type pastRecord struct {
	Started  string                     `json:"started"`
	Version  string                     `json:"version"`
	Platform string                     `json:"platform"`
	ISA      string                     `json:"isa"`
	Flags    map[string]string          `json:"flags"`
	Settings map[string]json.RawMessage `json:"settings"`
	Method   map[string]json.RawMessage `json:"method"`
	Model    modelRecord                `json:"model"`
	Dataset  datasetRecord              `json:"dataset"`
	Clients  []clientRecord             `json:"clients"`
}

// configOf reads config.json of the run in a folder, which a flag names.
func configOf(flag, dir string) (*pastRecord, error) {
	old := new(pastRecord)
	err := results.Config(dir, old)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, usagef("%s %s: there is no run, as it has no config.json", flag, dir)
	case err != nil:
		return nil, &checkpoint.Unusable{Dir: flag + " " + dir, Why: err.Error()}
	case old.Flags == nil:
		return nil, &checkpoint.Unusable{Dir: flag + " " + dir, Why: "its config.json is of a version that wrote no checkpoints"}
	}
	return old, nil
}

// refuse says why the run cannot be resumed.
func (p *plan) refuse(format string, args ...any) error {
	return &checkpoint.Unusable{Dir: "--resume " + p.Out, Why: fmt.Sprintf(format, args...)}
}

// agrees refuses a flag with another value than the run has that is to be resumed.
func (p *plan) agrees(ts texts) error {
	for _, name := range ts.givenNames() {
		if slices.Contains(free, name) {
			continue
		}
		param, ok := p.param(name)
		if !ok {
			return usagef("--%s: the run in %s has no such setting", name, p.Out)
		}
		given := param
		given.Value = reflect.New(reflect.TypeOf(param.Value).Elem()).Interface()
		if err := ts.assign(given); err != nil {
			return err
		}
		is, was := show(given), show(param)
		if name == "participation" {
			other := *p.settings
			other.Participation = *given.Value.(*float64)
			n, err := other.perRound()
			if err != nil {
				return err
			}
			is, was = strconv.Itoa(n), strconv.Itoa(p.clients)
		}
		if is != was {
			if _, ok := p.flags[name]; !ok && (was == "0" || was == "") {
				was = "none"
			}
			return p.refuse("--%s is %s on the command line, and %s in the run", name, is, was)
		}
	}
	return nil
}

// param returns the setting of a name that the plan has, if it has an effect.
func (p *plan) param(name string) (algorithms.Param, bool) {
	for _, o := range p.options() {
		if o.Name == name {
			return o.Param, o.in(p.Partition)
		}
	}
	return find(p.method.Params(), name)
}

// finished says that a run that is to be resumed has nothing left to do, and else nothing.
func (p *plan) finished() string {
	if p.Resume == "" {
		return ""
	}
	n, early := results.Finished(p.Out)
	switch {
	case early:
		return fmt.Sprintf("%s: finished, it stopped after %s as validation got no better", p.Out, counted(n, "round"))
	case n >= p.Rounds:
		return fmt.Sprintf("%s: finished, all %s are done; --rounds with more than that goes on", p.Out, counted(n, "round"))
	}
	return ""
}

// facts are what decides the results of a run: its settings but the free ones, its data, and what computes.
func (r record) facts() (results.Facts, error) {
	past, err := r.past()
	if err != nil {
		return nil, err
	}
	return past.facts(), nil
}

// past is the record as it is read back from config.json.
func (r record) past() (*pastRecord, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	past := new(pastRecord)
	if err := json.Unmarshal(text, past); err != nil {
		return nil, err
	}
	return past, nil
}

func (r *pastRecord) facts() results.Facts {
	facts := results.Facts{
		"version": r.Version, "platform": r.Platform, "instruction set": r.ISA,
		"parameters": strconv.Itoa(r.Model.Parameters),
		"images":     fmt.Sprint(r.Dataset.Counts), "normalisation": r.Dataset.Normalisation,
	}
	if r.Dataset.Sum != "" {
		facts["data"] = fmt.Sprintf("%.12s", r.Dataset.Sum)
	}
	for name, v := range r.Settings {
		if !slices.Contains(free, name) && !slices.Contains([]string{"out", "force"}, name) {
			facts["--"+name] = plain(v)
		}
	}
	for name, v := range r.Method {
		facts["--"+name] = plain(v)
	}
	all := sha256.New()
	for _, c := range r.Clients {
		fmt.Fprintln(all, c.Hash)
	}
	facts["data of the clients"] = fmt.Sprintf("%d, %.6x", len(r.Clients), all.Sum(nil))
	return facts
}

// chosen are the settings of a run that decide its results, as far as they are known before its data are read.
func (r *pastRecord) chosen() results.Facts {
	facts := results.Facts{}
	for _, settings := range []map[string]json.RawMessage{r.Settings, r.Method} {
		for name, v := range settings {
			if name == "rounds" || !slices.Contains(free, name) && !slices.Contains([]string{"out", "force"}, name) {
				facts["--"+name] = plain(v)
			}
		}
	}
	// How many test images there are depends on the data; what was asked for does not.
	delete(facts, "--test-per-class")
	if asked, ok := r.Flags["test-per-class"]; ok {
		facts["--test-per-class"] = asked
	}
	return facts
}

// chosen are those of a plan.
func (p *plan) chosen() (results.Facts, error) {
	r := record{Flags: p.flags}
	r.Settings, r.Method = p.inForce()
	past, err := r.past()
	if err != nil {
		return nil, err
	}
	return past.chosen(), nil
}

// plain is a JSON value as one reads it.
func plain(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	var b bytes.Buffer
	_ = json.Compact(&b, v) // a file has line breaks in it, and was read as JSON already
	return b.String()
}

// onlyRestores is a run that goes on from a checkpoint and writes none.
type onlyRestores struct{ *results.Run }

// Keep implements [federation.Keeper].
func (onlyRestores) Keep(*federation.Snapshot) error { return nil }

// resume opens the folder of the run to go on with.
func (p *plan) resume(head results.Head, config record) (*results.Run, error) {
	// What config.json says was in force must be so now, be it that the file or the program changed.
	if all := p.old.facts().Differ(head.Facts); len(all) > 0 {
		return nil, p.refuse("its config.json is of another run: %s", strings.Join(all, "; "))
	}
	config.Started = p.old.Started
	rec, damaged, err := results.Resume(p.Out, head, config)
	for _, d := range damaged {
		p.notes = append(p.notes, d.Error()+": the one before is used")
	}
	var held *results.Held
	if errors.As(err, &held) {
		return nil, usagef("--resume %w", err)
	}
	return rec, err
}
