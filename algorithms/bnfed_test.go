package algorithms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// bnfedTest returns the method with SGD, and a worker of it.
func bnfedTest(t *testing.T) (*BNFed, *Worker) {
	t.Helper()
	m := NewBNFed()
	m.Optimizer, m.LR, m.Sweeps = "sgd", 0.2, 2
	return m, testWorker(t, erase(m))
}

// matched64 is the server of bnfed for networks of one hidden layer, written with vectors of all precisions and a search
// that tries every pairing.
type matched64 struct {
	m     *BNFed
	theta [][]float64 // of each unit: weights from the inputs, bias, weights to the logits
	units [][]int
}

// vectors returns a client's units and their precisions.
func (s *matched64) vectors(w []float64, share []float64) (u [][]float64, prec []float64) {
	for l := range testHidden {
		var v []float64
		for x := range testIn {
			v = append(v, w[x*testHidden+l])
		}
		v = append(v, w[testIn*testHidden+l])
		for c := range testClasses {
			v = append(v, w[(testIn+1)*testHidden+l*testClasses+c])
		}
		u = append(u, v)
	}
	prec = slices.Repeat([]float64{1 / s.m.NoiseVar}, testIn+1)
	for c := range testClasses {
		prec = append(prec, share[c]/s.m.NoiseVar)
	}
	return u, prec
}

// sums returns G, P and m of each unit without client j's.
func (s *matched64) sums(us [][][]float64, precs [][]float64, j int) (g, p [][]float64, m []float64) {
	for c, of := range s.units {
		if c == j {
			continue
		}
		for l, i := range of {
			for i >= len(m) {
				g, p, m = append(g, s.prior()), append(p, slices.Repeat([]float64{1 / s.m.PriorVar}, testIn+1+testClasses)), append(m, 0)
			}
			for k, v := range us[c][l] {
				g[i][k] += v * precs[c][k]
				p[i][k] += precs[c][k]
			}
			m[i]++
		}
	}
	return g, p, m
}

func (s *matched64) prior() []float64 {
	g := make([]float64, testIn+1+testClasses)
	g[testIn] = 0.1 / s.m.PriorVar
	return g
}

// rematch pairs client j anew. Units without a client go first, as a gap moves all behind it.
func (s *matched64) rematch(us [][][]float64, precs [][]float64, j int) {
	s.units[j] = nil
	var kept []int
	for _, of := range s.units {
		kept = append(kept, of...)
	}
	slices.Sort(kept)
	kept = slices.Compact(kept)
	for _, of := range s.units {
		for l, i := range of {
			of[l] = slices.Index(kept, i)
		}
	}
	g, p, m := s.sums(us, precs, j)
	clients := float64(len(us))
	worth := func(l, i int, fresh float64) float64 {
		gi, pi, value := s.prior(), slices.Repeat([]float64{1 / s.m.PriorVar}, testIn+1+testClasses), 0.0
		if i < len(m) {
			gi, pi, value = g[i], p[i], 2*math.Log(m[i]/(clients-m[i]))
		} else {
			value = 2*math.Log(s.m.Gamma/clients) - 2*math.Log(fresh)
		}
		for k, v := range us[j][l] {
			both := gi[k] + v*precs[j][k]
			value += both*both/(pi[k]+precs[j][k]) - gi[k]*gi[k]/pi[k]
		}
		return value
	}
	most, best := math.Inf(-1), []int(nil)
	var try func(of []int, next int, sum float64)
	try = func(of []int, next int, sum float64) {
		l := len(of)
		if l == testHidden {
			if sum > most {
				most, best = sum, slices.Clone(of)
			}
			return
		}
		for i := range next + 1 {
			if !slices.Contains(of, i) {
				try(append(of, i), max(next, i+1), sum+worth(l, i, float64(1+next-len(m))))
			}
		}
	}
	try(nil, len(m), 0)
	s.units[j] = best
}

