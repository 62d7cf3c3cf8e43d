package cli

import (
	"fmt"
	"strings"

	"github.com/xrash/smetrics"
)

// oneOf says what a name may be, and which of them is nearest to what was given.
func oneOf(name string, allowed []string) string {
	want := "want " + strings.Join(allowed, ", ")
	if len(allowed) > 1 {
		want = "want one of " + strings.Join(allowed, ", ")
	}
	if near := nearest(name, allowed); near != "" {
		want += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return want
}

// nearest returns the name that takes the fewest edits to get to, "" if none is near: a misspelling has about one
// mistake in three letters at most.
func nearest(name string, allowed []string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	best, fewest := "", max(1, len(name)/3)+1
	for _, a := range allowed {
		if d := smetrics.WagnerFischer(name, a, 1, 1, 1); d < fewest {
			best, fewest = a, d
		}
	}
	return best
}
