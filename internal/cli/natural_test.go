package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedbayes/datasets"
)

// tableOf returns a CSV with clients a to e, which have 6, 12, 18, 24 and 30 examples of two numbers in three classes.
func tableOf(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("client,x,label,y\n")
	for o, client := range []string{"a", "b", "c", "d", "e"} {
		for i := range 6 * (o + 1) {
			class := i % 3
			fmt.Fprintf(&b, "%s,%.2f,%s,%.2f\n", client, float64(class)+float64(i)/100, []string{"low", "middle", "top"}[class], 1-float64(class)-float64(o)/50)
		}
	}
	return file(t, filepath.Join(t.TempDir(), "mine.csv"), []byte(b.String()))
}

const fewSteps = " --rounds 30 --eval-every 30 --local-steps 4 --batch 8 --model mlp:8 --lr 0.3"

// TestTable goes with a CSV of the user's own through everything that reads a data set.
func TestTable(t *testing.T) {
	path := tableOf(t)
	data := " --dataset csv --data-dir " + path
	dir, said := train(t, "--algo fedavg"+data+fewSteps)
	for _, want := range []string{
		"(" + path + ", 90 examples), seed 1\n", "4 clients, natural; 4 in a round\n", "note: clients with fewer than 10 examples are left out: 1 of the data's 5\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it lacks %q:\n%s", want, said)
		}
	}
	c := object(t, filepath.Join(dir, "config.json"))
	for i, client := range c["clients"].([]any) {
		client, n := client.(map[string]any), float64(12+6*i)
		if client["name"] != string(rune('b'+i)) || client["train"].(float64)+client["test"].(float64) != n || client["test"].(float64) < n/5 {
			t.Errorf("client %d: %v, want %v examples", i, client, n)
		}
	}
	split, d := c["split"].(map[string]any), c["dataset"].(map[string]any)
	if split["images_of_two_clients"] != 0.0 || split["test_images_trained_on"] != 0.0 || split["images_of_no_client"] != 6.0 {
		t.Errorf("split %v", split)
	}
	if d["normalisation"] != "none" || len(d["sha256"].(string)) != 64 || fmt.Sprint(d["images_of_class"]) != "[30 30 30]" {
		t.Errorf("data set %v", d)
	}

	if got := must(t, "predict", "--run", dir, "--input", path); !strings.Contains(got, "\nmine.csv:0,low,") || !strings.Contains(got, "\nmine.csv:89,top,") || strings.Count(got, "\n") != 91 {
		t.Errorf("predictions\n%s", got)
	}
	if got := must(t, "eval", "--run", dir); !strings.Contains(got, "accuracy") {
		t.Errorf("eval: %s", got)
	}
	model := filepath.Join(t.TempDir(), "model")
	must(t, "personalize", "--run", dir, "--data", path, "--steps", "20", "--out", model)
	one := file(t, filepath.Join(t.TempDir(), "one.csv"), []byte("2,-1\n"))
	if got := must(t, "predict", "--model", model+".json", "--input", one); !strings.Contains(got, "\none.csv,top,") {
		t.Errorf("prediction of the model that was saved: %s", got)
	}
	if got := must(t, strings.Fields("datasets stats"+data)...); !strings.Contains(got, "training examples\n") || !strings.Contains(got, "\nexamples that no client has             6\n") {
		t.Errorf("stats:\n%s", got)
	}
	got := must(t, "datasets", "--data-dir", path, "csv")
	for _, want := range []string{"\nexamples         90 of 2 values\n", "\nclass 2          30, top\n", "\nits own clients  5, with 6 to 30 examples each\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}

	// Other data in the file are another run.
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file(t, path, []byte(strings.Replace(string(text), "0.00", "0.01", 1)))
	status, _, stderr := runArgs("eval", "--run", dir)
	if status != 3 || !strings.Contains(stderr, "its config.json is of another run: data is ") {
		t.Errorf("with other data: status %d, %s", status, stderr)
	}
}

