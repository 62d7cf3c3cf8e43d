package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/urfave/cli/v2"

	"fedbayes/internal/kernels"
)

func versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version, and what this machine computes with",
		UsageText: "fedbayes version",
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			isa := kernels.Best().String()
			if f := kernels.Features(); len(f) > 0 {
				isa += " (" + strings.Join(f, ", ") + ")"
			}
			fmt.Fprintf(c.App.Writer, "fedbayes %s, %s %s/%s, %s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, isa)
			return nil
		},
	}
}

// version returns the module's version as the build recorded it, with the commit where there is one.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := info.Main.Version
	if v == "" {
		v = "(devel)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && !strings.Contains(v, s.Value[:min(12, len(s.Value))]) {
			v += " " + s.Value
		}
	}
	return v
}
