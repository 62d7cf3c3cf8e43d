// Command fedbayes trains personalised Bayesian federated models.
package main

import (
	_ "github.com/schollz/progressbar/v3"
	_ "github.com/urfave/cli/v2"
	_ "golang.org/x/sys/cpu"
	_ "gonum.org/v1/gonum/stat/distuv"
	_ "gorgonia.org/gorgonia"
	_ "gorgonia.org/tensor"
	_ "pgregory.net/rapid"
)

func main() {}
