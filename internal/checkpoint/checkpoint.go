// Package checkpoint keeps states of a run in a folder, of which the newest whole one can be read at any time, whenever
// the program was killed and whatever happened to a file.
//
//	round-40.safetensors   the tensors, for any reader of that format (huggingface.co/docs/safetensors)
//	round-40.json          what else belongs to them, with their size and SHA-256
//
// A file is written under another name, synced and renamed. The JSON comes last: without it there is no checkpoint, and
// one whose tensors are not those it was written with is damaged. The checkpoint before the newest is kept.
package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"fedbayes/internal/state"
)

// format counts the layouts of the files, and of the tensors' names.
const format = 1

// The files of a round, and what ends a name until the file is complete.
const (
	tensorsExt = ".safetensors"
	indexExt   = ".json"
	temporary  = ".tmp"
	prefix     = "round-"
)

// An index is the JSON of a checkpoint.
type index struct {
	Format int             `json:"format"`
	Round  int             `json:"round"`
	Bytes  int64           `json:"bytes"`  // of the tensors' file
	SHA256 string          `json:"sha256"` // of the same
	About  json.RawMessage `json:"about"`
}

// An Unusable error says why there is nothing to go on from.
type Unusable struct{ Dir, Why string }

func (e *Unusable) Error() string { return e.Dir + ": " + e.Why }

// A Checkpoint is one that was read.
type Checkpoint struct {
	Round   int
	About   json.RawMessage
	tensors map[string]raw
}

// Save writes the checkpoint of a round: tensors, and about as JSON. Those of other rounds are removed, but for the newest
// before it. The folder is made if it is not there.
func Save(dir string, round int, about any, tensors []state.Tensor) error {
	text, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := put(filepath.Join(dir, prefix+strconv.Itoa(round)), round, text, tensors); err != nil {
		return err
	}
	settle(dir)
	return tidy(dir, round)
}

// put writes the two files of a checkpoint, whose names path begins.
func put(path string, round int, about json.RawMessage, tensors []state.Tensor) error {
	sum := counter{Hash: sha256.New()}
	if err := write(path+tensorsExt, func(w io.Writer) error { return encode(io.MultiWriter(w, &sum), tensors) }); err != nil {
		return err
	}
	ix := index{format, round, sum.n, hex.EncodeToString(sum.Sum(nil)), about}
	return write(path+indexExt, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(ix)
	})
}

// A counter hashes and counts what is written to it.
type counter struct {
	hash.Hash
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.Hash.Write(p)
}

// write makes a file that is there whole or not at all.
func write(path string, fill func(io.Writer) error) (err error) {
	f, err := os.Create(path + temporary)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(path+temporary))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(fill(w), w.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+temporary, path)
}

// settle makes the names in a folder last, where the system can do that for a folder.
func settle(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

// tidy removes all but the checkpoint of a round and the newest before it.
func tidy(dir string, round int) error {
	all, err := rounds(dir)
	if err != nil {
		return err
	}
	keep := []int{round}
	for _, r := range all {
		if r < round {
			keep = append(keep, r)
			break
		}
	}
	return remove(dir, func(r int, ext string) bool {
		return !slices.Contains(keep, r) || strings.HasSuffix(ext, temporary)
	})
}

// Clear removes all checkpoints of a folder, and the folder if nothing else is in it.
func Clear(dir string) error {
	if err := remove(dir, func(int, string) bool { return true }); err != nil {
		return err
	}
	_ = os.Remove(dir)
	return nil
}

// remove removes files of checkpoints. The JSON of a round goes before its tensors.
func remove(dir string, unwanted func(round int, ext string) bool) error {
	entries, err := os.ReadDir(dir) // by name, so .json comes before .safetensors
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range entries {
		if r, ext, ok := parse(e.Name()); ok && unwanted(r, ext) {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// parse takes the name of a file of ours apart.
func parse(name string) (round int, ext string, ok bool) {
	number, found := strings.CutPrefix(name, prefix)
	number, ext, dot := strings.Cut(number, ".")
	ext = "." + ext
	round, err := strconv.Atoi(number)
	known := slices.Contains([]string{tensorsExt, indexExt}, strings.TrimSuffix(ext, temporary))
	return round, ext, found && dot && known && err == nil && number == strconv.Itoa(round)
}

// rounds lists the rounds of which there is an index, the newest first.
func rounds(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []int
	for _, e := range entries {
		if r, ext, ok := parse(e.Name()); ok && ext == indexExt {
			all = append(all, r)
		}
	}
	slices.Sort(all)
	slices.Reverse(all)
	return all, nil
}

// Open reads the newest whole checkpoint. Damaged says what is wrong with newer ones. Without any the error is an
// *Unusable, and so it is if another version of this package wrote the newest.
func Open(dir string) (c *Checkpoint, damaged []error, err error) {
	all, err := rounds(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, round := range all {
		c, err := get(dir, prefix+strconv.Itoa(round), round)
		var other *Unusable
		if err == nil || errors.As(err, &other) {
			return c, damaged, err
		}
		damaged = append(damaged, fmt.Errorf("the checkpoint of round %d is damaged (%w)", round, err))
	}
	why := "it holds no checkpoint"
	if len(damaged) > 0 {
		why = errors.Join(damaged...).Error()
	}
	return nil, nil, &Unusable{dir, why}
}

// get reads the two files of a checkpoint, whose names name begins, and makes sure that they are what was written.
func get(dir, name string, round int) (*Checkpoint, error) {
	text, err := os.ReadFile(filepath.Join(dir, name+indexExt))
	if err != nil {
		return nil, err
	}
	var ix index
	if err := json.Unmarshal(text, &ix); err != nil {
		return nil, fmt.Errorf("%s: %w", name+indexExt, err)
	}
	if ix.Format != format {
		return nil, &Unusable{dir, fmt.Sprintf("its checkpoint has format %d, want %d", ix.Format, format)}
	}
	data, err := os.ReadFile(filepath.Join(dir, name+tensorsExt))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != ix.Bytes {
		return nil, fmt.Errorf("%s has %d bytes, want %d", name+tensorsExt, len(data), ix.Bytes)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != ix.SHA256 || ix.Round != round {
		return nil, fmt.Errorf("%s is not what %s was written with", name+tensorsExt, name+indexExt)
	}
	tensors, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name+tensorsExt, err)
	}
	return &Checkpoint{round, bytes.TrimSpace(ix.About), tensors}, nil
}

// Take returns a tensor, once: its memory is the caller's.
func (c *Checkpoint) Take(name string) (state.Tensor, bool) {
	t, ok := c.tensors[name]
	delete(c.tensors, name)
	if !ok {
		return state.Tensor{}, false
	}
	return t.tensor(name), true
}

// Left returns the names of the tensors that nobody took, in alphabetical order.
func (c *Checkpoint) Left() []string {
	var names []string
	for name := range c.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
