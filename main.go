// Command fedbayes trains personalised Bayesian federated models.
package main

import (
	"os"

	"fedbayes/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args, os.Stdout, os.Stderr)) }
