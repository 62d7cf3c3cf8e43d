package federation

import (
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/state"
)

// TestModelTensors: a newcomer's model that is its weights predicts the same from its tensors; others have none.
func TestModelTensors(t *testing.T) {
	all := toys(9, 4, 7, 8)
	cfg, net := config(), network(t)
	cfg.Newcomers, cfg.NewcomerSteps = all[3:], 2
	for name, kind := range map[string]string{"pfedbayes": "gaussian", "fedavg": "point", "perfedavg": "point", "fedamp": "point", "fedhb-niw": "dropout", "pfedgp": ""} {
		_, _, res := play(t, cfg, method(t, name, "", nil), all[:3])
		model := res.Newcomers[0].Model
		got, tensors := ModelTensors(net, model)
		if got != kind || (len(tensors) == 0) != (kind == "") {
			t.Errorf("%s: %d tensors of a model of kind %q, want %q", name, len(tensors), got, kind)
		}
		if kind == "" {
			continue
		}
		byName := map[string]state.Tensor{}
		for _, tensor := range tensors {
			byName[tensor.Name] = tensor
		}
		from := func(name string) (state.Tensor, bool) { tensor, ok := byName[name]; return tensor, ok }
		back, err := FillModel(net, kind, from)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if spell(predicted(t, back)) != spell(predicted(t, model)) {
			t.Errorf("%s: the model predicts something else from its tensors", name)
		}
		delete(byName, tensors[0].Name)
		if _, err := FillModel(net, kind, from); err == nil {
			t.Errorf("%s without %s: no error", name, tensors[0].Name)
		}
	}
	if _, err := FillModel(net, "forest", nil); err == nil {
		t.Error("a kind that there is not is no error")
	}
}

// predicted returns what a model says of toy examples.
func predicted(t *testing.T, p algorithms.Predictor) any {
	t.Helper()
	all, err := Predict(network(t), p, toys(5)[0].Train.X, 3, 1, config().ISA)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
