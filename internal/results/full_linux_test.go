package results_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"fedbayes/internal/federation"
	"fedbayes/internal/results"
)

// roomEnv makes the test binary run fill in a process of its own, whose limit no other file meets.
const roomEnv, dirEnv = "FEDBAYES_TEST_ROOM", "FEDBAYES_TEST_DIR"

// fill records a run into a folder where no file can grow beyond room bytes, as on a device that is full, and expects that
// it is told so.
func fill(t *testing.T, dir, room string) {
	t.Helper()
	n, err := strconv.Atoi(room)
	if err != nil {
		t.Fatal(err)
	}
	limit := syscall.Rlimit{Cur: uint64(n), Max: uint64(n)}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Skip(err)
	}
	r, err := results.Create(dir, false, head, map[string]int{"answer": 42})
	if err != nil {
		return
	}
	for round := range 3 {
		if err = r.Evaluation(evaluation(round+1, 0.5, 0.25)); err != nil {
			break
		}
	}
	if _, end := r.Finish(federation.Result{}, err); err == nil && end == nil {
		t.Errorf("%d bytes: no error", n)
	}
}

// TestFull: wherever the device is full, both CSVs hold whole rows, an evaluation's rows of clients.csv or none of them,
// and no temporary file stays.
func TestFull(t *testing.T) {
	if room := os.Getenv(roomEnv); room != "" {
		fill(t, os.Getenv(dirEnv), room)
		return
	}
	for room := 0; room < 700; room += 13 {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestFull$")
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", roomEnv, room), dirEnv+"="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%d bytes: %v\n%s", room, err, out)
		}
		entries, err := os.ReadDir(dir)
		if err != nil && !os.IsNotExist(err) { // a run that could not begin leaves nothing
			t.Fatal(err)
		}
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
}
