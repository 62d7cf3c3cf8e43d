package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/checkpoint"
	"fedbayes/internal/results"
)

const sweepHelp = `Trains once for each point of a grid and each seed, as many runs at the same time as there are cores.

   fedbayes sweep --grid zeta=0.5,1,5,10,20 --grid rho=-1,-2,-3 --seeds 1,2,3 --dataset mnist --rounds 800
   fedbayes sweep --grid algo=pfedbayes,fedavg,local --seeds 1,2,3 --config run.toml --out results/mine
   fedbayes sweep --grid zeta=0.5,1,5 --print-commands >queue.txt

All other flags are those of train and hold for every run; one that a point has no use for, as --zeta beside fedavg, is
refused before anything runs. The results of a run do not depend on --jobs.

A run has a folder below --out, as results/sweep_zeta/zeta-0.5-seed-1. At the end stand beside these a CSV with all rows of
rounds.csv of all runs, its first columns the flags of the grid, and a Markdown table, which is printed too: of best and last PM
and GM, mean ± standard deviation over the seeds. Both have every seed that the folder holds of these points.

A sweep can be stopped, and started again by the same command: runs that are finished are kept, as are those that diverged, and
the others are run anew. With --checkpoint-every these go on from their last checkpoint; without it a sweep has none. A run that
diverges leaves the others to go on, and a number in the table; any other failure ends the sweep. --force replaces runs with
other settings that are in the way.

With --log-format json each line on stderr is an object: the sweep, each run as it begins and as it is finished, failed or
interrupted, with its seed and its values in the grid, and the end. What is on stdout is the same.

--print-commands writes a line for a shell for each run that is not finished, for the queue of a cluster. When all are done,
the same sweep without it makes the CSV and the table.`

const categorySweep = "sweep"

func sweepCommand(stderr io.Writer) *cli.Command {
	ts, grid := texts{}, new(repeated)
	flags := []cli.Flag{
		&cli.GenericFlag{Name: "grid", Usage: "flag of train and its values, as zeta=0.5,1,5; once for each axis", DefaultText: "none", Category: categorySweep, Value: grid},
		ts.add("jobs", "runs at the same time", "as many as there are cores", categorySweep, false),
		ts.add("print-commands", "write a command for each run that is not finished, and run nothing", "false", categorySweep, true),
	}
	for _, f := range ts.addSettings() {
		switch f.Names()[0] {
		case "resume": // it does so unasked
			continue
		case "out":
			f = ts.add("out", "folder of the runs' folders", "results/sweep_<flags of the grid>-<sum of the others>", categoryOutput, false)
		case "force":
			f = ts.add("force", "replace runs with other settings", "false", categoryOutput, true)
		case "quiet":
			f = ts.add("quiet", "show no progress, and no notes", "false", categoryOutput, true)
		case "log-format":
			f = ts.add("log-format", "how the sweep says on stderr how it goes: a bar on a terminal and notes, or a JSON object a line [text, json]", formatText, categoryOutput, false)
		case "workers":
			f = ts.add("workers", "clients of a run that run at the same time; no result depends on it", "the cores, divided by the jobs", "", false)
		case "checkpoint-every":
			f = ts.add("checkpoint-every", "rounds from one checkpoint of a run to the next; 0 for none at all", "0", categoryOutput, false)
		}
		flags = append(flags, f)
	}
	delete(ts, "resume")
	return &cli.Command{
		Name: "sweep", Usage: "train over a grid of settings and seeds",
		UsageText: "fedbayes sweep --grid FLAG=VALUE,VALUE... [--seeds SEED,SEED...] [flags]", Description: sweepHelp,
		Flags: flags,
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			return inFormat(ts, stderr, sweepWhat(c, ts, *grid, stderr))
		},
	}
}

// sweepWhat does what the flags of sweep say: run it, or write its commands.
func sweepWhat(c *cli.Context, ts texts, grid []string, stderr io.Writer) error {
	ctx, release := untilSignal(c.Context)
	defer release()
	s, err := newSweep(ts, grid, time.Now())
	if err != nil {
		return err
	}
	if s.commands {
		for _, cell := range s.left() {
			fmt.Fprintln(c.App.Writer, cell.command(os.Args[0]))
		}
		return nil
	}
	return s.run(ctx, c.App.Writer, stderr)
}

// A sweep is a checked command line of sweep.
type sweep struct {
	axes  []axis
	seeds []int
	given texts // flags of all runs
	dir   string
	now   time.Time
	data  *shelf
	cells []*cell

	jobs                     int // 0 for as many as there are cores
	replace, quiet, commands bool
	format                   string // of what it says on stderr
}

