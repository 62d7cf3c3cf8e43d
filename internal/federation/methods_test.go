package federation

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/rng"
	"fedbayes/priors"
)

// This file is the suite that every method owes: it ranges over algorithms.All, so that a new method meets it unasked.

// mixed are the sizes of seven clients, some below a batch, one without examples.
var mixed = []int{9, 4, 1, 0, 7, 12, 5}

func TestSameForAnyNumberOfWorkers(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.EvalEvery = 5, 2
		var want string
		for _, workers := range []int{1, 2, 3, 6, 1} { // the last is the repetition
			cfg.Workers = workers
			s, d, _ := play(t, cfg, make(), toys(mixed...))
			if got := []int{2, 4, 5}; len(d.evals) != 3 || d.evals[0].Round != got[0] || d.evals[2].Round != got[2] {
				t.Fatalf("evaluated %d times, want after rounds %v", len(d.evals), got)
			}
			got := spellRun(s, d)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%d workers differ from one in %s", workers, difference(got, want))
			}
		}
	})
}

// difference returns the first lines that differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: %q, want %q", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("length: %d lines, want %d", len(g), len(w))
}

func TestSeedsDiffer(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		seen := map[string]uint64{}
		for _, seed := range []uint64{1, 2, 1 + 1<<32} {
			cfg := config()
			cfg.Rounds, cfg.PerRound, cfg.Seed = 1, len(mixed), seed
			s, d, _ := play(t, cfg, make(), toys(mixed...))
			for what, v := range map[string]string{
				"evaluation": spell(d.evals[0].Clients), "server": spell(s.server), "client": spell(s.clients[0]),
			} {
				if empty := v == spell(algorithms.None{}); empty {
					continue // a client that keeps nothing
				}
				if other, ok := seen[what+v]; ok {
					t.Errorf("seeds %d and %d give the same %s", other, seed, what)
				}
				seen[what+v] = seed
			}
		}
	})
}

// TestAddresses gives all clients the same examples: what they draw must be their own, and the round's.
func TestAddresses(t *testing.T) {
	clients := toys(12, 12, 12, 12)
	for i := range clients {
		clients[i].Train = clients[0].Train
	}
	cfg := config()
	cfg.PerRound = len(clients)
	t.Run("training", func(t *testing.T) {
		seen := map[rng.Stream]bool{}
		s := watch(method(t, "fedavg", "", nil))
		s.after = func(r rng.Stream) { seen[r] = true }
		play(t, cfg, s, clients)
		for round := 1; round <= cfg.Rounds; round++ {
			for i := range clients {
				if !seen[rng.Stream{Seed: cfg.Seed, Round: round, Client: i}] {
					t.Errorf("round %d: client %d was not given its address", round, i)
				}
			}
		}
	})
	t.Run("order of examples", func(t *testing.T) {
		s, _, _ := play(t, cfg, method(t, "fedavg", "", nil), clients) // nothing else is random in it
		distinct(t, "uploads", s.ups[0][0].Msg, s.ups[0][1].Msg, s.ups[0][2].Msg, s.ups[0][3].Msg)
	})
	t.Run("start", func(t *testing.T) {
		cfg := cfg
		cfg.LocalSteps = 0 // so that states stay what they were
		s, _, _ := play(t, cfg, method(t, "pfedbayes", "", map[string]any{"start": "independent"}), clients)
		distinct(t, "starts", append(s.clients, algorithms.PFedBayesState{Q: *s.server.(*priors.Gaussian)})...)
	})
}

func distinct(t *testing.T, what string, of ...any) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range of {
		seen[spell(v)] = true
	}
	if len(seen) != len(of) {
		t.Errorf("%d different %s, want %d", len(seen), what, len(of))
	}
}

