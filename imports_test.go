package main

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed lists what each package may import: packages of ours by their path in the module, others by a prefix of their
// import path. The standard library is free to all but math/rand, whose numbers have no address. Imports point down this
// list only. Tests are not bound by it.
var allowed = []struct {
	pkg   string
	below []string
}{
	{"fedbayes", []string{"internal/cli"}},
	{"internal/cli", []string{
		"internal/federation", "internal/results", "internal/checkpoint", "algorithms", "layers", "datasets", "internal/metrics", "internal/kernels",
		"internal/report", "internal/plots", "internal/runs",
		"github.com/urfave/cli/v2", "github.com/schollz/progressbar/v3", "golang.org/x/term", "github.com/xrash/smetrics", "github.com/BurntSushi/toml",
	}},
	{"internal/report", []string{"internal/plots", "internal/runs"}},
	{"internal/plots", []string{"internal/runs", "gonum.org/v1/plot"}},
	{"internal/runs", nil},
	{"internal/results", []string{"internal/federation", "internal/checkpoint", "internal/tensorboard", "algorithms", "internal/metrics"}},
	{"internal/federation", []string{
		"algorithms", "layers", "datasets", "internal/metrics", "internal/state", "internal/rng", "internal/kernels",
	}},
	{"internal/tensorboard/eventtest", []string{"google.golang.org/protobuf/encoding/protowire"}},
	{"internal/tensorboard", []string{"google.golang.org/protobuf/encoding/protowire"}},
	{"internal/checkpoint", []string{"internal/state", "github.com/nlpodyssey/safetensors"}},
	{"algorithms", []string{
		"layers", "priors", "graph", "datasets", "internal/rng", "internal/gp", "internal/assignment", "internal/kernels",
		"gonum.org/v1/gonum",
	}},
	{"layers", []string{"graph", "internal/rng", "internal/kernels"}},
	{"priors", []string{"graph"}},
	{"graph/graphtest", []string{"graph", "internal/kernels", "gonum.org/v1/gonum"}},
	{"internal/state", []string{"graph"}},
	{"graph", []string{"internal/kernels", "gorgonia.org/gorgonia", "gorgonia.org/tensor", "github.com/chewxy/hm"}},
	{"datasets", []string{"datasets/internal/packed", "internal/rng", "gonum.org/v1/gonum"}},
	{"datasets/internal/packed", nil},
	{"internal/rng", []string{"internal/kernels", "math/rand/v2"}},
	{"internal/gp", []string{"internal/kernels", "gonum.org/v1/gonum"}},
	{"internal/assignment", nil},
	{"internal/metrics", nil},
	{"internal/kernels", []string{"golang.org/x/sys/cpu"}},
	{"scripts", nil},
}

func TestImports(t *testing.T) {
	packages := list(t)
	for _, rule := range allowed {
		imports, ok := packages[rule.pkg]
		if !ok {
			t.Errorf("there is a rule for %s and no such package: remove the rule", rule.pkg)
		}
		for _, path := range imports {
			if !permits(rule.below, path) {
				t.Errorf("%s imports %s, want only the standard library and %v", rule.pkg, path, rule.below)
			}
		}
		delete(packages, rule.pkg)
	}
	for _, pkg := range slices.Sorted(maps.Keys(packages)) {
		t.Errorf("no rule says what %s may import: add one", pkg)
	}
}

// TestRulesPointDown keeps the table free of cycles, and in an order that a reader can follow.
func TestRulesPointDown(t *testing.T) {
	place := map[string]int{}
	for i, rule := range allowed {
		place[rule.pkg] = i
	}
	for i, rule := range allowed {
		for _, path := range rule.below {
			if j, ours := place[path]; ours && j <= i {
				t.Errorf("%s may import %s, which stands above it", rule.pkg, path)
			}
		}
	}
}

// permits reports whether a package with this rule may import path.
func permits(below []string, path string) bool {
	if own, ok := strings.CutPrefix(path, "fedbayes/"); ok {
		return slices.Contains(below, own)
	}
	// The first element of a path outside the standard library has a dot.
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") && !strings.HasPrefix(path, "math/rand") {
		return true
	}
	return slices.ContainsFunc(below, func(p string) bool { return path == p || strings.HasPrefix(path, p+"/") })
}

// list returns the imports of each package of the module, by its path in the module.
func list(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Skipf("needs the go command: %v", err)
	}
	packages := map[string][]string{}
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages[strings.TrimPrefix(p.ImportPath, "fedbayes/")] = p.Imports
	}
}
