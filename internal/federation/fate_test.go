package federation

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/rng"
	"fedbayes/internal/state"
)

// work notes how many mini-batches clients are given, in each round.
type work struct {
	algorithms.Algorithm
	mu    sync.Mutex
	steps map[[2]int]int // by round and client
}

func (w *work) Train(ctx context.Context, worker *algorithms.Worker, d, c any, data *algorithms.Data, r rng.Stream) (any, algorithms.Report, error) {
	w.mu.Lock()
	w.steps[[2]int{r.Round, r.Client}] = data.Steps
	w.mu.Unlock()
	return w.Algorithm.Train(ctx, worker, d, c, data, r)
}

// TestFateIsDrawn: how many drop out and are slow, how many steps the slow ones do, and that one rate does not move the other.
func TestFateIsDrawn(t *testing.T) {
	const rounds, clients, steps = 200, 20, 6
	fates := func(seed uint64, drop, slow float64) map[[2]int]fate {
		r := &run{Config: Config{DropRate: drop, StragglerRate: slow}, root: rng.Stream{Seed: seed}}
		all := map[[2]int]fate{}
		for round := rounds; round > 0; round-- { // in another order than that of a run
			for i := range clients {
				all[[2]int{round, i}] = r.fate(round, i, steps)
			}
		}
		return all
	}
	both := fates(1, 0.3, 0.4)
	dropped := 0
	var counts [steps + 1]float64
	for _, f := range both {
		if f.dropped {
			dropped++
			continue
		}
		counts[f.steps]++
	}
	// Five standard deviations of a binomial, with a fixed seed.
	near := func(got, n, p float64) bool { return math.Abs(got-n*p) < 5*math.Sqrt(n*p*(1-p)) }
	const n = rounds * clients
	if !near(float64(dropped), n, 0.3) {
		t.Errorf("%d of %d drop out, want about 0.3", dropped, n)
	}
	stay := float64(n - dropped)
	if counts[0] != 0 || !near(counts[steps], stay, 0.6) {
		t.Errorf("numbers of steps %v, want none of 0 and 0.6 of %d", counts, steps)
	}
	for k := 1; k < steps; k++ {
		if !near(counts[k], stay, 0.4/(steps-1)) {
			t.Errorf("%v stragglers with %d steps of %v, want about %v", counts[k], k, stay, stay*0.4/(steps-1))
		}
	}
	alone, more, other := fates(1, 0.3, 0), fates(1, 0.5, 0.4), fates(2, 0.3, 0.4)
	equal := 0
	for at, f := range both {
		if alone[at].dropped != f.dropped || f.dropped && !more[at].dropped {
			t.Errorf("%v: dropped %v, %v without stragglers, %v at a higher rate", at, f.dropped, alone[at].dropped, more[at].dropped)
		}
		if other[at] == f {
			equal++
		}
	}
	if equal > n*2/3 {
		t.Errorf("%d of %d fates are those of another seed", equal, n)
	}
	if f := (&run{Config: Config{StragglerRate: 1}}).fate(1, 1, 1); f != (fate{steps: 1}) {
		t.Errorf("of one step a straggler does %+v", f)
	}
}

// TestFates runs every method with clients that drop out and are slow: the same for any number of workers, and what it should
// be of bytes, clients and states.
func TestFates(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.PerRound, cfg.LocalSteps, cfg.DropRate, cfg.StragglerRate = 6, 5, 4, 0.4, 0.5
		var want string
		for _, workers := range []int{1, 3} {
			cfg.Workers = workers
			done := &work{Algorithm: make(), steps: map[[2]int]int{}}
			s, d, res := play(t, cfg, done, toys(mixed...))
			got := spellRun(s, d)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%d workers differ from one in %s", workers, difference(got, want))
			}
			slow, up := 0, int64(0)
			for _, n := range done.steps {
				if n < 1 || n > cfg.LocalSteps {
					t.Errorf("%d steps of %d", n, cfg.LocalSteps)
				}
				if n < cfg.LocalSteps {
					slow++
				}
			}
			for _, ups := range s.ups {
				if len(ups) == 0 {
					t.Error("aggregated no uploads")
				}
				for _, u := range ups {
					up += state.Bytes(u.Msg)
				}
			}
			last := res.Last
			began := cfg.Rounds * cfg.PerRound
			if done.TrainsAll() {
				began = cfg.Rounds * 6 // those with examples
			}
			if last.Stragglers != slow || slow == 0 || last.Dropped == 0 || last.Dropped+len(done.steps) != began {
				t.Errorf("%d dropped and %d slow are on record, of %d that began %d trained, %d of them slow", last.Dropped, last.Stragglers, began, len(done.steps), slow)
			}
			if last.BytesUp != up || last.Empty != cfg.Rounds-len(s.ups) {
				t.Errorf("%d bytes up, want %d; %d empty rounds, want %d", last.BytesUp, up, last.Empty, cfg.Rounds-len(s.ups))
			}
		}
	})
}

