package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"fedbayes/algorithms"
)

// settingsFile writes a file of settings and returns its path.
func settingsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.toml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// forced is config.json of a run without what is not a setting in force: when, and how it was given.
func forced(t *testing.T, dir string) map[string]any {
	t.Helper()
	c := object(t, filepath.Join(dir, "config.json"))
	delete(c, "started")
	delete(c, "flags")
	delete(c["settings"].(map[string]any), "out")
	return c
}

// TestPrintConfig: what --print-config writes gives the run of the flags that it was made of, for each method and preset,
// and so do the flags of its config.json, which --resume goes by.
func TestPrintConfig(t *testing.T) {
	serial(t)
	lines := []string{
		"--rho -2 --holdout-clients 2 --holdout-steps 3" + tiny,
		"--mc 2 --checkpoint-every 1 --workers 2 --quiet" + tinyLabels,
		"--algo fedavg --partition dirichlet --alpha 0.000123 --min-samples 3 --participation 0.5 --seed 0" + tiny,
		"--algo local --partition iid --local-epochs 1" + strings.Replace(tiny, "--local-steps 2", "", 1),
	}
	for _, e := range algorithms.All() {
		for _, p := range e.Presets {
			model := ""
			if p.Name == "conv" {
				model = "convnet:2,2,4,4"
			}
			line := "--algo " + e.Name + " --preset " + p.Name + tinyLabels
			if model != "" {
				line = strings.Replace(line, "mlp:8", model, 1)
			}
			lines = append(lines, line)
		}
	}
	for _, line := range lines {
		status, text, stderr := runArgs(append([]string{"train", "--print-config"}, strings.Fields(line)...)...)
		if status != 0 || stderr != "" {
			t.Errorf("%s: status %d, stderr %q", line, status, stderr)
			continue
		}
		plain, _ := train(t, line)
		read, _ := train(t, "--config "+settingsFile(t, text))
		if got, want := forced(t, read), forced(t, plain); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read back, config.json is\n%v\nwant\n%v\nthe file was\n%s", line, got, want, text)
		}
		if got, want := timeless(t, read), timeless(t, plain); got != want {
			t.Errorf("%s: read back, the results are\n%s\nwant\n%s", line, got, want)
		}
		if _, again, _ := runArgs("train", "--print-config", "--config", settingsFile(t, text)); again != text {
			t.Errorf("%s: printed again, it is\n%s\nwant\n%s", line, again, text)
		}
		if out := resume(t, read, ""); !strings.Contains(out, "finished") {
			t.Errorf("%s: resumed, it says %s", line, out)
		}
	}
}

// TestFlagsOverFile: a flag goes before the file, and before what it excludes there.
func TestFlagsOverFile(t *testing.T) {
	serial(t)
	const file = `
rounds = 1
eval-every = 1
local-steps = 2
batch = 8
clients = 4
model = "mlp:8"
regime = "small"
seeds = [3, 4]
zeta = 2 # a whole number will do
`
	for flags, want := range map[string]map[string]any{
		"--seed 1":                                          {"rounds": 1.0, "zeta": 2.0, "regime": "small", "local-steps": 2.0, "seed": 1.0},
		"--seed 1 --zeta 3 --rounds 2":                      {"rounds": 2.0, "zeta": 3.0, "regime": "small"},
		"--seed 1 --local-epochs 1":                         {"rounds": 1.0, "local-epochs": 1.0, "local-steps": nil},
		"--seed 1 --train-per-class 3 --test-per-class 5":   {"regime": "custom", "train-per-class": 3.0},
		"--seed 1 --partition dirichlet --min-samples 4":    {"partition": "dirichlet", "regime": nil, "min-samples": 4.0},
		"--seed 1 --test-per-class=7 --participation 0.5":   {"regime": "custom", "test-per-class": 7.0, "participation": 2.0},
		"--seed 1 --labels-per-client 2 --assign sliding":   {"regime": "small", "labels-per-client": 2.0, "assign": "sliding"},
		"--seed 1 --partition labels --zeta=0.5 --rho=-1.5": {"regime": "small", "zeta": 0.5, "rho": -1.5},
	} {
		dir, _ := train(t, "--config "+settingsFile(t, file)+" "+flags)
		c := object(t, filepath.Join(dir, "config.json"))
		for name, w := range want {
			got, ok := c["settings"].(map[string]any)[name]
			if !ok {
				got = c["method"].(map[string]any)[name]
			}
			if got != w {
				t.Errorf("%s: %s is %v, want %v", flags, name, got, w)
			}
		}
	}
}

