package cli_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/cli"
	"fedbayes/layers"
)

// asProgram makes the test binary behave as the program itself, for tests that need a process.
const asProgram = "FEDBAYES_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(cli.Main(os.Args, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// run runs a command line, which is cut at spaces.
func run(line string) (status int, stdout, stderr string) {
	return runArgs(strings.Fields(line)...)
}

func runArgs(args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = cli.Main(append([]string{"fedbayes"}, args...), &out, &err)
	return status, out.String(), err.String()
}

// serial leaves a test out under the race detector: it runs many commands, one after the other, and what they do side by side is
// in other tests too.
func serial(t *testing.T) {
	t.Helper()
	if cli.Raced {
		t.Skip("many commands, one after the other")
	}
}

// wantEmpty fails if the working folder holds anything.
func wantEmpty(t *testing.T) {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) > 0 {
		t.Errorf("left %s in the working folder, want nothing", entries[0].Name())
	}
}

// registries puts what the registries hold into {algos}, {models}, {datasets} and {others}, those that are not embedded.
func registries() *strings.Replacer {
	var algos, models, sets, others []string
	for _, e := range algorithms.All() {
		algos = append(algos, e.Name)
	}
	for _, e := range layers.All() {
		models = append(models, e.Name)
	}
	for _, e := range datasets.All() {
		sets = append(sets, e.Name)
		if !e.Embedded() {
			others = append(others, e.Name)
		}
	}
	last := len(others) - 1
	return strings.NewReplacer(
		"{algos}", strings.Join(algos, ", "), "{models}", strings.Join(models, ", "), "{datasets}", strings.Join(sets, ", "),
		"{others}", strings.Join(others[:last], ", ")+" and "+others[last])
}

