package algorithms

import (
	"math"
	"slices"
	"testing"

	"fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// columns64 says of each weight of the test network which column of which layer it is in; biases are in none.
func columns64() (layer, column []int) {
	add := func(l, units, out int) {
		for k := range units * out {
			layer, column = append(layer, l), append(column, k/out)
		}
		for range out {
			layer, column = append(layer, -1), append(column, 0)
		}
	}
	add(0, testIn, testHidden)
	add(1, testHidden, testClasses)
	return layer, column
}

// gates64 returns the gates of a mini-batch at a step, by layer.
func gates64(r rng.Stream, p float64, step int) [2][]float32 {
	gates := [2][]float32{make([]float32, testBatch*testIn), make([]float32, testBatch*testHidden)}
	for l, g := range gates {
		r.For(rng.Noise).Gates(kernels.New(kernels.Generic), g, p, 2*step+l)
	}
	return gates
}

// lost64 says which weights example i loses.
func lost64(gates [2][]float32, i int) []bool {
	layer, column := columns64()
	lost := make([]bool, len(layer))
	for k, l := range layer {
		lost[k] = l >= 0 && !(gates[l][i*[2]int{testIn, testHidden}[l]+column[k]] > 0)
	}
	return lost
}

// masked64 returns the gradient of the summed loss of rows examples, each with its own mask on the weights w.
func masked64(w []float64, x, y []float32, rows int, gates [2][]float32) []float64 {
	sum := make([]float64, len(w))
	for i := range rows {
		left, lost := slices.Clone(w), lost64(gates, i)
		for k := range left {
			if lost[k] {
				left[k] = 0
			}
		}
		for k, g := range network64(left, x[i*testIn:], y[i:], 1) {
			if !lost[k] {
				sum[k] += g
			}
		}
	}
	return sum
}

// niw64 is a NIW in float64, with the prior's D and λ0.
type niw64 struct {
	m0, v   []float64
	n0      float64
	dims    int
	lambda0 float64
}

// fedhb64 is a client's round in float64 from the formulas: of weights a in which columns are lost, or with Inverted of m = a·p.
// It returns a.
func fedhb64(m *FedHBNIW, q niw64, data *Data, r rng.Stream) []float64 {
	w, n := slices.Clone(q.m0), float64(data.Examples())
	layer, _ := columns64()
	x, y := make([]float32, testBatch*testIn), make([]float32, testBatch)
	scaled := func(w []float64) []float64 {
		a := slices.Clone(w)
		for k := range a {
			if m.Inverted && layer[k] >= 0 {
				a[k] /= m.KeepProb
			}
		}
		return a
	}
	for step := range data.Steps {
		rows := data.Next(x, y)
		g := masked64(scaled(w), x, y, rows, gates64(r, m.KeepProb, step))
		for k := range w {
			p := m.KeepProb
			if layer[k] < 0 {
				p = 1
			}
			g := g[k] / float64(rows)
			c := m.PriorWeight * q.n0 / (q.v[k] * n)
			if m.Inverted { // of ½c·(m²/p − 2m·m0)
				w[k] = (w[k] - m.LR*g/p + m.LR*c*q.m0[k]) / (1 + m.LR*c/p)
				continue
			}
			c *= p
			w[k] = (w[k] - m.LR*g + m.LR*c*q.m0[k]) / (1 + m.LR*c)
		}
	}
	return scaled(w)
}

// infer is the server in float64.
func (q niw64) infer(as [][]float64, keep float64) niw64 {
	layer, _ := columns64()
	n, d := float64(len(as)), len(as[0])
	next := niw64{m0: make([]float64, d), v: make([]float64, d), n0: n + float64(q.dims) + 2, dims: q.dims, lambda0: q.lambda0}
	for k := range d {
		p := keep
		if layer[k] < 0 {
			p = 1
		}
		for _, a := range as {
			next.m0[k] += p * a[k] / (n + q.lambda0)
		}
		next.v[k] = 1 + q.lambda0*next.m0[k]*next.m0[k]
		for _, a := range as {
			next.v[k] += p*a[k]*a[k] - 2*p*a[k]*next.m0[k] + next.m0[k]*next.m0[k] + 1e-8
		}
	}
	return next
}

// TestFedHBNIWRound holds three rounds of two clients of unlike size, and the server between them, against float64.
func TestFedHBNIWRound(t *testing.T) {
	for name, change := range map[string]func(*FedHBNIW){
		"paper":              func(*FedHBNIW) {},
		"many columns lost":  func(m *FedHBNIW) { m.KeepProb = 0.7 },
		"inverted":           func(m *FedHBNIW) { m.KeepProb, m.Inverted, m.PriorWeight = 0.6, true, 3 },
		"full":               func(m *FedHBNIW) { m.KeepProb, m.NIW = 0.8, "full" },
		"no count, no masks": func(m *FedHBNIW) { m.KeepProb, m.PriorCount, m.PriorWeight = 1, 0, 0.5 },
	} {
		t.Run(name, func(t *testing.T) {
			m := NewFedHBNIW()
			m.LR = 0.1
			change(m)
			wk := testWorker(t, erase(m))
			s := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1})
			d := len(s.Q.M0)
			want := niw64{m0: widened(s.Q.M0), v: widened(s.Q.V), dims: 1, lambda0: m.PriorCount}
			if m.NIW == "full" {
				want.dims = d
			}
			want.n0 = float64(want.dims) + 3
			sizes := []int{7, 21}
			var states [][]float32
			var batches, reference []*Data
			for i, n := range sizes {
				ex, r := testExamples(uint64(i), n), rng.Stream{Seed: 2, Client: i}
				states = append(states, m.Client(wk.Task, wk.CPU, s, r))
				batches, reference = append(batches, testData(ex, 6, r)), append(reference, testData(ex, 6, r))
			}
			for round := range 3 {
				var ups []Upload[[]float32]
				var as [][]float64
				for i, n := range sizes {
					r := rng.Stream{Seed: 3}.At(round, i)
					a := fedhb64(m, want, reference[i], r)
					up, rep, err := m.Train(t.Context(), wk, m.Download(s, i), &states[i], batches[i], r)
					if err != nil {
						t.Fatal(err)
					}
					near(t, "upload", up, a, 5e-6)
					near(t, "state", states[i], a, 5e-6)
					if !(rep.Loss > 0) || !(rep.KL > 0) {
						t.Errorf("report %+v, want a loss and a divergence", rep)
					}
					ups, as = append(ups, Upload[[]float32]{Client: i, Examples: n, Msg: up}), append(as, a)
				}
				m.Aggregate(&s, ups)
				want = want.infer(as, m.KeepProb)
				near(t, "m0", s.Q.M0, want.m0, 5e-6)
				near(t, "v", s.Q.V, want.v, 2e-5)
				if s.Q.N0 != want.n0 || s.Q.L0 != 2+m.PriorCount {
					t.Errorf("n0 %v and l0 %v, want %v and %v", s.Q.N0, s.Q.L0, want.n0, 2+m.PriorCount)
				}
			}
		})
	}
}

