package federation

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// The toy problem: examples of 6 values in 3 classes, a network with 5 hidden units.
const (
	dim     = 6
	classes = 3
	batch   = 4
	size    = dim*5 + 5 + 5*classes + classes // parameters of the network
)

func network(t testing.TB) *layers.Model {
	t.Helper()
	net, err := layers.New("mlp:5", []int{dim}, classes)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// examples returns n examples, labels in turn, of noise around a centre of their class.
func examples(r *rand.Rand, n int) datasets.Examples {
	e := datasets.Examples{Dim: dim, X: make([]float32, 0, n*dim), Y: make([]float32, 0, n)}
	for i := range n {
		label := (i + r.IntN(2)) % classes
		for j := range dim {
			x := r.Float32()
			if j%classes == label {
				x++
			}
			e.X = append(e.X, x/2)
		}
		e.Y = append(e.Y, float32(label))
	}
	return e
}

// toys returns clients with these numbers of training examples, and 3 more test examples than that.
func toys(train ...int) []datasets.Client {
	r := rand.New(rand.NewPCG(1, 2))
	var clients []datasets.Client
	for i, n := range train {
		clients = append(clients, datasets.Client{ID: i, Train: examples(r, n), Test: examples(r, n+3)})
	}
	return clients
}

// config returns a short run in which each round samples 3 clients.
func config() Config {
	return Config{Rounds: 3, LocalSteps: 3, Batch: batch, PerRound: 3, EvalEvery: 1, MC: 2, FinalMC: 10, Workers: 2, Seed: 1, ISA: kernels.Best()}
}

// eachMethod runs f for every method and preset there is, but for those of one data set, which are other presets with other
// numbers.
func eachMethod(t *testing.T, f func(t *testing.T, name string, make func() algorithms.Algorithm)) {
	for _, e := range algorithms.All() {
		for _, p := range e.Presets {
			if p.Data != nil {
				continue
			}
			name := e.Name + "/" + p.Name
			t.Run(name, func(t *testing.T) { f(t, name, p.New) })
		}
	}
}

// method returns a method with some of its parameters set.
func method(t *testing.T, name, preset string, set map[string]any) algorithms.Algorithm {
	t.Helper()
	m, err := algorithms.New(name, preset)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, p := range m.Params() {
		if v, ok := set[p.Name]; ok {
			reflect.ValueOf(p.Value).Elem().Set(reflect.ValueOf(v))
			n++
		}
	}
	if n != len(set) {
		t.Fatalf("%s has not all of the parameters %v", name, set)
	}
	return m
}

// A spy is a method whose states and messages can be looked at, while and after it runs.
type spy struct {
	algorithms.Algorithm
	server  any
	clients []any
	born    []string // the clients' states as they were made

	before func(client int)   // called before a client trains, if set
	after  func(r rng.Stream) // called after it trained, one call at a time, if set

	mu      sync.Mutex
	trained map[int]int // rounds by client
	ups     [][]algorithms.Upload[any]
	faults  []string
}

func watch(m algorithms.Algorithm) *spy { return &spy{Algorithm: m, trained: map[int]int{}} }

func (s *spy) Server(task algorithms.Task, cpu *kernels.CPU, r rng.Stream) any {
	s.server = s.Algorithm.Server(task, cpu, r)
	return s.server
}

func (s *spy) Client(task algorithms.Task, cpu *kernels.CPU, server any, r rng.Stream) any {
	c := s.Algorithm.Client(task, cpu, server, r)
	s.clients, s.born = append(s.clients, c), append(s.born, spell(c))
	return c
}

func (s *spy) Train(ctx context.Context, w *algorithms.Worker, d, c any, data *algorithms.Data, r rng.Stream) (any, algorithms.Report, error) {
	if s.before != nil {
		s.before(r.Client)
	}
	got := spell(d)
	u, rep, err := s.Algorithm.Train(ctx, w, d, c, data, r)
	s.mu.Lock()
	defer s.mu.Unlock()
	if spell(d) != got {
		s.faults = append(s.faults, fmt.Sprintf("round %d: client %d: Train changed its download", r.Round, r.Client))
	}
	s.trained[r.Client]++
	if s.after != nil {
		s.after(r)
	}
	return u, rep, err
}

func (s *spy) Aggregate(server any, ups []algorithms.Upload[any]) {
	s.ups = append(s.ups, ups)
	s.Algorithm.Aggregate(server, ups)
}

// A diary is a recorder that keeps what it is told. Its hooks may return an error.
type diary struct {
	rounds []int
	evals  []Evaluation

	onRound func(round int) error
	onEval  func(e Evaluation) error
}

var _ Recorder = (*diary)(nil)

func (d *diary) Round(round int) error {
	d.rounds = append(d.rounds, round)
	if d.onRound != nil {
		return d.onRound(round)
	}
	return nil
}

func (d *diary) Evaluation(e Evaluation) error {
	d.evals = append(d.evals, e)
	if d.onEval != nil {
		return d.onEval(e)
	}
	return nil
}

// play runs m and returns what there was to see. The run must not fail, and m must behave.
func play(t *testing.T, cfg Config, m algorithms.Algorithm, clients []datasets.Client) (*spy, *diary, Result) {
	t.Helper()
	s, ok := m.(*spy)
	if !ok {
		s = watch(m)
	}
	d := new(diary)
	res, err := Run(context.Background(), cfg, s, network(t), clients, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.faults {
		t.Error(f)
	}
	return s, d, res
}

// spell writes the numbers of v, with their bits, so that two values have one spelling if and only if they are equal bit
// for bit; unlike ==, NaN equals itself.
func spell(v any) string { return string(appendSpelling(nil, reflect.ValueOf(v))) }

func appendSpelling(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, "nil\n"...)
		}
		return appendSpelling(b, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			b = fmt.Appendf(b, "%s.%s ", v.Type().Name(), v.Type().Field(i).Name)
			b = appendSpelling(b, v.Field(i))
		}
		return append(b, '\n')
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			b = appendSpelling(b, v.Index(i))
		}
		return append(b, '\n')
	case reflect.Float32, reflect.Float64:
		return fmt.Appendf(b, "%x (%.6g)\n", math.Float64bits(v.Float()), v.Float())
	}
	return fmt.Appendf(b, "%v\n", v)
}

// spellRun writes the evaluations of a run, but for their times, and the states that it left.
func spellRun(s *spy, d *diary) string {
	b := []byte{}
	for _, e := range d.evals {
		e.Training, e.Scoring = 0, 0
		b = append(b, spell(e)...)
	}
	return string(b) + "server\n" + spell(s.server) + "clients\n" + spell(s.clients)
}
