package datasets

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// put writes the four files of tiny into a folder, under the names that spell gives them.
func put(t *testing.T, dir string, spell func(string) string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, file := range tiny([]uint8{3, 1}, []uint8{4}) {
		if err := os.WriteFile(filepath.Join(dir, spell(name)), file.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func same(name string) string { return name }

func TestRegistry(t *testing.T) {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
		if e.About == "" || e.Origin == "" || e.License == "" || !e.Open() && (e.Classes < 2 || size(e.Shape) < 2) || e.load == nil || (len(e.Regimes) == 0) != (e.Defaults.Partition != "") ||
			e.Names != nil && len(e.Names) != e.Classes || e.Published == nil && e.Format == nil && !e.Embedded() {
			t.Errorf("%s: entry is incomplete: %+v", e.Name, e)
		}
		if len(e.Mean) != len(e.Std) || (e.Mean != nil && len(e.Mean) != e.dataset(nil, nil).Channels()) {
			t.Errorf("%s: %d means and %d deviations for images of %v", e.Name, len(e.Mean), len(e.Std), e.Shape)
		}
		if s, err := Lookup(e.Sample); e.Sample != "" && (err != nil || !s.Embedded() || !slices.Equal(s.Shape, e.Shape) || s.Classes != e.Classes) {
			t.Errorf("%s: %q cannot stand in: %v", e.Name, e.Sample, err)
		}
		for _, r := range e.Regimes {
			got, err := e.Regime(r.Name)
			if err != nil || got != r {
				t.Errorf("%s: regime %s: got %v, %v", e.Name, r.Name, got, err)
			}
		}
	}
	if want := []string{"mnist-sample", "mnist", "fashion-mnist-sample", "fashion-mnist", "cifar10", "mnist-writers", "hapt", "vsn", "shakespeare", "csv"}; !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if _, err := Lookup("mnits"); err == nil || !strings.Contains(err.Error(), `no data set "mnits": want mnist-sample, mnist, fashion-mnist-sample, fashion-mnist, cifar10, mnist-writers, hapt, vsn, shakespeare, csv`) {
		t.Errorf("unknown name: got %v", err)
	}
	if _, err := mnist().Regime("tiny"); err == nil || !strings.Contains(err.Error(), `no regime "tiny": want small, medium, large`) {
		t.Errorf("unknown regime: got %v", err)
	}
	// An entry that a caller changes must not change the registry.
	All()[0].Regimes[0].Train = -1
	if All()[0].Regimes[0].Train < 0 {
		t.Error("the registry can be changed from outside")
	}
}

func TestFindOrder(t *testing.T) {
	root := t.TempDir()
	env, cache, given := filepath.Join(root, "env"), filepath.Join(root, "cache"), filepath.Join(root, "given")
	t.Setenv(EnvDir, env)
	t.Setenv("XDG_CACHE_HOME", cache)
	if dirs := roots(""); len(dirs) != 3 || dirs[0] != env || dirs[2] != filepath.FromSlash("/usr/share/datasets") {
		t.Fatalf("looks in %v", dirs)
	}
	// Each step adds a folder that comes before those that are there already.
	steps := []string{env, filepath.Join(env, "mnist")}
	if runtime.GOOS == "linux" { // elsewhere the user's cache is not where XDG_CACHE_HOME says
		steps = append([]string{filepath.Join(cache, "fedbayes")}, steps...)
	}
	for _, dir := range steps {
		put(t, dir, same)
		if got, err := Find("mnist", ""); err != nil || got != dir {
			t.Errorf("got %s, %v, want %s", got, err, dir)
		}
	}
	// A given folder is the only one.
	if got, err := Find("mnist", given); err == nil {
		t.Errorf("found %s outside the given folder", got)
	}
	put(t, given, same)
	if got, err := Find("mnist", given); err != nil || got != given {
		t.Errorf("got %s, %v, want %s", got, err, given)
	}
	if got, err := Find("mnist-sample", given); err != nil || got != "embedded" {
		t.Errorf("sample: got %s, %v", got, err)
	}
}

func TestResolve(t *testing.T) {
	root := t.TempDir()
	t.Setenv(EnvDir, "")
	t.Setenv("XDG_CACHE_HOME", root)
	if _, err := Find("fashion-mnist", ""); err == nil {
		t.Skip("needs a machine without fashion-mnist in its usual places")
	}
	for _, test := range []struct{ name, dir, env, want string }{
		{"fashion-mnist", "", "", "fashion-mnist-sample"},
		{"fashion-mnist", root, "", "fashion-mnist"},
		{"fashion-mnist", "", root, "fashion-mnist"},
		{"fashion-mnist-sample", "", "", "fashion-mnist-sample"},
		{"mnist", "", "", "mnist"}, // who asks for it does not want the default
		{"cifar10", "", "", "cifar10"},
	} {
		t.Setenv(EnvDir, test.env)
		e, notes, err := Resolve(test.name, test.dir)
		if err != nil || e.Name != test.want {
			t.Errorf("%s in %q, $%s=%q: got %s, %v, want %s", test.name, test.dir, EnvDir, test.env, e.Name, err, test.want)
		}
		if (len(notes) == 1 && strings.HasPrefix(notes[0], test.name+" is not on this machine")) != (test.name != test.want) || len(notes) > 1 {
			t.Errorf("%s in %q, $%s=%q: notes %q", test.name, test.dir, EnvDir, test.env, notes)
		}
	}
	t.Setenv(EnvDir, "")
	if runtime.GOOS == "linux" { // elsewhere the user's cache is not where XDG_CACHE_HOME says
		put(t, filepath.Join(root, "fedbayes", "fashion-mnist"), same)
		if e, notes, err := Resolve("fashion-mnist", ""); err != nil || e.Name != "fashion-mnist" || len(notes) > 0 {
			t.Errorf("with its files: got %s, %q, %v", e.Name, notes, err)
		}
	}
	if _, _, err := Resolve("nothing", ""); err == nil {
		t.Error("unknown name: no error")
	}
}

func TestLoadSpellings(t *testing.T) {
	for name, spell := range map[string]func(string) string{
		"as published": same,
		"dotted":       func(s string) string { return strings.Replace(s, "-idx", ".idx", 1) },
		"gz":           func(s string) string { return s + ".gz" },
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "mnist"), spell)
		d, err := Load("mnist", dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if d.Len() != 3 || d.Source != filepath.Join(dir, "mnist") {
			t.Errorf("%s: %d images from %s", name, d.Len(), d.Source)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	root := t.TempDir()
	partial, broken, file := filepath.Join(root, "partial"), filepath.Join(root, "broken"), filepath.Join(root, "file")
	put(t, partial, same)
	if err := os.Remove(filepath.Join(partial, "t10k-labels-idx1-ubyte")); err != nil {
		t.Fatal(err)
	}
	put(t, broken, same)
	if err := os.Truncate(filepath.Join(broken, "train-images-idx3-ubyte"), 100); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, dir, want string }{
		{"no folder", filepath.Join(root, "none"), "none (no such folder): put train-images-idx3-ubyte"},
		{"empty folder", root, root + " (not there): put train-images-idx3-ubyte"},
		{"a file", file, "file (not a folder)"},
		{"a file missing", partial, "partial (without t10k-labels-idx1-ubyte)"},
		{"a file broken", broken, "broken: train-images-idx3-ubyte: 84 bytes of data, want 1568 for [2 28 28]"},
	} {
		_, err := Load("mnist", test.dir)
		if err == nil {
			t.Errorf("%s: no error", test.name)
			continue
		}
		got := err.Error()
		if !strings.HasPrefix(got, "datasets: mnist: ") || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if _, err := Load("nothing", ""); err == nil {
		t.Error("unknown name: no error")
	}
	if _, err := Find("nothing", ""); err == nil {
		t.Error("unknown name: no error")
	}
}