// TestFedHBNIWGradient checks loss and gradient of a client with masks by finite differences.
func TestFedHBNIWGradient(t *testing.T) {
	m := NewFedHBNIW()
	task, r := testTask(t), rng.Stream{Seed: 5}
	ex, d := testExamples(5, testBatch), task.Net.Size()
	gates, start := gates64(r, 0.7, 0), task.Net.InitUniform(r)
	lambda := make([]float32, d)
	for k := range lambda {
		lambda[k] = 1 + float32(k%5)
	}
	graphtest.Check(t, graphtest.Case{
		Build:  func(b *graph.Builder) { m.Objective(b, task) },
		Params: map[string][]float32{"a": task.Net.InitUniform(rng.Stream{Seed: 6})},
		Data: map[string][]float32{
			"x": ex.X, "y": ex.Y, "m0": start, "lambda": lambda, "dense1.weight.gate": gates[0], "dense2.weight.gate": gates[1],
		},
		Scalars: map[string]float32{"1/rows": 1. / testBatch, "kappa/n": 0.1},
		Loss: func(v map[string][]float64) (loss float64) {
			for i := range testBatch {
				left, lost := slices.Clone(v["a"]), lost64(gates, i)
				for k := range left {
					if lost[k] {
						left[k] = 0
					}
				}
				loss += loss64(left, ex.X[i*testIn:], ex.Y[i:], 1) / testBatch
			}
			for k, a := range v["a"] {
				loss += 0.1 / 2 * v["lambda"][k] * (a - v["m0"][k]) * (a - v["m0"][k])
			}
			return loss
		},
	})
}

