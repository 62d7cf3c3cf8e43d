package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
)

// allFlags returns every flag of train.
func allFlags() []algorithms.Param {
	var all []algorithms.Param
	for _, o := range defaults().options() {
		all = append(all, o.Param)
	}
	for _, f := range methodFlags() {
		all = append(all, f.Param)
	}
	return all
}

func TestFlagNamesDiffer(t *testing.T) {
	seen := map[string]bool{"help": true, "h": true}
	for _, p := range allFlags() {
		if seen[p.Name] {
			t.Errorf("--%s is there twice", p.Name)
		}
		seen[p.Name] = true
	}
}

// TestMethodsAgree: a name means one thing, so a flag that several methods share has one type in all of them.
func TestMethodsAgree(t *testing.T) {
	for _, f := range methodFlags() {
		for _, owner := range f.owners {
			e, _ := algo(owner)
			for _, preset := range e.Presets {
				p, ok := find(preset.New().Params(), f.Name)
				if !ok {
					t.Errorf("--%s: preset %s of %s does not have it", f.Name, preset.Name, owner)
					continue
				}
				if got, want := typeName(p), typeName(f.Param); got != want {
					t.Errorf("--%s is a %s in %s, a %s in %s", f.Name, got, owner, want, f.owners[0])
				}
				if err := p.Check(); err != nil {
					t.Errorf("default in preset %s of %s: %v", preset.Name, owner, err)
				}
			}
		}
	}
}

// TestUsageOfShared: a flag that means more than one thing says whose each is, and one that all have names nobody.
func TestUsageOfShared(t *testing.T) {
	for _, f := range methodFlags() {
		got := f.about
		for _, owner := range f.owners {
			e, _ := algo(owner)
			p, _ := find(e.Presets[0].New().Params(), f.Name)
			if !strings.Contains(got, p.Usage) {
				t.Errorf("--%s: %q lacks what it is in %s: %q", f.Name, got, owner, p.Usage)
			}
			_, rest, _ := strings.Cut(got, p.Usage)
			named := strings.Contains(rest, owner)
			if all := got == usageOf(p) && len(f.owners) == len(algorithms.All()); named == all {
				t.Errorf("--%s: %q names %s: %v, want %v", f.Name, got, owner, named, !all)
			}
		}
	}
}

func typeName(p algorithms.Param) string {
	switch p.Value.(type) {
	case *bool:
		return "bool"
	case *int:
		return "int"
	case *float64:
		return "float64"
	}
	return "string"
}

// TestEveryFlagRefuses gives each flag what cannot be its value.
func TestEveryFlagRefuses(t *testing.T) {
	if Raced {
		t.Skip("hundreds of commands, one after the other")
	}
	free := []string{"data-dir", "out", "resume", "tensorboard"} // any text will do
	t.Chdir(t.TempDir())
	for _, p := range allFlags() {
		bad := []string{""}
		switch p.Value.(type) {
		case *float64:
			bad = append(bad, "x", "NaN", "Inf", "-Inf", "1e999", "1 ", "1e39", "1e-60")
		case *int:
			bad = append(bad, "x", "NaN", "1.5", "-1", "1e3", "99999999999999999999")
		case *bool:
			bad = append(bad, "x", "2")
		case *string:
			bad = append(bad, "--quiet", "-x")
			if !slices.Contains(free, p.Name) {
				bad = append(bad, "x")
			}
		}
		args := []string{"fedbayes", "train"}
		for _, kind := range defaults().options() {
			if kind.Name == p.Name && kind.kinds != nil {
				args = append(args, "--partition="+kind.kinds[0])
			}
		}
		for _, f := range methodFlags() {
			if f.Name == p.Name {
				args = append(args, "--algo="+f.owners[0])
			}
		}
		for _, s := range bad {
			var stdout, stderr bytes.Buffer
			status := Main(append(args, "--"+p.Name+"="+s), &stdout, &stderr)
			got := stderr.String()
			if status != statusUsage || stdout.Len() > 0 || strings.Count(got, "\n") != 1 ||
				!strings.HasPrefix(got, "fedbayes: --"+p.Name+" ") || !strings.Contains(got, "want ") {
				t.Errorf("--%s=%s: status %d, stdout %q, stderr %q", p.Name, s, status, stdout.String(), got)
			}
		}
	}
}

// TestBoundsOfAlpha: what the flag allows is what the partition allows.
func TestBoundsOfAlpha(t *testing.T) {
	d, err := datasets.Load("mnist-sample", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range defaults().options() {
		if o.Name != "alpha" {
			continue
		}
		for _, alpha := range []float64{o.Min, o.Max} {
			cfg := datasets.PartitionConfig{Kind: "dirichlet", Clients: 1, Alpha: alpha, MinSamples: 1}
			if _, _, err := datasets.Partition(d, cfg); err != nil {
				t.Errorf("alpha %v: %v", alpha, err)
			}
		}
		for _, alpha := range []float64{o.Min / 2, o.Max * 2} {
			cfg := datasets.PartitionConfig{Kind: "dirichlet", Clients: 1, Alpha: alpha, MinSamples: 1}
			if _, _, err := datasets.Partition(d, cfg); err == nil {
				t.Errorf("alpha %v: the partition takes what the flag refuses", alpha)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"pfedbayes", "fedavg", "local", "mlp"}
	for name, want := range map[string]string{
		"fedavg": "fedavg", "FedAvg": "fedavg", "fedvag": "fedavg", "fedagv": "fedavg", "pfedbays": "pfedbayes",
		"mpl": "mlp", "mlpp": "mlp", "lcoal": "local",
		"": "", "x": "", "gnu": "", "scaffold": "", "fed": "",
	} {
		if got := nearest(name, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

func TestParticipation(t *testing.T) {
	for p, want := range map[float64]int{0: 10, 1: 1, 10: 10, 0.5: 5, 0.3: 3, 0.25: 3, 0.01: 1, 0.99: 10} {
		s := defaults()
		s.Participation = p
		if got, err := s.perRound(); got != want || err != nil {
			t.Errorf("participation %v: %d clients (%v), want %d", p, got, err, want)
		}
	}
}
