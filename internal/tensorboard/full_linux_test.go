package tensorboard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"fedbayes/internal/tensorboard/eventtest"
)

// alone makes the test binary run TestFull in a process of its own, whose limit no other file meets.
const alone = "FEDBAYES_TEST_ALONE"

// TestFull: wherever the device is full, a file holds whole records; one that cannot begin leaves nothing.
func TestFull(t *testing.T) {
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestFull$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	for room := range uint64(150) {
		dir := filepath.Join(t.TempDir(), "run")
		if err := fill(t, dir, room); err == nil {
			t.Errorf("%d bytes: no error", room)
		}
		if _, err := os.Stat(dir); room < 69 { // a version and a START
			if !os.IsNotExist(err) {
				t.Errorf("%d bytes: there is a folder (%v)", room, err)
			}
			continue
		}
		if names, _ := eventtest.Read(t, dir); len(names) != 1 {
			t.Errorf("%d bytes: files %v, want one", room, names)
		}
	}
}

// fill writes three steps where no file can grow beyond room bytes, and returns the first error.
func fill(t *testing.T, dir string, room uint64) error {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Skip(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: room, Max: old.Max}); err != nil {
		t.Skip(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
	}()
	w, err := Create(dir, false)
	if err != nil {
		return err
	}
	for step := range 3 {
		if err = w.Write(step+1, []Scalar{{"accuracy/pm", 0.5}}); err != nil {
			break
		}
	}
	return errors.Join(err, w.Close())
}
