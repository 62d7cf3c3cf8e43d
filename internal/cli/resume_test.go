package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longer is tinyLabels with a number of rounds.
func longer(rounds int) string {
	return strings.Replace(tinyLabels, "--rounds 2", fmt.Sprint("--rounds ", rounds), 1)
}

// outcome is all that a run says, but for its times and for what is in an error.
func outcome(t *testing.T, dir string) string {
	t.Helper()
	s := object(t, filepath.Join(dir, "summary.json"))
	delete(s, "train_seconds")
	delete(s, "eval_seconds")
	text, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return timeless(t, dir) + string(text)
}

func resume(t *testing.T, dir, flags string) (said string) {
	t.Helper()
	status, stdout, stderr := runArgs(append([]string{"train", "--resume", dir}, strings.Fields(flags)...)...)
	if status != 0 || strings.Contains(stderr, "fedbayes: ") {
		t.Fatalf("train --resume %s: status %d, stderr %s", flags, status, stderr)
	}
	return stderr + stdout
}

// contents reads all files of a folder, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// wantSame fails if a file of a folder has changed.
func wantSame(t *testing.T, what, dir string, before map[string]string) {
	t.Helper()
	after := contents(t, dir)
	for path := range after {
		if after[path] != before[path] {
			t.Errorf("%s changed %s", what, path)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%s: %d files, want %d", what, len(after), len(before))
	}
}

// TestResume goes on for more rounds after the last, in one step and in several, from checkpoints at rounds that were
// evaluated and at others.
func TestResume(t *testing.T) {
	for _, flags := range []string{
		" --algo pfedbayes --participation 2 --mc 2", " --algo fedavg --momentum 0.5", " --algo local --optimizer adam",
	} {
		short := strings.Replace(longer(9), "--eval-every 1", "--eval-every 2", 1) + flags
		whole, _ := train(t, short)
		want := outcome(t, whole)
		dir, _ := train(t, strings.Replace(short, "--rounds 9", "--rounds 3", 1))
		stdout := resume(t, dir, "--rounds 4 --workers 1")
		if !strings.Contains(stdout, "resumed after round 3\n") || strings.Contains(stdout, "\nround 2") || !strings.Contains(stdout, "\nround 4") {
			t.Errorf("%s: stdout\n%s", flags, stdout)
		}
		resume(t, dir, "--rounds 9 --quiet --checkpoint-every 2")
		if got := outcome(t, dir); got != want {
			t.Errorf("%s: resumed, it is\n%s\nwant\n%s", flags, got, want)
		}
		c := object(t, filepath.Join(dir, "config.json"))
		if settings := c["settings"].(map[string]any); settings["rounds"] != 9.0 || settings["workers"] != 1.0 || settings["checkpoint-every"] != 2.0 {
			t.Errorf("%s: config.json: %v", flags, settings)
		}
		var names []string
		for path := range contents(t, filepath.Join(dir, "checkpoint")) {
			names = append(names, filepath.Base(path))
		}
		if len(names) != 4 || !strings.Contains(strings.Join(names, " "), "round-8.json") || !strings.Contains(strings.Join(names, " "), "round-9.json") {
			t.Errorf("%s: checkpoints %v, want those of rounds 8 and 9", flags, names)
		}
	}
}

// TestResumeFinished: a run with nothing left to do says so and changes nothing, wherever its folder is now.
func TestResumeFinished(t *testing.T) {
	dir, _ := train(t, tinyLabels)
	moved := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Rename(dir, moved); err != nil {
		t.Fatal(err)
	}
	before := contents(t, moved)
	for _, flags := range []string{"", "--rounds 2", "--quiet --workers 3"} {
		stdout := resume(t, moved, flags)
		if want := moved + ": finished, all 2 rounds are done; --rounds with more than that goes on\n"; stdout != want {
			t.Errorf("stdout %q, want %q", stdout, want)
		}
		wantSame(t, flags, moved, before)
	}
	// Its rows have the name that it began with.
	whole, _ := train(t, longer(4))
	resume(t, moved, "--rounds 4")
	if got, want := outcome(t, moved), outcome(t, whole); got != want {
		t.Errorf("moved and resumed, it is\n%s\nwant\n%s", got, want)
	}
}

// TestNoCheckpoint: --checkpoint-every 0 writes none, and a run without can not be resumed.
func TestNoCheckpoint(t *testing.T) {
	dir, _ := train(t, "--checkpoint-every 0"+tinyLabels)
	if _, err := os.Stat(filepath.Join(dir, "checkpoint")); !os.IsNotExist(err) {
		t.Errorf("checkpoint: %v, want none", err)
	}
	before := contents(t, dir)
	status, stdout, stderr := runArgs("train", "--resume", dir, "--rounds", "3")
	if status != 5 || stdout != "" || !strings.Contains(stderr, "it holds no checkpoint") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	wantSame(t, "the refusal", dir, before)

	// One that has some is resumed, and they stay.
	dir, _ = train(t, tinyLabels)
	before = contents(t, filepath.Join(dir, "checkpoint"))
	resume(t, dir, "--rounds 3 --checkpoint-every 0")
	wantSame(t, "--checkpoint-every 0", filepath.Join(dir, "checkpoint"), before)
	whole, _ := train(t, longer(3))
	if got, want := outcome(t, dir), outcome(t, whole); got != want {
		t.Errorf("resumed, it is\n%s\nwant\n%s", got, want)
	}

	// A run that left the numbers has none of what it was left with.
	dir = filepath.Join(t.TempDir(), "run")
	status, _, stderr = runArgs(append([]string{"train", "--algo", "fedavg", "--lr", "1e30", "--out", dir}, strings.Fields(tinyLabels)...)...)
	if _, err := os.Stat(filepath.Join(dir, "checkpoint")); status != 4 || !os.IsNotExist(err) {
		t.Errorf("diverged: status %d, stderr %q, checkpoint: %v", status, stderr, err)
	}
}

// TestResumeRefused: what would not be the run that was begun is refused with what differs, and changes nothing.
func TestResumeRefused(t *testing.T) {
	dir, _ := train(t, "--zeta 5"+tinyLabels)
	before := contents(t, dir)
	for flags, want := range map[string]struct {
		status int
		text   string
	}{
		"--zeta 6":                   {5, "--resume {dir}: --zeta is 6 on the command line, and 5 in the run"},
		"--rounds 3 --seed 2":        {5, "--resume {dir}: --seed is 2 on the command line, and 1 in the run"},
		"--algo fedavg":              {5, "--resume {dir}: --algo is fedavg on the command line, and pfedbayes in the run"},
		"--mc 4":                     {5, "--resume {dir}: --mc is 4 on the command line, and none in the run"},
		"--local-epochs 4":           {5, "--resume {dir}: --local-epochs is 4 on the command line, and none in the run"},
		"--participation 3":          {5, "--resume {dir}: --participation is 3 on the command line, and 4 in the run"},
		"--rounds 1":                 {5, "--resume {dir}: --rounds is 1, and the run has 2: want no fewer"},
		"--zeta x":                   {2, `--zeta "x": want a number ≥ 0`},
		"--rounds x":                 {2, `--resume {dir}: --rounds "x": want a whole number ≥ 1`},
		"--mu 1":                     {2, "--mu: the run in {dir} has no such setting"},
		"--alpha 1":                  {2, "--alpha: the run in {dir} has no such setting"},
		"--out x":                    {2, "--resume and --out: want one of them"},
		"--force":                    {2, "--resume and --force: want one of them"},
		"--resume x":                 {2, "--resume: given 2 times, want it once"},
		"--rounds 3 --data-dir here": {2, "--resume {dir}: --data-dir: mnist-sample is part of the program and reads no folder, other than mnist, fashion-mnist, cifar10, mnist-writers, hapt, vsn, shakespeare and csv"},
	} {
		status, stdout, stderr := runArgs(append([]string{"train", "--resume", dir}, strings.Fields(flags)...)...)
		if text := "fedbayes: " + strings.ReplaceAll(want.text, "{dir}", dir) + "\n"; status != want.status || stdout != "" || stderr != text {
			t.Errorf("%s: status %d, stdout %q, stderr\n%swant status %d, stderr\n%s", flags, status, stdout, stderr, want.status, text)
		}
		wantSame(t, flags, dir, before)
	}
	// The same said once more is no contradiction.
	resume(t, dir, "--zeta 5.0 --algo pfedbayes --preset paper --participation 4 --batch 8 --model mlp:8 --train-per-class 3 --seed 1")
}

// TestForeignCheckpoint: what stands in the run's files must be what is run, and its checkpoint that of the run.
func TestForeignCheckpoint(t *testing.T) {
	serial(t)
	replaceIn := func(name, old, with string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			t.Helper()
			path := filepath.Join(dir, name)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			changed := regexp.MustCompile(old).ReplaceAllString(string(text), with)
			if changed == string(text) {
				t.Fatalf("%s has no %s", name, old)
			}
			if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	other, _ := train(t, "--algo fedavg"+tinyLabels)
	for name, test := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"version":        {replaceIn("checkpoint/round-2.json", `"version": ".*"`, `"version": "v0.1"`), "its checkpoint is of another run: version is v0.1 there, "},
		"cpu":            {replaceIn("checkpoint/round-2.json", `"instruction set": ".*"`, `"instruction set": "abacus"`), "instruction set is abacus there, "},
		"setting":        {replaceIn("checkpoint/round-2.json", `"--zeta": "10"`, `"--zeta": "11"`), "its checkpoint is of another run: --zeta is 11 there, 10 here"},
		"format":         {replaceIn("checkpoint/round-2.json", `"format": 1`, `"format": 99`), "its checkpoint has format 99, want 1"},
		"config":         {replaceIn("config.json", `"zeta": 10`, `"zeta": 11`), "its config.json is of another run: --zeta is 11 there, 10 here"},
		"config, flags":  {replaceIn("config.json", `"batch": "8"`, `"batch": "7"`), "its config.json is of another run: --batch is 8 there, 7 here"},
		"config, data":   {replaceIn("config.json", `"sha256": ".`, `"sha256": "x`), "its config.json is of another run: data of the clients is 4, "},
		"config, older":  {replaceIn("config.json", `(?s)"flags": \{.*?\},`, ``), "its config.json is of a version that wrote no checkpoints"},
		"config, broken": {replaceIn("config.json", `\{\n`, `{{`), "config.json: invalid character"},
		"rows":           {replaceIn("rounds.csv", `(?s)run,pfedbayes.*`, ``), "rounds.csv is not what it was at the checkpoint of round 2: no row ends at byte "},
		"no rows": {func(t *testing.T, dir string) {
			if err := os.Remove(filepath.Join(dir, "clients.csv")); err != nil {
				t.Fatal(err)
			}
		}, "it has no clients.csv"},
		"another's": {func(t *testing.T, dir string) {
			from, to := filepath.Join(other, "checkpoint"), filepath.Join(dir, "checkpoint")
			if err := os.RemoveAll(to); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(to, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
		}, "its checkpoint is of another run: --algo is fedavg there, pfedbayes here; "},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := train(t, tinyLabels)
			test.change(t, dir)
			before := contents(t, dir)
			status, stdout, stderr := runArgs("train", "--resume", dir, "--rounds", "3")
			if status != 5 || stdout != "" || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d, stdout %q, stderr %q, want 5 and %q", status, stdout, stderr, test.want)
			}
			wantSame(t, "the refusal", dir, before)
		})
	}
}

