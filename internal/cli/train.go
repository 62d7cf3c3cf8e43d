package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"fedbayes/datasets"
	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
	"fedbayes/internal/kernels"
	"fedbayes/internal/results"
)

const trainHelp = `Trains a method on clients that share a data set, and writes rounds.csv, clients.csv, config.json and summary.json.

   fedbayes train
   fedbayes train --dataset mnist --rounds 800 --seed 2 --out results/mine
   fedbayes train --algo fedavg --partition dirichlet --alpha 0.1 --participation 0.5
   fedbayes train --resume results/mine --rounds 1600
   fedbayes train --watch 0:17 --out results/mine
   fedbayes train --seeds 1,2,3 --out results/mine
   fedbayes train --print-config --algo fedavg >run.toml
   fedbayes train --config run.toml --rounds 800

A file of settings has a line NAME = VALUE for any flag; those of the command line go before it, also where they exclude one
of its lines, as --local-epochs does local-steps. What it has that is no setting, or none of the method's, is an error.
--seeds makes a run for each seed, one after the other: in the folders seed-1, seed-2 and so on of --out, if it is given, else
where they go alone. One that diverges does not stop the others, and gives the exit status; any other failure does.

--watch 0:17 writes beliefs.csv, for plot --kind beliefs: how probable each client's personal model, or the global one where there
is none, thinks each class of client 0's test image 17, with the standard deviation over draws of the weights, before the first
round, after rounds 1 and 10 and after the last. Images are numbered as by eval --per-example. It changes nothing of the run.

Ctrl-C and SIGTERM end a run in order, after the round at hand and with a checkpoint; a second one ends it at once. --resume
goes on from a run's last checkpoint with the run's own settings, and ends with the results of a run that was never stopped.
Beside it, --rounds may be larger, and --workers, --checkpoint-every, --data-dir, --quiet, --log-format and --tensorboard may be
what they like.

--tensorboard DIR makes a folder in DIR for each run, of the same name as the run's own, with all numbers of each evaluation for
TensorBoard. A run that is resumed goes on there.

How the run goes is said on stderr, its result on stdout. With --quiet, what is of note is in config.json alone.

Exit status: 0 done, 2 command line, 3 data, 4 NaN or Inf in a loss or weights that went to 0, 5 no checkpoint to
resume from or one of another run, 130 Ctrl-C, 143 SIGTERM, 1 anything else.`

func trainCommand(stderr io.Writer) *cli.Command {
	ts := texts{}
	flags := append(ts.addSettings(), ts.add("print-config", "write the settings as a file that --config reads, and train nothing", "false", categoryOutput, true))
	return &cli.Command{
		Name: "train", Usage: "train a method and write its results",
		UsageText: "fedbayes train [flags]", Description: trainHelp,
		Flags: flags,
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			return inFormat(ts, stderr, trainWhat(c, ts, stderr))
		},
	}
}

// trainWhat does what the flags of train say: train a plan, or one for each seed, or show the settings.
func trainWhat(c *cli.Context, ts texts, stderr io.Writer) error {
	ctx, release := untilSignal(c.Context)
	defer release()
	seeds, err := ts.settle()
	if err != nil {
		return err
	}
	printed, err := ts.printed()
	if err != nil {
		return err
	}
	if len(seeds) > 0 && !printed {
		plans, err := seedPlans(ts, seeds, time.Now())
		if err != nil {
			return err
		}
		return ts.located(trainEach(ctx, plans, c.App.Writer, stderr))
	}
	p, err := planOf(ts, time.Now(), newShelf())
	if err != nil {
		return err
	}
	if printed {
		return p.printConfig(c.App.Writer, ts, seeds)
	}
	if done := p.finished(); done != "" {
		fmt.Fprintln(c.App.Writer, done)
		return nil
	}
	return ts.located(p.train(ctx, c.App.Writer, stderr))
}

// addSettings makes the flags of a run's settings, and those that stand above them: see settle.
func (ts texts) addSettings() []cli.Flag {
	var flags []cli.Flag
	for _, o := range defaults().options() {
		shown := o.shown
		if shown == "" {
			shown = show(o.Param)
		}
		_, boolean := o.Value.(*bool)
		flags = append(flags, ts.add(o.Name, o.usage(), shown, o.category, boolean))
		if o.Name == "seed" {
			flags = append(flags, ts.add("seeds", "in place of a seed, some with a comma between: a run for each", "none", "", false))
		}
	}
	flags = append(flags, ts.add("config", "file of settings in place of flags", "none", "", false))
	for _, f := range methodFlags() {
		_, boolean := f.Value.(*bool)
		flags = append(flags, ts.add(f.Name, f.about, f.shown, categoryMethod, boolean))
	}
	return flags
}

