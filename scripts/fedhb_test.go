package scripts_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestFedHB runs FedHB's comparisons at a size that takes no time: each CSV has a row for each method of it.
func TestFedHB(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil || testing.Short() {
		t.Skip("needs a shell, and time to build the program")
	}
	for line, files := range map[string]map[string][]string{
		"fedhb_cifar10.sh 2 -- " + tiny: {
			"fedhb_cifar10.csv":           {"prior-weight", "1"},
			"fedhb_cifar10_finetuned.csv": {"prior-weight", "0"},
		},
		"fedhb_mnist.sh 2 -- " + tiny: {
			"fedhb_mnist.csv":      {"algo", "fedhb-niw", "fedavg"},
			"fedhb_finetuned.csv":  {"keep-prob", "1"},
			"fedhb_prototypes.csv": {"prototypes", "1", "2", "5"},
			"fedhb_groups.csv":     {"prototypes", "1", "2", "5"},
		},
	} {
		dir := t.TempDir()
		if out, status := script(dir, line); status != 0 {
			t.Errorf("%s: status %d:\n%s", line, status, out)
			continue
		}
		for name, want := range files {
			var got []string
			for _, row := range read(t, filepath.Join(dir, name)) {
				first, _, _ := strings.Cut(row, ",")
				got = append(got, first)
			}
			if strings.Join(got, " ") != strings.Join(want, " ") {
				t.Errorf("%s: first column %v, want %v", name, got, want)
			}
		}
	}
}