// TestUploadsInOrder lets the clients finish in descending order.
func TestUploadsInOrder(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.PerRound, cfg.Workers = 1, 5, 5
		clients := toys(4, 5, 6, 7, 8)
		want, _, _ := play(t, cfg, make(), clients)

		s := watch(make())
		done := makeChans(len(clients) + 1)
		close(done[len(clients)])
		s.before = func(client int) { <-done[client+1] }
		s.after = func(r rng.Stream) { close(done[r.Client]) }
		play(t, cfg, s, clients)

		var ids []int
		for _, u := range s.ups[0] {
			ids = append(ids, u.Client)
			if n := clients[u.Client].Train.Len(); u.Examples != n {
				t.Errorf("upload of client %d has the weight of %d examples, want %d", u.Client, u.Examples, n)
			}
		}
		if !slices.Equal(ids, []int{0, 1, 2, 3, 4}) {
			t.Errorf("uploads of clients %v, want 0 … 4 in order", ids)
		}
		if got, want := spell(s.server), spell(want.server); got != want {
			t.Error("the server depends on who finishes first: " + difference(got, want))
		}
	})
}

func makeChans(n int) []chan struct{} {
	c := make([]chan struct{}, n)
	for i := range c {
		c[i] = make(chan struct{})
	}
	return c
}

// TestFinite checks every number of a run's evaluations and states.
func TestFinite(t *testing.T) {
	eachMethod(t, func(t *testing.T, name string, make func() algorithms.Algorithm) {
		cfg := config()
		s, d, res := play(t, cfg, make(), toys(mixed...))
		for _, state := range []any{s.server, s.clients} {
			if text := spell(state); strings.Contains(text, "(NaN)") || strings.Contains(text, "Inf)") {
				t.Errorf("a state is not finite: %.200s", text)
			}
		}
		for _, e := range d.evals {
			if math.IsNaN(e.Loss) || e.Loss <= 0 {
				t.Errorf("round %d: loss %v", e.Round, e.Loss)
			}
			bayesian := strings.HasPrefix(name, "pfedbayes") || strings.HasPrefix(name, "fedhb-niw") || strings.HasPrefix(name, "virtual")
			if math.IsNaN(e.KL) == bayesian || e.KL < 0 {
				t.Errorf("round %d: divergence %v", e.Round, e.KL)
			}
			for _, p := range []*Pooled{e.Personal, e.Global} {
				if p != nil && (p.N != 38+3*len(mixed) || !(p.NLL > 0) || !(p.ECE >= 0) || !(p.Clients.Worst >= 0)) {
					t.Errorf("round %d: pooled scores %+v", e.Round, *p)
				}
			}
		}
		if res.Last == nil || spell(*res.Last) != spell(d.evals[len(d.evals)-1]) {
			t.Error("the result is not the last evaluation")
		}
	})
}

