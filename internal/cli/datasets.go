package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/datasets"
)

func datasetsCommand(stderr io.Writer) *cli.Command {
	ts := texts{}
	return &cli.Command{
		Name: "datasets", Usage: "list the data sets, describe or download one, or show how clients share it",
		UsageText:   "fedbayes datasets [--data-dir DIR] [NAME]",
		Description: "fedbayes datasets fetch --help and fedbayes datasets stats --help tell more of these two.",
		Subcommands: []*cli.Command{fetchCommand(stderr), statsCommand(stderr)},
		Flags:       []cli.Flag{ts.add("data-dir", "folder of the data set's files", "$"+datasets.EnvDir+", then the usual places", "", false)},
		Action: func(c *cli.Context) error {
			if err := atMost(c, 1); err != nil {
				return err
			}
			if err := ts.twice(); err != nil {
				return err
			}
			dir := ""
			if err := ts.assign(algorithms.Param{Name: "data-dir", Value: &dir}); err != nil {
				return err
			}
			if !c.Args().Present() {
				return listDatasets(c, dir)
			}
			return describeDataset(c, c.Args().First(), dir)
		},
	}
}

func listDatasets(c *cli.Context, dir string) error {
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	for _, e := range datasets.All() {
		where, err := datasets.Find(e.Name, dir)
		if err != nil {
			where = "not found"
			if stand, _, err := datasets.Resolve(e.Name, dir); err == nil && stand.Name != e.Name {
				where += ": train takes " + stand.Name
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", e.Name, e.About, where)
	}
	return w.Flush()
}

func describeDataset(c *cli.Context, name, dir string) error {
	e, err := datasets.Lookup(name)
	if err != nil {
		return usagef("data set %q: %s", name, oneOf(name, datasetNames()))
	}
	if e.Embedded() && dir != "" {
		return embeddedError(e)
	}
	d, err := datasets.Load(name, dir)
	_, missing := datasets.Find(name, dir)
	if err != nil && (missing == nil || e.Format == nil) {
		return dataError{err}
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "name\t%s\n", e.Name)
	fmt.Fprintf(w, "about\t%s\n", e.About)
	fmt.Fprintf(w, "origin\t%s\n", e.Origin)
	fmt.Fprintf(w, "licence\t%s\n", e.License)
	label := "files"
	for _, line := range e.Format {
		fmt.Fprintf(w, "%s\t%s\n", label, line)
		label = ""
	}
	if missing != nil { // what its files are is why one asks
		fmt.Fprintf(w, "found\t%s\n", strings.TrimPrefix(missing.Error(), "datasets: "+name+": "))
		return w.Flush()
	}
	if e.Open() {
		e = e.As(d)
	}
	fmt.Fprintf(w, "found\t%s\n", d.Source)
	fmt.Fprintf(w, "%ss\t%d of %s\n", d.Noun(), d.Len(), shapeOf(d))
	fmt.Fprintf(w, "normalisation\t%s\n", d.Normalisation())
	if d.Mean != nil {
		fmt.Fprintf(w, "mean, std\t%v, %v\n", d.Mean, d.Std)
	}
	for class, n := range d.Counts() {
		name := ""
		if e.Names != nil {
			name = ", " + e.ClassName(class)
		}
		fmt.Fprintf(w, "class %d\t%d%s\n", class, n, name)
	}
	if d.Owner != nil {
		fmt.Fprintf(w, "its own clients\t%s\n", owners(d))
	}
	for _, r := range e.Regimes {
		fmt.Fprintf(w, "regime %s\t%d training and %d test images of each label and client\n", r.Name, r.Train, r.Test)
	}
	if d := e.Defaults; d.Clients > 0 {
		fmt.Fprintf(w, "clients\t%d, %d of them in a round\n", d.Clients, min(d.PerRound, d.Clients))
	}
	if e.Defaults.Batch > 0 {
		fmt.Fprintf(w, "batch\t%d\n", e.Defaults.Batch)
	}
	if e.Defaults.Model != "" {
		fmt.Fprintf(w, "model\t%s\n", e.Defaults.Model)
	}
	for _, note := range d.Notes {
		fmt.Fprintf(w, "note\t%s\n", note)
	}
	return w.Flush()
}

// shapeOf is that of an example, as one reads it.
func shapeOf(d *datasets.Dataset) string {
	if len(d.Shape) == 1 {
		return counted(d.Dim(), "value")
	}
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(d.Shape)), " × "), "[]")
}

// owners says whose the examples are.
func owners(d *datasets.Dataset) string {
	of := make([]int, len(d.Owners))
	for _, o := range d.Owner {
		of[o]++
	}
	return fmt.Sprintf("%d, with %v %ss each", len(of), span{slices.Min(of), slices.Max(of)}, d.Noun())
}

// embeddedError refuses a folder for a data set that reads none: another one was probably meant.
func embeddedError(e datasets.Entry) error {
	var others []string
	for _, o := range datasets.All() {
		if !o.Embedded() {
			others = append(others, o.Name)
		}
	}
	return usagef("--data-dir: %s is part of the program and reads no folder, other than %s", e.Name, and(others))
}

func datasetNames() []string {
	var names []string
	for _, e := range datasets.All() {
		names = append(names, e.Name)
	}
	return names
}