// round folds the clients' networks, given the order of the sweeps, and returns the server's in the layout of the product.
func (s *matched64) round(ws [][]float64, counts [][]float64, first, sweeps []int) []float64 {
	var us [][][]float64
	var precs, share [][]float64
	for j, w := range ws {
		share = append(share, make([]float64, testClasses))
		for c := range testClasses {
			var total float64
			for _, of := range counts {
				total += of[c]
			}
			share[j][c] = counts[j][c] / total
		}
		u, p := s.vectors(w, share[j])
		us, precs = append(us, u), append(precs, p)
	}
	for _, j := range append(first, sweeps...) {
		s.rematch(us, precs, j)
	}
	g, p, m := s.sums(us, precs, -1)
	s.theta = nil
	for i := range m {
		for k := range g[i] {
			g[i][k] /= p[i][k]
		}
		s.theta = append(s.theta, g[i])
	}
	var w []float64
	for k := range testIn + 1 {
		for i := range s.theta {
			w = append(w, s.theta[i][k])
		}
	}
	for i := range s.theta {
		w = append(w, s.theta[i][testIn+1:]...)
	}
	for c := range testClasses {
		g, p := 0.1/s.m.PriorVar, 1/s.m.PriorVar
		for j, of := range ws {
			g += share[j][c] / s.m.NoiseVar * of[len(of)-testClasses+c]
			p += share[j][c] / s.m.NoiseVar
		}
		w = append(w, g/p)
	}
	return w
}

// sub returns the network of a client's units.
func (s *matched64) sub(j int, global []float64) []float64 {
	n, of := len(s.theta), s.units[j]
	var w []float64
	for k := range testIn + 1 {
		for _, i := range of {
			w = append(w, s.theta[i][k])
		}
	}
	for _, i := range of {
		w = append(w, s.theta[i][testIn+1:]...)
	}
	return append(w, global[(testIn+1+testClasses)*n:]...)
}

// TestBNFedRounds holds three rounds of three clients of unlike size, one of them with one example, against float64.
func TestBNFedRounds(t *testing.T) {
	m, w := bnfedTest(t)
	m.NoiseVar, m.PriorVar, m.Gamma = 0.05, 2, 0.5
	s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 1})
	ref := &matched64{m: m, units: make([][]int, 3)}
	global := []float64(nil)
	wide := false
	var datas, refs []*Data
	for i, n := range []int{7, 21, 1} {
		ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2, Client: i}
		datas, refs = append(datas, testData(ex, 6, r)), append(refs, testData(ex, 6, r))
	}
	for round := 1; round <= 3; round++ {
		var ups []Upload[BNFedUpload]
		var ws, counts [][]float64
		for i, data := range datas {
			r := rng.Stream{Seed: 2}.At(round, i)
			down := m.Download(s, i)
			want := widened(down)
			if round > 1 {
				want = ref.sub(i, global)
				near(t, fmt.Sprint("download of client ", i), down, want, 1e-5)
			}
			up, _, err := m.Train(t.Context(), w, down, &None{}, data, r)
			if err != nil {
				t.Fatal(err)
			}
			sgd64(want, refs[i], m.LR*math.Pow(m.LRDecay, float64(round-1)), 0, 0)
			near(t, fmt.Sprint("upload of client ", i), up.W, want, 2e-5)
			count := make([]float64, testClasses)
			for _, y := range data.Of.Y {
				count[int(y)]++
			}
			near(t, "counts", up.Counts, count, 0)
			ups = append(ups, Upload[BNFedUpload]{Client: i, Examples: data.Examples(), Msg: up})
			ws, counts = append(ws, want), append(counts, count)
		}
		m.Aggregate(&s, ups)

		// The clients are taken in the order of their weights.
		place := []int{0, 1, 2}
		slices.SortFunc(place, func(a, b int) int { return slices.Compare(ws[a], ws[b]) })
		var first, sweeps []int
		if round == 1 {
			first = slices.Clone(place)
		}
		order := rng.Stream{Seed: 1, Purpose: rng.Match, Round: round}.Rand()
		for range m.Sweeps {
			for _, k := range order.Perm(3) {
				sweeps = append(sweeps, place[k])
			}
		}
		global = ref.round(ws, counts, first, sweeps)
		for i := range datas {
			if got := s.Clients[i].Units[0]; !slices.Equal(got, ref.units[i]) {
				t.Fatalf("round %d: client %d is paired with %v, want %v", round, i, got, ref.units[i])
			}
		}
		if len(s.Global.W) != len(global) {
			t.Fatalf("round %d: %d weights, want %d", round, len(s.Global.W), len(global))
		}
		near(t, fmt.Sprint("server after round ", round), s.Global.W, global, 1e-5)
		wide = wide || s.Global.Widths[1] > testHidden
	}
	if !wide {
		t.Error("the server's network was never wider than a client's: the test says less than it should")
	}
}

