package checkpoint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"fedbayes/internal/state"
)

// This file is about tensors that stand alone, as a model that somebody takes along: a pair of files like that of a
// checkpoint, of no round and under a name of its own.

// Write writes tensors and about as JSON into name.safetensors and name.json, and replaces what has these names. The folder
// is made if it is not there.
func Write(name string, about any, tensors []state.Tensor) error {
	text, err := json.Marshal(about)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := put(name, 0, text, tensors); err != nil {
		return err
	}
	settle(filepath.Dir(name))
	return nil
}

// Read reads what Write has written. The name may be that of one of the two files.
func Read(name string) (*Checkpoint, error) {
	dir, base := filepath.Split(Name(name))
	c, err := get(dir, base, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
}

// Name is a name without the extension of one of the two files.
func Name(name string) string {
	return strings.TrimSuffix(strings.TrimSuffix(name, tensorsExt), indexExt)
}

// Files are those that Write makes for a name.
func Files(name string) []string { return []string{name + indexExt, name + tensorsExt} }