// TestRefused is about command lines that end before anything is computed: one line on stderr, nothing on stdout,
// nothing created.
func TestRefused(t *testing.T) {
	serial(t)
	registered := registries()
	for line, want := range map[string]string{
		"trian":         `command "trian": want one of train, sweep, eval, predict, personalize, plot, report, algos, models, datasets, version, help (did you mean train?)`,
		"--help trian":  `command "trian": want one of train, sweep, eval, predict, personalize, plot, report, algos, models, datasets, version, help (did you mean train?)`,
		"-h train x":    `help: unexpected argument "x"`,
		"-x":            `-x: a flag follows its command, as in fedbayes train -x`,
		"train -v":      `-v: train has no such flag (fedbayes train --help lists them)`,
		"models --v":    `-v: models has no such flag (fedbayes models --help lists them)`,
		"help trian":    `command "trian": want one of train, sweep, eval, predict, personalize, plot, report, algos, models, datasets, version, help (did you mean train?)`,
		"--rounds 5":    `--rounds: a flag follows its command, as in fedbayes train --rounds`,
		"version now":   `version: unexpected argument "now"`,
		"models mlp":    `models: unexpected argument "mlp"`,
		"models --all":  `--all: models has no such flag (fedbayes models --help lists them)`,
		"algos a b":     `algos: unexpected argument "b"`,
		"algos fedvag":  `method "fedvag": want one of {algos} (did you mean fedavg?)`,
		"datasets a b":  `datasets: unexpected argument "b"`,
		"datasets nist": `data set "nist": want one of {datasets} (did you mean mnist?)`,

		"algos --zeta 1 pfedbayes":    `--zeta: algos has no such flag (fedbayes algos --help lists them)`,
		"algos pfedbayes --zeta":      `algos: unexpected argument "--zeta"; flags go before the name, as in fedbayes algos [NAME]`,
		"datasets mnist --data-dir x": `datasets: unexpected argument "--data-dir"; flags go before the name, as in fedbayes datasets [--data-dir DIR] [NAME]`,
		"datasets --data-dir --x":     `--data-dir "--x": want a folder (write ./--x for one of that name)`,

		"train --resume nowhere":                    `--resume nowhere: there is no run, as it has no config.json`,
		"train --checkpoint-every -1":               `--checkpoint-every -1: want a whole number ≥ 0`,
		"train --out --force":                       `--out "--force": want a folder (write ./--force for one of that name)`,
		"train --out=-x":                            `--out "-x": want a folder (write ./-x for one of that name)`,
		"train --out " + strings.Repeat("x", 300):   `--out "` + strings.Repeat("x", 300) + `": file name too long`,
		"train --rounds --quiet":                    `--rounds "--quiet": want a whole number ≥ 1`,
		"train 5":                                   `train: unexpected argument "5"`,
		"train -- --rounds":                         `train: unexpected argument "--rounds"`,
		"train --rounds":                            `--rounds: want a value`,
		"train --=5":                                `bad flag syntax: --=5`,
		"train --roundz 5":                          `--roundz: train has no such flag (did you mean --rounds?)`,
		"train --lr_global 5":                       `--lr_global: train has no such flag (did you mean --lr-global?)`,
		"train --frobnicate":                        `--frobnicate: train has no such flag (fedbayes train --help lists them)`,
		"train --seed 1 --seed 1":                   `--seed: given 2 times, want it once`,
		"train --quiet --quiet":                     `--quiet: given 2 times, want it once`,
		"train --train-all false":                   `train: unexpected argument "false"; a flag that is true or false takes its value as --flag=false`,
		"train --quiet=perhaps":                     `--quiet "perhaps": want true or false`,
		"train --algo pfedbays":                     `--algo "pfedbays": want one of {algos} (did you mean pfedbayes?)`,
		"train --algo gnu":                          `--algo "gnu": want one of {algos}`,
		"train --preset cod":                        `--preset "cod": want one of paper, code, conv (did you mean code?), for pfedbayes`,
		"train --algo local --zeta 1":               `--zeta: local has no such setting, it belongs to pfedbayes`,
		"train --beta 2":                            `--beta 2: want a number ≥ 0 and ≤ 1`, // a range is the method's own
		"train --algo pfedme --beta 4.5":            `--beta 4.5: want a number ≥ 0 and ≤ 4`,
		"train --model mpl":                         `--model "mpl": want one of {models} (did you mean mlp?)`,
		"train --model mlp:10,0":                    `--model mlp:10,0: width "0", want a whole number from 1 to 65536`,
		"train --model lstm --dataset mnist-sample": `--model lstm: examples of shape [28 28], want text`,
		"train --model mlp:60000,60000":             `--model mlp:60000,60000: 3647760010 parameters, want at most 67108864`,
		"train --dataset minst":                     `--dataset "minst": want one of {datasets} (did you mean mnist?)`,
		"train --data-dir x":                        `--data-dir: mnist-sample is part of the program and reads no folder, other than {others}`,
		"train --device gpu":                        `--device "gpu": want cpu`,

		"train --partition label":                                        `--partition "label": want one of labels, iid, permuted, dirichlet, natural (did you mean labels?)`,
		"train --assign pair":                                            `--assign "pair": want one of pairs, sliding, blocks (did you mean pairs?)`,
		"train --regime smal":                                            `--regime "smal": want one of small, medium, large (did you mean small?)`,
		"train --labels-per-client 11":                                   `--labels-per-client 11: want a whole number from 1 to 10, the labels of mnist-sample`,
		"train --alpha 1":                                                `--alpha: it belongs to --partition dirichlet, not to labels`,
		"train --partition iid --min-samples 5":                          `--min-samples: it belongs to --partition dirichlet or natural, not to iid`,
		"train --order published":                                        `--order: it belongs to --partition iid or permuted, not to labels`,
		"train --partition iid --order publised":                         `--order "publised": want one of shuffled, published (did you mean published?)`,
		"train --partition permuted --test-per-client 0":                 `--test-per-client 0: want a number > 0`,
		"train --partition permuted --test-per-client 1.5":               `--test-per-client 1.5: want a whole number, or a fraction below 1`,
		"train --partition iid --order published --test-per-client 0.25": `--test-per-client: no effect with --order published, which has test files`,
		"train --partition iid --regime small":                           `--regime: it belongs to --partition labels, not to iid`,
		"train --partition dirichlet --assign pairs":                     `--assign: it belongs to --partition labels, not to dirichlet`,
		"train --partition dirichlet --alpha 1e-7":                       `--alpha 1e-07: want a number ≥ 1e-06 and ≤ 1e+06`,
		"train --regime small --train-per-class 5":                       `--regime and --train-per-class: want one of them`,
		"train --test-per-class 5 --regime small":                        `--regime and --test-per-class: want one of them`,
		"train --local-steps 5 --local-epochs 1":                         `--local-steps and --local-epochs: want one of them`,

		"train --watch 0":                                      `--watch "0": want a client and the number of one of its test images, both from 0, as 0:17`,
		"train --watch 0:-1":                                   `--watch "0:-1": want a client and the number of one of its test images, both from 0, as 0:17`,
		"train --watch -1:0":                                   `--watch "-1:0": want a client and the number of one of its test images, both from 0, as 0:17`,
		"train --watch 10:0":                                   `--watch 10:0: want a client from 0 to 9`,
		"train --watch 9:750":                                  `--watch 9:750: client 9 has 750 test images, numbered from 0`,
		"train --watch --quiet":                                `--watch "--quiet": want a folder (write ./--quiet for one of that name)`,
		"train --watch-rounds 1":                               `--watch-rounds: it belongs to --watch`,
		"train --watch 0:0 --watch-rounds 1,2,1":               `--watch-rounds "1,2,1": 1 is there twice`,
		"sweep --grid watch=0:0":                               `--grid "watch=0:0": no result depends on it`,
		"train --rounds 0":                                     `--rounds 0: want a whole number ≥ 1`,
		"train --rounds 1.5":                                   `--rounds "1.5": want a whole number ≥ 1`,
		"train --rounds 99999999999999999999":                  `--rounds "99999999999999999999": want a whole number ≥ 1 and ≤ 9223372036854775807`,
		"train --mc 99999999999999999999":                      `--mc "99999999999999999999": want a whole number ≥ 0 and ≤ 256`,
		"train --zeta 1e999":                                   `--zeta "1e999": want a number ≥ 0 and ≤ 3.4028235e+38`,
		"train --zeta 1e39":                                    `--zeta 1e+39: want a number ≥ 0, as a float32 holds it: 0, or from 1e-45 to 3.4e+38`,
		"train --lr 1e-46":                                     `--lr 1e-46: want a number > 0, as a float32 holds it: 0, or from 1e-45 to 3.4e+38`,
		"train --rounds 1e99":                                  `--rounds "1e99": want a whole number ≥ 1`,
		"train --seed -1":                                      `--seed -1: want a whole number ≥ 0`,
		"train --mc 257":                                       `--mc 257: want a whole number ≥ 0 and ≤ 256`,
		"train --participation 0":                              `--participation 0: want a number > 0`,
		"train --participation 1.5":                            `--participation 1.5: want a whole number from 1 to the 10 of --clients, or a fraction below 1`,
		"train --participation 11":                             `--participation 11: want a whole number from 1 to the 10 of --clients, or a fraction below 1`,
		"train --participation nan":                            `--participation NaN: want a number > 0`,
		"train --algo local --participation 5":                 `--participation: every client of local trains in every round, alone`,
		"train --algo fedavg --mc 10":                          `--mc: fedavg has no distribution to draw weights from`,
		"train --algo fedavg --final-mc 10":                    `--final-mc: fedavg has no distribution to draw weights from`,
		"train --mc 5 --final-mc 10":                           `--final-mc: no effect with --mc 5, as every evaluation has draws`,
		"train --momentum 0.5":                                 `--momentum: no effect, it belongs to --optimizer sgd, not to adam`,
		"train --zeta -1":                                      `--zeta -1: want a number ≥ 0`,
		"train --zeta Inf":                                     `--zeta +Inf: want a number ≥ 0`,
		"train --lr 0":                                         `--lr 0: want a number > 0`,
		"train --optimizer adamw":                              `--optimizer "adamw": want one of sgd, adam (did you mean adam?)`,
		"train --server closed-form --update-order sequential": `--update-order: no effect, with --server closed-form clients take no global steps`,
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			want := registered.Replace(want)
			status, stdout, stderr := run(line)
			if status != 2 || stdout != "" || stderr != "fedbayes: "+want+"\n" {
				t.Errorf("status %d, stdout %q, stderr\n%swant status 2, stderr\nfedbayes: %s", status, stdout, stderr, want)
			}
			wantEmpty(t)
		})
	}
}