// pass trains one client of 21 examples for a round of m, where v is alpha for all weights and n0 as it is.
func pass(t *testing.T, m *FedHBNIW, alpha float32) (a []float32, q priors.NIW) {
	t.Helper()
	wk, r := testWorker(t, erase(m)), rng.Stream{Seed: 7}
	q = m.Server(wk.Task, wk.CPU, r).Q
	for k := range q.V {
		q.V[k] = alpha
	}
	a, _, err := m.Train(t.Context(), wk, q, new([]float32), testData(testExamples(7, 21), 20, r), r)
	if err != nil {
		t.Fatal(err)
	}
	return a, q
}

// TestFedHBNIWIsFedProx checks that without masks and with one v for all weights a client's round is FedProx's with
// μ = n0/(v·n): by implicit steps, which are explicit ones of the rate η/(1+ημ); and by explicit ones where ημ is small.
func TestFedHBNIWIsFedProx(t *testing.T) {
	for name, tt := range map[string]struct {
		weight float64
		shrink bool
	}{"implicit": {20, true}, "explicit": {0.001, false}} {
		m, prox := NewFedHBNIW(), NewFedProx()
		m.KeepProb, m.PriorCount, m.PriorWeight = 1, 0, tt.weight
		a, q := pass(t, m, 2)
		prox.Mu = tt.weight * q.N0 / (2 * 21)
		prox.LR = m.LR
		if tt.shrink {
			prox.LR /= 1 + m.LR*prox.Mu
		}
		wk, r := testWorker(t, erase(prox)), rng.Stream{Seed: 7}
		want, _, err := prox.Train(t.Context(), wk, q.M0, new(None), testData(testExamples(7, 21), 20, r), r)
		if err != nil {
			t.Fatal(err)
		}
		near(t, name, a, widened(want), 1e-6)
	}
}

// TestFedHBNIWIsFedAvg checks that without masks, term and count three rounds are FedAvg's of clients of one size, to the bit.
func TestFedHBNIWIsFedAvg(t *testing.T) {
	m, avg := NewFedHBNIW(), NewFedAvg()
	m.KeepProb, m.PriorCount, m.PriorWeight, m.LR = 1, 0, 0, avg.LR
	wk, wa := testWorker(t, erase(m)), testWorker(t, erase(avg))
	s, want := m.Server(wk.Task, wk.CPU, rng.Stream{Seed: 1}), avg.Server(wa.Task, wa.CPU, rng.Stream{Seed: 1})
	var data, same []*Data
	for i := range 3 {
		ex, r := testExamples(uint64(i), 14), rng.Stream{Seed: 2, Client: i}
		data, same = append(data, testData(ex, 6, r)), append(same, testData(ex, 6, r))
	}
	for range 3 {
		var ups, upsAvg []Upload[[]float32]
		for i := range data {
			up, _, err := m.Train(t.Context(), wk, s.Q, new([]float32), data[i], rng.Stream{})
			if err != nil {
				t.Fatal(err)
			}
			upAvg, _, err := avg.Train(t.Context(), wa, want, new(None), same[i], rng.Stream{})
			if err != nil {
				t.Fatal(err)
			}
			ups, upsAvg = append(ups, Upload[[]float32]{i, 14, up}), append(upsAvg, Upload[[]float32]{i, 14, upAvg})
		}
		m.Aggregate(&s, ups)
		avg.Aggregate(&want, upsAvg)
		if !slices.Equal(s.Q.M0, want) {
			t.Fatal("m0 differs from FedAvg's weights")
		}
	}
}

// TestFedHBNIWSteep checks that a term of weight c = 10⁸ holds clients at m0, whatever their steps and where they start.
func TestFedHBNIWSteep(t *testing.T) {
	for _, inverted := range []bool{false, true} {
		m := NewFedHBNIW()
		m.LR, m.KeepProb, m.Inverted = 0.5, 0.8, inverted
		m.PriorWeight = 1e8 * 21 / 4 // n0 is 4
		a, q := pass(t, m, 1)
		near(t, "a", a, widened(q.M0), 1e-6)
	}
}

