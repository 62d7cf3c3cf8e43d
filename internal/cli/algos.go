package cli

import (
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
)

func algosCommand() *cli.Command {
	return &cli.Command{
		Name: "algos", Usage: "list the methods, or describe one with its flags",
		UsageText: "fedbayes algos [NAME]",
		Action: func(c *cli.Context) error {
			if err := atMost(c, 1); err != nil {
				return err
			}
			if !c.Args().Present() {
				return listAlgos(c)
			}
			return describeAlgo(c, c.Args().First())
		},
	}
}

func listAlgos(c *cli.Context) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, e := range algorithms.All() {
		fmt.Fprintf(w, "%s\t%s\n", e.Name, e.About)
	}
	return w.Flush()
}

func describeAlgo(c *cli.Context, name string) error {
	e, ok := algo(name)
	if !ok {
		return usagef("method %q: %s", name, oneOf(name, algoNames()))
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", e.Name)
	fmt.Fprintf(w, "about\t%s\n", e.About)
	fmt.Fprintf(w, "paper\t%s\n", e.Paper)
	for _, p := range e.Presets {
		about := p.About
		if p.Models != nil {
			about += "; the default with --model " + and(p.Models)
			if p.Data != nil {
				about += " on " + and(p.Data)
			}
		}
		fmt.Fprintf(w, "--preset %s\t%s\n", p.Name, about)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(c.App.Writer, "\nflags of train, with the default in each preset:\n")
	var made []algorithms.Algorithm
	for _, p := range e.Presets {
		fmt.Fprintf(w, "\t%s", p.Name)
		made = append(made, p.New())
	}
	fmt.Fprintln(w)
	for i, p := range made[0].Params() {
		fmt.Fprintf(w, "--%s\t", p.Name)
		for _, m := range made {
			fmt.Fprintf(w, "%s\t", show(m.Params()[i]))
		}
		fmt.Fprintf(w, "%s; %s\n", p.Usage, p.Allowed())
	}
	return w.Flush()
}

// algo returns the method of a name.
func algo(name string) (algorithms.Entry, bool) {
	for _, e := range algorithms.All() {
		if e.Name == name {
			return e, true
		}
	}
	return algorithms.Entry{}, false
}

func algoNames() []string {
	var names []string
	for _, e := range algorithms.All() {
		names = append(names, e.Name)
	}
	return names
}
