package federation

import (
	"context"
	"fmt"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/metrics"
)

// lopsided returns four clients of 12 training and 15 test examples that trained on one or two of the three classes.
func lopsided() []datasets.Client {
	clients := toys(12, 12, 12, 12)
	for i := range clients {
		y := clients[i].Train.Y
		for k := range y {
			y[k] = float32((i + k%2) % classes)
			if i == 3 {
				y[k] = 0
			}
		}
	}
	return clients
}

func examined(t *testing.T, m algorithms.Algorithm, clients []datasets.Client, workers int) (Examination, Result) {
	t.Helper()
	cfg, kept := config(), &shelf{}
	cfg.Keeper, cfg.KeepEvery = kept, 100
	_, _, res := play(t, cfg, m, clients)
	kept.restore, cfg.Workers = cfg.Rounds, workers
	trained, err := Restore(cfg, kept, m, network(t), clients)
	if err != nil {
		t.Fatal(err)
	}
	e, err := trained.Examine(context.Background(), cfg.MC)
	if err != nil {
		t.Fatal(err)
	}
	return e, res
}

// TestExamined: an examination agrees with the evaluation of the same models, for any number of workers.
func TestExamined(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		e, res := examined(t, make(), lopsided(), 1)
		if others, _ := examined(t, make(), lopsided(), 3); spell(others) != spell(e) {
			t.Errorf("three workers differ from one in %s", difference(spell(others), spell(e)))
		}
		for _, m := range []struct {
			name   string
			pooled *Pooled
			sights []Sight
		}{{"personal", res.Last.Personal, e.Personal}, {"global", res.Last.Global, e.Global}} {
			if (m.pooled == nil) != (m.sights == nil) {
				t.Fatalf("%s: pooled %v, examined %v", m.name, m.pooled, m.sights)
			}
			if m.pooled == nil {
				continue
			}
			var all metrics.Stat
			right := 0
			for _, s := range m.sights {
				all.Merge(s.Stat)
				for _, v := range s.Own {
					if v.Right() {
						right++
					}
				}
			}
			if spell(all.Report()) != spell(m.pooled.Report) || right != all.Correct {
				t.Errorf("%s: %+v with %d right, want %+v", m.name, all, right, m.pooled.Report)
			}
		}
	})
}

// TestForeign finds the foreign examples by hand.
func TestForeign(t *testing.T) {
	clients := lopsided()
	e, _ := examined(t, method(t, "pfedbayes", "", nil), clients, 2)
	for i, s := range e.Personal {
		known := map[float32]bool{}
		for _, y := range clients[i].Train.Y {
			known[y] = true
		}
		if want := []int{2, 2, 2, 1}[i]; len(known) != want {
			t.Fatalf("client %d trained on %d classes, want %d", i, len(known), want)
		}
		foreign := map[[2]int]bool{}
		for j := range clients {
			for k, y := range clients[j].Test.Y {
				if j != i && !known[y] {
					foreign[[2]int{j, k}] = true
				}
			}
		}
		if s.Others != len(foreign) || len(s.Foreign) != min(len(foreign), 15) {
			t.Errorf("client %d is shown %d of %d, want at most 15 of %d", i, len(s.Foreign), s.Others, len(foreign))
		}
		for _, v := range s.Foreign {
			at := [2]int{v.Owner, v.Example}
			if !foreign[at] || v.Client != i || float32(v.Label) != clients[v.Owner].Test.Y[v.Example] || v.Confidence == 0 {
				t.Errorf("client %d is shown %+v, which is not foreign, or twice", i, v)
			}
			delete(foreign, at)
		}
	}
	clients[0].Group, clients[1].Group = 1, 1
	groups, _ := examined(t, method(t, "pfedbayes", "", nil), clients, 2)
	for _, v := range groups.Personal[0].Foreign {
		if v.Owner != 1 {
			t.Errorf("client 0 is shown an example of client %d, who labels otherwise", v.Owner)
		}
	}
	if spell(e.Personal[0].Foreign) == spell(e.Personal[1].Foreign) {
		t.Error("two clients are shown the same")
	}
	for _, s := range e.Global {
		if s.Foreign != nil {
			t.Error("nothing is foreign to the global model")
		}
	}
}

// TestPredicted: a prediction for a client's test examples is what the examination says of them.
func TestPredicted(t *testing.T) {
	clients, kept, cfg := lopsided(), &shelf{}, config()
	cfg.Keeper, cfg.KeepEvery = kept, 100
	m := method(t, "pfedbayes", "", nil)
	play(t, cfg, m, clients)
	kept.restore = cfg.Rounds
	trained, err := Restore(cfg, kept, m, network(t), clients)
	if err != nil {
		t.Fatal(err)
	}
	e, err := trained.Examine(context.Background(), 2)
	if err != nil {
		t.Fatal(err)
	}
	same := func(what string, got []metrics.Prediction, want []Verdict) {
		for k := range want {
			w := want[k].Prediction
			w.NLL = got[k].NLL // without a label there is none
			if g, w := fmt.Sprint(got[k]), fmt.Sprint(w); g != w || len(got) != len(want) {
				t.Errorf("%s: example %d is %s, want %s", what, k, g, w)
			}
		}
	}
	same("personal", trained.PredictPersonal(2, clients[2].Test.X, 2), e.Personal[2].Own)
	same("global", trained.PredictGlobal(clients[2].Test.X, 2), e.Global[2].Own)
}
