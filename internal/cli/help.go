package cli

import "github.com/urfave/cli/v2"

func helpCommand() *cli.Command {
	return &cli.Command{
		Name: "help", Aliases: []string{"h"}, Usage: "explain a command",
		UsageText: "fedbayes help [COMMAND]", HideHelpCommand: true, OnUsageError: commandUsage,
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
