package cli

import (
	"strings"
	"testing"
)

// TestFits: the number of clients that the refusal names fits, and one more does not.
func TestFits(t *testing.T) {
	p := planned(t, map[string]string{"partition": "iid", "clients": "100"})
	data, splits, err := p.load()
	if err != nil {
		t.Fatal(err)
	}
	const client = 4 * floatsBayesian * 79510
	all := uint64(len(data.Pixels)) + 4*uint64(len(data.Pixels))
	for _, test := range []struct {
		memory uint64
		want   string // "" if it fits
	}{
		{0, ""},
		{all + 100*client, ""},
		{all + 100*client - 1, "want at most 99, or a smaller --model"},
		{all + 7*client, "want at most 7, or a smaller --model"},
		{all + client - 1, ": want a smaller --model"},
		{1, ": want a smaller --model"},
	} {
		err := p.fits(data, splits, test.memory)
		if (err == nil) != (test.want == "") || err != nil && (status(err) != statusUsage || !strings.HasSuffix(err.Error(), test.want)) {
			t.Errorf("%d bytes: %v, want %q", test.memory, err, test.want)
		}
	}
}
