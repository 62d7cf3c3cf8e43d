package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedbayes/internal/state"
)

// tensors are one of each type, which tell the round.
func tensors(round int) []state.Tensor {
	return []state.Tensor{
		{Name: "server.mu/dense1.weight", Shape: []int{2, 3}, Data: []float32{float32(round), 1, -2, 3, 1e-45, 5}},
		{Name: "client.0.precise", Shape: []int{2}, Data: []float64{1, 0.1}},
		{Name: "client.0.step", Shape: []int{}, Data: []int64{-1 << 62}},
		{Name: "client.0.seed", Shape: []int{}, Data: []uint64{1<<64 - 1}},
		{Name: "client.0.seen", Shape: []int{3}, Data: []bool{true, false, true}},
		{Name: "client.0.rule", Shape: []int{2}, Data: []byte("ρ")},
		{Name: "client.0.empty", Shape: []int{0}, Data: []float32{}},
	}
}

func save(t *testing.T, dir string, rounds ...int) {
	t.Helper()
	for _, round := range rounds {
		if err := Save(dir, round, map[string]int{"round": round}, tensors(round)); err != nil {
			t.Fatal(err)
		}
	}
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// open opens the newest checkpoint and makes sure that it is that of a round, with a number of damaged ones.
func open(t *testing.T, dir string, round, damaged int) *Checkpoint {
	t.Helper()
	c, bad, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var about map[string]int
	if err := json.Unmarshal(c.About, &about); err != nil {
		t.Fatal(err)
	}
	if c.Round != round || about["round"] != round || len(bad) != damaged {
		t.Fatalf("opened round %d about %v, %d damaged; want %d and %d", c.Round, about, len(bad), round, damaged)
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	save(t, dir, 3)
	c := open(t, dir, 3, 0)
	want := tensors(3)
	for _, w := range want {
		if !slices.Contains(c.Left(), w.Name) {
			t.Errorf("%s is not left", w.Name)
		}
		got, ok := c.Take(w.Name)
		if !ok || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", w) {
			t.Errorf("%#v, want %#v", got, w)
		}
		if _, ok := c.Take(w.Name); ok {
			t.Errorf("%s is there twice", w.Name)
		}
	}
	if left := c.Left(); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// TestTidy: the last two stay, and what a killed run left goes.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 5, 9, 10)
	const want = "round-10.json round-10.safetensors round-9.json round-9.safetensors"
	if got := files(t, dir); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, name := range []string{"round-11.safetensors", "round-12.safetensors.tmp", "round-12.json.tmp", "round-010.json", "mine.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open(t, dir, 10, 0)
	save(t, dir, 10) // once more
	if got, want := files(t, dir), "mine.json round-010.json "+want; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if err := Clear(dir); err != nil {
		t.Fatal(err)
	}
	if got, want := files(t, dir), "mine.json round-010.json"; got != want {
		t.Errorf("after Clear: %s, want %s", got, want)
	}
	save(t, filepath.Join(dir, "x"), 1)
	if err := errors.Join(Clear(filepath.Join(dir, "x")), Clear(filepath.Join(dir, "x"))); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "x")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after Clear the empty folder is there (%v)", err)
	}
}

