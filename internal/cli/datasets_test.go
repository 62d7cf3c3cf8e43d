package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"fedbayes/datasets"
)

// fullMNIST returns the folder of MNIST's four gzipped files, or skips the test.
func fullMNIST(t *testing.T) string {
	t.Helper()
	for _, dir := range []string{os.Getenv(datasets.EnvDir), filepath.FromSlash("../../../shared/data")} {
		if dir == "" {
			continue
		}
		where, err := datasets.Find("mnist", dir)
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(where, "train-images-idx3-ubyte.gz")); err == nil {
			return where
		}
	}
	t.Skipf("needs the full mnist, gzipped: name its folder in $%s", datasets.EnvDir)
	return ""
}

// TestFetch downloads MNIST from a server that breaks off once, in a process of its own, and finds it after.
func TestFetch(t *testing.T) {
	files := http.FileServer(http.Dir(fullMNIST(t)))
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 { // the length of all, and a part of it
			w.Header().Set("Content-Length", "9912422")
			_, _ = w.Write(make([]byte, 0))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	cache := t.TempDir()
	fetch := func() (stdout, stderr string, status int) {
		cmd := exec.Command(os.Args[0], "datasets", "fetch", "--from", server.URL+"/", "mnist")
		cmd.Env = append(os.Environ(), asProgram+"=1", datasets.EnvDir+"=", "XDG_CACHE_HOME="+cache)
		var out, err strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &err
		_ = cmd.Run()
		return out.String(), err.String(), cmd.ProcessState.ExitCode()
	}
	dir := filepath.Join(cache, "fedbayes", "mnist")
	if stdout, stderr, status := fetch(); status != 3 || stdout != "" || !strings.HasPrefix(stderr, "fedbayes: datasets: mnist: "+dir+": train-images-idx3-ubyte.gz: "+server.URL) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("broken off at once: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	stdout, stderr, status := fetch()
	want := "train-images-idx3-ubyte.gz: 9912422 bytes\ntrain-labels-idx1-ubyte.gz: 28881 bytes\nt10k-images-idx3-ubyte.gz: 1648877 bytes\nt10k-labels-idx1-ubyte.gz: 4542 bytes\n"
	if status != 0 || stdout != "mnist: "+dir+"\n" || stderr != want {
		t.Errorf("status %d, stdout %q, stderr %q, want the folder %s", status, stdout, stderr, dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%d files (%v), want 4", len(entries), err)
	}
	n := asked.Load()
	if stdout, _, status := fetch(); status != 0 || stdout != "mnist: "+dir+"\n" || asked.Load() != n {
		t.Errorf("once more: status %d, stdout %q, %d requests", status, stdout, asked.Load()-n)
	}
}

// TestFetchRefused is about servers that have not what is wanted, and command lines.
func TestFetchRefused(t *testing.T) {
	t.Setenv(datasets.EnvDir, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for what, handler := range map[string]http.HandlerFunc{
		"500 Internal Server Error":                       func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"not the published file: 5 bytes, want 170052171": func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "sorry") },
		"404 Not Found":                                   http.NotFound,
	} {
		server := httptest.NewServer(handler)
		dir := t.TempDir()
		status, stdout, stderr := run("datasets fetch --data-dir " + dir + " --from " + server.URL + " cifar10")
		want := "fedbayes: datasets: cifar10: " + filepath.Join(dir, "cifar10") + ": cifar-10-binary.tar.gz: " + server.URL + "/cifar-10-binary.tar.gz: " + what + "\n"
		if status != 3 || stdout != "" || stderr != want {
			t.Errorf("status %d, stdout %q, stderr\n%swant status 3, stderr\n%s", status, stdout, stderr, want)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "cifar10", "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", what, left, err)
		}
		server.Close()
	}
	for line, want := range map[string]string{
		"fetch":                        "datasets fetch: want the name of a data set, one of mnist, fashion-mnist, cifar10",
		"fetch mnits":                  `data set "mnits": want one of mnist, fashion-mnist, cifar10 (did you mean mnist?)`,
		"fetch mnist-sample":           "data set mnist-sample: it is part of the program, there is nothing to download",
		"fetch hapt":                   "data set hapt: nobody publishes it in this form (fedbayes datasets hapt tells what its files are)",
		"fetch mnist cifar10":          `fetch: unexpected argument "cifar10"`,
		"fetch --from ftp://x mnist":   `--from "ftp://x": want an address that begins with http:// or https://`,
		"fetch --form x mnist":         "--form: fetch has no such flag (did you mean --from?)",
		"fetch --frobnicate mnist":     "--frobnicate: fetch has no such flag (fedbayes datasets fetch --help lists them)",
		"--data-dir x fetch mnist":     "--data-dir: a flag follows its command, as in fedbayes datasets fetch --data-dir",
		"--data-dir x stats":           "--data-dir: a flag follows its command, as in fedbayes datasets stats --data-dir",
		"stats --rounds 5":             "--rounds: stats has no such flag (fedbayes datasets stats --help lists them)",
		"stats mnist":                  `stats: unexpected argument "mnist"`,
		"stats --alpha 1":              "--alpha: it belongs to --partition dirichlet, not to labels",
		"stats --clients 41 --plot x":  `--plot "x": want a name that ends with .png or .svg`,
		"stats --seed 1 --seed 1":      "--seed: given 2 times, want it once",
		"stats --labels-per-client 11": "--labels-per-client 11: want a whole number from 1 to 10, the labels of mnist-sample",
	} {
		status, stdout, stderr := run("datasets " + line)
		if status != 2 || stdout != "" || stderr != "fedbayes: "+want+"\n" {
			t.Errorf("datasets %s: status %d, stdout %q, stderr\n%swant status 2, stderr\nfedbayes: %s", line, status, stdout, stderr, want)
		}
	}
}

// TestStats: the table has the images that config.json of a run with the same flags has.
func TestStats(t *testing.T) {
	const flags = " --partition dirichlet --alpha 0.1 --clients 4 --seed 3 --val-fraction 0.25"
	picture := filepath.Join(t.TempDir(), "split.svg")
	status, stdout, stderr := runArgs(strings.Fields("datasets stats --plot " + picture + flags)...)
	if status != 0 || stderr != "" {
		t.Fatalf("status %d, stderr %q", status, stderr)
	}
	dir, _ := train(t, strings.Replace(tiny, "--clients 4", "", 1)+flags)
	c := object(t, filepath.Join(dir, "config.json"))
	for _, part := range []string{"train", "val", "test"} {
		name := map[string]string{"train": "training", "val": "validation", "test": "test"}[part] + " images\n"
		_, rows, ok := strings.Cut(stdout, name)
		lines := strings.Split(rows, "\n")
		if !ok || len(lines) < 6 {
			t.Fatalf("no table of %s in\n%s", name, stdout)
		}
		for i, client := range c["clients"].([]any) {
			want := client.(map[string]any)[part].(float64)
			fields := strings.Fields(strings.Map(func(r rune) rune {
				if r >= '▁' && r <= '█' {
					return ' '
				}
				if r == '·' {
					return '0'
				}
				return r
			}, lines[1+i]))
			sum := 0
			for _, f := range fields[1:11] {
				n, err := strconv.Atoi(f)
				if err != nil {
					t.Fatal(err)
				}
				sum += n
			}
			if len(fields) != 12 || fields[0] != strconv.Itoa(i) || float64(sum) != want || fields[11] != strconv.Itoa(sum) {
				t.Errorf("%s: row %q, want client %d with %v", part, lines[1+i], i, want)
			}
		}
	}
	unseen := c["split"].(map[string]any)["test_share_of_labels_never_trained_on"].(float64)
	for _, want := range []string{
		"\nimages of more than one client          0\n", "\ntest images that are trained on too     0\n",
		fmt.Sprintf(", %.1f %%", 100*unseen), "4 clients, dirichlet-0.1, 0.25 of the training images to validate on\n",
	} {
		if !strings.Contains(stdout, want) {
			t.Errorf("it lacks %q:\n%s", want, stdout)
		}
	}
	text, err := os.ReadFile(picture)
	if err != nil || !strings.Contains(string(text), "validation images") || !strings.Contains(string(text), "mnist-sample, dirichlet-0.1, seed 3") {
		t.Errorf("picture (%v): %.200s", err, text)
	}
	status, stdout, stderr = run("datasets stats --clients 41 --train-per-class 2 --test-per-class 2 --plot " + picture)
	if want := "fedbayes: --plot: 41 clients with 10 labels, want at most 40 of each in a picture\n"; status != 2 || stdout != "" || stderr != want {
		t.Errorf("status %d, stdout %q, stderr %q, want %q", status, stdout, stderr, want)
	}
	status, stdout, _ = run("datasets stats --holdout-clients 2 --clients 3")
	if status != 0 || !strings.Contains(stdout, "test images a label; 2 more held out\n") || !strings.Contains(stdout, "\n     4 ") {
		t.Errorf("status %d, stdout\n%s", status, stdout)
	}
}

// TestPermutedLabels: the table of labels is that of config.json, and goes with the data of a run that is resumed.
func TestPermutedLabels(t *testing.T) {
	const flags = " --permute-labels 2 --partition iid --clients 4 --seed 3"
	status, stdout, stderr := runArgs(strings.Fields("datasets stats" + flags)...)
	if status != 0 || stderr != "" || !strings.Contains(stdout, "4 clients, iid, labels permuted in 2 groups\n") {
		t.Fatalf("status %d, stdout\n%s\nstderr %q", status, stdout, stderr)
	}
	_, rows, ok := strings.Cut(stdout, "\nlabels of these classes in each group of clients; client i is of group i mod 2\n")
	dir, _ := train(t, "--algo fedavg"+strings.Replace(tiny, "--clients 4", "", 1)+flags)
	c := object(t, filepath.Join(dir, "config.json"))
	groups, _ := c["split"].(map[string]any)["label_of_class_by_group"].([]any)
	if !ok || len(groups) != 2 || c["settings"].(map[string]any)["permute-labels"] != 2.0 {
		t.Fatalf("%v groups, settings %v, table\n%s", groups, c["settings"], rows)
	}
	for g, row := range strings.SplitN(rows, "\n", 3)[:2] {
		if want := fmt.Sprintf("     %d  %s", g, strings.Trim(fmt.Sprint(groups[g]), "[]")); row != want {
			t.Errorf("row %q, want %q", row, want)
		}
	}
	if status, _, stderr := run("train --resume " + dir + " --permute-labels 3"); status != 5 || !strings.Contains(stderr, "--permute-labels is 3 on the command line, and 2 in the run") {
		t.Errorf("resumed with other groups: status %d, stderr %q", status, stderr)
	}
	status, stdout, stderr = run("eval --run " + dir)
	if status != 0 {
		t.Errorf("eval: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	for groups, want := range map[string]string{
		"1":                                 "--permute-labels 1: want a whole number ≥ 2",
		"5 --clients 4 --holdout-clients 9": "--permute-labels 5: want 2 to 4, as many groups as there are clients and labels",
		"11 --clients 12":                   "--permute-labels 11: want 2 to 10, as many groups as there are clients and labels",
	} {
		if status, _, stderr := run("datasets stats --permute-labels " + groups); status != 2 || stderr != "fedbayes: "+want+"\n" {
			t.Errorf("status %d, stderr %q, want %q", status, stderr, want)
		}
	}
}
