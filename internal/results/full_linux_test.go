package results_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"fedbayes/internal/federation"
	"fedbayes/internal/results"
	"fedbayes/internal/tensorboard/eventtest"
)

// alone makes the test binary run TestFull in a process of its own, whose limit no other file meets.
const alone = "FEDBAYES_TEST_ALONE"

// within runs f where no file can grow beyond n bytes, as on a device that is full.
func within(t *testing.T, n int, f func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Skip(err)
	}
	limit := syscall.Rlimit{Cur: uint64(n), Max: old.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// fill records a run into a folder, and its event file below another, and returns the first error.
func fill(dir, events string) error {
	h := head
	h.Events = events
	r, err := results.Create(dir, false, h, map[string]int{"answer": 42})
	if err != nil {
		return err
	}
	for round := range 3 {
		if err = r.Evaluation(evaluation(round+1, 0.5, 0.25)); err != nil {
			break
		}
	}
	_, end := r.Finish(federation.Result{}, err)
	return errors.Join(err, end)
}

// TestFull: wherever the device is full, both CSVs hold whole rows, an evaluation's rows of clients.csv or none of them, an
// event file whole records, and no temporary file stays.
func TestFull(t *testing.T) {
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFull$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	most := 0 // evaluations in an event file
	for room := 0; room < 700; room += 7 {
		dir, events := t.TempDir(), t.TempDir()
		var err error
		within(t, room, func() { err = fill(dir, events) })
		if err == nil {
			t.Errorf("%d bytes: no error", room)
		}
		names, shown := eventtest.Read(t, filepath.Join(events, filepath.Base(dir)))
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) { // a run that could not begin leaves nothing
			t.Fatal(err)
		}
		if begun := len(entries) > 0; begun != (len(names) == 1) {
			t.Errorf("%d bytes: files %v, event files %v", room, entries, names)
		}
		most = max(most, len(eventtest.Steps(shown)))
		for _, e := range entries {
			switch text := read(t, dir, e.Name()); {
			case strings.HasSuffix(e.Name(), ".csv"):
				if err := wholeLines(text); err != nil {
					t.Errorf("%d bytes: %s: %v", room, e.Name(), err)
				}
				if n := strings.Count(text, "\n"); e.Name() == "clients.csv" && n > 0 && n%2 == 0 {
					t.Errorf("%d bytes: %d lines in clients.csv: an evaluation with one of its two clients", room, n)
				}
			case strings.HasSuffix(e.Name(), ".json"):
				if !strings.HasSuffix(text, "}\n") {
					t.Errorf("%d bytes: %s is %q", room, e.Name(), text)
				}
			default:
				t.Errorf("%d bytes: left %s", room, e.Name())
			}
		}
	}
	if most == 0 {
		t.Error("no event file holds an evaluation")
	}
}
