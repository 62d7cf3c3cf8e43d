package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fedbayes/layers"
)

func modelsCommand() *cli.Command {
	return &cli.Command{
		Name: "models", Usage: "list the networks", UsageText: "fedbayes models",
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
			for _, e := range layers.All() {
				fmt.Fprintf(w, "%s\t%s (default %s:%s)\n", e.Name, e.About, e.Name, e.Default)
			}
			return w.Flush()
		},
	}
}

func modelNames() []string {
	var names []string
	for _, e := range layers.All() {
		names = append(names, e.Name)
	}
	return names
}