// TestFedHBNIWNewcomer checks that a newcomer's precision is that of the mode: n0 + D + 2 in place of n0.
func TestFedHBNIWNewcomer(t *testing.T) {
	m := NewFedHBNIW()
	m.KeepProb, m.PriorWeight = 0.8, 10
	wk, r := testWorker(t, erase(m)), rng.Stream{Seed: 9}
	s := m.Server(wk.Task, wk.CPU, r)
	data := func() *Data { return testData(testExamples(9, 9), 20, r) }
	got, err := m.Adapt(t.Context(), wk, s, data(), r)
	if err != nil {
		t.Fatal(err)
	}
	q := s.Q
	q.N0 += 3
	want, _, err := m.Train(t.Context(), wk, q, new([]float32), data(), r)
	if err != nil {
		t.Fatal(err)
	}
	if p := got.(Dropout); !slices.Equal(p.W, want) || p.Keep != 0.8 {
		t.Error("the newcomer's weights differ from a client's with n0 + D + 2")
	}
}

// TestFedHBNIWCacheAll checks that the server infers from what each client sent last, whoever takes part in a round.
func TestFedHBNIWCacheAll(t *testing.T) {
	m := NewFedHBNIW()
	m.CacheAll = true
	s := FedHBNIWState{Keep: []float32{0.5, 1}}
	up := func(client int, a ...float32) Upload[[]float32] { return Upload[[]float32]{Client: client, Msg: a} }
	m.Aggregate(&s, []Upload[[]float32]{up(1, 1, 2), up(3, 3, 4)})
	m.Aggregate(&s, []Upload[[]float32]{up(0, 5, 6), up(1, 7, 8)})
	want := m.prior(2).Posterior([][]float32{{5, 6}, {7, 8}, {3, 4}}, s.Keep)
	if !slices.Equal(s.Q.M0, want.M0) || !slices.Equal(s.Q.V, want.V) || s.Q.N0 != 3+3 {
		t.Errorf("%+v, want %+v", s.Q, want)
	}
}

// TestFedHBNIWGlobal checks the scale of the t: v·(l0+1)/(l0·ν), and τ.
func TestFedHBNIWGlobal(t *testing.T) {
	m := NewFedHBNIW()
	s := FedHBNIWState{Q: priors.NIW{M0: []float32{1, 2}, V: []float32{1, 4}, L0: 11, N0: 13}, Keep: []float32{1, 1}}
	if p, ok := m.Global(s).(Point); !ok || !slices.Equal(p, s.Q.M0) {
		t.Errorf("%v, want m0", m.Global(s))
	}
	m.GM, m.Temperature = "student-t", 0.5
	p := m.Global(s).(StudentT)
	if p.Nu != 13 {
		t.Errorf("ν = %v, want N+3", p.Nu)
	}
	near(t, "scale", p.Scale, []float64{0.5 * 0.28968, 0.28968}, 1e-5) // √(12/(11·13)) = 0.28968
}

// TestStudentT checks location, scale and tails of draws, and that all weights of a draw share one χ².
func TestStudentT(t *testing.T) {
	const draws, nu = 20000, 9.
	wk := testWorker(t, erase(NewFedHBNIW()))
	d := wk.Net.Size()
	p := StudentT{M0: make([]float32, d), Scale: make([]float32, d), Nu: nu}
	for k := range d {
		p.M0[k], p.Scale[k] = float32(k), 0.1*float32(1+k)
	}
	out := make([]float32, 2*testClasses)
	var mean, square, cross, tail, far float64
	for i := range draws {
		p.Members(wk, out, make([]float32, testIn), 2, rng.Stream{Seed: 1, Round: i})
		z := make([]float64, d)
		for k := range z {
			z[k] = (float64(wk.draw[k]) - float64(p.M0[k])) / float64(p.Scale[k])
		}
		for k, v := range z {
			n := float64(draws * d)
			mean, square, cross = mean+v/n, square+v*v/n, cross+v*v*z[(k+1)%d]*z[(k+1)%d]/n
			if v > 2.82143792 { // quantiles of t₉
				tail += 1 / n
			}
			if math.Abs(v) > 4.7809 {
				far += 1 / n
			}
		}
	}
	for what, v := range map[string][3]float64{
		"mean":                      {mean, 0, 0.01},
		"variance":                  {square, nu / (nu - 2), 0.02},
		"beyond the quantile 0.99":  {tail, 0.01, 0.0005},
		"beyond the quantile 0.999": {far, 0.001, 0.0002},
		"E z₁²z₂²":                  {cross, nu * nu / ((nu - 2) * (nu - 4)), 0.15}, // with a χ² each it is (ν/(ν−2))² = 1.65
	} {
		if math.Abs(v[0]-v[1]) > v[2] {
			t.Errorf("%s: %v, want %v within %v", what, v[0], v[1], v[2])
		}
	}
}

