package scripts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedbayes/algorithms"
)

// tiny are flags of train for runs that take no time.
const tiny = "--dataset mnist-sample --rounds 1 --local-steps 1 --clients 2 --model mlp:4 --train-per-class 2 --test-per-class 2 --quiet"

// script runs a command line with its results in dir.
func script(dir, line string) (out string, status int) {
	cmd := exec.Command("sh", strings.Fields(line)...)
	cmd.Env = append(os.Environ(), "SWEEP_DIR="+dir)
	text, _ := cmd.CombinedOutput()
	return string(text), cmd.ProcessState.ExitCode()
}

// read returns the lines of a file.
func read(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestSearch: a row for each point and seed, in order; a second call runs none of them again, and adds its seed.
func TestSearch(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	out, status := script(dir, "search.sh fedavg 2 -- "+tiny)
	if status != 0 || !regexp.MustCompile(`\nbest GM: --lr [0-9.]+: GM [0-9.]+ %\n$`).MatchString(out) {
		t.Fatalf("status %d, output\n%s", status, out)
	}
	out, status = script(dir, "search.sh fedavg 2 1 -- "+tiny)
	if status != 0 || strings.Count(out, "done before") != 5 {
		t.Errorf("status %d, want 5 runs kept:\n%s", status, out)
	}
	lines := read(t, filepath.Join(dir, "search_fedavg.csv"))
	if len(lines) != 11 || lines[0] != "lr,seed,round,pm_acc,gm_acc" {
		t.Fatalf("%v, want a header and 10 rows", lines)
	}
	for i, start := range []string{"0.05,2,1,,0.", "0.05,1,1,,0.", "0.1,2,1,,0."} {
		if !strings.HasPrefix(lines[1+i], start) {
			t.Errorf("row %d is %s, want %s…", i, lines[1+i], start)
		}
	}
}

// TestSearchOfTwo: a grid of two flags, and points that diverged.
func TestSearchOfTwo(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	out, status := script(dir, "search.sh bnfed -- "+tiny+" --rounds 3 --optimizer sgd --weight-decay 1e30")
	if want := "--rounds: given 2 times"; status != 2 || !strings.Contains(out, want) {
		t.Errorf("status %d, output %s, want 2 and %s", status, out, want)
	}
	out, status = script(dir, "search.sh bnfed -- "+strings.Replace(tiny, "--rounds 1", "--rounds 3 --optimizer sgd --weight-decay 1e30", 1))
	if status != 0 || !strings.HasSuffix(out, "\nevery point diverged\n") {
		t.Errorf("status %d, output\n%s\nwant all to have diverged", status, out)
	}
	var want []string
	for _, prior := range []string{"0.1", "1", "10"} {
		for _, noise := range []string{"0.1", "0.5", "1"} {
			want = append(want, prior+","+noise+",1,,,")
		}
	}
	if got := read(t, filepath.Join(dir, "search_bnfed.csv")); got[0] != "prior-var,noise-var,seed,round,pm_acc,gm_acc" || !slices.Equal(got[1:], want) {
		t.Errorf("%v, want rows %v", got, want)
	}
}

// TestSearchOfFashion: the other data set has its own grid and its own file.
func TestSearchOfFashion(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	out, status := script(dir, "search.sh fedavg fashion-mnist 2 -- "+strings.Replace(tiny, "mnist-sample", "fashion-mnist-sample", 1))
	if status != 0 {
		t.Fatalf("status %d, output\n%s", status, out)
	}
	lines := read(t, filepath.Join(dir, "search_fashion_fedavg.csv"))
	if len(lines) != 6 || !strings.HasPrefix(lines[1], "0.02,2,1,,0.") {
		t.Errorf("%v, want a header and 5 rows from a rate of 0.02", lines)
	}
}

func TestSearchRefuses(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	dir := t.TempDir()
	for line, want := range map[string]string{
		"search.sh":                          "usage: search.sh METHOD",
		"search.sh nothing":                  "usage: search.sh METHOD",
		"search.sh fedprox 1 -- --mu=0.3":    "--mu: the grid has it too",
		"search.sh fedavg x":                 `--seeds "x": want whole numbers`,
		"search.sh fedavg -- --frobnicate":   "--frobnicate: sweep has no such flag",
		"search.sh fedavg -- --data-dir no ": "mnist: not found in no/mnist ",
	} {
		out, status := script(dir, line)
		if status != 2 && status != 3 || !strings.Contains(out, want) {
			t.Errorf("%s: status %d, output %s, want 2 or 3, and %s", line, status, out, want)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", line, left, err)
		}
	}
}

// TestGrids holds the grids against the methods: flags that they have, and values in range.
func TestGrids(t *testing.T) {
	text, err := os.ReadFile("search.sh")
	if err != nil {
		t.Fatal(err)
	}
	grids := regexp.MustCompile(`(?m)^([a-z*/ |-]+)\)[^)]*?grid="([^"]*)"`).FindAllStringSubmatch(string(text), -1)
	seen := map[string]bool{}
	for _, g := range grids {
		for _, label := range strings.Split(g[1], " | ") {
			_, name, _ := strings.Cut(label, "/") // after the data set
			seen[name] = true
			m, err := algorithms.New(name, "")
			if err != nil {
				t.Error(err)
				continue
			}
			for _, line := range strings.Split(strings.TrimSpace(g[2]), "\n") {
				words := strings.Fields(line)
				if err := try(m, words[0], words[1:]); err != "" {
					t.Errorf("%s: %s", name, err)
				}
			}
		}
	}
	if len(seen) < 12 {
		t.Errorf("grids of %d methods were read, want 12", len(seen))
	}
}

// try sets a parameter of m to each of the values, and says what is wrong with one.
func try(m algorithms.Algorithm, flag string, values []string) string {
	for _, p := range m.Params() {
		if p.Name != flag {
			continue
		}
		for _, v := range values {
			x, err := strconv.ParseFloat(v, 64)
			if err != nil {
				return err.Error()
			}
			switch to := p.Value.(type) {
			case *float64:
				*to = x
			case *int:
				*to = int(x)
			}
			if err := p.Check(); err != nil {
				return err.Error()
			}
		}
		return ""
	}
	return "it has no flag --" + flag
}
