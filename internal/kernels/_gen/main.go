// Command gen writes the assembly of package kernels with avo. It is a module of its own, so that avo reaches nobody
// who builds fedbayes; run it with "go generate" in internal/kernels.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/mmcloughlin/avo/build"
)

// generators holds what -what may ask for; each file adds its own in init.
var generators = map[string]func(){}

func main() {
	what := flag.String("what", "", "which kernels to write")
	flag.Parse()
	generate, ok := generators[*what]
	if !ok {
		fmt.Fprintf(os.Stderr, "gen: -what %q: want one of %q\n", *what, slices.Sorted(maps.Keys(generators)))
		os.Exit(2)
	}
	build.ConstraintExpr("amd64,!purego")
	generate()
	build.Generate()
}