// newSweep plans every run, and looks which of them are there already. It writes nothing.
func newSweep(ts texts, specs []string, now time.Time) (*sweep, error) {
	s := &sweep{given: ts, now: now, data: newShelf(), format: formatText}
	var err error
	if s.axes, err = parseGrid(specs, ts); err != nil {
		return nil, err
	}
	if s.seeds, err = ts.settle(); err != nil {
		return nil, err
	}
	if err := s.take(); err != nil {
		return nil, err
	}
	seen := map[string]string{}
	for _, values := range points(s.axes) {
		for _, seed := range s.seeds {
			c, err := s.newCell(values, seed)
			if err != nil {
				return nil, err
			}
			chosen, err := c.plan.chosen()
			if err != nil {
				return nil, err
			}
			key := fmt.Sprint(chosen)
			if same, ok := seen[key]; ok {
				return nil, usagef("%s and %s: one run, want others", same, c.label)
			}
			seen[key] = c.label
			if err := c.look(s.replace); err != nil {
				return nil, err
			}
			s.cells = append(s.cells, c)
		}
	}
	return s, nil
}

// take takes what is the sweep's own, and no run's, out of the flags.
func (s *sweep) take() error {
	ts := s.given
	seed := defaults().Seed
	for _, p := range []algorithms.Param{
		{Name: "seed", Value: &seed, Max: math.Inf(1)}, {Name: "jobs", Value: &s.jobs, Min: 1, Max: math.Inf(1)},
		{Name: "log-format", Value: &s.format, OneOf: []string{formatText, formatJSON}},
		{Name: "force", Value: &s.replace}, {Name: "quiet", Value: &s.quiet}, {Name: "print-commands", Value: &s.commands}, {Name: "out", Value: &s.dir},
	} {
		if err := ts.assign(p); err != nil {
			return ts.located(err)
		}
	}
	if len(s.axes) == 0 && len(s.seeds) == 0 {
		return usagef("sweep: want --grid or --seeds, or both (fedbayes sweep --help has examples)")
	}
	if len(s.seeds) == 0 {
		s.seeds = []int{seed}
	}
	for _, name := range []string{"seed", "jobs", "force", "quiet", "print-commands", "out"} {
		delete(ts, name)
	}
	if s.dir == "" {
		s.dir = sweepFolder(s.axes, ts)
	}
	if !ts.has("checkpoint-every") { // one would be larger than all else of a run
		ts["checkpoint-every"] = &text{given: 1, value: "0"}
	}
	return nil
}

// left returns the runs that did not come to their end.
func (s *sweep) left() []*cell {
	var left []*cell
	for _, c := range s.cells {
		if c.ended == nil {
			left = append(left, c)
		}
	}
	return left
}

// run does what is left of the sweep. Its context ends with a signal.
func (s *sweep) run(ctx context.Context, stdout, stderr io.Writer) error {
	signal.Ignore(syscall.SIGPIPE) // as a run alone does
	for _, c := range s.cells {
		if c.ended != nil {
			fmt.Fprintf(stdout, "%s: done before, in %s\n", c.label, c.plan.Out)
		}
	}
	left := s.left()
	log := s.newLog(stderr)
	if err := s.prepare(ctx, left, log); err != nil {
		return err
	}
	log.say(slog.LevelInfo, "sweep", "runs", len(s.cells), "done_before", len(s.cells)-len(left), "jobs", s.jobs, "out", s.dir)
	shown := s.newBoard(left, stdout, stderr)
	waited := func() {}
	if slices.ContainsFunc(left, func(c *cell) bool { return c.plan.CheckpointEvery > 0 }) {
		waited = patience(ctx, aMoment, log.note)
	}
	done, err := s.train(ctx, left, shown, log)
	waited()
	shown.stop()
	switch {
	case err == nil:
		return s.conclude(stdout, log)
	case ctx.Err() != nil:
		log.say(slog.LevelInfo, "end", "status", "interrupted", "runs", done)
		return interruption(ctx, "after %d of %s; what is finished is in %s, and the same command goes on", done, counted(len(left), "run"), s.dir)
	}
	log.say(slog.LevelInfo, "end", "status", "failed", "runs", done)
	return fmt.Errorf("%w (what is finished is kept, and the same command goes on)", err)
}

// prepare loads the data of the runs, once for all, divides them once for each way to do so, so that no run fails for them
// after hours, and settles how many runs go at the same time.
func (s *sweep) prepare(ctx context.Context, left []*cell, log *sweepLog) error {
	seen, said := map[string]bool{}, map[string]bool{}
	var most uint64
	for _, c := range left {
		p := *c.plan
		p.partition.Seed = 0
		key := fmt.Sprint(p.Dataset, p.DataDir, p.partition, p.Algo, p.Model)
		if seen[key] {
			continue
		}
		seen[key] = true
		if ctx.Err() != nil {
			return interruption(ctx, "before the first run; nothing was written")
		}
		d, splits, err := p.load()
		if err != nil {
			return fmt.Errorf("%s: %w", c.label, err)
		}
		shared, client := p.bytes(d, splits)
		most = max(most, shared+uint64(p.Clients)*client)
		for _, note := range p.notes {
			if !said[note] && !s.quiet {
				log.note(note)
			}
			said[note] = true
		}
	}
	cores := runtime.GOMAXPROCS(0)
	if s.jobs == 0 {
		s.jobs = cores
		if m := memory(); m > 0 && most > 0 {
			s.jobs = max(1, min(s.jobs, int(m/most)))
		}
	}
	s.jobs = max(1, min(s.jobs, len(left)))
	for _, c := range left {
		if !s.given.has("workers") {
			c.plan.Workers = max(1, cores/s.jobs)
		}
	}
	return nil
}