// TestDownloadsOfTheDropped: who drops out has downloaded.
func TestDownloadsOfTheDropped(t *testing.T) {
	cfg := config()
	_, _, all := play(t, cfg, method(t, "fedavg", "", nil), toys(mixed...))
	cfg.DropRate = 0.5
	_, _, some := play(t, cfg, method(t, "fedavg", "", nil), toys(mixed...))
	if some.Last.BytesDown != all.Last.BytesDown || some.Last.BytesUp >= all.Last.BytesUp || some.Last.BytesUp == 0 {
		t.Errorf("%d bytes down and %d up, without dropping out %d and %d",
			some.Last.BytesDown, some.Last.BytesUp, all.Last.BytesDown, all.Last.BytesUp)
	}
}

// griever is a diary that is told of empty rounds.
type griever struct {
	diary
	empty []int
}

func (g *griever) Empty(round int) error {
	g.empty = append(g.empty, round)
	return nil
}

// TestNobodyGetsThrough: the server and the clients keep what they have, evaluations go on, and no loss is said.
func TestNobodyGetsThrough(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.DropRate = 1
		s, g := watch(make()), new(griever)
		cfg.Rounds = 0
		if _, err := Run(context.Background(), cfg, s, network(t), toys(mixed...), g); err != nil {
			t.Fatal(err)
		}
		before := spell(s.server) + spell(s.clients)
		cfg.Rounds = 3
		s = watch(make())
		res, err := Run(context.Background(), cfg, s, network(t), toys(mixed...), g)
		if err != nil {
			t.Fatal(err)
		}
		if after := spell(s.server) + spell(s.clients); after != before || len(s.trained) > 0 || len(s.ups) > 0 {
			t.Errorf("states changed in %s; %d trained, %d aggregations", difference(after, before), len(s.trained), len(s.ups))
		}
		e := res.Last
		if !math.IsNaN(e.Loss) || !math.IsNaN(e.KL) || e.BytesUp != 0 || e.Empty != 3 || !slices.Equal(g.empty, []int{1, 2, 3}) {
			t.Errorf("loss %v, KL %v, %d bytes up, %d empty rounds, told of %v", e.Loss, e.KL, e.BytesUp, e.Empty, g.empty)
		}
	})
}

// TestResumedWithFates: a run that is stopped and goes on has the same clients drop out.
func TestResumedWithFates(t *testing.T) {
	for _, name := range []string{"pfedbayes", "ditto"} {
		cfg := config()
		cfg.Rounds, cfg.MC, cfg.DropRate, cfg.StragglerRate = 6, 0, 0.6, 0.5
		same(t, name, cfg, mixed)
	}
}

// same stops a run of a method after each of its rounds, and compares what goes on from there with one that was never stopped.
func same(t *testing.T, name string, cfg Config, train []int) {
	t.Helper()
	toy := toys(train...)
	for i := range toy {
		toy[i].Val = toy[i].Test // some other examples; the order of magnitude is enough
	}
	kept := &shelf{}
	cfg.Keeper, cfg.KeepEvery = kept, 1
	unbroken, all, end := play(t, cfg, method(t, name, "", nil), toy)
	want := spellRun(unbroken, all) + spellDrawn(end)
	for _, stop := range slices.Clone(kept.rounds) {
		kept.restore = stop
		s, second, res := play(t, cfg, method(t, name, "", nil), toy)
		for _, e := range slices.Backward(all.evals) {
			if e.Round < stop {
				second.evals = slices.Insert(second.evals, 0, e)
			}
		}
		if got := spellRun(s, second) + spellDrawn(res); got != want || res.Early != end.Early {
			t.Errorf("%s: resumed after round %d, it differs in %s", name, stop, difference(got, want))
		}
	}
}

