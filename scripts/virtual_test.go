package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// few are flags of train that make of a file of scripts/virtual runs that take no time.
const few = "--dataset mnist-sample --partition iid --clients 4 --participation 2 --test-per-client 5 --model mlp2:4,4 --rounds 2 --eval-every 1 --local-epochs 1 --quiet"

// TestVirtual: a CSV of all methods, its first column their names, of which a table can be made.
func TestVirtual(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	if out, status := script(dir, "virtual.sh vsn 3 -- "+few); status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	lines := read(t, filepath.Join(dir, "virtual_vsn.csv"))
	if len(lines) != 9 || !strings.HasPrefix(lines[0], "method,run,algo,") {
		t.Fatalf("%d lines, want a header and 8: %v", len(lines), lines)
	}
	for i, name := range []string{"fedavg", "fedprox", "virtual", "virtual-lateral"} {
		if !strings.HasPrefix(lines[1+2*i], name+",") || !strings.HasPrefix(lines[2+2*i], name+",") {
			t.Errorf("rows %d and %d are %s and %s, want two of %s", 2*i, 2*i+1, lines[1+2*i], lines[2+2*i], name)
		}
	}
	out, status := script(dir, "table.sh "+filepath.Join(dir, "virtual_vsn.csv")+" 2")
	if status != 0 || !regexp.MustCompile(`\n\| virtual-lateral \| 1 \| [0-9.]+ \| [0-9.]+ \|\n`).MatchString(out+"\n") {
		t.Errorf("status %d, table\n%s", status, out)
	}
}

// TestVirtualSparsity: less is sent the more is pruned.
func TestVirtualSparsity(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	if out, status := script(dir, "virtual.sh sparsity 3 -- "+few); status != 0 {
		t.Fatalf("status %d:\n%s", status, out)
	}
	lines := read(t, filepath.Join(dir, "virtual_sparsity.csv"))
	if len(lines) != 9 || !strings.HasPrefix(lines[0], "sparsity,") {
		t.Fatalf("%d lines, want a header and 8: %v", len(lines), lines)
	}
	up := -1
	for i, name := range strings.Split(lines[0], ",") {
		if name == "bytes_up" {
			up = i
		}
	}
	last := ""
	for i := 2; i < len(lines); i += 2 {
		bytes := strings.Split(lines[i], ",")[up]
		if last != "" && !(len(bytes) < len(last) || len(bytes) == len(last) && bytes < last) {
			t.Errorf("%s bytes, and %s where less is pruned", bytes, last)
		}
		last = bytes
	}
}

func TestVirtualRefuses(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	for line, want := range map[string]string{
		"virtual.sh":                        "usage: virtual.sh DATA",
		"virtual.sh nothing":                "usage: virtual.sh DATA",
		"virtual.sh hapt -- --frobnicate":   "--frobnicate: sweep has no such flag",
		"search.sh ditto hapt":              "hapt: want fedavg, fedprox or virtual",
		"search.sh virtual hapt x":          `--seeds "x": want whole numbers`,
		"search.sh virtual hapt -- --mu 1 ": "--mu",
	} {
		if out, status := script(t.TempDir(), line); status == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, output %s, want %s", line, status, out, want)
		}
	}
}

// TestVirtualNames: each file of settings is known to the search and to the runs, and the other way around.
func TestVirtualNames(t *testing.T) {
	files, err := filepath.Glob("virtual/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, f := range files {
		want = append(want, strings.TrimSuffix(filepath.Base(f), ".toml"))
	}
	for script, line := range map[string]string{
		"virtual.sh": `(?m)^([a-z -|]+)\) fedavg=`,
		"search.sh":  `(?m)^([a-z -|]*hapt[a-z -|]*)\)$`,
	} {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(line).FindAllStringSubmatch(string(text), -1) {
			got = append(got, strings.Split(m[1], " | ")...)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s knows %v, want %v", script, got, want)
		}
	}
}