// TestConfigRefused: one line that names the file, the line in it, and what comes near.
func TestConfigRefused(t *testing.T) {
	serial(t)
	for text, want := range map[string]string{
		"rounds = 5\n\nroundz = 5":           "run.toml:3: roundz: no such setting (did you mean rounds?)",
		"lr_global = 0.1":                    "run.toml:1: lr_global: no such setting (did you mean lr-global?)",
		"frobnicate = 1":                     "run.toml:1: frobnicate: no such setting (fedbayes train --help lists them, without --)",
		"resume = \"x\"":                     "run.toml:1: resume: no such setting (fedbayes train --help lists them, without --)",
		"config = \"x\"":                     "run.toml:1: config: no such setting (fedbayes train --help lists them, without --)",
		"[method]\nzeta = 1":                 "run.toml:1: method: no such setting (fedbayes train --help lists them, without --)",
		"[zeta]\nrounds = 1":                 "run.toml:1: zeta = a table: want a number ≥ 0",
		"zeta.x = 1":                         "run.toml:1: zeta.x: no such setting (did you mean zeta?)",
		"\nzeta.x.y = 1":                     "run.toml:2: zeta.x.y: no such setting (fedbayes",
		"[[zeta]]\nx = 1":                    "run.toml:1: zeta = tables: want a number ≥ 0",
		"# x\nrounds = \"5\"":                `run.toml:2: rounds = "5": want a whole number ≥ 1, without quotes`,
		"rounds = 5.0":                       "run.toml:1: rounds = 5: want a whole number ≥ 1",
		"rounds = true":                      "run.toml:1: rounds = true: want a whole number ≥ 1",
		"rounds = [5]":                       "run.toml:1: rounds = an array: want a whole number ≥ 1",
		"rounds = 1979-05-27":                "run.toml:1: rounds = 1979-05-27 00:00:00",
		"zeta = \"1\"":                       `run.toml:1: zeta = "1": want a number ≥ 0, without quotes`,
		"quiet = \"yes\"":                    `run.toml:1: quiet = "yes": want true or false`,
		"quiet = 1":                          "run.toml:1: quiet = 1: want true or false",
		"algo = 1":                           "run.toml:1: algo = 1: want a text in quotes",
		"algo = local":                       "run.toml:1: expected value but found \"local\" instead",
		"rounds = ":                          "run.toml:1: ",
		"rounds = 1\n\n\nrounds = 2":         "run.toml:4: Key 'rounds' has already been defined.",
		"zeta = 1\nrounds = 0":               "run.toml:2: rounds 0: want a whole number ≥ 1",
		"algo = \"pfedbays\"":                `run.toml:1: algo "pfedbays": want one of `,
		"algo = \"local\"\nzeta = 1.0":       "run.toml:2: zeta: local has no such setting, it belongs to pfedbayes",
		"zeta = nan":                         "run.toml:1: zeta NaN: want a number ≥ 0",
		"zeta = -inf":                        "run.toml:1: zeta -Inf: want a number ≥ 0",
		"local-epochs = 1\nlocal-steps = 1":  "run.toml:2: local-steps and --local-epochs: want one of them",
		"alpha = 0.5":                        "run.toml:1: alpha: it belongs to --partition dirichlet, not to labels",
		"model = \"mlp:0\"":                  `run.toml:1: model mlp:0: width "0"`,
		"preset = \"cod\"":                   `run.toml:1: preset "cod": want one of paper, code, conv (did you mean code?), for pfedbayes`,
		"mc = 3\nalgo = \"fedavg\"":          "run.toml:1: mc: fedavg has no distribution to draw weights from",
		"clients = 3\nparticipation = 4":     "run.toml:2: participation 4: want a whole number from 1 to the 3 of --clients, or a fraction below 1",
		"seeds = 3":                          "run.toml:1: seeds = 3: want whole numbers in brackets, as [1, 2, 3]",
		"seeds = \"1,2\"":                    `run.toml:1: seeds = "1,2": want whole numbers in brackets, as [1, 2, 3]`,
		"seeds = [1, \"2\"]":                 "run.toml:1: seeds = an array: want whole numbers in brackets, as [1, 2, 3]",
		"seeds = []":                         `run.toml:1: seeds "": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"seeds = [1, -2]":                    `run.toml:1: seeds "1,-2": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"seeds = [1, 1]":                     `run.toml:1: seeds "1,1": 1 is there twice`,
		"seed = 1\nseeds = [1]":              "run.toml:2: seeds and --seed: want one of them",
		"clients = 4000\nmodel=\"mlp:9000\"": "run.toml:1: clients 4000: their models of ",
		"out = \"-x\"":                       `run.toml:1: out "-x": want a folder (write ./-x for one of that name)`,
		"rounds = 99999999999999999999":      "run.toml:1: 99999999999999999999 is out of range for int64",
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("run.toml", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(text, "clients = 4000") {
			text += " of iid"
		}
		args := []string{"train", "--config", "run.toml"}
		if strings.HasSuffix(text, " of iid") {
			args = append(args, "--partition", "iid")
		}
		status, stdout, stderr := runArgs(args...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "fedbayes: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: status %d, stdout %q, stderr\n%swant\nfedbayes: %s", text, status, stdout, stderr, want)
		}
		if entries, err := os.ReadDir("."); err != nil || len(entries) != 1 {
			t.Errorf("%q: left %v (%v)", text, entries, err)
		}
	}
}

