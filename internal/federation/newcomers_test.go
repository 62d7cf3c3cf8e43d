package federation

import (
	"context"
	"math"
	"strings"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/metrics"
)

// open says whether a method of the suite fits models to newcomers.
func open(name string) bool {
	for _, e := range algorithms.All() {
		if strings.HasPrefix(name, e.Name+"/") {
			return e.Closed == ""
		}
	}
	return false
}

// TestNewcomers: clients that take no part change nothing for those that do, and get models at the end that depend neither
// on the number of workers nor on whether the run was restored.
func TestNewcomers(t *testing.T) {
	eachMethod(t, func(t *testing.T, name string, make func() algorithms.Algorithm) {
		if !open(name) {
			t.Skip("it takes no newcomers")
		}
		all := toys(append(mixed[:len(mixed):len(mixed)], 8, 1)...)
		clients, newcomers := all[:len(mixed)], all[len(mixed):]
		s, d, _ := play(t, config(), make(), clients)
		alone := spellRun(s, d)

		cfg, kept := config(), &shelf{}
		cfg.Newcomers, cfg.NewcomerSteps, cfg.Keeper, cfg.KeepEvery = newcomers, 4, kept, 100
		var want string
		for _, workers := range []int{1, 3} {
			cfg.Workers = workers
			s, d, res := play(t, cfg, make(), clients)
			if got := spellRun(s, d); got != alone {
				t.Errorf("%d workers: newcomers change the run in %s", workers, difference(got, alone))
			}
			if len(res.Newcomers) != 2 {
				t.Fatalf("%d newcomers, want 2", len(res.Newcomers))
			}
			for k, n := range res.Newcomers {
				if n.Client != len(mixed)+k || n.Train != newcomers[k].Train.Len() || n.After.N != newcomers[k].Test.Len() {
					t.Errorf("newcomer %d is %+v", k, n)
				}
				for _, r := range []metrics.Report{n.Before, n.After} {
					if math.IsNaN(r.NLL) || r.Accuracy < 0 || r.Accuracy > 1 {
						t.Errorf("newcomer %d has scores %+v", k, r)
					}
				}
			}
			got := spellReports(res.Newcomers)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%d workers differ in %s", workers, difference(got, want))
			}
		}

		kept.restore = cfg.Rounds
		trained, err := Restore(config(), kept, make(), network(t), clients)
		if err != nil {
			t.Fatal(err)
		}
		server := spell(trained.run.server)
		for range 2 { // the first has changed nothing for the second
			again, err := trained.Receive(context.Background(), newcomers, 4, cfg.MC)
			if err != nil {
				t.Fatal(err)
			}
			if got := spellReports(again); got != want {
				t.Errorf("restored, it differs in %s", difference(got, want))
			}
		}
		if spell(trained.run.server) != server {
			t.Error("newcomers changed the server")
		}
	})
}

// spellReports writes what newcomers come out as, but for their models.
func spellReports(all []Newcomer) string {
	var b strings.Builder
	for _, n := range all {
		n.Model = nil
		b.WriteString(spell(n))
	}
	return b.String()
}

// TestNewcomerBegins: without a step, the model is where the server is.
func TestNewcomerBegins(t *testing.T) {
	for _, name := range []string{"pfedbayes", "fedavg", "fedprox", "perfedavg", "pfedme", "ditto"} {
		cfg, clients := config(), toys(9, 4, 7, 8)
		cfg.MC, cfg.Newcomers, cfg.NewcomerSteps = 0, clients[3:], 0
		var set map[string]any
		if name == "pfedbayes" {
			set = map[string]any{"start": "independent"} // which is for those that are there from the first round
		}
		_, _, res := play(t, cfg, method(t, name, "", set), clients[:3])
		if n := res.Newcomers[0]; spell(n.Before) != spell(n.After) {
			t.Errorf("%s: before %+v, after no step %+v", name, n.Before, n.After)
		}
		cfg.NewcomerSteps = 30
		_, _, res = play(t, cfg, method(t, name, "", set), clients[:3])
		if n := res.Newcomers[0]; n.After.NLL == n.Before.NLL {
			t.Errorf("%s: before and after 30 steps the NLL is %v", name, n.After.NLL)
		}
	}
}

// TestNobodyToReceive: a run without newcomers is over with its last evaluation, whatever its context does then.
func TestNobodyToReceive(t *testing.T) {
	cfg := config()
	ctx, cancel := context.WithCancel(context.Background())
	d := &diary{onEval: func(e Evaluation) error {
		if e.Round == cfg.Rounds {
			cancel()
		}
		return nil
	}}
	if _, err := Run(ctx, cfg, method(t, "pfedbayes", "", nil), network(t), toys(9, 4), d); err != nil {
		t.Errorf("the context ended after the last evaluation: %v", err)
	}
}
