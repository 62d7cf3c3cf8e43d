package tensorboard

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"fedbayes/internal/tensorboard/eventtest"
)

// golden is what scripts/compare/events.py printed, with TensorBoard 2.21: a version, a START at step 10 and two numbers
// at step 300, at the times below.
const golden = "1800000000000000a37f4b2209000010185cc3da411a0d627261696e2e4576656e743a328a025b76" +
	"0f000000000000006d532b0909000060185cc3da41100a3a0208012c8b35be" +
	"33000000000000000ca72056090000b0185cc3da4110ac022a250a120a0b61636375726163792f706d157b146e3f0a0f0a08747261696e2f6b6c156f1283ba5073954c"

func TestGolden(t *testing.T) {
	got := hex.EncodeToString(records(
		version(time.UnixMilli(1796042848250)), start(time.UnixMilli(1796042849500), 10),
		summary(time.UnixMilli(1796042850750), 300, []Scalar{{"accuracy/pm", 0.93}, {"train/kl", -1e-3}}),
	))
	if got != golden {
		t.Errorf("records\n%s\nwant\n%s", got, golden)
	}
}

// write writes steps with one number each, and closes the file.
func write(t *testing.T, w *Writer, err error, steps ...int) {
	t.Helper()
	for _, step := range steps {
		if err == nil {
			err = w.Write(step, []Scalar{{"a", float64(step) / 2}})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "run")
	began := float64(time.Now().UnixMicro()) / 1e6
	w, err := Create(dir, false)
	if err == nil {
		err = w.Write(10, []Scalar{{"accuracy/pm", 0.1}, {"bytes/up", 1 << 40}, {"train/kl", 0}})
	}
	write(t, w, err, 20)
	_, got := eventtest.Read(t, dir)
	if len(got) != 4 || !got[1].Start || got[1].Step != 0 {
		t.Fatalf("%+v, want a version, a START and two steps", got)
	}
	if v := got[2].Values; got[2].Step != 10 || len(v) != 3 || v["accuracy/pm"] != 0.1 || v["bytes/up"] != 1<<40 || v["train/kl"] != 0 {
		t.Errorf("%+v", got[2])
	}
	if v := got[3].Values; got[3].Step != 20 || v["a"] != 10 {
		t.Errorf("%+v", got[3])
	}
	for _, e := range got {
		if now := float64(time.Now().UnixMicro()) / 1e6; e.Time < began || e.Time > now {
			t.Errorf("an event at %v, want it from %v to %v", e.Time, began, now)
		}
	}
}

// TestReplace: a run is not mixed with another; the one that replaces it has a later name, even within a second.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, false)
	write(t, w, err, 1, 2)
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	before, _ := eventtest.Read(t, dir)
	want := dir + " already holds event files: name another folder, or replace them with --force"
	if _, err := Create(dir, false); fmt.Sprint(err) != want || fmt.Sprint(Check(dir, false)) != want {
		t.Errorf("%v and %v, want %s", err, Check(dir, false), want)
	}
	if err := Check(dir, true); err != nil {
		t.Error(err)
	}
	w, err = Create(dir, true)
	write(t, w, err, 7)
	after, got := eventtest.Read(t, dir)
	if len(after) != 1 || after[0] <= before[0] || !slices.Equal(eventtest.Steps(got), []int{7}) {
		t.Errorf("%v with steps %v, want a file after %v with step 7", after, eventtest.Steps(got), before)
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
		t.Error(err)
	}
}

// TestResume: no step is there twice or lost, whatever was written after the one that a run goes on from.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, false)
	write(t, w, err, 10, 20, 30, 40)
	w, err = Resume(dir, 30)
	write(t, w, err, 30, 40, 50)
	w, err = Resume(dir, 45)
	write(t, w, err)
	w, err = Resume(dir, 20)
	write(t, w, err, 20, 30)
	names, got := eventtest.Read(t, dir)
	if want := []int{10, 20, 30}; len(names) != 4 || !slices.Equal(eventtest.Steps(got), want) {
		t.Errorf("%v with steps %v, want four files with %v", names, eventtest.Steps(got), want)
	}
	// TensorBoard drops what it has seen from the step of a START on, but for the first.
	if last := got[len(got)-3]; !last.Start || last.Step != 20 {
		t.Errorf("%+v, want a START at step 20", last)
	}

	dir = filepath.Join(t.TempDir(), "none")
	w, err = Resume(dir, 5)
	write(t, w, err, 5)
	if _, got := eventtest.Read(t, dir); !slices.Equal(eventtest.Steps(got), []int{5}) {
		t.Errorf("no run there: steps %v, want 5", eventtest.Steps(got))
	}
}

// TestCut resumes after a file that ends at any byte.
func TestCut(t *testing.T) {
	whole := t.TempDir()
	w, err := Create(whole, false)
	write(t, w, err, 1, 2, 3)
	names, _ := eventtest.Read(t, whole)
	text, err := os.ReadFile(filepath.Join(whole, names[0]))
	if err != nil {
		t.Fatal(err)
	}
	for n := range text {
		items, _, _ := eventtest.Parse(text[:n])
		want := append(eventtest.Steps(items), 9)
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, names[0]), text[:n], 0o644); err != nil {
			t.Fatal(err)
		}
		w, err := Resume(dir, 4)
		write(t, w, err, 9)
		if n < 40 { // not even a version
			if err := os.Remove(filepath.Join(dir, names[0])); err != nil {
				t.Fatal(err)
			}
		}
		if _, got := eventtest.Read(t, dir); !slices.Equal(eventtest.Steps(got), want) {
			t.Errorf("cut at %d: steps %v, want %v", n, eventtest.Steps(got), want)
		}
	}
}

// TestNoFolder: what is in the way is an error before anything is written.
func TestNoFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, created := Create(dir, true)
		_, resumed := Resume(dir, 1)
		for _, err := range []error{Check(dir, false), created, resumed} {
			if err == nil || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want one line that names it", dir, err)
			}
		}
	}
}

// FuzzBefore: of any file there stay whole records, none of them of a later step.
func FuzzBefore(f *testing.F) {
	seed, err := hex.DecodeString(golden)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, 5)
	f.Add(seed, 1000)
	f.Add(seed[:len(seed)-1], 1000)
	f.Add(records([]byte{0x10}, []byte{0x0b, 0xff}, nil), 1)
	f.Fuzz(func(t *testing.T, text []byte, step int) {
		n := before(text, step)
		for left := text[:n]; len(left) > 0; {
			data, size := record(left)
			if size == 0 || stepOf(data) >= uint64(step) {
				t.Fatalf("%d bytes are left, of which %d are no record before step %d", n, len(left), step)
			}
			left = left[size:]
		}
	})
}