func TestRefusedData(t *testing.T) {
	for line, want := range map[string]string{
		"train --dataset mnist --data-dir nowhere":                                "fedbayes: datasets: mnist: not found in nowhere/mnist (no such folder), nowhere (no such folder): put train-images",
		"datasets mnist --data-dir nowhere":                                       "", // the flag after the argument is one too many arguments
		"datasets --data-dir nowhere mnist":                                       "fedbayes: datasets: mnist: not found in nowhere/mnist",
		"train --dataset cifar10 --data-dir nowhere":                              "fedbayes: datasets: cifar10: not found in nowhere/cifar10 (no such folder), nowhere (no such folder): get https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz (170,052,171 bytes, sha256 c4a3",
		"train --dataset fashion-mnist --data-dir nowhere":                        "fedbayes: datasets: fashion-mnist: not found in nowhere/fashion-mnist",
		"datasets --data-dir nowhere fashion-mnist":                               "fedbayes: datasets: fashion-mnist: not found in nowhere/fashion-mnist",
		"train --regime large":                                                    "fedbayes: datasets: mnist-sample: labels: class 0 has 1000 images, want 4505: ",
		"train --clients 20000":                                                   "fedbayes: datasets: mnist-sample: --clients 20000: want 1 to 10000, the number of images\n",
		"train --partition iid --clients 9000":                                    "fedbayes: datasets: mnist-sample: iid: 10000 images for 9000 clients",
		"train --partition iid --order published":                                 "fedbayes: datasets: mnist-sample: iid: nothing tells which of its images were published for training: want --order shuffled",
		"train --partition natural":                                               "fedbayes: datasets: mnist-sample: natural: nothing says whose its images are: want another --partition",
		"train --partition dirichlet --alpha 0.01 --min-samples 500 --clients 20": "fedbayes: datasets: mnist-sample: dirichlet: no draw in 100 gives every client 500 examples",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			wantStatus := 3
			if want == "" {
				wantStatus, want = 2, `fedbayes: datasets: unexpected argument`
			}
			status, stdout, stderr := run(line)
			if status != wantStatus || stdout != "" || !strings.HasPrefix(filepath.ToSlash(stderr), want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("status %d, stdout %q, stderr\n%swant status %d, stderr\n%s…", status, stdout, stderr, wantStatus, want)
			}
			wantEmpty(t)
		})
	}
}

