package runs_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"fedbayes/internal/runs"
)

// load reads a CSV of this text.
func load(t *testing.T, text string) []runs.Group {
	t.Helper()
	path := filepath.Join(t.TempDir(), "all.csv")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := runs.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := runs.Groups(all)
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

func labels(groups []runs.Group) string {
	var all []string
	for _, g := range groups {
		all = append(all, g.Label)
	}
	return strings.Join(all, " | ")
}

// TestPoints: means and deviations over seeds, at rounds that all of them have. Rows may come in any order.
func TestPoints(t *testing.T) {
	groups := load(t, `zeta,run,algo,seed,round,pm_acc,gm_acc
1,a,p,2,20,0.75,
1,a,p,1,10,0.5,0.25
1,b,p,1,20,0.25,NaN
1,b,p,2,10,0.5,0.75
1,b,p,1,30,0.5,0.75
`)
	if len(groups) != 1 || len(groups[0].Runs) != 2 {
		t.Fatalf("%d groups, want one of two runs", len(groups))
	}
	want := []runs.Point{{Round: 10, Mean: 0.5, N: 2}, {Round: 20, Mean: 0.5, Std: math.Sqrt(0.125), N: 2}}
	if got := groups[0].Points("pm_acc"); !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	want = []runs.Point{{Round: 10, Mean: 0.5, Std: math.Sqrt(0.125), N: 2}}
	if got := groups[0].Points("gm_acc"); !slices.Equal(got, want) {
		t.Errorf("points of the global model %v, want %v", got, want)
	}
	if p, ok := groups[0].At("pm_acc", 0); !ok || p.Round != 20 {
		t.Errorf("the last point is %v", p)
	}
	if p, ok := groups[0].At("pm_acc", 30); ok {
		t.Errorf("point %v after a round that one seed lacks", p)
	}
	if notes := runs.Cut(groups); len(notes) != 1 || notes[0] != "p: means end at round 20 with seed 2; seed 1 goes on to 30" {
		t.Errorf("notes %q", notes)
	}
}

// TestGroups: what tells groups apart is in their labels, and they are in order.
func TestGroups(t *testing.T) {
	for what, c := range map[string]struct{ csv, labels, free, seeds string }{
		"one method, numbers in order": {`zeta,algo,dataset,seed,round,pm_acc,gm_acc
10,p,d,1,1,0.5,
10,p,d,2,1,0.5,
2,p,d,1,1,0.5,
2,p,d,2,1,0.5,
`, "zeta 2 | zeta 10", "zeta", "mean ± std of seeds 1, 2"},
		"methods, with rates of their own": {`algo,lr,seed,round,pm_acc,gm_acc
q,0.1,1,1,0.5,
p,0.2,1,1,0.5,
`, "q | p", "algo", "seed 1"},
		"methods, one of them with two rates": {`algo,lr,seed,round,pm_acc,gm_acc
q,0.1,1,1,0.5,
p,0.2,1,1,0.5,
p,0.1,3,1,0.5,
`, "q, lr 0.1 | p, lr 0.1 | p, lr 0.2", "algo lr", "a seed each"},
		"regimes, with their numbers of images": {`algo,regime,train-per-class,seed,round,pm_acc,gm_acc
p,small,50,1,1,0.5,
p,large,900,1,1,0.5,
`, "large | small", "regime", "seed 1"},
		"nothing but seeds": {`algo,seed,round,pm_acc,gm_acc
p,1,1,0.5,
p,2,1,0.5,
`, "p", "", "mean ± std of seeds 1, 2"},
	} {
		groups := load(t, c.csv)
		if got := labels(groups); got != c.labels {
			t.Errorf("%s: labels %s, want %s", what, got, c.labels)
		}
		if got := strings.Join(runs.Free(groups), " "); got != c.free {
			t.Errorf("%s: free %q, want %q", what, got, c.free)
		}
		if got := runs.Seeds(groups, runs.MeanStd); got != c.seeds {
			t.Errorf("%s: seeds %q, want %q", what, got, c.seeds)
		}
	}
}

// TestFamilies: groups that differ in a setting alone stand together.
func TestFamilies(t *testing.T) {
	groups := load(t, `algo,zeta,rho,seed,round,pm_acc,gm_acc
p,1,-1,1,1,0.5,
p,2,-1,1,1,0.5,
p,1,-2,1,1,0.5,
p,2,-2,1,,,
`)
	var got []string
	for _, f := range runs.Families(groups, "zeta") {
		got = append(got, f.Label+": "+labels(f.Groups))
	}
	if want := []string{"rho -2: rho -2, zeta 1 | rho -2, zeta 2", "rho -1: rho -1, zeta 1 | rho -1, zeta 2"}; !slices.Equal(got, want) {
		t.Errorf("families %q, want %q", got, want)
	}
	if f := runs.Families(groups, "zeta", "rho"); len(f) != 1 || f[0].Label != "" || len(f[0].Groups) != 4 {
		t.Errorf("families of both: %v", f)
	}
	if f := runs.Families(groups, "mu"); len(f) != 0 {
		t.Errorf("families of a setting that nobody has: %v", f)
	}
}

// TestFolder: settings come from config.json, without those on which no result depends, and with the test images that were
// asked for and not those there were.
func TestFolder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"rounds.csv":   "run,algo,seed,round,pm_acc,gm_acc\nx,p,7,5,0.5,\n",
		"config.json":  `{"version": "v1", "flags": {"test-per-class": "9"}, "settings": {"seed": 7, "workers": 3, "algo": "p", "test-per-class": [4, 9]}, "method": {"zeta": 10, "adam": true}, "notes": ["few"]}`,
		"summary.json": `{"status": "diverged", "error": "NaN"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	all, err := runs.Load(dir)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d runs (%v), want one", len(all), err)
	}
	r := all[0]
	// Another one, for which nobody asked for a number of test images.
	plain := t.TempDir()
	for name, text := range map[string]string{
		"rounds.csv":  "run,algo,seed,round,pm_acc,gm_acc\n",
		"config.json": `{"settings": {"test-per-class": [4, 9], "algo": "p"}}`,
	} {
		if err := os.WriteFile(filepath.Join(plain, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if more, err := runs.Load(plain); err != nil || len(more) != 1 || len(more[0].Settings) != 1 || more[0].Last() != 0 {
		t.Errorf("%+v (%v), want a run without a row, and one setting", more, err)
	}
	want := map[string]string{"algo": "p", "zeta": "10", "adam": "true", "test-per-class": "9"}
	if len(r.Settings) != len(want) {
		t.Errorf("settings %v, want %v", r.Settings, want)
	}
	for name, value := range want {
		if r.Settings[name] != value {
			t.Errorf("%s is %q, want %q", name, r.Settings[name], value)
		}
	}
	if r.Seed != "7" || r.Last() != 5 || r.About.Status != "diverged" || r.About.Error != "NaN" || r.About.Version != "v1" || len(r.About.Notes) != 1 {
		t.Errorf("run %+v", r)
	}
}

// TestBeingWritten: while a row is written, its file may end with a page, anywhere in the row. Any other end is a row cut short.
func TestBeingWritten(t *testing.T) {
	var text strings.Builder
	text.WriteString("run,algo,seed,round,pm_acc,gm_acc\n")
	for i := range 400 {
		fmt.Fprintf(&text, "x,p,7,%d,0.5,0.25\n", i+1)
	}
	const page = 4096
	shown := text.String()[:page]
	if strings.HasSuffix(shown, "\n") {
		t.Fatal("the page ends with a row")
	}
	path := filepath.Join(t.TempDir(), "rounds.csv")
	for _, size := range []int{page - 1, page, page + 1} {
		if err := os.WriteFile(path, []byte(text.String()[:size]), 0o644); err != nil {
			t.Fatal(err)
		}
		all, err := runs.Load(path)
		if size != page {
			if err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%d bytes: %v, want an error of one line", size, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		if got, want := all[0].Last(), strings.Count(shown, "\n")-1; got != want {
			t.Errorf("%d bytes: the last round is %d, want %d", size, got, want)
		}
	}
}