// train runs the plan. Its context ends with a signal.
func (p *plan) train(ctx context.Context, stdout, stderr io.Writer) error {
	signal.Ignore(syscall.SIGPIPE) // a reader who leaves does not end the run; Main reports it
	data, splits, err := p.load()
	if err != nil {
		return err
	}
	clients := datasets.Clients(data, splits)
	if ctx.Err() != nil {
		return interruption(ctx, "before the first round; nothing was written")
	}
	rec, err := p.record(data, splits)
	if err != nil {
		return err
	}
	log := newJournal(p, rec.Rounds(), stderr)
	log.begin(p, data, rec.Rounds())
	if !p.Quiet {
		for _, note := range p.notes {
			log.note(note)
		}
	}
	taking, heldOut := clients[:p.Clients], clients[p.Clients:]
	cfg, waited := p.federation(taking), func() {}
	cfg.Newcomers, cfg.NewcomerSteps = heldOut, p.HoldoutSteps
	switch {
	case p.CheckpointEvery > 0:
		cfg.Keeper, cfg.KeepEvery = rec, p.CheckpointEvery
		waited = patience(ctx, aMoment, log.note)
	case p.Resume != "":
		cfg.Keeper, cfg.KeepEvery = onlyRestores{rec}, atTheEnd
	}
	told := []federation.Recorder{rec, log}
	if p.watch != nil {
		told = append(told, p.watch)
	}
	res, runErr := federation.Run(ctx, cfg, p.method, p.net, taking, told...)
	waited()
	log.stop()
	runErr = p.explain(ctx, runErr, res, rec.Rounds())
	sum, err := rec.Finish(res, runErr)
	err = errors.Join(runErr, err)
	log.end(sum)
	var unusable *checkpoint.Unusable
	if !errors.Is(err, results.ErrLost) && !errors.As(err, &unusable) {
		if line := holdoutLine(sum.Holdout); line != "" && !p.Quiet {
			fmt.Fprintln(stdout, line)
		}
		fmt.Fprintln(stdout, p.summary(sum))
	}
	return err
}

// load reads the data and divides them, if the run has the memory.
func (p *plan) load() (*datasets.Dataset, []datasets.Split, error) {
	data, splits, err := p.share()
	if err != nil {
		return nil, nil, err
	}
	return data, splits, p.fits(data, splits, memory())
}

// share reads the data and divides them.
func (p *plan) share() (*datasets.Dataset, []datasets.Split, error) {
	data, err := p.shelf.load(p.Dataset, p.DataDir)
	if err != nil {
		return nil, nil, dataError{err}
	}
	splits, notes, err := datasets.Partition(data, p.partition)
	if err != nil && p.HoldoutClients > 0 {
		err = fmt.Errorf("%w (of the clients, --holdout-clients are %d)", err, p.HoldoutClients)
	}
	if err != nil && len(p.notes) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(p.notes, "; "))
	}
	if err != nil {
		return nil, nil, dataError{err}
	}
	if err := p.sees(splits); err != nil {
		return nil, nil, err
	}
	if p.ValFraction > 0 && !slices.ContainsFunc(splits[:p.Clients], func(s datasets.Split) bool { return len(s.Val) > 0 }) {
		return nil, nil, dataError{fmt.Errorf("--val-fraction %v: of no label has a client enough training images to spare one", p.ValFraction)}
	}
	p.notes = slices.Concat(p.notes, data.Notes, notes)
	p.tests = testsOf(data, splits)
	return data, splits, nil
}

// record makes the folder of the results.
func (p *plan) record(data *datasets.Dataset, splits []datasets.Split) (*results.Run, error) {
	if p.fresh != "" {
		var err error
		if p.Out, err = results.Fresh("results", p.fresh); err != nil {
			return nil, err
		}
	}
	config := p.config(data, splits)
	facts, err := config.facts()
	if err != nil {
		return nil, err
	}
	head := p.head()
	head.Facts = facts
	if p.Resume != "" {
		return p.resume(head, config)
	}
	rec, err := results.Create(p.Out, p.Force, head, config)
	var held *results.Held
	if errors.As(err, &held) {
		return nil, usagef("--out %w", err)
	}
	return rec, err
}

// head says what the run is, but for its facts.
func (p *plan) head() results.Head {
	return results.Head{
		Algo: p.Algo, Dataset: p.Dataset, Regime: p.regime, Model: p.Model, Seed: uint64(p.Seed), Rounds: p.Rounds,
		Validates: p.ValFraction > 0, Fails: p.DropRate > 0 || p.StragglerRate > 0, Watches: p.watched != nil,
		Events: p.Tensorboard,
	}
}

// federation returns the configuration of the loop. Buffers for more rows than any client has, and workers without a
// client, would only cost memory.
func (p *plan) federation(clients []datasets.Client) federation.Config {
	largest := 1
	for i := range clients {
		largest = max(largest, clients[i].Train.Len())
	}
	return federation.Config{
		Rounds: p.Rounds, LocalSteps: p.LocalSteps, LocalEpochs: p.LocalEpochs, Batch: min(p.Batch, largest),
		PerRound: p.clients, EvalEvery: p.EvalEvery, MC: p.MC, FinalMC: p.FinalMC, Workers: min(p.Workers, p.Clients),
		Seed: uint64(p.Seed), ISA: kernels.Best(),
		DropRate: p.DropRate, StragglerRate: p.StragglerRate, Patience: p.Patience, Watch: p.watched,
	}
}

// explain adds to the error of a run what became of its results.
func (p *plan) explain(ctx context.Context, err error, res federation.Result, rounds int) error {
	switch {
	case err == nil, errors.Is(err, results.ErrLost), errors.As(err, new(*checkpoint.Unusable)):
		return err
	case !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w; results so far are in %s", err, p.Out)
	case res.Last != nil && res.Last.Round == p.Rounds:
		what := "the evaluation with draws of the weights"
		if p.HoldoutClients > 0 {
			what += " or the models of clients that are held out"
		}
		return interruption(ctx, "after the last round, in %s; the other results are in %s%s", what, p.Out, p.way(rounds))
	}
	return interruption(ctx, "after %d of %s; results so far are in %s%s", rounds, counted(p.Rounds, "round"), p.Out, p.way(rounds))
}

// way says how to go on with a run that was stopped after some rounds.
func (p *plan) way(rounds int) string {
	if rounds == 0 || p.CheckpointEvery == 0 {
		return ""
	}
	return ", and --resume goes on"
}