func TestMalformedData(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"} {
		if err := os.WriteFile(name, []byte("this is not what it should be"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, line := range []string{"train --dataset mnist --data-dir .", "datasets --data-dir . mnist"} {
		status, stdout, stderr := run(line)
		if status != 3 || stdout != "" || !strings.Contains(stderr, "-ubyte: not an IDX file") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: status %d, stdout %q, stderr %q", line, status, stdout, stderr)
		}
	}
	if _, err := os.Stat("results"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("results: %v, want it not to be there", err)
	}
}

// TestTold is about commands that only print.
func TestTold(t *testing.T) {
	t.Chdir(t.TempDir())
	for line, wants := range map[string][]string{
		"":                              {"fedbayes train", "go run . train", "algos", "datasets", "version"},
		"help":                          {"fedbayes train", "go run . train"},
		"--help":                        {"fedbayes train"},
		"help train":                    {"--rounds value", "(default: 100)", "(default: 0.001 for pfedbayes", "(default: -2.5 for pfedbayes, -3 for pfedbayes --preset code, -3.5 for pfedbayes --preset conv, -4.85 for virtual)", "data and partition", "--alpha value", "(default: 10, 20 for cifar10, 539 for mnist-writers, 30 for hapt, 23 for vsn, 100 for shakespeare)", "(default: all, 10 for cifar10, ", "(default: labels, natural for mnist-writers, hapt, vsn, shakespeare and csv)", "(default: mlp, vgg for cifar10, lstm for shakespeare)", "(default: 100, 10 for shakespeare)"},
		"train --help":                  {"--rounds value"},
		"train --rounds x -h":           {"--rounds value"},
		"help algos":                    {"fedbayes algos [NAME]"},
		"algos":                         {"pfedbayes  ", "fedavg  ", "local  "},
		"algos pfedbayes":               {"ICML 2022", "--preset code", "--zeta", "a number ≥ 0"},
		"algos fedavg":                  {"McMahan", "--lr "},
		"models":                        {"mlp   ", "(default mlp:100)", "mlp2  "},
		"datasets":                      {"mnist-sample  ", "embedded", "fashion-mnist  "},
		"datasets mnist-sample":         {"CC BY-SA 3.0", "embedded", "10000 of 28 × 28", "class 9        1000", "50 training and 150 test", "normalisation  x/255"},
		"datasets fashion-mnist-sample": {"MIT", "embedded", "4000 of 28 × 28", "class 9        400, ankle boot", "50 training and 30 test"},
		"datasets csv":                  {"not found in ", "its first line names the columns, in any order: label, client, and each feature\n", "at most 256\n"},
		"datasets --data-dir x hapt":    {"not found in x", "hapt-features561-idx2-int16: the 561 features of each window"},
		"version":                       {"fedbayes ", "go1."},
	} {
		status, stdout, stderr := run(line)
		if status != 0 || stderr != "" {
			t.Errorf("%q: status %d, stderr %q", line, status, stderr)
		}
		for _, want := range wants {
			if !strings.Contains(stdout, want) {
				t.Errorf("%q: output lacks %q:\n%s", line, want, stdout)
			}
		}
	}
	wantEmpty(t)
}

// TestHelpOfEvery: each command has help, under both names, and wants nothing besides.
func TestHelpOfEvery(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, command := range []string{"train", "sweep", "algos", "models", "datasets", "version", "help"} {
		for _, flag := range []string{"--help", "-h"} {
			status, stdout, stderr := runArgs(command, flag)
			if status != 0 || stderr != "" || !strings.Contains(stdout, "fedbayes "+command) || !strings.Contains(stdout, "--help, -h") {
				t.Errorf("%s %s: status %d, stdout %q, stderr %q", command, flag, status, stdout, stderr)
			}
			status, stdout, stderr = runArgs(command, flag, "x")
			if want := "fedbayes: " + command + ` --help: unexpected argument "x"` + "\n"; status != 2 || stdout != "" || stderr != want {
				t.Errorf("%s %s x: status %d, stdout %q, stderr %q, want %q", command, flag, status, stdout, stderr, want)
			}
		}
	}
	wantEmpty(t)
}

// full is a device that is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestLostOutput(t *testing.T) {
	var stderr bytes.Buffer
	if status := cli.Main([]string{"fedbayes", "version"}, full{}, &stderr); status != 1 || stderr.String() != "fedbayes: output: no space left\n" {
		t.Errorf("status %d, stderr %q, want 1 and a line that says so", status, stderr.String())
	}
}

// TestHelpOnce: each command's help lists the flag that asks for it, once.
func TestHelpOnce(t *testing.T) {
	for _, name := range []string{"train", "eval", "predict", "personalize", "plot", "report", "algos", "models", "datasets", "version", "help"} {
		status, stdout, stderr := run(name + " --help")
		if n := strings.Count(stdout, "--help, -h"); status != 0 || stderr != "" || n != 1 {
			t.Errorf("%s --help: status %d, stderr %q, and --help %d times in\n%s", name, status, stderr, n, stdout)
		}
	}
}