// TestDamagedCheckpoint: where the last checkpoint is damaged, the one before is used, and a note says so.
func TestDamagedCheckpoint(t *testing.T) {
	serial(t)
	whole, _ := train(t, longer(8))
	for _, cut := range []int64{0, 7, 1000, 50000} {
		dir, _ := train(t, "--checkpoint-every 2"+longer(5))
		if err := os.Truncate(filepath.Join(dir, "checkpoint", "round-5.safetensors"), cut); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := runArgs("train", "--resume", dir, "--rounds", "8")
		want := regexp.MustCompile(`^note: the checkpoint of round 5 is damaged \(round-5\.safetensors has \d+ bytes, want \d+\): the one before is used\n$`)
		if status != 0 || !want.MatchString(remarks(stderr)) || !strings.Contains(stderr, "resumed after round 4\n") {
			t.Errorf("status %d, stdout\n%s\nstderr %q, want %s", status, stdout, stderr, want)
		}
		if got, want := outcome(t, dir), outcome(t, whole); got != want {
			t.Errorf("resumed, it is\n%s\nwant\n%s", got, want)
		}
	}
}

// TestForceOverCheckpoint: the run that replaces another has none of its checkpoints.
func TestForceOverCheckpoint(t *testing.T) {
	dir, _ := train(t, longer(4))
	status, _, stderr := runArgs(append([]string{"train", "--force", "--checkpoint-every", "0", "--out", dir}, strings.Fields(tinyLabels)...)...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "checkpoint")); !os.IsNotExist(err) {
		t.Errorf("checkpoint: %v, want none", err)
	}
}

