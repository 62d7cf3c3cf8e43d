package cli_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// beliefs reads beliefs.csv of a run: the rows by round and client, which are in order and whole.
func beliefs(t *testing.T, dir string) (rounds []string, rows map[string][]map[string]string) {
	t.Helper()
	rows = map[string][]map[string]string{}
	for _, row := range table(t, filepath.Join(dir, "beliefs.csv")) {
		at := row["round"] + " " + row["client"]
		if want := strconv.Itoa(len(rows[at])); row["class"] != want {
			t.Errorf("round and client %s: class %s, want %s", at, row["class"], want)
		}
		if !slices.Contains(rounds, row["round"]) {
			rounds = append(rounds, row["round"])
		}
		rows[at] = append(rows[at], row)
	}
	return rounds, rows
}

func numberIn(t *testing.T, row map[string]string, column string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(row[column], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestWatch: a run that watches an image is the same run, and its last beliefs are what eval says of the image with as many
// draws. plot draws them.
func TestWatch(t *testing.T) {
	for _, test := range []struct {
		flags, watch string
		rounds       []string
		draws        int
	}{
		{"--rounds 12", "--watch 1:2", []string{"0", "1", "10", "12"}, 20},
		{"--rounds 3 --mc 3", "--watch 1:2 --watch-rounds 2,3", []string{"2", "3"}, 3},
		{"--rounds 2 --algo local", "--watch 1:2", []string{"0", "1", "2"}, 0},
		{"--rounds 2 --algo fedavg", "--watch 1:2", []string{"0", "1", "2"}, 0},
	} {
		test.flags += strings.Replace(tinyLabels, "--rounds 2", "", 1)
		dir, _ := train(t, test.watch+" "+test.flags)
		plain, _ := train(t, test.flags)
		text, err := os.ReadFile(filepath.Join(dir, "beliefs.csv"))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Replace(outcome(t, dir), string(text), "", 1), outcome(t, plain); got != want {
			t.Errorf("%s: it is\n%s\nwant\n%s", test.flags, got, want)
		}
		if _, err := os.Stat(filepath.Join(plain, "beliefs.csv")); !os.IsNotExist(err) {
			t.Errorf("%s: beliefs.csv of a run that watches nothing (%v)", test.flags, err)
		}
		rounds, rows := beliefs(t, dir)
		if !slices.Equal(rounds, test.rounds) || len(rows) != 4*len(rounds) {
			t.Fatalf("%s: rounds %v and %d panels, want %v for 4 clients", test.flags, rounds, len(rows), test.rounds)
		}
		best := map[string]float64{} // by client, in the last round
		for at, row := range rows {
			sum, spread := 0.0, 0.0
			for _, class := range row {
				p := numberIn(t, class, "probability")
				sum += p
				spread += numberIn(t, class, "deviation")
				if round, client, _ := strings.Cut(at, " "); round == rounds[len(rounds)-1] {
					best[client] = max(best[client], p)
				}
			}
			if len(row) != 10 || math.Abs(sum-1) > 1e-5 || (spread > 0) != (test.draws > 0) {
				t.Errorf("%s: round and client %s: %d classes, of sum %v and deviations of sum %v", test.flags, at, len(row), sum, spread)
			}
		}

		csv := filepath.Join(t.TempDir(), "examples.csv")
		args := []string{"eval", "--run", dir, "--per-example", csv}
		if test.draws > 0 {
			args = append(args, "--mc", strconv.Itoa(test.draws))
		}
		if status, _, stderr := runArgs(args...); status != 0 {
			t.Fatal(stderr)
		}
		seen := 0
		for _, row := range table(t, csv) {
			if row["owner"] != "1" || row["example"] != "2" || strings.Contains(test.flags, "fedavg") == (row["model"] == "pm") {
				continue
			}
			if row["model"] == "pm" || row["client"] == "1" {
				seen++
				if got, want := best[row["client"]], numberIn(t, row, "confidence"); math.Abs(got-want) > 1e-5 {
					t.Errorf("%s: client %s believes %v, and eval says %v", test.flags, row["client"], got, want)
				}
				if label := rows[rounds[0]+" 1"][0]["label"]; label != row["label"] {
					t.Errorf("%s: label %s, and eval says %s", test.flags, label, row["label"])
				}
			}
		}
		if seen == 0 && !strings.Contains(test.flags, "fedavg") {
			t.Errorf("%s: eval says nothing of the image", test.flags)
		}
	}
}

// TestPlotWatched draws the image of a run, for all clients and for some, and report shows it.
func TestPlotWatched(t *testing.T) {
	run, _ := train(t, "--watch 1:2"+tinyLabels)
	dir := filepath.Dir(run)
	all := plotted(t, dir, "image.svg", "--kind", "beliefs", "run")
	for _, part := range []string{"round 0", "round 1", "round 2", "client 0", "client 3", "class of the image"} {
		if got := textsOf(t, all); !strings.Contains(got, part) {
			t.Errorf("text\n%s\nlacks %q", got, part)
		}
	}
	if again := plotted(t, dir, "image.svg", "--kind", "beliefs", "run/beliefs.csv"); string(again) != string(all) {
		t.Error("the picture of the CSV is not that of its folder")
	}
	if got := textsOf(t, plotted(t, dir, "image.svg", "--kind", "beliefs", "--clients", "3,1", "run")); strings.Contains(got, "client 0") || !strings.Contains(got, "client 1") {
		t.Errorf("of clients 1 and 3 alone: text\n%s", got)
	}
	if status, _, stderr := program(t, dir, "report", "run"); status != 0 || stderr != "" {
		t.Fatal(stderr)
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil || !strings.Contains(string(page), "What clients think of one image, by round") {
		t.Errorf("the page lacks the image (%v)", err)
	}
}

// TestWatchResumed: the beliefs after the last round are those of a run that ends there, and go when it goes on.
func TestWatchResumed(t *testing.T) {
	const watch = " --watch 0:1 --watch-rounds 0,2,4"
	whole, _ := train(t, longer(5)+watch)
	dir, _ := train(t, longer(3)+watch)
	if rounds, _ := beliefs(t, dir); fmt.Sprint(rounds) != "[0 2 3]" {
		t.Errorf("rounds %v, want 0, 2 and 3", rounds)
	}
	before := contents(t, dir)
	for flags, want := range map[string]struct {
		status int
		text   string
	}{
		"--watch 0:2":                   {5, "--watch is 0:2 on the command line, and 0:1 in the run"},
		"--rounds 5 --watch-rounds 0,3": {5, "--watch-rounds is 0,3 on the command line, and 0,2,4 in the run"},
	} {
		status, _, stderr := runArgs(append([]string{"train", "--resume", dir}, strings.Fields(flags)...)...)
		if status != want.status || !strings.Contains(stderr, want.text) {
			t.Errorf("%s: status %d, stderr %q, want %v", flags, status, stderr, want)
		}
		wantSame(t, flags, dir, before)
	}
	resume(t, dir, "--rounds 5")
	if got, want := outcome(t, dir), outcome(t, whole); got != want {
		t.Errorf("resumed, it is\n%s\nwant\n%s", got, want)
	}
	if err := os.Truncate(filepath.Join(dir, "beliefs.csv"), 100); err != nil {
		t.Fatal(err)
	}
	status, _, stderr := runArgs("train", "--resume", dir, "--rounds", "6")
	if status != 5 || !strings.Contains(stderr, "beliefs.csv is not what it was at the checkpoint of round 5") {
		t.Errorf("cut: status %d, stderr %q", status, stderr)
	}

	// The flags are a run's, also in a file.
	status, config, stderr := run("train --print-config --watch 0:1 --watch-rounds 0,2")
	if status != 0 || !strings.Contains(config, `watch-rounds = "0,2"`) || !strings.Contains(config, `watch = "0:1"`) {
		t.Errorf("status %d, stderr %s, config\n%s", status, stderr, config)
	}
	if _, config, _ = run("train --print-config"); strings.Contains(config, "watch-rounds") || !strings.Contains(config, "# watch: ") {
		t.Errorf("config without an image:\n%s", config)
	}
}
