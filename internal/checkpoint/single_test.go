package checkpoint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedbayes/internal/state"
)

func TestWriteAndRead(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "sub", "some.model")
	for _, value := range []float32{1, 2} { // the second replaces the first
		tensors := []state.Tensor{{Name: "weights", Shape: []int{1, 2}, Data: []float32{value, 7}}}
		if err := Write(name, map[string]float32{"value": value}, tensors); err != nil {
			t.Fatal(err)
		}
		for _, spelling := range append(Files(name), name) {
			c, err := Read(spelling)
			if err != nil {
				t.Fatalf("%s: %v", spelling, err)
			}
			got, _ := c.Take("weights")
			var about map[string]float32
			if err := json.Unmarshal(c.About, &about); err != nil || about["value"] != value {
				t.Errorf("%s is about %v (%v), want %v", spelling, about, err, value)
			}
			if data, ok := got.Data.([]float32); !ok || !slices.Equal(data, []float32{value, 7}) || !slices.Equal(got.Shape, []int{1, 2}) {
				t.Errorf("%s holds %+v", spelling, got)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(entries) != 2 {
		t.Errorf("%v (%v), want two files", entries, err)
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "model")
	if _, err := Read(name + ".json"); err == nil || !strings.HasPrefix(err.Error(), name+".json: ") {
		t.Errorf("of nothing: %v", err)
	}
	if err := Write(name, nil, []state.Tensor{{Name: "w", Shape: []int{2}, Data: []float32{1, 2}}}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(name + tensorsExt)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)-1] ^= 1
	if err := os.WriteFile(name+tensorsExt, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(name); err == nil || !strings.Contains(err.Error(), "model.safetensors is not what model.json was written with") {
		t.Errorf("of a damaged file: %v", err)
	}
}