// python reads the tensors of a file as the format's page has it: 8 bytes of length, JSON, and values at its offsets.
const python = `
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
head = json.loads(data[8:8+n])
code = {"F32": "f", "F64": "d", "I64": "q", "U64": "Q", "BOOL": "?", "U8": "B"}
for name in sys.argv[2:]:
    t = head[name]
    a, b = t["data_offsets"]
    body = data[8+n+a:8+n+b]
    values = struct.unpack("<%d%s" % (len(body) // struct.calcsize(code[t["dtype"]]), code[t["dtype"]]), body)
    print(name, t["dtype"], t["shape"], len(values), values[0])
`

// TestPython reads a checkpoint with Python: names, types and shapes of the model's tensors and the optimizers' counters.
func TestPython(t *testing.T) {
	interpreter, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	if err := exec.Command(interpreter, "-c", "import json, struct").Run(); err != nil {
		t.Skip(err)
	}
	dir, _ := train(t, tinyLabels)
	names := []string{
		"server.mu/dense1.weight", "server.rho/dense2.bias", "client.3.q.rho/dense1.bias", "client.3.opt_q.mu.step",
		"client.0.opt_q.rho.v/dense2.weight", "progress.round", "progress.trained",
	}
	out, err := exec.Command(interpreter, append([]string{"-c", python, filepath.Join(dir, "checkpoint", "round-2.safetensors")}, names...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	want := regexp.MustCompile(`^server.mu/dense1.weight F32 \[784, 8\] 6272 -?0\.\S+
server.rho/dense2.bias F32 \[10\] 10 -2\.\S+
client.3.q.rho/dense1.bias F32 \[8\] 8 -2\.\S+
client.3.opt_q.mu.step I64 \[\] 1 4
client.0.opt_q.rho.v/dense2.weight F32 \[8, 10\] 80 \S+
progress.round I64 \[\] 1 2
progress.trained I64 \[4\] 4 0
$`)
	if got := strings.ReplaceAll(string(out), "\r", ""); !want.MatchString(got) {
		t.Errorf("Python reads\n%swant\n%s", got, want)
	}
}