// TestConfigBesides is about --config, --print-config and --seeds among the flags.
func TestConfigBesides(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"--config nowhere.toml":          "--config open nowhere.toml: no such file or directory",
		"--config x --config x":          "--config: given 2 times, want it once",
		"--config x --resume y":          "--resume and --config: want one of them, a run goes on with its own settings",
		"--print-config --resume y":      "--resume and --print-config: want one of them",
		"--print-config=x":               `--print-config "x": want true or false`,
		"--print-config --rounds 0":      "--rounds 0: want a whole number ≥ 1",
		"--seeds 1,2 --seed 1":           "--seeds and --seed: want one of them",
		"--seeds 1 --resume x":           "--seeds and --resume: want one of them",
		"--seeds 1,02":                   `--seeds "1,02": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"--seeds 1,x":                    `--seeds "1,x": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"--seeds -1":                     `--seeds "-1": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"--seeds 2,1,2":                  `--seeds "2,1,2": 2 is there twice`,
		"--seeds 1,2 --out -x":           `--out "-x": want a folder (write ./-x for one of that name)`,
		"--seeds 1,2 --zeta -1":          "--zeta -1: want a number ≥ 0",
		"--seeds 1,2 --seeds 3":          "--seeds: given 2 times, want it once",
		"--seeds= ":                      `--seeds "": want whole numbers ≥ 0 with a comma between, as 1,2,3`,
		"--print-config --seeds 1 --zet": "--zet: train has no such flag (did you mean --zeta?)",
	} {
		status, stdout, stderr := run("train " + line)
		if status != 2 || stdout != "" || stderr != "fedbayes: "+want+"\n" {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant\nfedbayes: %s", line, status, stdout, stderr, want)
		}
	}
	wantEmpty(t)
}

// TestSeeds: a run for each seed, which is that of the seed alone, in a folder with the seed in its name.
func TestSeeds(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := run("train --seeds 3,1 --out all" + tinyLabels)
	if status != 0 || remarks(stderr) != "" || strings.Count(stdout, " after 2 rounds ") != 2 {
		t.Fatalf("status %d, stdout\n%s\nstderr %q", status, stdout, stderr)
	}
	for _, seed := range []string{"1", "3"} {
		alone, _ := train(t, "--seed "+seed+tinyLabels)
		got := strings.ReplaceAll(timeless(t, filepath.Join("all", "seed-"+seed)), "seed-"+seed, "run")
		if want := timeless(t, alone); got != want {
			t.Errorf("seed %s:\n%s\nwant\n%s", seed, got, want)
		}
	}
	// The one that is there is in the way of all.
	status, _, stderr = run("train --seeds 4,3 --out all" + tinyLabels)
	if want := fmt.Sprintf("fedbayes: --out %s already holds a run ", filepath.Join("all", "seed-3")); status != 2 || !strings.HasPrefix(stderr, want) {
		t.Errorf("status %d, stderr %q, want %s", status, stderr, want)
	}
	if _, err := os.Stat(filepath.Join("all", "seed-4")); err == nil {
		t.Error("seed 4 was run")
	}
	if status, _, stderr := run("train --quiet --seeds 5,6" + tinyLabels); status != 0 || stderr != "" {
		t.Errorf("without --out: status %d, stderr %q", status, stderr)
	}
	for _, seed := range []string{"5", "6"} {
		if found, err := filepath.Glob("results/pfedbayes-mnist-sample-custom-" + seed + "-*/summary.json"); err != nil || len(found) != 1 {
			t.Errorf("seed %s: %v (%v), want one run", seed, found, err)
		}
	}
}

// TestSeedDiverges: a seed that diverges does not stop the others, and decides the status.
func TestSeedDiverges(t *testing.T) {
	t.Chdir(t.TempDir())
	status, stdout, stderr := run("train --quiet --lr 1e30 --seeds 1,2 --out all" + tinyLabels)
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if status != 4 || strings.Count(stdout, "nothing evaluated") != 2 || len(lines) != 2 ||
		!strings.HasPrefix(lines[0], "note: seed 1: round 1: ") || !strings.HasSuffix(lines[0], "; the other seeds go on") ||
		!strings.HasPrefix(lines[1], "fedbayes: 2 of 2 runs diverged: seed 1: round 1: ") {
		t.Errorf("status %d, stdout\n%s\nstderr\n%s", status, stdout, stderr)
	}
	if s := object(t, filepath.Join("all", "seed-2", "summary.json")); s["status"] != "diverged" {
		t.Errorf("seed 2: %v", s)
	}
	// Any other failure does.
	status, stdout, stderr = run("train --quiet --partition iid --clients 9000 --seeds 1,2")
	if status != 3 || stdout != "" || !strings.HasPrefix(stderr, "fedbayes: seed 1: datasets: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
}
