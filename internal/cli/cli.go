// Package cli is the command line: one file a command, which turns flags into a checked plan and calls the packages below.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/internal/checkpoint"
	"fedbayes/internal/federation"
)

// Exit statuses.
const (
	statusOK          = 0
	statusFailed      = 1   // at run time, as a full disk
	statusUsage       = 2   // the command line
	statusData        = 3   // missing, malformed, or too small for the partition
	statusDiverged    = 4   // NaN or Inf, or weights that went to 0
	statusCheckpoint  = 5   // none to go on from, or one of another run
	statusInterrupted = 130 // Ctrl-C
	statusTerminated  = 143 // SIGTERM
)

// A usageError is a command line that cannot be run.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// A dataError is data that cannot be used.
type dataError struct{ error }

func (e dataError) Unwrap() error { return e.error }

// Main runs the command line args, args[0] being the program, and returns its exit status. An error is one line on stderr.
func Main(args []string, stdout, stderr io.Writer) int {
	out := &sticky{w: stdout}
	if len(args) > 1 && slices.Contains([]string{"--help", "-help", "-h"}, args[1]) {
		args = slices.Concat(args[:1], []string{"help"}, args[2:]) // which knows what to do with more arguments
	}
	err := newApp(out, stderr).RunContext(context.Background(), args)
	if err == nil && out.err != nil {
		err = fmt.Errorf("output: %w", out.err)
	}
	if err == nil {
		return statusOK
	}
	if errors.As(err, new(told)) {
		return status(err)
	}
	fmt.Fprintf(stderr, "fedbayes: %s\n", oneLine(err))
	return status(err)
}

// oneLine is the text of an error in one line.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// status maps an error to the exit status.
func status(err error) int {
	var usage usageError
	var data dataError
	var signalled *interrupted
	var unusable *checkpoint.Unusable
	switch {
	case errors.As(err, &usage):
		return statusUsage
	case errors.As(err, &data), errors.Is(err, federation.ErrNoExamples):
		return statusData
	case algorithms.Diverged(err):
		return statusDiverged
	case errors.As(err, &unusable):
		return statusCheckpoint
	case errors.As(err, &signalled):
		return signalled.status()
	}
	return statusFailed
}

// sticky remembers the first error of a writer: a result that nobody could read is not a success.
type sticky struct {
	w   io.Writer
	err error
}

func (s *sticky) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

func newApp(stdout, stderr io.Writer) *cli.App {
	commands := []*cli.Command{
		trainCommand(stderr), sweepCommand(stderr), evalCommand(stderr), predictCommand(stderr), personalizeCommand(stderr),
		plotCommand(stderr), reportCommand(), algosCommand(), modelsCommand(), datasetsCommand(stderr), versionCommand(),
	}
	commands = append(commands, helpCommand())
	for _, c := range commands {
		complete(c)
	}
	return &cli.App{
		Name:      "fedbayes",
		Usage:     "train personalised Bayesian federated models",
		UsageText: "fedbayes COMMAND [flags]",
		Description: "Start with\n\n   fedbayes train\n\n" +
			"which trains pFedBayes on ten clients with real images, within a minute, and writes CSVs below results/.\n" +
			"(From the source: go run . train.)",
		Commands:        commands,
		Flags:           []cli.Flag{cli.HelpFlag}, // with a help command of our own it is not added
		HideHelp:        true,                     // else a command's help lists its flag twice
		HideHelpCommand: true,
		HideVersion:     true,
		Writer:          stdout,
		ErrWriter:       stderr,
		Action:          rootAction,
		OnUsageError:    rootUsage,
		ExitErrHandler:  func(*cli.Context, error) {}, // Main prints and exits
	}
}

// complete gives a command, and those below it, what all commands have.
func complete(c *cli.Command) {
	c.OnUsageError = commandUsage
	c.HideHelp, c.HideHelpCommand = true, true
	addHelpFlag(c)
	for _, below := range c.Subcommands {
		complete(below)
	}
}

// rootAction runs where no command was recognised.
func rootAction(c *cli.Context) error {
	if c.Args().Present() {
		return unknownCommand(c, c.Args().First())
	}
	return cli.ShowAppHelp(c)
}

func unknownCommand(c *cli.Context, name string) error {
	var names []string
	for _, cmd := range c.App.Commands {
		names = append(names, cmd.Name)
	}
	return usagef("command %q: %s", name, oneOf(name, names))
}

// rootUsage reports a flag before the command.
func rootUsage(_ *cli.Context, err error, _ bool) error {
	if name, ok := undefined(err); ok {
		return usagef("%[1]s: a flag follows its command, as in fedbayes train %[1]s", dashed(name))
	}
	return usageError{err}
}

// dashed is a flag as one writes it.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// undefined returns the name of the flag if err says that there is no such flag. Package flag has no type for that.
func undefined(err error) (name string, ok bool) {
	return strings.CutPrefix(err.Error(), "flag provided but not defined: -")
}

// commandUsage reports what package flag does not accept. Values never get here: flags keep text, which is checked later.
func commandUsage(c *cli.Context, err error, _ bool) error {
	if name, ok := strings.CutPrefix(err.Error(), "flag needs an argument: -"); ok {
		return usagef("%s: want a value", dashed(name))
	}
	name, ok := undefined(err)
	if !ok {
		return usageError{err}
	}
	var names []string
	for _, f := range c.Command.Flags {
		names = append(names, f.Names()[0]) // not its letter, which is near to any other
	}
	hint := fmt.Sprintf(" (%s --help lists them)", c.Command.HelpName)
	if near := nearest(name, names); near != "" {
		hint = fmt.Sprintf(" (did you mean --%s?)", near)
	}
	return usagef("%s: %s has no such flag%s", dashed(name), c.Command.Name, hint)
}

// atMost returns an error if a command got more than n arguments.
func atMost(c *cli.Context, n int) error {
	if c.NArg() <= n {
		return nil
	}
	extra := c.Args().Get(n)
	hint := ""
	switch {
	case extra == "true" || extra == "false":
		hint = "; a flag that is true or false takes its value as --flag=" + extra
	case n > 0 && strings.HasPrefix(extra, "-"):
		hint = fmt.Sprintf("; flags go before the name, as in %s", c.Command.UsageText)
	}
	return usagef("%s: unexpected argument %q%s", c.Command.Name, extra, hint)
}