// TestDamaged damages the newest checkpoint in each way there is: the one before is used, and stays when the next is
// written.
func TestDamaged(t *testing.T) {
	cut := func(n int) func([]byte) []byte { return func(b []byte) []byte { return b[:max(0, len(b)+n)] } }
	flip := func(i int) func([]byte) []byte {
		return func(b []byte) []byte { b[(len(b)+i)%len(b)] ^= 1; return b }
	}
	swap := func(old, with string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), old, with, 1)) }
	}
	for name, damage := range map[string]func([]byte) []byte{
		"safetensors cut by 1": cut(-1), "safetensors cut by 40": cut(-40), "safetensors empty": cut(-1 << 20),
		"safetensors longer":    func(b []byte) []byte { return append(b, 0) },
		"safetensors last bit":  flip(-1),
		"safetensors first bit": flip(0),
		"safetensors name":      swap("server.mu", "server.nu"),
		"safetensors removed":   nil,
		"json cut by 1":         cut(-3), "json empty": cut(-1 << 20), "json cut by half": cut(-80),
		"json of another round": swap(`"round": 20`, `"round": 21`),
		"json removed":          nil,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, dir, 10, 20)
			ext, _, _ := strings.Cut(name, " ")
			path := filepath.Join(dir, "round-20."+ext)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := 1
			if damage == nil {
				err = os.Remove(path)
				if ext == "json" {
					want = 0 // there never was one, for all we know
				}
			} else {
				err = os.WriteFile(path, damage(text), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			open(t, dir, 10, want)
			save(t, dir, 15)
			open(t, dir, 15, 0)
			if got, want := files(t, dir), "round-10.json round-10.safetensors round-15.json round-15.safetensors"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

func TestUnusable(t *testing.T) {
	one := filepath.Join(t.TempDir(), "one")
	save(t, one, 7)
	if err := os.Truncate(filepath.Join(one, "round-7.safetensors"), 100); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	save(t, other, 6, 7)
	path := filepath.Join(other, "round-7.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), `"format": 1`, `"format": 2`, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"nowhere":   "nowhere: it holds no checkpoint",
		t.TempDir(): "it holds no checkpoint",
		one:         "the checkpoint of round 7 is damaged (round-7.safetensors has 100 bytes, want ",
		other:       "its checkpoint has format 2, want 1",
	} {
		c, _, err := Open(dir)
		var unusable *Unusable
		if c != nil || !errors.As(err, &unusable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an *Unusable: %s", err, want)
		}
	}
}

// TestFailedSave: what cannot be written leaves the checkpoints that there are.
func TestFailedSave(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, 1, 2)
	before := files(t, dir)
	if err := Save(dir, 3, func() {}, tensors(3)); err == nil {
		t.Error("no error for a function as JSON")
	}
	if err := os.Mkdir(filepath.Join(dir, "round-4.safetensors.tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Save(dir, 4, nil, tensors(4)); err == nil {
		t.Error("no error where the file cannot be made")
	}
	open(t, dir, 2, 0)
	if err := os.Remove(filepath.Join(dir, "round-4.safetensors.tmp")); err != nil {
		t.Fatal(err)
	}
	if got := files(t, dir); got != before {
		t.Errorf("%s, want %s", got, before)
	}
}

// BenchmarkSave writes 20 MB: ten clients of pFedBayes with 79,510 parameters, each with six vectors of their size.
func BenchmarkSave(b *testing.B) {
	var all []state.Tensor
	for i := range 10 * 6 {
		all = append(all, state.Tensor{Name: fmt.Sprint("client.", i), Shape: []int{79510}, Data: make([]float32, 79510)})
	}
	dir := b.TempDir()
	round := 0
	b.SetBytes(10 * 6 * 4 * 79510)
	for b.Loop() {
		round++
		if err := Save(dir, round, nil, all); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzDecode reads files of any content: an error, or tensors whose values the file holds.
func FuzzDecode(f *testing.F) {
	dir := f.TempDir()
	if err := Save(dir, 1, nil, tensors(1)); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "round-1.safetensors"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte{})
	header := `{"a":{"dtype":"F64","shape":[2305843009213693945],"data_offsets":[0,18446744073709551560]}}`
	f.Add(append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...))
	f.Fuzz(func(t *testing.T, file []byte) {
		all, err := decode(file)
		if err != nil {
			return
		}
		bytes := 0
		for name, r := range all {
			bytes += len(r.data)
			n := 1
			for _, d := range r.shape {
				n *= d
			}
			if n*int(r.dtype.Size()) != len(r.data) {
				t.Errorf("%s: %d bytes for shape %v", name, len(r.data), r.shape)
			}
			r.tensor(name)
		}
		if bytes > len(file) {
			t.Errorf("%d bytes of values in a file of %d", bytes, len(file))
		}
	})
}
