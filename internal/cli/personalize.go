package cli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
)

const personalizeHelp = `Makes a model for a client that took no part in a run, from what the run's server would send it, and says how accurate it is
before and after. Before is the global model, or what a client of a method without one begins with.

   fedbayes personalize --run results/mine --data mine.csv --steps 200 --out mine
   fedbayes personalize --run results/mine --data folder --test-data other.csv
   fedbayes personalize --run results/mine --client 10

--data is a folder with images.idx and labels.idx, gzipped or not, or a CSV with a row for each image: its label, and its values
from 0 to 255, after a line of names if there is one. Images have the size and polarity of the data set's, as for predict, and
so have the rows of a data set without images. In a run with --partition permuted they are taken in the order that they have. A
quarter of them, drawn by the run's seed, is for testing, unless --test-data names others. --client is one that train
--holdout-clients kept aside; their numbers follow those of the others.

What is fitted is what the method's clients fit in their rounds: of pfedbayes a posterior that begins at the global
distribution, which is its prior. A method whose clients have no models of their own is fine-tuned: its global weights go on to
descend on the new client's data. Nothing goes to a server, and the run's folder stays as it is.

--out NAME leaves NAME.safetensors and NAME.json, for predict --model and for any reader of safetensors.

Exit status: 0 done, 2 command line, 3 data, 4 NaN or Inf in a loss, 5 no checkpoint, 1 anything else.`

// personalization are the flags of personalize.
type personalization struct {
	Run, DataDir   string
	Data, TestData string
	Client, Steps  int
	Out            string
	Force          bool
}

func personalizeCommand(stderr io.Writer) *cli.Command {
	ts, p := texts{}, &personalization{Steps: newcomerSteps}
	flags := []lookFlag{
		{folder("run", "folder of the run", &p.Run), "none, it must be given"},
		{folder("data", "images and labels of the new client: a folder or a CSV", &p.Data), "none"},
		{folder("test-data", "images and labels that it is tested on", &p.TestData), "a quarter of its data"},
		{algorithms.Param{Name: "client", Usage: "in place of data, the number of a client that was held out", Value: &p.Client, Max: 1 << 24}, "none"},
		{algorithms.Param{Name: "steps", Usage: "mini-batches that the model is fitted in", Value: &p.Steps, Min: 1, Max: math.Inf(1)}, strconv.Itoa(p.Steps)},
		{mcParam(new(int)), "the run's"},
		{folder("out", "files of the model, without an extension", &p.Out), "none, it is not kept"},
		{algorithms.Param{Name: "force", Usage: "replace files that are there", Value: &p.Force}, "false"},
		{folder("data-dir", "folder of the data set's files", &p.DataDir), "the run's"},
	}
	return &cli.Command{
		Name: "personalize", Usage: "make a model for a client that took no part in a run",
		UsageText: "fedbayes personalize --run DIR (--data PATH | --client I) [flags]", Description: personalizeHelp, Flags: ts.looks(flags),
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			if err := ts.read(flags, "run"); err != nil {
				return err
			}
			if err := p.check(ts); err != nil {
				return err
			}
			return p.run(c.Context, ts, c.App.Writer, stderr)
		},
	}
}

// check refuses what does not go together, and files that are there.
func (p *personalization) check(ts texts) error {
	if err := ts.excludes("client", "data", "test-data"); err != nil {
		return err
	}
	switch {
	case !ts.has("client") && !ts.has("data"):
		return usagef("want --data or --client")
	case p.Out == "" && ts.has("force"):
		return usagef("--force: it belongs to --out")
	case p.Out == "" || p.Force:
		return nil
	}
	for _, path := range checkpoint.Files(checkpoint.Name(p.Out)) {
		if _, err := os.Lstat(path); err == nil {
			return usagef("--out %s: %s is there: name another, or replace it with --force", p.Out, path)
		}
	}
	return nil
}

