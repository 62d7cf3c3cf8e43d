package cli

import (
	"strconv"

	"github.com/urfave/cli/v2"
)

func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "explain a command",
		UsageText: "fedbayes help [COMMAND]",
		Action: func(c *cli.Context) error {
			if err := atMost(c, 1); err != nil {
				return err
			}
			if !c.Args().Present() {
				return cli.ShowAppHelp(c)
			}
			name := c.Args().First()
			if c.App.Command(name) == nil {
				return unknownCommand(c, name)
			}
			return cli.ShowCommandHelp(c.Lineage()[1], name)
		},
	}
}

// asked is the value of the flag that asks for help. It reads as nothing, so that package cli, whose answer to
// "train --help x" is not ours, does not see it.
type asked bool

// Set implements [flag.Value].
func (a *asked) Set(s string) error {
	v, err := strconv.ParseBool(s)
	if err != nil { // also for the "" of String, which package cli sets the alias to
		return err
	}
	*a = asked(v)
	return nil
}

// String implements [flag.Value].
func (*asked) String() string { return "" }

// IsBoolFlag says to package flag that the flag stands alone.
func (*asked) IsBoolFlag() bool { return true }

// addHelpFlag gives a command the flag --help.
func addHelpFlag(cmd *cli.Command) {
	help, action := new(asked), cmd.Action
	cmd.Flags = append(cmd.Flags, switchFlag{&cli.GenericFlag{Name: "help", Aliases: []string{"h"}, Usage: "show help", Value: help}})
	cmd.Action = func(c *cli.Context) error {
		if !*help {
			return action(c)
		}
		if c.Args().Present() {
			return usagef("%s --help: unexpected argument %q", cmd.Name, c.Args().First())
		}
		return cli.ShowCommandHelp(c.Lineage()[1], cmd.Name)
	}
}