// TestStudentTMembers checks that draws differ, that they are those of their address whatever their number, and that without
// draws or without scale the mode predicts.
func TestStudentTMembers(t *testing.T) {
	wk, r := testWorker(t, erase(NewFedHBNIW())), rng.Stream{Seed: 1}
	p := StudentT{M0: wk.Net.InitUniform(r), Scale: make([]float32, wk.Net.Size()), Nu: 13}
	x := testExamples(1, 5).X
	members := func(p Predictor, m int) []float32 {
		out := make([]float32, max(m, 1)*5*testClasses)
		p.Members(wk, out, x, m, r)
		return out
	}
	mode := members(Point(p.M0), 0)
	if !slices.Equal(members(p, 0), mode) || !slices.Equal(members(p, 1), mode) {
		t.Error("draws of no scale differ from the mode")
	}
	for k := range p.Scale {
		p.Scale[k] = 0.3
	}
	three, two := members(p, 3), members(p, 2)
	if !slices.Equal(members(p, 0), mode) || !slices.Equal(three[:len(two)], two) || slices.Equal(two[:len(mode)], two[len(mode):]) {
		t.Error("two draws are one, or depend on how many there are")
	}
}

// TestDropoutPredictor checks the mean weights, and draws: each column is there or not, as often as it should, and biases are.
func TestDropoutPredictor(t *testing.T) {
	const draws, keep = 4000, 0.75
	wk := testWorker(t, erase(NewFedHBNIW()))
	layer, column := columns64()
	p := Dropout{W: make([]float32, len(layer)), Keep: keep}
	for k := range p.W {
		p.W[k] = float32(1 + k)
	}
	out := make([]float32, 3*testClasses)
	p.Members(wk, out[:testClasses], make([]float32, testIn), 0, rng.Stream{})
	for k, w := range wk.draw {
		want := p.W[k]
		if layer[k] >= 0 {
			want *= keep
		}
		if w != want {
			t.Fatalf("mean weight %d is %v, want %v", k, w, want)
		}
	}
	there, both, same := make([]float64, len(layer)), 0., 0
	for i := range draws {
		p.Members(wk, out, make([]float32, testIn), 3, rng.Stream{Seed: 1, Round: i})
		for k, w := range wk.draw {
			if w != 0 && w != p.W[k] {
				t.Fatalf("weight %d is %v, want %v or 0", k, w, p.W[k])
			}
			if k > 0 && layer[k] == layer[k-1] && column[k] == column[k-1] && (w == 0) != (wk.draw[k-1] == 0) {
				t.Fatalf("weights %d and %d of a column do not share its fate", k-1, k)
			}
			if w != 0 {
				there[k]++
			}
		}
		if wk.draw[0] != 0 && wk.draw[testIn*testHidden+testHidden] != 0 {
			both++
		}
		if slices.Equal(out[:testClasses], out[testClasses:2*testClasses]) {
			same++
		}
	}
	if want := draws * keep * keep; math.Abs(both-want) > 5*math.Sqrt(want*(1-keep*keep)) {
		t.Errorf("first columns of both layers are there in %v draws, want about %v", both, want)
	}
	if same > draws/3 { // the five columns above biases can be lost alike, with x = 0
		t.Errorf("%d of %d pairs of members predict the same", same, draws)
	}
	for k, n := range there {
		want, tol := draws*keep, 5*math.Sqrt(draws*keep*(1-keep))
		if layer[k] < 0 {
			want, tol = draws, 0
		}
		if math.Abs(n-want) > tol {
			t.Errorf("weight %d is there in %v draws, want %v within %v", k, n, want, tol)
		}
	}
}

func TestFedHBNIWAccepts(t *testing.T) {
	net, err := layers.New("lstm:2", []int{3}, 4)
	if err != nil {
		t.Fatal(err)
	}
	m := NewFedHBNIW()
	if m.Accepts(net) == nil {
		t.Error("memory cells that lose columns are accepted")
	}
	if m.KeepProb = 1; m.Accepts(net) != nil {
		t.Error("memory cells are refused though no column is lost")
	}
}
