package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"

	"fedbayes/datasets"
)

const fetchHelp = `Downloads a data set from where it is published, and puts it where train looks for it first: into the sub-folder of its name of
--data-dir, of $` + datasets.EnvDir + `, or of the user's cache.

   fedbayes datasets fetch mnist
   fedbayes datasets fetch --data-dir data cifar10
   fedbayes datasets fetch --from http://files.example.org/mnist mnist

A file has its name when it has come whole, with the published checksum, and not before. An address that fails is left for
the next; where none is left, what has come of a file stays, and the same command goes on from there. Files that are there
already are checked, not replaced.`

func fetchCommand(stderr io.Writer) *cli.Command {
	ts := texts{}
	var dir, from string
	flags := []lookFlag{
		{folder("data-dir", "folder to put it into", &dir), "$" + datasets.EnvDir + ", then the user's cache"},
		{folder("from", "folder on the web that has the files, in place of where they are published", &from), "where they are published"},
	}
	return &cli.Command{
		Name: "fetch", Usage: "download a data set",
		UsageText: "fedbayes datasets fetch [flags] NAME", Description: fetchHelp,
		Flags: ts.looks(flags),
		Action: func(c *cli.Context) error {
			if err := flagsFollow(c); err != nil {
				return err
			}
			if err := atMost(c, 1); err != nil {
				return err
			}
			if err := ts.read(flags); err != nil {
				return err
			}
			e, err := published(c.Args().First())
			if err != nil {
				return err
			}
			if ts.has("from") {
				if e, err = publishedAt(e, from); err != nil {
					return err
				}
			}
			ctx, release := untilSignal(c.Context)
			defer release()
			return fetch(ctx, e, dir, c.App.Writer, stderr)
		},
	}
}

// published returns the data set of a name that can be downloaded.
func published(name string) (datasets.Entry, error) {
	var names []string
	for _, e := range datasets.All() {
		if e.Published != nil {
			names = append(names, e.Name)
		}
		switch {
		case e.Name != name:
		case e.Embedded():
			return e, usagef("data set %s: it is part of the program, there is nothing to download", name)
		case e.Published == nil:
			return e, usagef("data set %s: nobody publishes it in this form (fedbayes datasets %s tells what its files are)", name, name)
		default:
			return e, nil
		}
	}
	if name == "" {
		return datasets.Entry{}, usagef("datasets fetch: want the name of a data set, one of %s", strings.Join(names, ", "))
	}
	return datasets.Entry{}, usagef("data set %q: %s", name, oneOf(name, names))
}

// publishedAt returns the data set with one address for each of its files.
func publishedAt(e datasets.Entry, from string) (datasets.Entry, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return e, usagef("--from %q: want an address that begins with http:// or https://", from)
	}
	for i, file := range e.Published {
		e.Published[i].From = []string{u.JoinPath(file.Name).String()}
	}
	return e, nil
}

// fetch downloads a data set, and prints where it is.
func fetch(ctx context.Context, e datasets.Entry, dir string, stdout, stderr io.Writer) error {
	f := datasets.NewFetcher()
	shown := newDownloads(stderr)
	f.Watch = shown.at
	_, err := f.Fetch(ctx, e, dir)
	shown.stop()
	if err != nil && ctx.Err() != nil {
		return interruption(ctx, "while %s was downloaded; the same command goes on", e.Name)
	}
	if err != nil {
		return dataError{err}
	}
	where, err := datasets.Find(e.Name, dir)
	if err != nil {
		return dataError{err}
	}
	fmt.Fprintf(stdout, "%s: %s\n", e.Name, where)
	return nil
}

// downloads shows how files come: a bar for each on a terminal, a line for each that is whole elsewhere.
type downloads struct {
	w    io.Writer
	wide int // columns of the terminal, 0 elsewhere
	file string
	bar  *progressbar.ProgressBar
}

func newDownloads(stderr io.Writer) *downloads {
	d := &downloads{w: stderr}
	if isTerminal(stderr) {
		d.wide = columns(stderr)
	}
	return d
}

// Columns that a bar of bytes needs besides itself and the file's name: " 100% || (162/162 MB, 100 MB/s) [1m2s:1m2s]".
const byteBarText = 48

func (d *downloads) at(file datasets.Published, n int64) {
	switch {
	case d.wide == 0 && n == file.Size:
		fmt.Fprintf(d.w, "%s: %d bytes\n", file.Name, n)
		return
	case d.wide == 0:
		return
	case d.file != file.Name:
		d.stop()
		d.file = file.Name
		d.bar = progressbar.NewOptions64(file.Size,
			progressbar.OptionSetWriter(d.w), progressbar.OptionSetDescription(file.Name), progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionSetWidth(max(1, min(d.wide-1-byteBarText-len(file.Name), barMost))),
		)
	}
	_ = d.bar.Set64(n) // a terminal that is gone does not end the download
}

// stop leaves the bar where it is and the cursor on a line of its own.
func (d *downloads) stop() {
	if d.bar != nil {
		fmt.Fprintln(d.w)
	}
	d.bar, d.file = nil, ""
}

// flagsFollow refuses a flag between a command and one of its sub-commands, which would do nothing.
func flagsFollow(c *cli.Context) error {
	above := c.Lineage()[1]
	if names := above.LocalFlagNames(); len(names) > 0 {
		return usagef("--%s: a flag follows its command, as in %s --%s", names[0], c.Command.HelpName, names[0])
	}
	return nil
}
