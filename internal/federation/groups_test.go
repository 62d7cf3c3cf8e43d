package federation

import (
	"testing"

	"fedbayes/algorithms"
)

// TestGroups gives every other client labels that are permuted: one network cannot serve both groups, and two find them, by
// the responsibilities of clients. The gate that knows the client makes a global model of them; one that sees images alone,
// which are the same in both groups, does not.
func TestGroups(t *testing.T) {
	clients := toys(30, 30, 30, 30, 30, 30)
	for i := range clients {
		clients[i].Group = i % 2
		for _, y := range [][]float32{clients[i].Train.Y, clients[i].Test.Y} {
			for k := range y {
				y[k] = float32((int(y[k]) + i%2) % classes)
			}
		}
	}
	for _, seed := range []uint64{1, 2, 3} {
		cfg := config()
		cfg.Rounds, cfg.LocalSteps, cfg.PerRound, cfg.EvalEvery, cfg.Seed = 20, 20, len(clients), 20, seed
		gm := map[string]float64{}
		for name, set := range map[string]map[string]any{
			"one":     {"prototypes": 1},
			"client":  {"gate": "client"},
			"network": {"gate": "network"},
		} {
			set["lr"] = 0.5
			if name != "one" {
				set["prototype-spread"] = 0.01
			}
			s, _, res := play(t, cfg, method(t, "fedhb-mix", "", set), clients)
			gm[name] = res.Last.Global.Accuracy
			if name == "one" {
				continue
			}
			first := s.clients[0].(*algorithms.FedHBMixClient).Shares
			for i, c := range s.clients {
				own := c.(*algorithms.FedHBMixClient).Shares
				if same := own[0] > 0.99 == (first[0] > 0.99); same != (i%2 == 0) || max(own[0], own[1]) < 0.99 {
					t.Errorf("seed %d, %s: client %d has responsibilities %v, and client 0 %v", seed, name, i, own, first)
				}
			}
		}
		if gm["client"] < gm["one"]+0.2 || gm["network"] > gm["client"]-0.2 {
			t.Errorf("seed %d: accuracies of the global model %v", seed, gm)
		}
		t.Log(gm)
	}
}