// TestPatience compares with a run that has none, from whose accuracies it follows where to stop.
func TestPatience(t *testing.T) {
	cfg := config()
	cfg.Rounds, cfg.LocalSteps, cfg.MC = 40, 1, 0
	toy := toys(9, 4, 7, 12, 5)
	for i := range toy {
		toy[i].Val, toy[i].Test = toy[i].Test, toy[i].Train
	}
	_, whole, _ := play(t, cfg, method(t, "pfedbayes", "", nil), toy)
	for _, patience := range []int{1, 2, 3} {
		end, since, pm, gm := cfg.Rounds, 0, -1.0, -1.0
		for _, e := range whole.evals {
			since++
			if v := e.Validation.Personal.Accuracy; v > pm {
				pm, since = v, 0
			}
			if v := e.Validation.Global.Accuracy; v > gm {
				gm, since = v, 0
			}
			if since == patience {
				end = e.Round
				break
			}
		}
		if end == cfg.Rounds {
			t.Fatalf("patience %d: it would go to the end, which tests nothing", patience)
		}
		cfg := cfg
		cfg.Patience = patience
		_, d, res := play(t, cfg, method(t, "pfedbayes", "", nil), toy)
		if len(d.evals) != end || !res.Early || res.Last.Round != end || res.Drawn == nil || res.Drawn.Round != end {
			t.Errorf("patience %d: %d rounds, early %v, want an end after %d with draws", patience, len(d.evals), res.Early, end)
		}
		if got, want := spellEvals(d.evals), spellEvals(whole.evals[:end]); got != want {
			t.Errorf("patience %d: before it stops it differs in %s", patience, difference(got, want))
		}
	}
	// Never better is never patient, and a run that ends anyway is not early.
	cfg.Patience, cfg.Rounds, cfg.DropRate = 2, 3, 1
	if _, d, res := play(t, cfg, method(t, "fedavg", "", nil), toy); len(d.evals) != 3 || res.Early {
		t.Errorf("%d rounds, early %v, want all 3", len(d.evals), res.Early)
	}
	cfg.Rounds = 30
	if _, d, res := play(t, cfg, method(t, "fedavg", "", nil), toy); len(d.evals) != 3 || !res.Early {
		t.Errorf("%d rounds, early %v, want 3", len(d.evals), res.Early)
	}
}

func spellEvals(evals []Evaluation) string {
	var b strings.Builder
	for _, e := range evals {
		e.Training, e.Scoring = 0, 0
		b.WriteString(spell(e))
	}
	return b.String()
}

// TestResumedWithPatience: a run that goes on counts on.
func TestResumedWithPatience(t *testing.T) {
	for _, every := range []int{1, 2} {
		cfg := config()
		cfg.Rounds, cfg.LocalSteps, cfg.MC, cfg.Patience, cfg.EvalEvery = 40, 1, 0, 2, every
		same(t, "pfedbayes", cfg, []int{9, 4, 7, 12, 5})
		same(t, "fedavg", cfg, []int{9, 4, 7, 12, 5})
	}
}

// TestValidationTellsNothing: validation examples change neither training nor the scores of the test.
func TestValidationTellsNothing(t *testing.T) {
	cfg := config()
	_, without, _ := play(t, cfg, method(t, "pfedbayes", "", nil), toys(mixed...))
	toy := toys(mixed...)
	for i := range toy {
		toy[i].Val = toy[i].Train
	}
	_, with, _ := play(t, cfg, method(t, "pfedbayes", "", nil), toy)
	for i := range with.evals {
		v := with.evals[i].Validation
		if v == nil || v.Personal == nil || v.Global == nil || v.Personal.N != 38 || without.evals[i].Validation != nil {
			t.Fatalf("validation %+v, and without examples %+v", v, without.evals[i].Validation)
		}
		with.evals[i].Validation = nil
	}
	if got, want := spellEvals(with.evals), spellEvals(without.evals); got != want {
		t.Errorf("with validation it differs in %s", difference(got, want))
	}
}