func (p *personalization) run(ctx context.Context, ts texts, stdout, stderr io.Writer) error {
	l, err := load(p.Run, p.DataDir, 1, stderr)
	if err != nil {
		return err
	}
	switch {
	case l.about.Closed != "":
		return usagef("--run %s: %s makes no models for new clients: %s", p.Run, l.Algo, l.about.Closed)
	case l.about.Stepless && ts.has("steps"):
		return usagef("--steps: no effect, %s fits a model to a new client without steps", l.Algo)
	case !l.about.Bayesian && ts.has("mc"):
		return usagef("--mc: %s has no distribution to draw weights from", l.Algo)
	}
	if err := ts.assign(mcParam(&l.MC)); err != nil {
		return err
	}
	newcomer, err := p.newcomer(l, ts.has("client"))
	if err != nil {
		return err
	}
	all, err := l.models.Receive(ctx, []datasets.Client{newcomer}, p.Steps, l.MC)
	if err != nil {
		return err
	}
	if p.Out != "" {
		if err := l.save(checkpoint.Name(p.Out), all[0]); err != nil {
			return err
		}
	}
	l.tell(stdout, all[0], p.Out)
	return nil
}

// newcomer returns the new client. One with data of its own has the number after all that the run knows.
func (p *personalization) newcomer(l *loaded, heldOut bool) (datasets.Client, error) {
	if heldOut {
		switch k := p.Client - l.Clients; {
		case len(l.heldOut) == 0:
			return datasets.Client{}, usagef("--client %d: the run has no --holdout-clients", p.Client)
		case k < 0 || k >= len(l.heldOut):
			return datasets.Client{}, usagef("--client %d: want %d to %d, which were held out", p.Client, l.Clients, l.Clients+len(l.heldOut)-1)
		default:
			return l.heldOut[k], nil
		}
	}
	c := datasets.Client{ID: l.Clients + len(l.heldOut)}
	data, err := l.entry.Labelled(p.Data)
	if err != nil {
		return c, dataError{fmt.Errorf("--data %w", err)}
	}
	if p.TestData == "" {
		splits, _, err := datasets.Partition(data, datasets.PartitionConfig{Kind: "iid", Clients: 1, Seed: uint64(l.Seed)})
		if err != nil {
			return c, dataError{fmt.Errorf("--data %s: %s are too few to train and test on: want 2, or --test-data", p.Data, counted(data.Len(), data.Noun()))}
		}
		c.Train, c.Test = data.Examples(splits[0].Train), data.Examples(splits[0].Test)
		return c, nil
	}
	test, err := l.entry.Labelled(p.TestData)
	if err != nil {
		return c, dataError{fmt.Errorf("--test-data %w", err)}
	}
	c.Train, c.Test = data.All(), test.All()
	return c, nil
}

// tell says how the new client fares.
func (l *loaded) tell(w io.Writer, n federation.Newcomer, out string) {
	steps := "  after " + counted(n.Steps, "step")
	if l.about.Stepless {
		steps = ""
	}
	fmt.Fprintf(w, "%s: %s on %s after %s%s\n", l.Out, l.Algo, l.Dataset, counted(l.models.Round(), "round"), l.drawn(n.MC))
	fmt.Fprintf(w, "a client of %s to train on, tested on %d\n", counted(n.Train, l.entry.Noun()), n.Test)
	fmt.Fprintf(w, "before  accuracy %s  NLL %s  ECE %s\n", rate(n.Before.Accuracy), decimal(n.Before.NLL), decimal(n.Before.ECE))
	fmt.Fprintf(w, "after   accuracy %s  NLL %s  ECE %s%s\n", rate(n.After.Accuracy), decimal(n.After.NLL), decimal(n.After.ECE), steps)
	if out != "" {
		for _, path := range checkpoint.Files(checkpoint.Name(out)) {
			fmt.Fprintln(w, path)
		}
	}
}

func decimal(v float64) string { return measured{value: v}.read() }

// rate is an accuracy, which a client without test images has not.
func rate(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return percent(v)
}
