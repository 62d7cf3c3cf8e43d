package cli_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// playOf returns a folder with the text of five roles, of 1 to 41 windows.
func playOf(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for k, n := range []int{900, 700, 100, 800, 500} {
		fmt.Fprintf(&b, "{\"client\": \"ROLE_%d\", \"speeches\": [\"%s\"]}\n", k, strings.Repeat("Words, words, words. ", n)[:n])
	}
	dir := t.TempDir()
	file(t, filepath.Join(dir, "shakespeare-by-character.jsonl"), []byte(b.String()))
	return dir
}

// TestText goes with texts through everything that reads a data set, with point and with Gaussian weights.
func TestText(t *testing.T) {
	dir := playOf(t)
	data := " --dataset shakespeare --data-dir " + dir
	const few = " --clients 3 --rounds 2 --eval-every 1 --local-steps 2 --model lstm:5"
	for algo, wants := range map[string][]string{
		"fedavg": {
			"fedavg on shakespeare (" + dir + ", 130 examples), seed 1\n", "3 clients, natural; 3 in a round\n",
			"model lstm:5, 1664 parameters; 2 rounds of 2 steps with batches of 10;",
			"note: clients with fewer than 14 examples are left out: 1 of the data's 5\n",
		},
		"pfedbayes":                {"PM ", "GM "},
		"virtual --preset code":    {"PM ", "GM "},
		"fedhb-niw --keep-prob 1":  {"PM ", "GM "},
		"pfedme --val-fraction .3": {"PM ", "GM "},
	} {
		run, said := train(t, "--algo "+algo+data+few)
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("%s: it lacks %q:\n%s", algo, want, said)
			}
		}
		if algo != "fedavg" {
			continue
		}
		split := object(t, filepath.Join(run, "config.json"))["split"].(map[string]any)
		if split["images_of_two_clients"] != 0.0 || split["test_images_trained_on"] != 0.0 {
			t.Errorf("split %v", split)
		}
		if got := must(t, "eval", "--run", run); !strings.Contains(got, "accuracy") {
			t.Errorf("eval: %s", got)
		}
		input := file(t, filepath.Join(t.TempDir(), "row.csv"), []byte(strings.Repeat("60,", 79)+"85\n"))
		if got := must(t, "predict", "--run", run, "--input", input); strings.Count(got, "\n") != 2 {
			t.Errorf("predictions\n%s", got)
		}
		for cell, want := range map[string]string{"86": "86", "-1": "-1", "0.5": "0.5"} {
			input := file(t, filepath.Join(t.TempDir(), "row.csv"), []byte(strings.Repeat("60,", 79)+cell+"\n"))
			status, _, stderr := runArgs("predict", "--run", run, "--input", input)
			if status != 3 || !strings.HasSuffix(stderr, "line 1: value 80 of the example is \""+want+"\", want a whole number from 0 to 85\n") {
				t.Errorf("a symbol of %s: status %d, %s", cell, status, stderr)
			}
		}
	}
	for flags, want := range map[string]string{
		" --model mlp":                   "--model mlp: shakespeare is text: want lstm",
		" --partition iid":               "datasets: shakespeare: iid: examples of a text overlap, and clients would be tested on what others train on: want --partition natural",
		" --algo bnfed":                  "--model lstm:5: not for bnfed: ",
		" --algo fedhb-niw":              "--model lstm:5: not for fedhb-niw: the columns of memory cells cannot be lost: want --keep-prob 1",
		" --algo virtual --preset paper": "--model lstm:5: not for virtual: ",
	} {
		line := "train" + data + " --clients 3 --model lstm:5"
		if strings.Contains(flags, "--model") {
			line = "train" + data + " --clients 3"
		}
		status, _, stderr := runArgs(strings.Fields(line + flags)...)
		if status == 0 || !strings.HasPrefix(stderr, "fedbayes: "+want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, %swant %s", flags, status, stderr, want)
		}
	}
}