// TestBytes holds the counters against the formulas: d values down and up for a point, 2d for a Gaussian, of 4 bytes
// each, for every client that trains and every client that is sampled. A method without a row here fails.
func TestBytes(t *testing.T) {
	const rounds, sampled, able = 4, 3, 6      // of mixed, one client is empty
	const gate = dim*64 + 64 + 64*2 + 2        // a network between two prototypes
	const below = size - (5*classes + classes) // without the last layer
	tests := []struct {
		name, preset string
		set          map[string]any
		down, up     int // values a message
		trains       int // clients a round
	}{
		{"pfedbayes", "paper", nil, 2 * size, 2 * size, able},
		{"pfedbayes", "paper", map[string]any{"train-all": false}, 2 * size, 2 * size, sampled},
		{"pfedbayes", "paper", map[string]any{"server": "closed-form"}, 2 * size, 2 * size, able},
		{"pfedbayes", "code", nil, 2 * size, 2 * size, sampled},
		{"pfedbayes", "code", map[string]any{"train-all": true}, 2 * size, 2 * size, able},
		{"pfedbayes", "conv", nil, 2 * size, 2 * size, able},
		{"fedavg", "paper", nil, size, size, sampled},
		{"fedavg", "lstm", nil, size, size, sampled},
		{"fedprox", "paper", nil, size, size, sampled},
		{"fedprox", "lstm", nil, size, size, sampled},
		{"fedamp", "paper", nil, size + 1, size, sampled}, // and α
		{"heurfedamp", "paper", nil, size + 1, size, sampled},
		{"perfedavg", "paper", nil, size, size, sampled},
		{"perfedavg", "paper", map[string]any{"hessian": "free"}, size, size, sampled},
		{"pfedme", "paper", nil, size, size, able},
		{"pfedme", "paper", map[string]any{"train-all": false}, size, size, sampled},
		{"pfedme", "conv", nil, size, size, able},
		{"ditto", "paper", nil, size, size, sampled},
		{"ditto", "paper", map[string]any{"train-all": true}, size, size, able},
		{"bnfed", "paper", nil, size, size + classes, sampled}, // and the examples of each label
		{"pfedgp", "paper", nil, below, below, sampled},
		{"pfedgp", "code", nil, below, below, sampled},
		{"fedhb-mix", "paper", nil, 2*size + gate, size + gate, sampled},
		{"fedhb-mix", "paper", map[string]any{"gate": "client"}, 2 * size, size, sampled},
		{"fedhb-mix", "paper", map[string]any{"prototypes": 5, "gate": "entropy"}, 5 * size, size, sampled},
		{"fedhb-mix", "paper", map[string]any{"prototypes": 1}, size, size, sampled},
		{"fedhb-niw", "paper", nil, 2*size + 4, size, sampled}, // and l0 and n0 as float64
		{"virtual", "paper", nil, 2 * size, 2 * size, sampled},
		{"virtual", "code", nil, 2 * size, 2 * size, sampled},
		{"virtual", "lstm", nil, 2 * size, 2 * size, sampled},
		{"local", "paper", nil, 0, 0, able},
	}
	covered := map[string]bool{}
	for _, tt := range tests {
		covered[tt.name+"/"+tt.preset] = true
		t.Run(fmt.Sprint(tt.name, "/", tt.preset, tt.set), func(t *testing.T) {
			cfg := config()
			cfg.Rounds, cfg.PerRound = rounds, sampled
			s, d, _ := play(t, cfg, method(t, tt.name, tt.preset, tt.set), toys(mixed...))
			for i, e := range d.evals {
				down, up := int64(4*tt.down*tt.trains*(i+1)), int64(4*tt.up*sampled*(i+1))
				if e.BytesDown != down || e.BytesUp != up {
					t.Errorf("round %d: %d bytes down and %d up, want %d and %d", i+1, e.BytesDown, e.BytesUp, down, up)
				}
			}
			n := 0
			for _, rounds := range s.trained {
				n += rounds
			}
			if n != tt.trains*rounds {
				t.Errorf("%d clients trained in %d rounds, want %d a round", n, rounds, tt.trains)
			}
			for _, ups := range s.ups {
				if len(ups) != sampled {
					t.Errorf("%d uploads in a round, want %d", len(ups), sampled)
				}
			}
		})
	}
	eachMethod(t, func(t *testing.T, name string, _ func() algorithms.Algorithm) {
		if !covered[name] {
			t.Errorf("no row says what %s sends", name)
		}
	})
}

// TestModels says which methods have which models.
func TestModels(t *testing.T) {
	want := map[string][2]bool{
		"fedamp/paper": {true, false}, "heurfedamp/paper": {true, false},
		"pfedbayes/paper": {true, true}, "pfedbayes/code": {true, true}, "pfedbayes/conv": {true, true},
		"pfedme/paper": {true, true}, "pfedme/conv": {true, true}, "ditto/paper": {true, true}, "perfedavg/paper": {true, true},
		"virtual/paper": {true, true}, "virtual/code": {true, true}, "virtual/lstm": {true, true},
		"fedavg/paper": {false, true}, "fedavg/lstm": {false, true},
		"fedprox/paper": {false, true}, "fedprox/lstm": {false, true}, "local/paper": {true, false}, "pfedgp/paper": {true, false}, "pfedgp/code": {true, false}, "bnfed/paper": {false, true},
		"fedhb-niw/paper": {true, true}, "fedhb-mix/paper": {true, true},
	}
	eachMethod(t, func(t *testing.T, name string, make func() algorithms.Algorithm) {
		_, d, _ := play(t, config(), make(), toys(mixed...))
		e := d.evals[0]
		if got := [2]bool{e.Personal != nil, e.Global != nil}; got != want[name] {
			t.Errorf("has pooled scores of a personal and a global model: %v, want %v", got, want[name])
		}
		for _, c := range e.Clients {
			if got := [2]bool{c.Personal != nil, c.Global != nil}; got != want[name] {
				t.Errorf("client %d has scores of a personal and a global model: %v, want %v", c.Client, got, want[name])
			}
		}
	})
}
