package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"fedbayes/internal/report"
)

const reportHelp = `Makes one HTML page of runs, with a table of their results, pictures, and settings. It needs no other file. A PATH is the
folder of a run, a folder of such folders, or a CSV that scripts/sweep.sh or scripts/search.sh left.

   fedbayes report results/mine
   fedbayes report --out zeta.html results/sweep_zeta

Exit status: 0 done, 2 command line, 3 data, 1 anything else.`

func reportCommand() *cli.Command {
	ts := texts{}
	return &cli.Command{
		Name: "report", Usage: "make an HTML page of runs",
		UsageText: "fedbayes report [--out FILE] PATH...", Description: reportHelp,
		Flags: []cli.Flag{ts.add("out", "file of the page, .html", "report.html", "", false)},
		Action: func(c *cli.Context) error {
			if err := ts.twice(); err != nil {
				return err
			}
			out := "report.html"
			if ts.has("out") {
				out = ts["out"].value
			}
			if _, err := checkFile("out", out, "html"); err != nil {
				return err
			}
			paths, err := pathsOf(c)
			if err != nil {
				return err
			}
			groups, err := grouped(paths)
			if err != nil {
				return err
			}
			var names []string
			for _, path := range paths {
				names = append(names, filepath.Base(filepath.Clean(path)))
			}
			err = replaceFile(out, func(w io.Writer) error { return report.Write(w, strings.Join(names, ", "), groups) })
			if err != nil {
				return err
			}
			fmt.Fprintln(c.App.Writer, out)
			return nil
		},
	}
}
