package algorithms

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// TestEntries checks what the command line relies on: names, presets and defaults that are in range.
func TestEntries(t *testing.T) {
	var names []string
	for _, e := range All() {
		if slices.Contains(names, e.Name) || e.Name == "" || e.About == "" || e.Paper == "" || len(e.Presets) == 0 {
			t.Errorf("entry %+v: a field is empty, or the name is taken", e)
		}
		names = append(names, e.Name)
		for _, p := range e.Presets {
			m, err := New(e.Name, p.Name)
			if err != nil {
				t.Fatal(err)
			}
			if err := m.Check(); err != nil {
				t.Errorf("%s, preset %s: the defaults are refused: %v", e.Name, p.Name, err)
			}
			var flags []string
			for _, f := range m.Params() {
				if slices.Contains(flags, f.Name) || f.Usage == "" {
					t.Errorf("%s: flag %s: declared twice, or without usage", e.Name, f.Name)
				}
				flags = append(flags, f.Name)
			}
		}
	}
}

// TestDefault checks that a model's preset comes with its name, and the first with any other.
func TestDefault(t *testing.T) {
	e := Entry{Presets: []Preset{
		{Name: "paper"},
		{Name: "conv", Models: []string{"vgg", "convnet"}},
		{Name: "mnist", Models: []string{"mlp", "mlp2"}, Data: []string{"mnist", "fashion-mnist"}},
	}}
	for _, tt := range []struct{ model, dataset, want string }{
		{"mlp", "cifar10", "paper"}, {"vgg", "cifar10", "conv"}, {"vgg:16,M", "mnist", "conv"}, {"convnet", "fashion-mnist", "conv"},
		{"mlp", "mnist", "mnist"}, {"mlp2:9,9", "fashion-mnist", "mnist"}, {"mlp", "mnist-sample", "mnist"},
	} {
		if got := e.Default(tt.model, tt.dataset).Name; got != tt.want {
			t.Errorf("%s on %s: preset %s, want %s", tt.model, tt.dataset, got, tt.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, tt := range []struct{ name, preset, want string }{
		{"pfedbays", "", `--algo "pfedbays": want one of pfedbayes, fedavg`},
		{"fedavg", "code", `--preset "code": want one of paper, lstm, mnist, fashion-mnist for fedavg`},
	} {
		if _, err := New(tt.name, tt.preset); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%q, %q): %v, want %q in it", tt.name, tt.preset, err, tt.want)
		}
	}
}

func TestParamCheck(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	whole := func(v int) *int { return &v }
	text := func(v string) *string { return &v }
	for _, tt := range []struct {
		p    Param
		want string
	}{
		{Param{Name: "zeta", Value: number(0), Max: inf}, ""},
		{Param{Name: "zeta", Value: number(-1), Max: inf}, "--zeta -1: want a number ≥ 0"},
		{Param{Name: "zeta", Value: number(math.NaN()), Max: inf}, "--zeta NaN: want a number ≥ 0"},
		{Param{Name: "zeta", Value: number(math.Inf(1)), Max: inf}, "--zeta +Inf: want a number ≥ 0"},
		{Param{Name: "lr", Value: number(0), Open: true, Max: inf}, "--lr 0: want a number > 0"},
		{Param{Name: "beta", Value: number(3), Max: 2}, "--beta 3: want a number ≥ 0 and ≤ 2"},
		{Param{Name: "samples", Value: whole(0), Min: 1, Max: 64}, "--samples 0: want a whole number ≥ 1 and ≤ 64"},
		{Param{Name: "server", Value: text("mean"), OneOf: []string{"a", "b"}}, `--server "mean": want one of a, b`},
		{Param{Name: "server", Value: text("b"), OneOf: []string{"a", "b"}}, ""},
		{Param{Name: "on", Value: new(bool)}, ""},
	} {
		got := ""
		if err := tt.p.Check(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestIdle covers settings that are each in range but do nothing beside the others.
func TestIdle(t *testing.T) {
	closed, adam := NewPFedBayesCode(), NewFedAvg()
	closed.Rule = "closed-form"
	adam.Optimizer = "adam"
	fixed, apart := NewPerFedAvg(), NewPFedMe()
	fixed.InnerLR, apart.Lambda = 0, 0
	loose := NewFedHBNIW()
	loose.PriorWeight, loose.GM = 0, "student-t"
	one, sure := NewFedHBMix(), NewFedHBMix()
	one.Prototypes, sure.Gate = 1, "entropy"
	for _, tt := range []struct {
		m    Algorithm
		want []string
	}{
		{erase(NewFedHBMix()), []string{"gate-temper"}},
		{erase(one), []string{"gate-epochs", "gate-lr", "gate-temper", "temper"}},
		{erase(sure), []string{"gate-epochs", "gate-lr"}},
		{erase(loose), []string{"niw"}},
		{erase(NewFedHBNIW()), []string{"temperature"}},
		{erase(closed), []string{"lr-global", "momentum", "optimizer-state", "update-order", "weight-decay"}},
		{erase(NewPFedBayes()), []string{"momentum", "weight-decay"}},
		{erase(adam), []string{"momentum", "weight-decay"}},
		{erase(fixed), []string{"adapt-steps", "hessian"}},
		{erase(apart), []string{"beta", "lr-global", "weighting"}},
		{erase(NewPFedGPCode()), []string{"sweeps"}},
		{erase(NewPFedGP()), []string{"chains", "gibbs-eval-steps", "gibbs-steps"}},
		{erase(NewPerFedAvg()), nil},
		{erase(NewPFedMe()), nil},
		{erase(NewFedAvg()), nil},
		{erase(NewLocal()), nil},
	} {
		got := slices.Sorted(maps.Keys(tt.m.Idle()))
		if !slices.Equal(got, tt.want) {
			t.Errorf("idle: %v, want %v", got, tt.want)
		}
	}
}