// TestBNFedOneClient holds a server of one client against the closed form.
func TestBNFedOneClient(t *testing.T) {
	m, w := bnfedTest(t)
	m.NoiseVar, m.PriorVar = 0.5, 3
	s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 2})
	net := w.Net.InitUniform(rng.Stream{Seed: 3})
	m.Aggregate(&s, []Upload[BNFedUpload]{{Client: 4, Examples: 3, Msg: BNFedUpload{net, []float32{2, 0, 1}}}})
	want := widened(net)
	for i := range want {
		bias := i >= testIn*testHidden && i < (testIn+1)*testHidden || i >= len(want)-testClasses
		prior, precision := 0.0, 1/m.NoiseVar
		if bias {
			prior = 0.1
		}
		if i >= (testIn+1)*testHidden && (i-(testIn+1)*testHidden)%testClasses == 1 {
			precision = 0 // nobody has the second label
		}
		want[i] = (want[i]*precision + prior/m.PriorVar) / (precision + 1/m.PriorVar)
	}
	near(t, "server", s.Global.W, want, 1e-6)
}

// shuffled returns the same function as p, with the units of each hidden layer in another order, and the order.
func shuffled(p Perceptron, r *rand.Rand) (Perceptron, [][]int) {
	var order [][]int
	for _, w := range p.Widths[1 : len(p.Widths)-1] {
		order = append(order, r.Perm(w))
	}
	return p.part(order), order
}

// deepTask has two hidden layers of 7 and 5 units.
func deepTask(t *testing.T) Task {
	t.Helper()
	net, err := layers.New("mlp2:7,5", []int{testIn}, testClasses)
	if err != nil {
		t.Fatal(err)
	}
	return Task{Net: net, Batch: testBatch}
}

// probabilities returns p(y|x) of a server's network.
func probabilities(t *testing.T, m *BNFed, w *Worker, s BNFedState) []float64 {
	t.Helper()
	ex := testExamples(9, predictRows+3)
	dst := make([]float32, ex.Len()*testClasses)
	m.Global(s).Members(w, dst, ex.X, 0, rng.Stream{})
	p := widened(dst)
	for i := range p {
		p[i] = math.Exp(p[i])
	}
	return p
}

