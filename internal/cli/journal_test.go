package cli_test

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// objects reads stderr, which must be one JSON object a line with time, level and message.
func objects(t *testing.T, stderr string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(stderr) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		at, _ := o["time"].(string)
		if _, err := time.Parse(time.RFC3339Nano, at); err != nil || o["level"] == nil || o["msg"] == nil {
			t.Errorf("%s (%v), want time, level and msg", line, err)
		}
		all = append(all, o)
	}
	return all
}

// TestJSON: with --log-format json stderr is objects, whose numbers are those of rounds.csv, and stdout is the summary.
func TestJSON(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	args := strings.Fields("train --log-format json --val-fraction 0.3 --test-per-class 5000" + tiny + " --train-per-class 5 --out " + dir)
	status, stdout, stderr := runArgs(args...)
	if status != 0 || strings.Count(stdout, "\n") != 1 || !strings.Contains(stdout, " after 2 rounds (best ") {
		t.Fatalf("status %d, stdout %q, want the summary alone; stderr\n%s", status, stdout, stderr)
	}
	all := objects(t, stderr)
	var levels, messages []string
	rows := table(t, filepath.Join(dir, "rounds.csv"))
	for _, o := range all {
		levels, messages = append(levels, o["level"].(string)), append(messages, o["msg"].(string))
		if o["seed"] != 1.0 {
			t.Errorf("%v, want the seed", o)
		}
		if o["msg"] != "round" {
			continue
		}
		row := rows[0]
		rows = rows[1:]
		for name, cell := range row {
			if slices.Contains([]string{"run", "algo", "dataset", "regime", "model"}, name) {
				continue
			}
			within := 0.0
			if strings.HasSuffix(name, "_seconds") {
				within = 0.0005001 // the cell has three digits
			}
			want, err := strconv.ParseFloat(cell, 64)
			got, ok := o[name].(float64)
			if err != nil || !ok || !(math.Abs(got-want) <= within) {
				t.Errorf("%s is %v, want %s (%v)", name, o[name], cell, err)
			}
		}
	}
	if want := "INFO WARN INFO INFO INFO"; strings.Join(levels, " ") != want || messages[0] != "run" || messages[4] != "end" || len(rows) > 0 {
		t.Errorf("levels %q, messages %q, want levels %s", levels, messages, want)
	}
	if o := all[0]; o["out"] != dir || o["clients"] != 4.0 || o["algo"] != "pfedbayes" {
		t.Errorf("%v", o)
	}

	// A method without a KL and a personal model has no such numbers, rather than numbers that are none.
	_, _, stderr = runArgs(strings.Fields("train --algo fedavg --log-format json" + tinyLabels + " --force --out " + dir)...)
	for _, o := range objects(t, stderr) {
		if _, ok := o["kl"]; ok || o["pm_acc"] != nil || o["msg"] == "round" && o["gm_acc"] == nil {
			t.Errorf("%v", o)
		}
	}
}

// TestJSONErrors: an error is one of the objects, and said once.
func TestJSONErrors(t *testing.T) {
	for flags, want := range map[string]struct {
		status int
		msg    string
		others int
	}{
		"--lr 1e30":                          {4, "round 1: client 0: step 2: the negative log-likelihood is ", 2},
		"--lr 1e30 --quiet":                  {4, "round 1: client 0: step 2: the negative log-likelihood is ", 0},
		"--zeta -1":                          {2, "--zeta -1: want a number ≥ 0", 0},
		"--partition iid --clients 9000":     {2, "--train-per-class: it belongs to --partition labels, not to iid", 0},
		"--dataset mnist --data-dir nowhere": {3, "datasets: mnist: not found in nowhere", 0},
	} {
		dir := filepath.Join(t.TempDir(), "run")
		clients := tinyLabels
		if strings.Contains(flags, "--clients") {
			clients = strings.Replace(clients, "--clients 4", "", 1)
		}
		status, _, stderr := runArgs(strings.Fields("train --log-format json --out " + dir + clients + " " + flags)...)
		all := objects(t, stderr)
		last := all[len(all)-1]
		if status != want.status || len(all) != 1+want.others || last["level"] != "ERROR" || !strings.HasPrefix(last["msg"].(string), want.msg) || last["status"] != float64(status) {
			t.Errorf("%s: status %d, stderr\n%swant %d and %s", flags, status, stderr, want.status, want.msg)
		}
	}
	status, _, stderr := run("train --log-format xml")
	if want := `fedbayes: --log-format "xml": want one of text, json` + "\n"; status != 2 || stderr != want {
		t.Errorf("status %d, stderr %q, want %q", status, stderr, want)
	}
}

// TestJSONIsNoSetting: a run that is resumed may say things otherwise.
func TestJSONIsNoSetting(t *testing.T) {
	dir, _ := train(t, tinyLabels+" --log-format json")
	status, _, stderr := runArgs("train", "--resume", dir, "--rounds", "3")
	if status != 0 || !strings.Contains(stderr, "\nround 3  PM") {
		t.Errorf("resumed in text: status %d, stderr\n%s", status, stderr)
	}
	status, _, stderr = runArgs("train", "--resume", dir, "--rounds", "4", "--log-format", "json")
	if all := objects(t, stderr); status != 0 || all[0]["rounds_done"] != 3.0 {
		t.Errorf("resumed in JSON: status %d, stderr\n%s", status, stderr)
	}
}
