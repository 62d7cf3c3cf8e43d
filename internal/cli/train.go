package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"fedbayes/datasets"
	"fedbayes/internal/federation"
	"fedbayes/internal/kernels"
	"fedbayes/internal/results"
)

const trainHelp = `Trains a method on clients that share a data set, and writes rounds.csv, clients.csv, config.json and summary.json.

   fedbayes train
   fedbayes train --dataset mnist --rounds 800 --seed 2 --out results/mine
   fedbayes train --algo fedavg --partition dirichlet --alpha 0.1 --participation 0.5

Ctrl-C ends a run in order, a second one at once. Exit status: 0 done, 2 command line, 3 data, 4 NaN or Inf in a loss,
130 Ctrl-C, 1 anything else.`

func trainCommand(stderr io.Writer) *cli.Command {
	ts := texts{}
	var flags []cli.Flag
	for _, o := range defaults().options() {
		shown := o.shown
		if shown == "" {
			shown = show(o.Param)
		}
		_, boolean := o.Value.(*bool)
		flags = append(flags, ts.add(o.Name, o.usage(), shown, o.category, boolean))
	}
	for _, f := range methodFlags() {
		_, boolean := f.Value.(*bool)
		flags = append(flags, ts.add(f.Name, f.usage(), f.shown, categoryMethod, boolean))
	}
	return &cli.Command{
		Name: "train", Usage: "train a method and write its results",
		UsageText: "fedbayes train [flags]", Description: trainHelp,
		Flags: flags, HideHelpCommand: true, OnUsageError: commandUsage,
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			p, err := newPlan(ts, time.Now())
			if err != nil {
				return err
			}
			return p.train(c.Context, c.App.Writer, stderr)
		},
	}
}

// train runs the plan.
func (p *plan) train(ctx context.Context, stdout, stderr io.Writer) error {
	data, err := datasets.Load(p.Dataset, p.DataDir)
	if err != nil {
		return dataError{err}
	}
	splits, notes, err := datasets.Partition(data, p.partition)
	if err != nil && len(p.notes) > 0 {
		err = fmt.Errorf("%w (%s)", err, strings.Join(p.notes, "; "))
	}
	if err != nil {
		return dataError{err}
	}
	notes = slices.Concat(p.notes, data.Notes, notes)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills

	clients := datasets.Clients(data, splits)
	head := results.Head{Algo: p.Algo, Dataset: p.Dataset, Regime: p.regime, Model: p.Model, Seed: uint64(p.Seed)}
	rec, err := results.Create(p.Out, p.Force, head, p.config(data, splits, notes))
	if err != nil {
		return err
	}
	if !p.Quiet {
		p.introduce(stdout, data)
		for _, note := range notes {
			fmt.Fprintf(stderr, "note: %s\n", note)
		}
	}
	shown := newProgress(p, stdout, stderr)
	res, runErr := federation.Run(ctx, p.federation(clients), p.method, p.net, clients, rec, shown)
	shown.stop()
	sum, err := rec.Finish(res, runErr)
	fmt.Fprintln(stdout, p.summary(sum))
	return errors.Join(p.explain(runErr, sum), err)
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
		PerRound: p.clients, EvalEvery: p.EvalEvery, MC: p.MC, Workers: min(p.Workers, p.Clients),
		Seed: uint64(p.Seed), ISA: kernels.Best(),
	}
}

// An interrupted run was ended by Ctrl-C.
type interrupted struct{ error }

// explain adds to the error of a run what became of its results.
func (p *plan) explain(err error, sum results.Summary) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return interrupted{fmt.Errorf("interrupted after %d of %d rounds; results so far are in %s", sum.Rounds, p.Rounds, p.Out)}
	}
	return fmt.Errorf("%w; results so far are in %s", err, p.Out)
}