// TestBNFedOrderOfUnits checks that a client's units may stand in any order, in any of its layers: in its own network, and
// in what it sends.
func TestBNFedOrderOfUnits(t *testing.T) {
	for _, task := range []Task{testTask(t), deepTask(t)} {
		t.Run(task.Net.Name, func(t *testing.T) {
			m := NewBNFed()
			m.NoiseVar, m.Sweeps = 0.02, 3
			p, err := Compile(erase(m), task)
			if err != nil {
				t.Fatal(err)
			}
			w := p.NewWorker(kernels.New(kernels.Best()))
			start := m.Server(task, w.CPU, rng.Stream{Seed: 5})
			r := rand.New(rand.NewPCG(5, 5))

			// A network does what it did, and what a predictor of the task's own network does.
			want := probabilities(t, m, w, start)
			own, order := shuffled(start.Global, r)
			near(t, "shuffled", narrowed(probabilities(t, m, w, BNFedState{Global: own})), want, 1e-6)
			ex := testExamples(9, predictRows+3)
			dst := make([]float32, ex.Len()*testClasses)
			Point(start.Global.W).Members(w, dst, ex.X, 0, rng.Stream{})
			for i, lp := range dst {
				if !(math.Abs(math.Exp(float64(lp))-want[i]) < 1e-6) {
					t.Fatalf("%d: %v, and %v of a Point", i, want[i], math.Exp(float64(lp)))
				}
			}

			// Two clients that differ in the order alone are one network.
			server := func(nets ...Perceptron) BNFedState {
				s := start
				var ups []Upload[BNFedUpload]
				for i, net := range nets {
					ups = append(ups, Upload[BNFedUpload]{Client: i, Examples: 3, Msg: BNFedUpload{net.W, []float32{3, 2, 1}}})
				}
				m.Aggregate(&s, ups)
				m.Aggregate(&s, ups) // and again from the pairings
				return s
			}
			s := server(start.Global, own)
			if !slices.Equal(s.Global.Widths, start.Widths) {
				t.Fatalf("widths %v, want %v", s.Global.Widths, start.Widths)
			}
			for h, of := range order {
				for l, unit := range of {
					if got, want := s.Clients[1].Units[h][l], s.Clients[0].Units[h][unit]; got != want {
						t.Errorf("layer %d: unit %d is paired with %d, want %d", h, l, got, want)
					}
				}
			}

			// Unlike clients give the same server, whatever the order in one of them.
			other := Perceptron{start.Widths, initUniform(start.Widths, rng.Stream{Seed: 6})}
			third := Perceptron{start.Widths, initUniform(start.Widths, rng.Stream{Seed: 7})}
			a := server(start.Global, other, third)
			moved, _ := shuffled(other, r)
			b := server(start.Global, moved, third)
			if !slices.Equal(a.Global.Widths, b.Global.Widths) {
				t.Fatalf("widths %v and %v", a.Global.Widths, b.Global.Widths)
			}
			if slices.Equal(a.Global.Widths, start.Widths) {
				t.Errorf("unlike clients gave widths %v", a.Global.Widths)
			}
			near(t, "server's predictions", narrowed(probabilities(t, m, w, b)), probabilities(t, m, w, a), 1e-6)
		})
	}
}

func narrowed(v []float64) []float32 {
	n := make([]float32, len(v))
	for i, x := range v {
		n[i] = float32(x)
	}
	return n
}

// TestBNFedSampledClients has one client stay away and another come late.
func TestBNFedSampledClients(t *testing.T) {
	m, w := bnfedTest(t)
	m.NoiseVar = 0.02
	s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 8})
	upload := func(i int, seed uint64) Upload[BNFedUpload] {
		return Upload[BNFedUpload]{Client: i, Examples: 3, Msg: BNFedUpload{w.Net.InitUniform(rng.Stream{Seed: seed}), []float32{1, 1, 1}}}
	}
	m.Aggregate(&s, []Upload[BNFedUpload]{upload(0, 1), upload(2, 2), upload(3, 1)}) // 0 and 3 are alike
	width := s.Global.Widths[1]
	if width <= testHidden || width > 2*testHidden {
		t.Fatalf("width %d", width)
	}
	if got := fmt.Sprint(s.Clients[0].Units); got != fmt.Sprint(s.Clients[3].Units) {
		t.Errorf("equal clients are paired with %v and %v", got, s.Clients[3].Units)
	}
	// The units of 0 and 3 have two clients, the others one.
	popular, latest := slices.Sorted(slices.Values(s.Clients[0].Units[0])), s.units(5)
	if got := slices.Sorted(slices.Values(latest[0])); !slices.Equal(got, popular) {
		t.Errorf("a new client gets %v, want %v", got, popular)
	}
	if got, want := m.Download(s, 5), s.Global.part(latest).W; !slices.Equal(got, want) || len(got) != w.Net.Size() {
		t.Error("a new client is not sent the most popular units")
	}
	// Client 2 stays away: its units are what they were, as far as nobody shares them.
	before := m.Download(s, 2)
	m.Sweeps = 0
	u := upload(5, 0)
	u.Msg.W = m.Download(s, 5)
	m.Aggregate(&s, []Upload[BNFedUpload]{upload(0, 1), upload(3, 1), u})
	if got := s.Clients[5].Units[0]; !slices.Equal(got, latest[0]) {
		t.Errorf("without sweeps a new client is paired with %v, want those that it was given, %v", got, latest[0])
	}
	after := m.Download(s, 2)
	for l, i := range s.Clients[2].Units[0] {
		shared := slices.Contains(s.Clients[0].Units[0], i)
		for x := range testIn {
			if k := x*testHidden + l; !shared && before[k] != after[k] {
				t.Errorf("weight %d of a unit that is client 2's alone was %v and is %v", k, before[k], after[k])
			}
		}
	}
	// Nor is its pairing revised, which would put right that it is upside down.
	m.Sweeps = 2
	slices.Reverse(s.Clients[2].Units[0])
	was := ranks(s.Clients[2].Units[0])
	m.Aggregate(&s, []Upload[BNFedUpload]{upload(0, 1), upload(3, 1)})
	if got := ranks(s.Clients[2].Units[0]); !slices.Equal(got, was) {
		t.Errorf("the pairing of a client that was not sampled went from %v to %v", was, got)
	}
	m.Aggregate(&s, []Upload[BNFedUpload]{upload(2, 2)}) // alone in its round
	if len(m.Download(s, 2)) != w.Net.Size() || len(m.Download(s, 1)) != w.Net.Size() {
		t.Error("a download has not the size of the network")
	}
}