// train does the runs, and returns how many came to their end. An error ends those that go on, unless their run diverged.
func (s *sweep) train(ctx context.Context, left []*cell, shown *board, log *sweepLog) (done int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next, ended atomic.Int64
	errs := make([]error, len(left))
	var wg sync.WaitGroup
	for range s.jobs {
		wg.Go(func() {
			for ctx.Err() == nil {
				k := int(next.Add(1)) - 1
				if k >= len(left) {
					return
				}
				log.begun(left[k])
				line, err := left[k].train(ctx, s.now)
				log.ended(left[k], err)
				if err != nil && !algorithms.Diverged(err) {
					errs[k] = fmt.Errorf("%s: %w", left[k].label, err)
					cancel()
					return
				}
				ended.Add(1)
				shown.done(left[k], line)
			}
		})
	}
	wg.Wait()
	for _, err := range errs { // not one that another brought about
		if err != nil && !errors.Is(err, context.Canceled) {
			return int(ended.Load()), err
		}
	}
	return int(ended.Load()), ctx.Err()
}

// train does the cell's run, and returns a line about it.
func (c *cell) train(ctx context.Context, now time.Time) (line string, err error) {
	var out bytes.Buffer
	p := c.resumed(now)
	if p != nil {
		err = p.train(ctx, &out, io.Discard)
	}
	if p == nil || errors.As(err, new(*checkpoint.Unusable)) {
		out.Reset()
		err = c.plan.train(ctx, &out, io.Discard)
	}
	if algorithms.Diverged(err) {
		return fmt.Sprintf("%s: %s", c.label, oneLine(err)), err
	}
	return strings.TrimSpace(out.String()), err
}

// conclude writes the CSV and the table of the sweep.
func (s *sweep) conclude(stdout io.Writer, log *sweepLog) error {
	var rows []row
	var members []results.Member
	diverged := 0
	for i := 0; i < len(s.cells); i += len(s.seeds) {
		cells := s.cells[i : i+len(s.seeds)]
		more, err := s.others(cells[0])
		if err != nil {
			return err
		}
		r := row{values: cells[0].values}
		for _, c := range slices.Concat(cells, more) {
			sum, err := results.Ended(c.plan.Out)
			if err != nil {
				return err
			}
			if sum == nil {
				return fmt.Errorf("%s: %w", c.plan.Out, results.ErrLost)
			}
			if sum.Status == results.Diverged {
				diverged++
			}
			r.runs = append(r.runs, sum)
			members = append(members, results.Member{Dir: c.plan.Out, Values: c.values, Head: c.plan.head()})
		}
		rows = append(rows, r)
	}
	var flags []string
	for _, a := range s.axes {
		flags = append(flags, a.flag)
	}
	joined := filepath.Join(s.dir, filepath.Base(s.dir)+".csv")
	if err := replaceFile(joined, func(w io.Writer) error { return results.Join(w, flags, members) }); err != nil {
		return err
	}
	table := markdown(flags, rows)
	if err := replaceFile(strings.TrimSuffix(joined, ".csv")+".md", func(w io.Writer) error {
		_, err := io.WriteString(w, table)
		return err
	}); err != nil {
		return err
	}
	log.say(slog.LevelInfo, "end", "status", "finished", "runs", len(members), "diverged", diverged, "csv", joined)
	fmt.Fprintf(stdout, "\n%s\nall rounds: %s\n", table, joined)
	return nil
}

// A shelf holds data that runs at the same time share. A nil one holds none.
type shelf struct {
	mu   sync.Mutex
	sets map[[2]string]*datasets.Dataset // by name and folder
}

func newShelf() *shelf { return &shelf{sets: map[[2]string]*datasets.Dataset{}} }

// load returns a data set that nobody may change.
func (s *shelf) load(name, dir string) (*datasets.Dataset, error) {
	if s == nil {
		return datasets.Load(name, dir)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := [2]string{name, dir}
	if d := s.sets[key]; d != nil {
		return d, nil
	}
	d, err := datasets.Load(name, dir)
	if err == nil {
		s.sets[key] = d
	}
	return d, err
}
