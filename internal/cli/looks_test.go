package cli_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/metrics"
)

// This file is about the commands that look at a run: eval, predict and personalize.

// must runs a command line that is to succeed and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	status, stdout, stderr := runArgs(args...)
	if status != 0 || strings.Contains(stderr, "fedbayes: ") {
		t.Fatalf("%v: status %d, stderr %s", args, status, stderr)
	}
	return stdout
}

// float reads a cell.
func float(t *testing.T, cell string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// where returns the rows that have some cells.
func where(rows []map[string]string, cells ...string) (some []map[string]string) {
	for _, row := range rows {
		ok := true
		for i := 0; i < len(cells); i += 2 {
			ok = ok && row[cells[i]] == cells[i+1]
		}
		if ok {
			some = append(some, row)
		}
	}
	return some
}

// TestEval holds the scores against the run's own and against what the rows by example add up to.
func TestEval(t *testing.T) {
	dir, _ := train(t, tinyLabels)
	before := contents(t, dir)
	out := t.TempDir()
	scores, examples, curves := filepath.Join(out, "scores.csv"), filepath.Join(out, "examples.csv"), filepath.Join(out, "curves.csv")
	flags := []string{"eval", "--run", dir, "--mc", "10", "--out", scores, "--per-example", examples, "--curves", curves}
	stdout := must(t, flags...)
	wantSame(t, "eval", dir, before)
	files := contents(t, out)
	if again := must(t, append(flags, "--workers", "1")...); again != stdout {
		t.Errorf("with one worker it prints\n%swant\n%s", again, stdout)
	}
	wantSame(t, "eval with one worker", out, files)

	all := table(t, scores)
	if len(all) != 2*5 {
		t.Fatalf("%d rows of scores, want 5 for each model", len(all))
	}
	drawn := object(t, filepath.Join(dir, "summary.json"))["drawn"].(map[string]any)
	for _, m := range []string{"pm", "gm"} {
		want := drawn[m].(map[string]any)
		row := where(all, "model", m, "client", "all")[0]
		for _, metric := range []string{"acc", "nll", "brier", "ece", "entropy", "mutual_information"} {
			if got := float(t, row[metric]); got != want[metric] {
				t.Errorf("%s: %s is %v, and %v in the run with as many draws", m, metric, got, want[metric])
			}
		}
		if text := fmt.Sprintf("%.4f", want["acc"]); !strings.Contains(stdout, text) {
			t.Errorf("stdout lacks the accuracy %s:\n%s", text, stdout)
		}
	}

	rows := table(t, examples)
	clients := object(t, filepath.Join(dir, "config.json"))["clients"].([]any)
	for _, row := range rows {
		held := false
		client, err := strconv.Atoi(row["client"])
		if err != nil {
			t.Fatal(err)
		}
		for _, label := range clients[client].(map[string]any)["labels"].([]any) {
			held = held || fmt.Sprint(label) == row["label"]
		}
		if (row["foreign"] == "1") != !held || (row["foreign"] == "1") != (row["client"] != row["owner"]) {
			t.Errorf("client %d of %v: %v", client, clients[client], row)
		}
		if (row["right"] == "1") != (row["class"] == row["label"]) {
			t.Errorf("right and wrong: %v", row)
		}
	}
	for _, row := range all {
		// By a plain count over the rows: one client's, or all.
		keys := []string{"model", row["model"]}
		if row["client"] != "all" {
			keys = append(keys, "client", row["client"])
		}
		mine := where(rows, keys...)
		own, foreign := where(mine, "foreign", "0"), where(mine, "foreign", "1")
		if fmt.Sprint(len(own)) != row["examples"] || fmt.Sprint(len(foreign)) != row["foreign"] {
			t.Errorf("%v has %d and %d examples", row, len(own), len(foreign))
		}
		for column, score := range map[string]func(map[string]string) float64{
			"entropy":            func(r map[string]string) float64 { return float(t, r["entropy"]) },
			"mutual_information": func(r map[string]string) float64 { return float(t, r["mutual_information"]) },
			"doubt":              func(r map[string]string) float64 { return 1 - float(t, r["confidence"]) },
		} {
			wantDetection(t, row, "wrong", column, own, score, func(r map[string]string) bool { return r["right"] == "0" })
			wantDetection(t, row, "foreign", column, mine, score, func(r map[string]string) bool { return r["foreign"] == "1" })
		}
	}

	points := table(t, curves)
	if len(points) != 100*3*3 { // the global model has no foreign classes
		t.Errorf("%d points of curves, want 900", len(points))
	}
	first := where(points, "model", "gm", "task", "wrong", "uncertainty", "entropy", "rejected", "0")
	if got, want := first[0]["left"], where(all, "model", "gm", "client", "all")[0]["acc"]; got != want {
		t.Errorf("with nothing rejected the accuracy is %s, want %s", got, want)
	}
}

// wantDetection compares two cells with what the rows of examples say.
func wantDetection(t *testing.T, row map[string]string, task, column string, examples []map[string]string, of func(map[string]string) float64, find func(map[string]string) bool) {
	t.Helper()
	var score []float64
	var found, good []bool
	n := 0
	for _, r := range examples {
		score, found, good = append(score, of(r)), append(found, find(r)), append(good, !find(r))
		if find(r) {
			n++
		}
	}
	for cell, want := range map[string]float64{
		task + "_auroc_" + column: metrics.AUROC(score, found),
		task + "_area_" + column:  metrics.Area(metrics.Rejection(score, good)),
	} {
		if n == 0 {
			want = math.NaN()
		}
		if got := row[cell]; (got == "") != math.IsNaN(want) || got != "" && math.Abs(float(t, got)-want) > 1e-12 {
			t.Errorf("%s of %s, client %s: %q, want %v", cell, row["model"], row["client"], got, want)
		}
	}
}

// TestEvalOf tries methods that lack a model or a distribution, and a partition in which nothing is foreign.
func TestEvalOf(t *testing.T) {
	for flags, want := range map[string]struct{ models, says string }{
		tinyLabels + " --algo fedavg": {"gm", ""},
		tinyLabels + " --algo local":  {"pm", "were drawn"},
		tiny + " --partition iid":     {"pm gm", "nothing is foreign: "},
		tinyLabels + " --algo bnfed":  {"gm", ""},
	} {
		dir, _ := train(t, flags)
		scores := filepath.Join(t.TempDir(), "scores.csv")
		stdout := must(t, "eval", "--run", dir, "--out", scores)
		if !strings.Contains(stdout, want.says) {
			t.Errorf("%s: stdout lacks %q:\n%s", flags, want.says, stdout)
		}
		var got []string
		for _, row := range where(table(t, scores), "client", "all") {
			got = append(got, row["model"])
			summary := object(t, filepath.Join(dir, "summary.json"))
			last := summary["last_"+row["model"]].(map[string]any)
			if drawn, ok := summary["drawn"].(map[string]any); !ok {
				if acc := float(t, row["acc"]); acc != last["acc"] {
					t.Errorf("%s: accuracy %v, want %v", flags, acc, last["acc"])
				}
			} else if drawn == nil {
				t.Errorf("%s: no draws", flags)
			}
			if strings.Contains(want.says, "nothing") && (row["foreign"] != "0" || row["foreign_auroc_entropy"] != "") {
				t.Errorf("%s: %v", flags, row)
			}
		}
		if strings.Join(got, " ") != want.models {
			t.Errorf("%s: models %v, want %s", flags, got, want.models)
		}
	}
}

// sample returns the embedded images, and the split of each client of a run with tinyLabels and so many clients.
func sample(t *testing.T, clients int) (*datasets.Dataset, []datasets.Split) {
	t.Helper()
	d, err := datasets.Load("mnist-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	splits, _, err := datasets.Partition(d, datasets.PartitionConfig{
		Kind: "labels", Assign: "pairs", Clients: clients, LabelsPerClient: 5, TrainPerClass: 3, TestPerClass: 5, Seed: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, splits
}

// idxOf writes some of the images, and their labels beside, and returns the images' file.
func idxOf(t *testing.T, d *datasets.Dataset, ids []int) string {
	t.Helper()
	dir := t.TempDir()
	images, labels := []byte{0, 0, 8, 3}, []byte{0, 0, 8, 1}
	for _, n := range []int{len(ids), 28, 28} {
		images = binary.BigEndian.AppendUint32(images, uint32(n))
	}
	labels = binary.BigEndian.AppendUint32(labels, uint32(len(ids)))
	for _, i := range ids {
		images = append(images, d.Pixels[i*784:(i+1)*784]...)
		labels = append(labels, d.Labels[i])
	}
	file(t, filepath.Join(dir, "labels.idx"), labels)
	return file(t, filepath.Join(dir, "images.idx"), images)
}

// csvOf writes some of the images as a CSV, with labels or without.
func csvOf(t *testing.T, d *datasets.Dataset, ids []int, labels bool) string {
	t.Helper()
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	for _, i := range ids {
		var row []string
		if labels {
			row = append(row, strconv.Itoa(int(d.Labels[i])))
		}
		for _, p := range d.Pixels[i*784 : (i+1)*784] {
			row = append(row, strconv.Itoa(int(p)))
		}
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	w.Flush()
	return file(t, filepath.Join(t.TempDir(), "images.csv"), text.Bytes())
}

func pngOf(t *testing.T, width int, pixels []byte) string {
	t.Helper()
	img := &image.Gray{Pix: pixels, Stride: width, Rect: image.Rect(0, 0, width, len(pixels)/width)}
	var text bytes.Buffer
	if err := png.Encode(&text, img); err != nil {
		t.Fatal(err)
	}
	return file(t, filepath.Join(t.TempDir(), "image.png"), text.Bytes())
}

func file(t *testing.T, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// parsed reads the CSV of an output.
func parsed(t *testing.T, text string) []map[string]string {
	t.Helper()
	return table(t, file(t, filepath.Join(t.TempDir(), "output.csv"), []byte(text)))
}

// TestPredict: whatever holds a client's test images, a prediction is what eval says of them.
func TestPredict(t *testing.T) {
	dir, _ := train(t, tinyLabels)
	before := contents(t, dir)
	examples := filepath.Join(t.TempDir(), "examples.csv")
	must(t, "eval", "--run", dir, "--mc", "3", "--per-example", examples)
	d, splits := sample(t, 4)
	ids := splits[2].Test
	for model, flags := range map[string][]string{"pm": {"--client", "2"}, "gm": nil} {
		want := where(table(t, examples), "model", model, "client", "2", "foreign", "0")
		compare := func(input string, rows, want []map[string]string) {
			if len(rows) != len(want) {
				t.Fatalf("%s: %d rows, want %d", input, len(rows), len(want))
			}
			for i, row := range rows {
				name := filepath.Base(input)
				if len(rows) > 1 {
					name += fmt.Sprint(":", i)
				}
				if row["input"] != name || row["class"] != want[i]["class"] || row["probability"] != want[i]["confidence"] ||
					row["entropy"] != want[i]["entropy"] || row["mutual_information"] != want[i]["mutual_information"] {
					t.Errorf("%s, %s: %v, want %s and %v", model, input, row, name, want[i])
				}
			}
		}
		for _, input := range []string{idxOf(t, d, ids), csvOf(t, d, ids, true), csvOf(t, d, ids, false)} {
			args := append([]string{"predict", "--run", dir, "--mc", "3", "--input", input}, flags...)
			compare(input, parsed(t, must(t, args...)), want)
		}
		input := pngOf(t, 28, d.Pixels[ids[7]*784:(ids[7]+1)*784])
		args := append([]string{"predict", "--run", dir, "--mc", "3", "--input", input}, flags...)
		compare(input, parsed(t, must(t, args...)), want[7:8])
	}
	wantSame(t, "predict", dir, before)
}

// TestPredictNames: a class is called by its name where the data set has one.
func TestPredictNames(t *testing.T) {
	dir, _ := train(t, tinyLabels+" --dataset fashion-mnist-sample --algo fedavg")
	d, err := datasets.Load("fashion-mnist-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range parsed(t, must(t, "predict", "--run", dir, "--input", csvOf(t, d, []int{0, 1, 2}, false))) {
		if _, err := strconv.Atoi(row["class"]); err == nil || row["class"] == "" {
			t.Errorf("class %q, want a name", row["class"])
		}
		if row["mutual_information"] != "0" {
			t.Errorf("one network has a mutual information of %s, want 0", row["mutual_information"])
		}
	}
}

// TestHeldOut: clients that are held out change nothing for the others, and personalize makes the models of holdout.csv.
func TestHeldOut(t *testing.T) {
	d, splits := sample(t, 6)
	for _, e := range algorithms.All() {
		if e.Closed != "" {
			continue
		}
		steps := "--holdout-steps 7"
		if e.Stepless {
			steps = ""
		}
		if e.Name == "virtual" {
			steps += " --lateral=false" // with which models can be kept
		}
		dir, stdout := train(t, tinyLabels+" --holdout-clients 2 --algo "+e.Name+" "+steps)
		if !strings.Contains(stdout, "2 clients held out: ") || !strings.Contains(stdout, "2 more held out") {
			t.Errorf("%s: stdout\n%s", e.Name, stdout)
		}
		rows := table(t, filepath.Join(dir, "holdout.csv"))
		if len(rows) != 2 || rows[0]["client"] != "4" || rows[1]["client"] != "5" || rows[0]["train"] != "15" || rows[0]["test"] != "25" {
			t.Fatalf("%s: holdout.csv %v", e.Name, rows)
		}
		mean := (float(t, rows[0]["after_acc"]) + float(t, rows[1]["after_acc"])) / 2 // of equal numbers of examples
		h := object(t, filepath.Join(dir, "summary.json"))["holdout"].(map[string]any)
		if math.Abs(h["after_acc"].(float64)-mean) > 1e-12 || h["clients"] != 2.0 {
			t.Errorf("%s: summary.json has %v, want an accuracy of %v", e.Name, h, mean)
		}
		for _, row := range table(t, filepath.Join(dir, "clients.csv")) {
			if client := float(t, row["client"]); client > 3 {
				t.Errorf("%s: client %v takes part", e.Name, client)
			}
		}
		before := contents(t, dir)
		out := filepath.Join(t.TempDir(), "mine")
		args := []string{"personalize", "--run", dir, "--client", "5"}
		if !e.Stepless {
			args = append(args, "--steps", "7", "--out", out)
		}
		stdout = must(t, args...)
		wantSame(t, "personalize", dir, before)
		for _, cell := range []string{"before_acc", "after_acc"} {
			if text := fmt.Sprintf("%.1f %%", 100*float(t, rows[1][cell])); !strings.Contains(stdout, text) {
				t.Errorf("%s: %s is %s in the run, and personalize says\n%s", e.Name, cell, text, stdout)
			}
		}
		if e.Stepless {
			continue
		}
		m := object(t, out+".json")["about"].(map[string]any)
		if m["before_acc"] != float(t, rows[1]["before_acc"]) || m["after_acc"] != float(t, rows[1]["after_acc"]) {
			t.Errorf("%s: personalize gives %v and %v, the run %v", e.Name, m["before_acc"], m["after_acc"], rows[1])
		}
		// The model that was kept is as accurate.
		right := 0
		args = []string{"predict", "--model", out + ".safetensors", "--input", idxOf(t, d, splits[5].Test)}
		if e.Bayesian {
			args = append(args, "--mc", "0")
		}
		for i, row := range parsed(t, must(t, args...)) {
			if row["class"] == fmt.Sprint(d.Labels[splits[5].Test[i]]) {
				right++
			}
		}
		if got := float64(right) / 25; got != m["after_acc"] {
			t.Errorf("%s: the kept model's accuracy is %v, want %v", e.Name, got, m["after_acc"])
		}
	}
}

// TestHeldOutResumed: a run with clients that are held out is resumed as any other.
func TestHeldOutResumed(t *testing.T) {
	const flags = " --holdout-clients 1 --holdout-steps 3"
	whole, _ := train(t, longer(4)+flags)
	dir, _ := train(t, longer(2)+flags)
	resume(t, dir, "--rounds 4")
	if got, want := outcome(t, dir), outcome(t, whole); got != want {
		t.Errorf("resumed, it is\n%s\nwant\n%s", got, want)
	}
	text := func(dir string) string {
		text, err := os.ReadFile(filepath.Join(dir, "holdout.csv"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got, want := text(dir), text(whole); got != want {
		t.Errorf("resumed, holdout.csv is\n%s\nwant\n%s", got, want)
	}
	settings := object(t, filepath.Join(dir, "config.json"))["settings"].(map[string]any)
	if settings["holdout-clients"] != 1.0 || settings["holdout-steps"] != 3.0 {
		t.Errorf("config.json: %v", settings)
	}
	status, _, stderr := run("train --resume " + dir + " --holdout-clients 2")
	if want := "--holdout-clients is 2 on the command line, and 1 in the run\n"; status != 5 || !strings.HasSuffix(stderr, want) {
		t.Errorf("status %d, stderr %q, want 5 and %q", status, stderr, want)
	}
	// Without --holdout-clients there is nothing to hold out.
	dir, stdout := train(t, tinyLabels)
	if _, err := os.Stat(filepath.Join(dir, "holdout.csv")); err == nil || strings.Contains(stdout, "held out") {
		t.Errorf("holdout.csv of a run that held nobody out (%v), stdout\n%s", err, stdout)
	}
}

// TestPersonalizeData gives the images of one client in all forms.
func TestPersonalizeData(t *testing.T) {
	dir, _ := train(t, tinyLabels)
	d, splits := sample(t, 6)
	ids, tests := splits[5].Test, splits[5].Train
	var want string
	for _, data := range []string{filepath.Dir(idxOf(t, d, ids)), csvOf(t, d, ids, true)} {
		stdout := must(t, "personalize", "--run", dir, "--data", data, "--steps", "5")
		if !strings.Contains(stdout, "a client of 19 images to train on, tested on 6\n") {
			t.Errorf("stdout\n%s", stdout)
		}
		if want == "" {
			want = stdout
		}
		if stdout != want {
			t.Errorf("the folder and the CSV differ:\n%s%s", want, stdout)
		}
	}
	stdout := must(t, "personalize", "--run", dir, "--data", csvOf(t, d, ids, true), "--test-data", csvOf(t, d, tests, true), "--steps", "5")
	if !strings.Contains(stdout, "a client of 25 images to train on, tested on 15\n") {
		t.Errorf("stdout\n%s", stdout)
	}
	out := filepath.Join(t.TempDir(), "sub", "mine")
	args := []string{"personalize", "--run", dir, "--data", csvOf(t, d, ids, true), "--steps", "5", "--out", out + ".json"}
	must(t, args...)
	before := contents(t, filepath.Dir(out))
	status, _, stderr := runArgs(args...)
	if want := "fedbayes: --out " + out + ".json: " + out + ".json is there: name another, or replace it with --force\n"; status != 2 || stderr != want {
		t.Errorf("once more: status %d, stderr %q, want %q", status, stderr, want)
	}
	must(t, append(args, "--force")...)
	wantSame(t, "the same once more", filepath.Dir(out), before)
}

// TestLookedAtInVain is about runs and files that cannot be used.
func TestLookedAtInVain(t *testing.T) {
	serial(t)
	dir, _ := train(t, tinyLabels+" --holdout-clients 1")
	fedavg, _ := train(t, tinyLabels+" --algo fedavg")
	local, _ := train(t, tinyLabels+" --algo local")
	bnfed, _ := train(t, tinyLabels+" --algo bnfed")
	pfedgp, _ := train(t, tinyLabels+" --algo pfedgp --holdout-clients 1")
	virtual, _ := train(t, tinyLabels+" --algo virtual --holdout-clients 1")
	bare, _ := train(t, tinyLabels+" --checkpoint-every 0")
	changed, _ := train(t, tinyLabels)
	edit(t, filepath.Join(changed, "config.json"), `"zeta": 10`, `"zeta": 11`)
	d, splits := sample(t, 6)
	ids := splits[5].Test
	images, wide := idxOf(t, d, ids), pngOf(t, 56, d.Pixels[:56*28])
	labelled, one := csvOf(t, d, ids, true), csvOf(t, d, ids[:1], true)
	dark := file(t, filepath.Join(t.TempDir(), "dark.jpg"), []byte("\xff\xd8\xff\xe0\x00\x10JFIF\x00"))
	saved := filepath.Join(t.TempDir(), "saved")
	must(t, "personalize", "--run", fedavg, "--data", labelled, "--steps", "1", "--out", saved)
	t.Chdir(t.TempDir())
	for line, want := range map[string]string{
		"eval":                                         "2 --run: want it",
		"eval x":                                       `2 eval: unexpected argument "x"`,
		"eval --run nowhere":                           "2 --run nowhere: there is no run, as it has no config.json",
		"eval --run " + dir + " --mc 257":              "2 --mc 257: want a whole number ≥ 0 and ≤ 256",
		"eval --run " + fedavg + " --mc 5":             "2 --mc: fedavg has no distribution to draw weights from",
		"eval --run x --out y":                         `2 --out "y": want a name that ends with .csv`,
		"eval --run x --curves y/z.csv":                "2 --curves y/z.csv: there is no folder y",
		"eval --run x --out a.csv --per-example a.csv": "2 --out and --per-example: want two files",
		"eval --run " + dir + " --data-dir x":          "2 --run " + dir + ": --data-dir: mnist-sample is part of the program and reads no folder, other than mnist, fashion-mnist, cifar10, mnist-writers, hapt, vsn, shakespeare and csv",
		"eval --run " + bare:                           "5 " + filepath.Join(bare, "checkpoint") + ": it holds no checkpoint",
		"eval --run " + changed:                        "3 --run " + changed + ": its config.json is of another run: --zeta is 11 there, 10 here",

		"predict --run x":                                           "2 --input: want it",
		"predict --input " + images:                                 "2 want --run or --model",
		"predict --run x --model y --input z":                       "2 --model and --run: want one of them",
		"predict --client 1 --model y --input z":                    "2 --model and --client: want one of them",
		"predict --run " + fedavg + " --client 1 --input " + images: "2 --client: fedavg has no personal models; without it the global one predicts",
		"predict --run " + local + " --input " + images:             "2 --client: want it, as local has no global model",
		"predict --run " + local + " --client 4 --input " + images:  "2 --client 4: want 0 to 3",
		"predict --run " + dir + " --client 4 --input " + images:    "2 --client 4: it was held out, and has no model in the run: personalize makes it one",
		"predict --run " + dir + " --client -1 --input " + images:   "2 --client -1: want a whole number ≥ 0 and ≤ 1.6777216e+07",
		"predict --run " + dir + " --input nowhere.png":             "3 --input nowhere.png: no such file or directory",
		"predict --run " + dir + " --input " + wide:                 "3 --input " + wide + ": 56 × 28 pixels (width × height), want 28 × 28 as in mnist-sample",
		"predict --run " + dir + " --input " + dark:                 "3 --input " + dark + ": neither an IDX file, nor a PNG, nor a CSV",
		"predict --model nowhere --input " + images:                 "3 --model nowhere: open nowhere.json: no such file or directory",
		"predict --mc 3 --model " + saved + " --input " + images:    "2 --mc: " + saved + " has no distribution to draw weights from",
		"predict --run " + dir + " --input " + filepath.Dir(images): "3 --input " + filepath.Dir(images) + ": is a directory",

		"personalize --run x":                                         "2 want --data or --client",
		"personalize --data x":                                        "2 --run: want it",
		"personalize --run x --data y --client 1":                     "2 --client and --data: want one of them",
		"personalize --run x --test-data y":                           "2 want --data or --client",
		"personalize --run x --data y --steps 0":                      "2 --steps 0: want a whole number ≥ 1",
		"personalize --run x --data y --force":                        "2 --force: it belongs to --out",
		"personalize --run " + dir + " --client 3":                    "2 --client 3: want 4 to 4, which were held out",
		"personalize --run " + fedavg + " --client 3":                 "2 --client 3: the run has no --holdout-clients",
		"personalize --run " + dir + " --data nowhere":                "3 --data nowhere: no such file or directory",
		"personalize --run " + dir + " --data " + images:              "3 --data " + images + ": it has no labels: want a CSV with label and 784 values a row, or a folder with images.idx and labels.idx",
		"personalize --run " + dir + " --data .":                      "3 --data .: images.idx: file does not exist",
		"personalize --run " + dir + " --data " + one:                 "3 --data " + one + ": 1 image are too few to train and test on: want 2, or --test-data",
		"personalize --run " + bnfed + " --data " + labelled:          "2 --run " + bnfed + ": bnfed makes no models for new clients: its global network is wider than a client's, and which of its units a new client would have is the server's to say",
		"personalize --run " + pfedgp + " --client 4 --steps 3":       "2 --steps: no effect, pfedgp fits a model to a new client without steps",
		"personalize --run " + pfedgp + " --client 4 --out mine":      "2 --out: a model of pfedgp is more than weights, and cannot be kept",
		"personalize --run " + virtual + " --client 4 --out mine":     "2 --out: a model of virtual is more than weights, and cannot be kept",
		"train --algo bnfed --holdout-clients 1":                      "2 --holdout-clients: not with bnfed: its global network is wider than a client's, and which of its units a new client would have is the server's to say",
		"train --holdout-steps 5":                                     "2 --holdout-steps: it belongs to --holdout-clients",
		"train --algo pfedgp --holdout-clients 1 --holdout-steps 5":   "2 --holdout-steps: no effect, pfedgp fits a model to a new client without steps",
		"train --clients 9 --train-per-class 250 --holdout-clients 1": "3 datasets: mnist-sample: labels: class ",
	} {
		status, stdout, stderr := run(line)
		number, text, _ := strings.Cut(want, " ")
		got := strings.TrimSuffix(filepath.ToSlash(stderr), "\n")
		whole := got == "fedbayes: "+filepath.ToSlash(text) || strings.HasSuffix(text, " class ") && strings.HasPrefix(got, "fedbayes: "+text) && strings.HasSuffix(got, "(of the clients, --holdout-clients are 1)")
		if fmt.Sprint(status) != number || stdout != "" || !whole {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant status %s, stderr\nfedbayes: %s", line, status, stdout, stderr, number, text)
		}
	}
	wantEmpty(t)
}

// edit replaces a text in a file.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(old)) {
		t.Fatalf("%s lacks %s", path, old)
	}
	file(t, path, bytes.Replace(text, []byte(old), []byte(new), 1))
}

// TestOtherVersion: the models of a run that another version or another machine made are looked at, and a note says so.
func TestOtherVersion(t *testing.T) {
	dir, _ := train(t, tinyLabels+" --checkpoint-every 1")
	want := must(t, "eval", "--run", dir)
	made := object(t, filepath.Join(dir, "config.json"))["version"].(string)
	edit(t, filepath.Join(dir, "config.json"), `"version": "`+made+`"`, `"version": "v0"`)
	edit(t, filepath.Join(dir, "config.json"), `"isa": "`, `"isa": "other `)
	status, stdout, stderr := runArgs("eval", "--run", dir)
	if note := "note: version v0 made the run, and this is " + made + "\n"; status != 0 || stdout != want || stderr != note {
		t.Errorf("status %d, stderr %q, want 0 and %q; stdout\n%s", status, stderr, note, stdout)
	}
	// Of a damaged checkpoint the one before it is taken.
	name := filepath.Join(dir, "checkpoint", "round-2.safetensors")
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	status, stdout, stderr = runArgs("eval", "--run", dir)
	if status != 0 || !strings.Contains(stdout, "after 1 round;") || !strings.Contains(stderr, "note: the checkpoint of round 2 is damaged") {
		t.Errorf("status %d, stderr %q, stdout\n%s", status, stderr, stdout)
	}
}