// ranks returns how many units of a pairing come before each, which closing gaps between them does not change.
func ranks(units []int) []int {
	sorted := slices.Sorted(slices.Values(units))
	r := make([]int, len(units))
	for l, i := range units {
		r[l] = slices.Index(sorted, i)
	}
	return r
}

// TestBNFedStarts says who begins with what.
func TestBNFedStarts(t *testing.T) {
	m, w := bnfedTest(t)
	s := m.Server(w.Task, w.CPU, rng.Stream{Seed: 10})
	if a, b := m.Download(s, 0), m.Download(s, 1); slices.Equal(a, b) || slices.Equal(a, s.Global.W) {
		t.Error("independent starts are equal")
	}
	if !slices.Equal(m.Download(s, 0), w.Net.InitUniform(rng.Stream{Seed: 10}.At(0, 1))) {
		t.Error("an independent start is not a draw of the network's own")
	}
	m.Start = "shared"
	if !slices.Equal(m.Download(s, 0), s.Global.W) || !slices.Equal(m.Download(s, 7), s.Global.W) {
		t.Error("a shared start is not the server's")
	}
}

func TestBNFedAccepts(t *testing.T) {
	m := NewBNFed()
	for spec, ok := range map[string]bool{"mlp": true, "mlp:9,8,7": true, "mlp2": true, "convnet": false} {
		net, err := layers.New(spec, []int{28, 28}, 10)
		if err != nil {
			t.Fatal(err)
		}
		err = m.Accepts(net)
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "--model mlp") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

// BenchmarkBNFedAggregate is a round's matching of ten clients of 784-100-10.
func BenchmarkBNFedAggregate(b *testing.B) {
	m := NewBNFed()
	m.NoiseVar = 0.04
	net, err := layers.New("mlp", []int{28, 28}, 10)
	if err != nil {
		b.Fatal(err)
	}
	s := m.Server(Task{Net: net}, nil, rng.Stream{Seed: 1})
	var ups []Upload[BNFedUpload]
	for i := range 10 {
		msg := BNFedUpload{m.Download(s, i), slices.Repeat([]float32{25}, net.Classes)}
		ups = append(ups, Upload[BNFedUpload]{Client: i, Examples: 250, Msg: msg})
	}
	for b.Loop() {
		m.Aggregate(&s, ups)
	}
	b.ReportMetric(float64(s.Global.Widths[1]), "width")
}