func TestTableOptions(t *testing.T) {
	path := tableOf(t)
	data := "--algo fedavg --dataset csv --data-dir " + path + fewSteps
	for flags, want := range map[string]string{
		" --min-samples 1":                       "5 clients, natural; 5 in a round\n",
		" --min-samples 1 --holdout-clients 2":   "3 clients, natural; 3 in a round; 2 more held out\n",
		" --clients 2 --participation 1":         "2 clients, natural; 1 in a round\n",
		" --partition iid":                       "5 clients, iid; 5 in a round\n",
		" --test-per-client 12":                  "3 clients, natural; 3 in a round\n",
		" --partition dirichlet --min-samples 2": "5 clients, dirichlet-0.5; 5 in a round\n",
		" --partition permuted --clients 3":      "3 clients, permuted; 3 in a round\n",
		" --test-per-class 2 --train-per-class 5 --partition labels --labels-per-client 2 --clients 4": "4 clients, custom with 2 labels each (pairs), 5 training and 2 test examples a label; 4 in a round\n",
	} {
		if _, said := train(t, data+flags); !strings.Contains(said, want) {
			t.Errorf("%s: it lacks %q:\n%s", flags, want, said)
		}
	}
	for flags, want := range map[string]string{
		" --clients 5":                              "datasets: csv: natural: --clients 5: 4 of the data's 5 have at least 10 examples: lower --clients to 4, or lower --min-samples",
		" --min-samples 100":                        "datasets: csv: natural: --clients 1: 0 of the data's 5 have at least 100 examples: lower --min-samples",
		" --partition labels":                       "--labels-per-client 5: want a whole number from 1 to 3, the labels of csv",
		" --partition labels --labels-per-client 2": "--partition labels: csv has no regimes: want --train-per-class and --test-per-class",
		" --model vgg":                              "--model vgg: examples of shape [2], want images",
		" --model lstm":                             "--model lstm: it reads text, and csv has none",
		" --order published":                        "--order: it belongs to --partition iid or permuted, not to natural",
	} {
		if status, _, stderr := runArgs(strings.Fields("train --dataset csv --data-dir " + path + flags)...); status == 0 || stderr != "fedbayes: "+want+"\n" {
			t.Errorf("%s: status %d, stderr\n%swant\nfedbayes: %s", flags, status, stderr, want)
		}
	}
	broken := file(t, filepath.Join(t.TempDir(), "broken.csv"), []byte("client,x,label\na,1,0\na,NaN,1\n"))
	status, _, stderr := runArgs("train", "--dataset", "csv", "--data-dir", broken)
	if want := "fedbayes: datasets: csv: " + broken + `: line 3, column 2 "x": "NaN", want a finite number` + "\n"; status != 3 || stderr != want {
		t.Errorf("status %d, stderr %q, want %q", status, stderr, want)
	}
}

// TestTableSwept: the runs of a sweep read the CSV once, and resume.
func TestTableSwept(t *testing.T) {
	dir := t.TempDir()
	flags := strings.Replace(fewSteps, "--batch 8", "--grid batch=4,8", 1)
	if got := must(t, strings.Fields("sweep --algo fedavg --dataset csv --data-dir "+tableOf(t)+flags+" --seeds 1,2 --out "+dir)...); !strings.Contains(got, "| 4 | 2 |") {
		t.Errorf("sweep:\n%s", got)
	}
}

// TestPermutedPredictions: a client's model is shown images in the client's own order of pixels.
func TestPermutedPredictions(t *testing.T) {
	const flags = "--clients 4 --partition permuted --rounds 2 --local-steps 30 --batch 50 --model mlp:30"
	dir, _ := train(t, flags)
	d, err := datasets.Load("mnist-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	splits, _, err := datasets.Partition(d, datasets.PartitionConfig{Kind: "permuted", Clients: 4, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	ids := splits[2].Test[:200]
	input := idxOf(t, d, ids)
	right := map[string]int{}
	for _, client := range []string{"2", "3"} {
		for i, line := range strings.Split(strings.TrimSpace(must(t, "predict", "--run", dir, "--client", client, "--input", input, "--mc", "0")), "\n")[1:] {
			if strings.Split(line, ",")[1] == fmt.Sprint(d.Labels[ids[i]]) {
				right[client]++
			}
		}
	}
	if right["2"] < 100 || right["3"] < 100 {
		t.Errorf("of 200 images clients 2 and 3 know %v, want half of them at least", right)
	}
}

// TestNatural trains on the data of sensors and writers, where they are.
func TestNatural(t *testing.T) {
	for name, want := range map[string]string{
		"hapt": "30 clients, natural; 10 in a round\n", "vsn": "23 clients, natural; 10 in a round\n",
		"mnist-writers": "539 clients, natural; 10 in a round\n", "mnist-writers --clients 100": "100 clients, natural; 10 in a round\n",
	} {
		t.Run(name, func(t *testing.T) {
			set, _, _ := strings.Cut(name, " ")
			dir := ""
			for _, d := range []string{os.Getenv(datasets.EnvDir), filepath.FromSlash("../../../shared/data")} {
				if _, err := datasets.Find(set, d); d != "" && err == nil {
					dir = d
				}
			}
			if dir == "" {
				t.Skipf("needs %s: name its folder in $%s", set, datasets.EnvDir)
			}
			run, said := train(t, "--algo fedavg --dataset "+name+" --data-dir "+dir+tinySteps)
			if !strings.Contains(said, want) {
				t.Errorf("it lacks %q:\n%s", want, said)
			}
			c := object(t, filepath.Join(run, "config.json"))
			fewest := 1000.0
			for _, client := range c["clients"].([]any) {
				client := client.(map[string]any)
				n := client["train"].(float64) + client["test"].(float64)
				fewest = min(fewest, n)
				part := 0.25
				if set == "mnist-writers" {
					part = 0.2
				}
				if share := client["test"].(float64) / n; share < part-0.03 || share > part+0.03 || client["name"] == "" {
					t.Errorf("client %v: want %v for the test", client, part)
				}
			}
			if strings.Contains(name, "--clients 100") && fewest < 115 {
				t.Errorf("a client with %v images is not among the 100 largest", fewest)
			}
		})
	}
}
