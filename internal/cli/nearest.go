package cli

import (
	"fmt"
	"strings"

	"github.com/xrash/smetrics"
)

// oneOf says what a name may be, and which of them is nearest to what was given.
func oneOf(name string, allowed []string) string {
	if len(allowed) == 1 {
		return "want " + allowed[0]
	}
	want := "want one of " + strings.Join(allowed, ", ")
	if near := nearest(name, allowed); near != "" {
		want += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return want
}

// nearest returns the name that takes the fewest edits to get to, two neighbouring letters exchanged counting as one; ""
// if none is near: a misspelling has about one mistake in three letters at most.
func nearest(name string, allowed []string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	best, fewest := "", max(1, len(name)/3)+1
	for _, a := range allowed {
		if d := edits(name, a); d < fewest {
			best, fewest = a, d
		}
	}
	return best
}

// edits returns the number of edits between two names, one exchange at most among them.
func edits(a, b string) int {
	d := smetrics.WagnerFischer(a, b, 1, 1, 1)
	for i := 1; i < len(a); i++ {
		swapped := a[:i-1] + a[i:i+1] + a[i-1:i] + a[i+1:]
		d = min(d, 1+smetrics.WagnerFischer(swapped, b, 1, 1, 1))
	}
	return d
}
