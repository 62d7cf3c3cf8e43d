package cli_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"fedbayes/datasets"
)

// tiny is a run of a few milliseconds.
const tiny = " --clients 4" + tinySteps

// tinySteps is tiny with as many clients as there are.
const tinySteps = " --rounds 2 --eval-every 1 --local-steps 2 --batch 8 --model mlp:8"

// tinyLabels is tiny with few images.
const tinyLabels = tiny + " --train-per-class 3 --test-per-class 5"

func lastLine(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// train runs train with results in a folder of its own and fails unless it succeeds. It returns the folder and
// what was said, on stderr and then on stdout.
func train(t *testing.T, flags string) (dir, said string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "run")
	status, stdout, stderr := runArgs(append([]string{"train", "--out", dir}, strings.Fields(flags)...)...)
	if status != 0 || strings.Contains(stderr, "fedbayes: ") {
		t.Fatalf("train %s: status %d, stderr %s", flags, status, stderr)
	}
	return dir, stderr + stdout
}

// remarks are the lines of stderr that are notes or errors, and not how the run goes.
func remarks(stderr string) string {
	var b strings.Builder
	for line := range strings.Lines(stderr) {
		if strings.HasPrefix(line, "note: ") || strings.HasPrefix(line, "fedbayes: ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// table reads a CSV into a map a row, by column.
func table(t *testing.T, path string) []map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var all []map[string]string
	for _, row := range rows[1:] {
		m := map[string]string{}
		for i, name := range rows[0] {
			m[name] = row[i]
		}
		all = append(all, m)
	}
	return all
}

func object(t *testing.T, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return m
}

func TestTrain(t *testing.T) {
	models := map[string]string{"pfedbayes": "PM GM", "fedavg": "GM", "local": "PM"}
	partitions := map[string]string{
		"custom":        tinyLabels,
		"iid":           tiny + " --partition iid",
		"dirichlet-0.5": tiny + " --partition dirichlet",
	}
	for algo, has := range models {
		for regime, flags := range partitions {
			t.Run(algo+" "+regime, func(t *testing.T) {
				dir, stdout := train(t, "--algo "+algo+flags)
				rounds := table(t, filepath.Join(dir, "rounds.csv"))
				if len(rounds) != 2 {
					t.Fatalf("%d rows in rounds.csv, want 2", len(rounds))
				}
				for i, row := range rounds {
					want := map[string]string{"run": "run", "algo": algo, "dataset": "mnist-sample", "regime": regime,
						"model": "mlp:8", "seed": "1", "round": strconv.Itoa(i + 1)}
					for column, w := range want {
						if row[column] != w {
							t.Errorf("row %d: %s is %q, want %q", i, column, row[column], w)
						}
					}
					for _, metric := range []string{"acc", "nll", "ece", "acc_worst"} {
						if got := row["pm_"+metric] != ""; got != strings.Contains(has, "PM") {
							t.Errorf("row %d: pm_%s is %q", i, metric, row["pm_"+metric])
						}
						if got := row["gm_"+metric] != ""; got != strings.Contains(has, "GM") {
							t.Errorf("row %d: gm_%s is %q", i, metric, row["gm_"+metric])
						}
					}
					if got := row["kl"] != ""; got != (algo == "pfedbayes") {
						t.Errorf("row %d: kl is %q", i, row["kl"])
					}
					if row["train_loss"] == "" {
						t.Errorf("row %d: no training loss", i)
					}
				}
				if clients := table(t, filepath.Join(dir, "clients.csv")); len(clients) != 2*4 {
					t.Errorf("%d rows in clients.csv, want 8", len(clients))
				}
				summary := regexp.MustCompile(`^` + algo + ` mnist-sample ` + regexp.QuoteMeta(regime) + ` seed 1: (PM [\d.]+ %)?( ?GM [\d.]+ %)? after 2 rounds \(best .*\), [\d.]+ s, ` + regexp.QuoteMeta(dir) + `$`)
				if got := lastLine(stdout); !summary.MatchString(got) {
					t.Errorf("last line %q, want %s", got, summary)
				}
				if !strings.Contains(stdout, "mlp:8, 6370 parameters") || !strings.Contains(stdout, "round 1  ") {
					t.Errorf("output lacks the model or a round:\n%s", stdout)
				}
				if s := object(t, filepath.Join(dir, "summary.json")); s["status"] != "finished" || s["rounds"] != 2.0 {
					t.Errorf("summary.json: %v", s)
				}
			})
		}
	}
}

// timeless are the CSVs of a run without their columns of seconds.
func timeless(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	for _, row := range table(t, filepath.Join(dir, "rounds.csv")) {
		delete(row, "train_seconds")
		delete(row, "eval_seconds")
		fmt.Fprintln(&b, row) // in order of column names
	}
	clients, err := os.ReadFile(filepath.Join(dir, "clients.csv"))
	if err != nil {
		t.Fatal(err)
	}
	beliefs, err := os.ReadFile(filepath.Join(dir, "beliefs.csv"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return b.String() + string(clients) + string(beliefs)
}

// TestWorkers: the number of workers changes nothing, nor does repetition; the seed does.
func TestWorkers(t *testing.T) {
	for _, flags := range []string{
		"--algo pfedbayes --samples 2 --participation 2 --mc 3",
		"--algo fedavg --participation 0.5 --momentum 0.5",
		"--algo local --local-epochs 2",
	} {
		short := tinyLabels
		if strings.Contains(flags, "--local-epochs") {
			short = strings.Replace(short, "--local-steps 2", "", 1)
		}
		first, _ := train(t, flags+short+" --workers 1")
		want := timeless(t, first)
		for _, more := range []string{"--workers 1", "--workers 2", "--workers 3"} {
			dir, _ := train(t, flags+short+" "+more)
			if got := timeless(t, dir); got != want {
				t.Errorf("%s: %s differs from one worker:\n%s\nwant\n%s", flags, more, got, want)
			}
		}
		other, _ := train(t, flags+short+" --seed 2")
		if timeless(t, other) == want {
			t.Errorf("%s: --seed 2 gives the results of --seed 1", flags)
		}
	}
}

// TestBytes: two of four clients send and receive 6,370 weights of four bytes in each of two rounds.
func TestBytes(t *testing.T) {
	dir, _ := train(t, "--algo fedavg --participation 2"+tinyLabels)
	rows := table(t, filepath.Join(dir, "rounds.csv"))
	for i, row := range rows {
		want := strconv.Itoa((i + 1) * 2 * 4 * 6370)
		if row["bytes_up"] != want || row["bytes_down"] != want {
			t.Errorf("round %d: %s bytes up, %s down, want %s each", i+1, row["bytes_up"], row["bytes_down"], want)
		}
	}
	trained := 0
	for _, row := range table(t, filepath.Join(dir, "clients.csv")) {
		if row["train_loss"] != "" {
			trained++
		}
	}
	if trained != 4 {
		t.Errorf("%d clients trained in two rounds, want 4", trained)
	}
}

// TestFewExamples trains clients whose examples do not fill a batch, just fill it, or leave one over.
func TestFewExamples(t *testing.T) {
	const batch = 5
	for _, algo := range []string{"pfedbayes", "fedavg"} {
		for _, n := range []int{1, 3, batch - 1, batch, batch + 1} {
			flags := fmt.Sprintf("--algo %s --rounds 2 --clients 3 --model mlp:4 --labels-per-client 1 --train-per-class %d --test-per-class 2 --local-steps 4 --batch %d", algo, n, batch)
			dir, _ := train(t, flags)
			for _, row := range table(t, filepath.Join(dir, "clients.csv")) {
				if row["train"] != strconv.Itoa(n) || row["train_loss"] == "" || row["pm_nll"]+row["gm_nll"] == "" {
					t.Errorf("%s: %v", flags, row)
				}
			}
		}
	}
}

func TestConfig(t *testing.T) {
	dir, _ := train(t, "--preset code --rho -2 --participation 0.5 --workers 3"+tinyLabels)
	c := object(t, filepath.Join(dir, "config.json"))
	settings, method := c["settings"].(map[string]any), c["method"].(map[string]any)
	for name, want := range map[string]any{
		"algo": "pfedbayes", "preset": "code", "rounds": 2.0, "regime": "custom", "train-per-class": 3.0, "test-per-class": 5.0,
		"participation": 2.0, "workers": 3.0, "batch": 8.0, "mc": 0.0, "assign": "pairs", "out": dir,
	} {
		if settings[name] != want {
			t.Errorf("setting %s is %v, want %v", name, settings[name], want)
		}
	}
	for _, name := range []string{"alpha", "min-samples", "local-epochs"} {
		if _, ok := settings[name]; ok {
			t.Errorf("setting %s has no effect and is recorded", name)
		}
	}
	if v, ok := settings["data-dir"]; ok {
		t.Errorf("setting data-dir is %q for data that are in the program", v)
	}
	if v, ok := method["momentum"]; ok {
		t.Errorf("momentum is %v beside Adam, which has none", v)
	}
	// The flag over the preset, and the preset over the default.
	if method["rho"] != -2.0 || method["noise-scale"] != 0.001 || method["zeta"] != 10.0 {
		t.Errorf("method: %v", method)
	}
	clients := c["clients"].([]any)
	hashes := map[any]bool{}
	for _, client := range clients {
		client := client.(map[string]any)
		hashes[client["sha256"]] = true
		if len(client["labels"].([]any)) != 5 || client["train"] != 15.0 || client["test"] != 25.0 {
			t.Errorf("client: %v", client)
		}
	}
	if len(clients) != 4 || len(hashes) != 4 {
		t.Errorf("%d clients with %d hashes, want 4 different ones", len(clients), len(hashes))
	}
	if d := c["dataset"].(map[string]any); d["source"] != "embedded" || d["normalisation"] != "x/255" || d["images"] != 10000.0 {
		t.Errorf("data set: %v", d)
	}
	if c["go"] != runtime.Version() || c["isa"] == "" || c["version"] == "" {
		t.Errorf("go %v, isa %v, version %v", c["go"], c["isa"], c["version"])
	}
}

// cifar10Files makes a folder with 600 flat images in the layout of CIFAR-10, 60 of each class.
func cifar10Files(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for b, name := range []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"} {
		var file []byte
		for i := range 100 {
			file = append(file, byte(i%10))
			file = append(file, bytes.Repeat([]byte{byte(b + 2*i)}, 3072)...)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".bin"), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestDefaultsOfDataset: CIFAR-10 has 20 clients, 10 of them in a round, unless the command line or the method says
// otherwise. TestConfig and others see that MNIST keeps the general defaults.
func TestDefaultsOfDataset(t *testing.T) {
	data := "--dataset cifar10 --data-dir " + cifar10Files(t) + " --train-per-class 2 --test-per-class 4" +
		strings.Replace(tiny, "--clients 4", "", 1)
	for flags, want := range map[string][2]float64{
		"--algo fedavg":                               {20, 10},
		"--algo fedavg --clients 16":                  {16, 10},
		"--algo fedavg --clients 6":                   {6, 6},
		"--algo fedavg --participation 0.25":          {20, 5},
		"--algo fedavg --clients 8 --participation 3": {8, 3},
		"--algo local":                                {20, 20},
	} {
		dir, stdout := train(t, data+" "+flags)
		c := object(t, filepath.Join(dir, "config.json"))
		settings := c["settings"].(map[string]any)
		if settings["clients"] != want[0] || settings["participation"] != want[1] || len(c["clients"].([]any)) != int(want[0]) {
			t.Errorf("%s: %v clients, %v in a round, want %v", flags, settings["clients"], settings["participation"], want)
		}
		if !strings.Contains(stdout, fmt.Sprintf("; %v in a round\n", want[1])) {
			t.Errorf("%s: output lacks %v clients in a round:\n%s", flags, want[1], stdout)
		}
		d := c["dataset"].(map[string]any)
		if d["normalisation"] != "(x/255 − mean)/std" || fmt.Sprint(d["mean"], d["std"]) != "[0.4914 0.4822 0.4465] [0.247 0.2435 0.2616]" {
			t.Errorf("%s: data set %v", flags, d)
		}
	}
}

// nowhere makes sure that a data set is in none of the usual places.
func nowhere(t *testing.T, name string) {
	t.Helper()
	t.Setenv(datasets.EnvDir, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if dir, err := datasets.Find(name, ""); err == nil {
		t.Skipf("needs a machine without %s, and it is in %s", name, dir)
	}
}

// TestSampleStandsIn: without its files Fashion-MNIST is the sample in the program, and everything says so.
func TestSampleStandsIn(t *testing.T) {
	nowhere(t, "fashion-mnist")
	dir := filepath.Join(t.TempDir(), "run")
	status, stdout, stderr := runArgs(append([]string{"train", "--dataset", "fashion-mnist", "--out", dir}, strings.Fields(tinyLabels)...)...)
	const note = "fashion-mnist is not on this machine (name its folder with --data-dir): fashion-mnist-sample, which is part of the program, stands in"
	if status != 0 || remarks(stderr) != "note: "+note+"\n" || !strings.Contains(stderr, "pfedbayes on fashion-mnist-sample (embedded, 4000 images)") {
		t.Errorf("status %d, stdout\n%s\nstderr %q", status, stdout, stderr)
	}
	for _, row := range table(t, filepath.Join(dir, "rounds.csv")) {
		if row["dataset"] != "fashion-mnist-sample" {
			t.Errorf("rounds.csv says %q", row["dataset"])
		}
	}
	c := object(t, filepath.Join(dir, "config.json"))
	if c["settings"].(map[string]any)["dataset"] != "fashion-mnist-sample" || c["dataset"].(map[string]any)["name"] != "fashion-mnist-sample" ||
		!slices.Contains(c["notes"].([]any), any(note)) {
		t.Errorf("config.json: settings %v, data set %v, notes %v", c["settings"], c["dataset"], c["notes"])
	}

	// Too small for what was asked: the reason is said as well.
	status, _, stderr = run("train --dataset fashion-mnist --regime medium")
	if status != 3 || !strings.HasPrefix(stderr, "fedbayes: datasets: fashion-mnist-sample: labels: class ") || !strings.HasSuffix(stderr, " ("+note+")\n") {
		t.Errorf("medium: status %d, stderr %q", status, stderr)
	}
	// A folder that was named is meant.
	t.Setenv(datasets.EnvDir, t.TempDir())
	status, _, stderr = run("train --dataset fashion-mnist")
	if status != 3 || !strings.HasPrefix(stderr, "fedbayes: datasets: fashion-mnist: not found in ") {
		t.Errorf("with $%s: status %d, stderr %q", datasets.EnvDir, status, stderr)
	}
}

func TestQuiet(t *testing.T) {
	_, stdout := train(t, "--quiet"+tinyLabels)
	if strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, "after 2 rounds") {
		t.Errorf("stdout:\n%swant the summary alone", stdout)
	}
}

// TestNote: too few images for the test part are said, and used.
func TestNote(t *testing.T) {
	status, _, stderr := runArgs(append([]string{"train", "--out", filepath.Join(t.TempDir(), "run"), "--test-per-class", "5000"},
		strings.Fields(tiny+" --train-per-class 400")...)...)
	stderr = remarks(stderr)
	if status != 0 || !strings.HasPrefix(stderr, "note: per client and label, 400 training and 5000 test images were asked for") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	// What was used is what is written down: 1,000 images of a digit for its five holders, less training images, as far
	// as they go round.
	for flags, want := range map[string]any{
		"--train-per-class 50 --test-per-class 5000 --clients 10":                      150.0,
		"--train-per-class 50 --test-per-class 100 --clients 10":                       100.0,
		"--train-per-class 50 --test-per-class 5000 --clients 3 --labels-per-client 5": []any{450.0, 950.0},
	} {
		dir, stdout := train(t, strings.Replace(tiny, "--clients 4", "", 1)+" "+flags)
		settings := object(t, filepath.Join(dir, "config.json"))["settings"].(map[string]any)
		if got := settings["test-per-class"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: test-per-class %v, want %v", flags, got, want)
		}
		if n, ok := want.(float64); ok && !strings.Contains(stdout, fmt.Sprintf(" 50 training and %v test images a label", n)) {
			t.Errorf("%s: output\n%s", flags, stdout)
		}
	}
}

func TestDefaultOut(t *testing.T) {
	t.Chdir(t.TempDir())
	for range 2 { // in one second, most likely
		if status, _, stderr := run("train --quiet" + tinyLabels); status != 0 {
			t.Fatalf("status %d: %s", status, stderr)
		}
	}
	found, err := filepath.Glob("results/pfedbayes-mnist-sample-custom-1-20*/summary.json")
	if err != nil || len(found) != 2 {
		t.Errorf("%v (%v), want two runs", found, err)
	}
}

func TestForce(t *testing.T) {
	dir, _ := train(t, "--rounds 3"+strings.Replace(tinyLabels, "--rounds 2", "", 1))
	before, err := os.ReadFile(filepath.Join(dir, "rounds.csv"))
	if err != nil {
		t.Fatal(err)
	}
	again := append([]string{"train", "--out", dir}, strings.Fields(tinyLabels)...)
	status, stdout, stderr := runArgs(again...)
	if status != 2 || stdout != "" || !strings.Contains(stderr, "already holds a run") || !strings.Contains(stderr, "--force") {
		t.Errorf("status %d, stdout %q, stderr %q, want it refused", status, stdout, stderr)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "rounds.csv")); err != nil || string(after) != string(before) {
		t.Errorf("the refused run changed rounds.csv (%v)", err)
	}
	if status, _, stderr := runArgs(append(again, "--force")...); status != 0 {
		t.Fatalf("with --force: status %d, stderr %q", status, stderr)
	}
	if n := len(table(t, filepath.Join(dir, "rounds.csv"))); n != 2 {
		t.Errorf("with --force: %d rows, want the 2 of the new run", n)
	}
}

// TestDiverged: a run that leaves the numbers says where, and keeps what it has.
func TestDiverged(t *testing.T) {
	for _, algo := range []string{"pfedbayes", "fedavg", "local"} {
		dir := filepath.Join(t.TempDir(), "run")
		status, stdout, stderr := runArgs(append([]string{"train", "--algo", algo, "--lr", "1e30", "--out", dir}, strings.Fields(tinyLabels)...)...)
		stderr = remarks(stderr)
		want := regexp.MustCompile(`^fedbayes: round 1: client 0: step 2: the negative log-likelihood is (NaN|\+Inf) .*; results so far are in .*\n$`)
		if status != 4 || !want.MatchString(stderr) {
			t.Errorf("%s: status %d, stderr %q, want 4 and %s", algo, status, stderr, want)
		}
		if got, want := lastLine(stdout), algo+" mnist-sample custom seed 1: nothing evaluated in 0 of 2 rounds, "+dir; got != want {
			t.Errorf("%s: last line %q, want %q", algo, got, want)
		}
		if n := len(table(t, filepath.Join(dir, "rounds.csv"))); n != 0 {
			t.Errorf("%s: %d rows, want none", algo, n)
		}
		if s := object(t, filepath.Join(dir, "summary.json")); s["status"] != "diverged" || "fedbayes: "+s["error"].(string)+"\n" != stderr {
			t.Errorf("%s: summary.json: %v", algo, s)
		}
	}
}

// dying is a run whose weights go to 0: with a NIW for all of them, each round leaves 4 of 24 parts of the server's mean.
const dying = " --algo fedhb-niw --preset paper --niw full --prior-count 20" +
	" --clients 4 --rounds 9 --eval-every 3 --local-steps 2 --batch 8 --model mlp:8 --train-per-class 3 --test-per-class 5"

// TestCollapsed: a run whose weights go to 0 ends as one that diverges, with what to do about it, and so does one that goes
// on from a checkpoint.
func TestCollapsed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	status, stdout, stderr := runArgs(append([]string{"train", "--out", dir, "--checkpoint-every", "2"}, strings.Fields(dying)...)...)
	stderr = remarks(stderr)
	want := regexp.MustCompile(`^fedbayes: round 4: the global model has died: the norm of its weights is 0\.00\d+, and was 2\.\d+ at the start ` +
		`\(--niw per-weight, a smaller --prior-weight or --prior-count 0 may help\); results so far are in .*\n$`)
	if status != 4 || !want.MatchString(stderr) {
		t.Fatalf("status %d, stderr %q, want 4 and %s", status, stderr, want)
	}
	if got := lastLine(stdout); !strings.Contains(got, " after 3 of 9 rounds ") {
		t.Errorf("last line %q", got)
	}
	rows := table(t, filepath.Join(dir, "rounds.csv"))
	if norm := number(t, rows[0]["gm_norm"]); len(rows) != 1 || rows[0]["round"] != "3" || norm < 0.0025 || norm > 0.1 || rows[0]["gm_sigma"] != "" {
		t.Errorf("rows %v", rows)
	}
	if s := object(t, filepath.Join(dir, "summary.json")); s["status"] != "diverged" || s["rounds"] != 4.0 || "fedbayes: "+s["error"].(string)+"\n" != stderr {
		t.Errorf("summary.json: %v", s)
	}
	before := outcome(t, dir)
	status, _, again := runArgs("train", "--resume", dir)
	if again = remarks(again); status != 4 || again != stderr || outcome(t, dir) != before {
		t.Errorf("resumed: status %d, stderr %q, outcome\n%s\nwant %q and\n%s", status, again, outcome(t, dir), stderr, before)
	}
}

// TestTooLarge: what would not fit into memory is refused before it is tried.
func TestTooLarge(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the size of the memory is known on Linux alone")
	}
	t.Chdir(t.TempDir())
	want := regexp.MustCompile(`^fedbayes: --clients 4000: their models of 52000175 parameters and the data take about 21632\.1 GB, and this machine has [\d.]+ GB: want at most \d+, or a smaller --model\n$`)
	status, stdout, stderr := run("train --partition iid --clients 4000 --model mlp:65000-15")
	if status != 2 || stdout != "" || !want.MatchString(stderr) {
		t.Errorf("status %d, stdout %q, stderr %q, want 2 and %s", status, stdout, stderr, want)
	}
	wantEmpty(t)
}

// TestSingular: one of a thing is not "1 things".
func TestSingular(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	_, stdout, stderr := runArgs("train", "--rounds", "1", "--local-steps", "1", "--clients", "1", "--workers", "1", "--labels-per-client", "1", "--model", "mlp:1", "--out", dir)
	if m := regexp.MustCompile(`\b1 (round|step|epoch|client|worker|label|parameter)s`).FindString(stdout + stderr); m != "" || !strings.Contains(stdout, " after 1 round (best") {
		t.Errorf("%q in\n%s%s", m, stdout, stderr)
	}
}

// TestUnwritable: a folder that cannot be made is a failure at run time.
func TestUnwritable(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr := run("train --out file" + tinyLabels)
	if status != 2 || stdout != "" || stderr != "fedbayes: --out file: want a folder, this is a file\n" {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if !slices.Contains([]string{"linux", "darwin"}, runtime.GOOS) {
		return
	}
	status, _, stderr = run("train --out /dev/fd/none/run" + tinyLabels)
	if status != 1 || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "fedbayes: mkdir ") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}

// TestFinalDraws: the last models are evaluated once more with as many draws as asked for, and not at all with 0.
func TestFinalDraws(t *testing.T) {
	for _, test := range []struct {
		flag, mc string
		lines    int // of reliability.csv: a header and, of two models, 15 bins at mean weights and 15 with draws
	}{{"", "10", 61}, {" --final-mc 3", "3", 61}, {" --final-mc 0", "", 31}} {
		dir, _ := train(t, tiny+test.flag)
		mc := ""
		if drawn, ok := object(t, filepath.Join(dir, "summary.json"))["drawn"].(map[string]any); ok {
			mc = fmt.Sprint(drawn["mc"])
		}
		text, err := os.ReadFile(filepath.Join(dir, "reliability.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(text), "\n"); mc != test.mc || lines != test.lines {
			t.Errorf("%q: draws %q in summary.json and %d lines in reliability.csv, want %q and %d", test.flag, mc, lines, test.mc, test.lines)
		}
	}
}
