package federation

import (
	"context"
	"slices"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/metrics"
	"fedbayes/internal/rng"
)

// A Verdict is what a model says of a test example.
type Verdict struct {
	metrics.Prediction
	Client  int // whose personal model it is; for the global one the owner
	Owner   int // whose test example it is
	Example int // its number among them
	Label   int
}

// Right reports whether the class is the label.
func (v Verdict) Right() bool { return v.Class == v.Label }

// A Sight is how a client's model, or the global one on a client's examples, sees them.
type Sight struct {
	Client  int
	Stat    metrics.Stat // over Own
	Own     []Verdict    // of its own test examples
	Foreign []Verdict    // of others' that are of classes that the client never trained on; none for the global model
	Others  int          // foreign examples that there are, from which Foreign are drawn
}

// An Examination is what the models of a run say of test examples, by client. Personal or Global is nil where the method
// has no such model.
type Examination struct {
	MC               int
	Personal, Global []Sight
}

// Examine scores the models with mc draws of the weights, as an evaluation does, and keeps what they say of each example.
//
// A personal model also sees foreign examples: those in the test sets of other clients whose class is not among its own
// client's training examples. Where there are more of them than the client has test examples, so many are drawn of them.
func (t *Trained) Examine(ctx context.Context, mc int) (Examination, error) {
	r, n := t.run, len(t.run.clients)
	personal, global := make([]Sight, n), make([]Sight, n)
	root := r.root.For(rng.Eval)
	err := r.each(ctx, n, func(w *worker, i int) error {
		if p := r.global(i); p != nil {
			global[i] = r.look(w, p, i, mc, root.At(r.done, 0))
		}
		if p := t.Personal(i); p != nil {
			personal[i] = r.look(w, p, i, mc, root.At(r.done, i+1))
			r.lookAround(w, p, &personal[i], mc, root.At(r.done, i+1))
		}
		return nil
	})
	if err != nil {
		return Examination{}, err
	}
	e := Examination{MC: mc}
	if t.Personal(0) != nil {
		e.Personal = personal
	}
	if t.Global() != nil {
		e.Global = global
	}
	return e, nil
}

// look scores a model on a client's test examples.
func (r *run) look(w *worker, p algorithms.Predictor, client, mc int, at rng.Stream) Sight {
	test := &r.clients[client].Test
	s := Sight{Client: client}
	logp := w.members(p, test.X, mc, at)
	s.Stat.Add(logp, max(mc, 1), test.Len(), r.task.Net.Classes, test.Y)
	for k, v := range metrics.Predictions(logp, max(mc, 1), test.Len(), r.task.Net.Classes, test.Y) {
		s.Own = append(s.Own, Verdict{v, client, client, k, int(test.Y[k])})
	}
	return s
}

// lookAround shows a client's model foreign examples.
func (r *run) lookAround(w *worker, p algorithms.Predictor, s *Sight, mc int, at rng.Stream) {
	all := r.foreign(s.Client)
	s.Others = len(all)
	if n := len(s.Own); len(all) > n {
		chosen := r.root.For(rng.Foreign).At(0, s.Client).Rand().Perm(len(all))[:n]
		slices.Sort(chosen)
		for k, j := range chosen {
			all[k] = all[j]
		}
		all = all[:n]
	}
	x, y := make([]float32, 0, len(all)*r.task.Net.In), make([]float32, 0, len(all))
	for _, v := range all {
		test := &r.clients[v.Owner].Test
		x = append(x, test.X[v.Example*test.Dim:(v.Example+1)*test.Dim]...)
		y = append(y, test.Y[v.Example])
	}
	for k, v := range w.predictions(p, x, y, mc, at) {
		all[k].Prediction = v
	}
	s.Foreign = all
}

// foreign lists the test examples of other clients, in order, that are of classes the client never trained on. Those of
// clients who label otherwise are left out: their labels do not say whether it did.
func (r *run) foreign(client int) []Verdict {
	known := classesOf(&r.clients[client].Train, r.task.Net.Classes)
	var all []Verdict
	for j := range r.clients {
		if j == client || r.clients[j].Group != r.clients[client].Group {
			continue
		}
		for k, label := range r.clients[j].Test.Y {
			if !known[int(label)] {
				all = append(all, Verdict{Client: client, Owner: j, Example: k, Label: int(label)})
			}
		}
	}
	return all
}

// classesOf says which classes there are examples of.
func classesOf(of *datasets.Examples, classes int) []bool {
	known := make([]bool, classes)
	for _, label := range of.Y {
		known[int(label)] = true
	}
	return known
}
