package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
)

// TestBarFits: no state of the bar is wider than the terminal, which would begin a new line each time.
func TestBarFits(t *testing.T) {
	best := &federation.Pooled{Report: metrics.Report{Accuracy: 1}}
	for _, columns := range []int{34, 40, 60, 70, 75, 80, 120, 300} {
		for _, rounds := range []int{1, 100, 100000} {
			var out bytes.Buffer
			b := newBar(rounds, 0, &out, columns)
			for i := range min(rounds, 100) {
				b.b.Describe("PM 100.0 %  GM 100.0 %")
				if err := b.b.Set(rounds * (i + 1) / min(rounds, 100)); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Evaluation(federation.Evaluation{Personal: best, Global: best}); err != nil {
				t.Fatal(err)
			}
			states := strings.Split(out.String(), "\r")
			if len(states) < 2 {
				t.Fatalf("%d columns: output %q", columns, out.String())
			}
			for _, state := range states {
				if n := utf8.RuneCountInString(strings.TrimRight(state, " ")); n >= columns {
					t.Errorf("%d columns, %d rounds: %d wide: %q", columns, rounds, n, state)
					break
				}
			}
		}
	}
}
