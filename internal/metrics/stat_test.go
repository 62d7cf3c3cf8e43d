package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

var (
	nan32 = float32(math.NaN())
	inf32 = float32(math.Inf(1))
)

// A table is the input of one Add.
type table struct {
	logp                   []float32 // [members, rows, classes]
	members, rows, classes int
	labels                 []float32 // [rows]
}

func (t table) stat() (s Stat) {
	s.Add(t.logp, t.members, t.rows, t.classes, t.labels)
	return s
}

// pick returns the table of some rows, in the order given.
func (t table) pick(rows []int) table {
	p := table{members: t.members, rows: len(rows), classes: t.classes}
	for m := range t.members {
		for _, r := range rows {
			at := (m*t.rows + r) * t.classes
			p.logp = append(p.logp, t.logp[at:at+t.classes]...)
		}
	}
	for _, r := range rows {
		p.labels = append(p.labels, t.labels[r])
	}
	return p
}

// random returns a table of log-softmax rows over logits N(0, spread²).
func random(seed uint64, members, rows, classes int, spread float64) table {
	r := rand.New(rand.NewPCG(seed, 1))
	t := table{members: members, rows: rows, classes: classes}
	logits := make([]float64, classes)
	for range members * rows {
		var sum float64
		for c := range logits {
			logits[c] = spread * r.NormFloat64()
			sum += math.Exp(logits[c])
		}
		for _, l := range logits {
			t.logp = append(t.logp, float32(l-math.Log(sum)))
		}
	}
	for range rows {
		t.labels = append(t.labels, float32(r.IntN(classes)))
	}
	return t
}

func draw(t *rapid.T) table {
	return random(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(1, 4).Draw(t, "members"), rapid.IntRange(1, 40).Draw(t, "rows"),
		rapid.IntRange(1, 12).Draw(t, "classes"), rapid.Float64Range(0, 60).Draw(t, "spread"))
}

// naive is the definition of every metric, an array a step, written without regard to Stat.
func naive(t table) Report {
	n := float64(t.rows)
	conf, hit := make([]float64, t.rows), make([]float64, t.rows)
	r := Report{N: t.rows}
	entropy := func(p []float64) (h float64) {
		for _, v := range p {
			if v != 0 {
				h -= v * math.Log(v)
			}
		}
		return h
	}
	for i := range t.rows {
		y := int(t.labels[i])
		mean := make([]float64, t.classes)
		for m := range t.members {
			p := make([]float64, t.classes)
			for c := range p {
				p[c] = math.Exp(float64(t.logp[(m*t.rows+i)*t.classes+c]))
				mean[c] += p[c]
			}
			r.Aleatoric += entropy(p) / float64(t.members) / n
		}
		for c := range mean {
			mean[c] *= 1 / float64(t.members) // rounded as Add rounds: two classes an ulp apart have one winner
		}
		r.Entropy += entropy(mean) / n
		r.NLL -= math.Log(math.Max(mean[y], 1e-12)) / n
		best := 0
		for c, p := range mean {
			onehot := 0.0
			if c == y {
				onehot = 1
			}
			r.Brier += (p - onehot) * (p - onehot) / n
			if p > mean[best] {
				best = c
			}
		}
		conf[i] = mean[best]
		if best == y {
			hit[i] = 1
		}
		r.Accuracy += hit[i] / n
	}
	r.MutualInformation = r.Entropy - r.Aleatoric
	for b := range Bins {
		lo, hi := float64(b)/Bins, float64(b+1)/Bins
		if b == Bins-1 {
			hi = 1.001
		}
		var size, acc, sum float64
		for i := range conf {
			if conf[i] > lo && conf[i] <= hi {
				size, acc, sum = size+1, acc+hit[i], sum+conf[i]
			}
		}
		if size > 0 {
			r.ECE += size / n * math.Abs(acc/size-sum/size)
		}
	}
	return r
}

func fields(r Report) map[string]float64 {
	return map[string]float64{
		"N": float64(r.N), "Accuracy": r.Accuracy, "NLL": r.NLL, "Brier": r.Brier, "ECE": r.ECE,
		"Entropy": r.Entropy, "Aleatoric": r.Aleatoric, "MutualInformation": r.MutualInformation,
	}
}

// failer is what *testing.T and *rapid.T share.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// same fails unless every field agrees; NaN agrees with NaN.
func same(t failer, got, want Report, tolerance float64) {
	t.Helper()
	w := fields(want)
	for name, g := range fields(got) {
		if g != w[name] && !(math.IsNaN(g) && math.IsNaN(w[name])) && !(math.Abs(g-w[name]) <= tolerance*max(1, math.Abs(w[name]))) {
			t.Errorf("%s = %v, want %v", name, g, w[name])
		}
	}
}

func TestByHand(t *testing.T) {
	ln := func(p float64) float32 { return float32(math.Log(p)) }
	zero, ln2, nan := -inf32, math.Ln2, math.NaN()
	tests := []struct {
		name      string
		in        table
		want      Report
		tolerance float64
	}{
		{"sure and right", table{[]float32{zero, 0}, 1, 1, 2, []float32{1}}, Report{1, 1, 0, 0, 0, 0, 0, 0}, 0},
		{"sure and wrong", table{[]float32{zero, 0}, 1, 1, 2, []float32{0}}, Report{1, 0, 12 * math.Ln10, 2, 1, 0, 0, 0}, 1e-15},
		{"one class", table{[]float32{0, 0}, 1, 2, 1, []float32{0, 0}}, Report{2, 1, 0, 0, 0, 0, 0, 0}, 0},
		// p = (0.7, 0.2, 0.1), y = 0: 0.3² + 0.2² + 0.1² = 0.14; H = 0.7·0.356675 + 0.2·1.609438 + 0.1·2.302585.
		{"three classes", table{[]float32{ln(.7), ln(.2), ln(.1)}, 1, 1, 3, []float32{0}}, Report{1, 1, 0.356675, 0.14, 0.3, 0.801819, 0.801819, 0}, 1e-6},
		// The same with y = 2: 0.7² + 0.2² + 0.9² = 1.34.
		{"three classes, wrong", table{[]float32{ln(.7), ln(.2), ln(.1)}, 1, 1, 3, []float32{2}}, Report{1, 0, 2.302585, 1.34, 0.7, 0.801819, 0.801819, 0}, 1e-6},
		{"members sure of different classes", table{[]float32{0, zero, zero, 0}, 2, 1, 2, []float32{1}}, Report{1, 0, ln2, 0.5, 0.5, ln2, 0, ln2}, 1e-15},
		// p̄ = (2/3, 1/3). The mean of the logits would be (−∞, −∞).
		{"three members", table{[]float32{0, zero, 0, zero, zero, 0}, 3, 1, 2, []float32{0}},
			Report{1, 1, math.Log(1.5), 2. / 9, 1. / 3, math.Log(3) - 2./3*ln2, 0, math.Log(3) - 2./3*ln2}, 1e-15},
		// Members (0.9, 0.1), (0.9, 0.1), (0.001, 0.999): p̄₀ = 0.600333 and class 0 wins; by mean logits
		// (4.394 − 6.907)/3 < 0 class 1 would. Aleatoric = (2·0.325083 + 0.007907)/3.
		{"mean of probabilities, not of logits", table{[]float32{ln(.9), ln(.1), ln(.9), ln(.1), ln(.001), ln(.999)}, 3, 1, 2, []float32{0}},
			Report{1, 1, 0.510270, 0.319467, 0.399667, 0.672876, 0.219358, 0.453519}, 1e-6},
		// p̄ of the second row is 1e-30: below the floor.
		{"floor", table{[]float32{0, zero, -69, 0}, 1, 2, 2, []float32{0, 0}}, Report{2, 0.5, 6 * math.Ln10, 1, 0.5, 0, 0, 0}, 1e-12},
		{"impossible everywhere", table{[]float32{zero, zero}, 1, 1, 2, []float32{0}}, Report{1, 1, 12 * math.Ln10, 1, 1, 0, 0, 0}, 1e-15},
		{"no rows", table{nil, 3, 0, 10, nil}, Report{0, nan, nan, nan, nan, nan, nan, nan}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { same(t, tt.in.stat().Report(), tt.want, tt.tolerance) })
	}
}

// TestCalibrated builds confidences of k/8 from eight members that are each sure, k of them of class 0.
func TestCalibrated(t *testing.T) {
	var s Stat
	for k := 4; k <= 8; k++ {
		for right := range 8 { // of eight such examples k are of class 0
			in := table{members: 8, rows: 1, classes: 2, labels: []float32{1}}
			if right < k {
				in.labels[0] = 0
			}
			for m := range 8 {
				if m < k {
					in.logp = append(in.logp, 0, -inf32)
				} else {
					in.logp = append(in.logp, -inf32, 0)
				}
			}
			s.Merge(in.stat())
		}
	}
	if r := s.Report(); r.ECE != 0 || r.N != 40 || r.Accuracy != 30./40 {
		t.Errorf("calibrated: %+v, want ECE 0, N 40, accuracy 0.75", r)
	}
	// One example more, sure and wrong: the bin of confidence 1 has 8 right of 9.
	s.Add([]float32{0, -inf32}, 1, 1, 2, []float32{1})
	if got, want := s.Report().ECE, 1./41; math.Abs(got-want) > 1e-15 {
		t.Errorf("ECE = %v, want %v", got, want)
	}
}

func TestBinEdges(t *testing.T) {
	for k := 1; k <= Bins; k++ {
		edge := float64(k) / Bins
		if got := binOf(edge); got != k-1 {
			t.Errorf("binOf(%d/15) = %d, want %d: bins are closed above", k, got, k-1)
		}
		if got, want := binOf(math.Nextafter(edge, 2)+1e-15), min(k, Bins-1); got != want {
			t.Errorf("binOf(%d/15 + tiny) = %d, want %d", k, got, want)
		}
	}
	for _, c := range []float64{0, 1e-300, math.NaN()} {
		if got := binOf(c); got != 0 {
			t.Errorf("binOf(%v) = %d, want 0", c, got)
		}
	}
}

func TestTies(t *testing.T) {
	half, quarter := float32(math.Log(0.5)), float32(math.Log(0.25))
	tests := []struct {
		name           string
		members        int
		logp           []float32
		label, correct int
	}{
		{"first of two", 1, []float32{half, half}, 0, 1},
		{"second of two", 1, []float32{half, half}, 1, 0},
		{"after a lower one", 1, []float32{-30, half, half}, 1, 1},
		{"in the mean", 2, []float32{0, -inf32, -inf32, 0}, 0, 1},
		{"in the mean, second", 2, []float32{0, -inf32, -inf32, 0}, 1, 0},
		{"all of four", 1, []float32{quarter, quarter, quarter, quarter}, 3, 0},
	}
	for _, tt := range tests {
		var s Stat
		s.Add(tt.logp, tt.members, 1, len(tt.logp)/tt.members, []float32{float32(tt.label)})
		if s.Correct != tt.correct {
			t.Errorf("%s: logp %v, label %d: correct = %d, want %d", tt.name, tt.logp, tt.label, s.Correct, tt.correct)
		}
	}
}

func TestNotFinite(t *testing.T) {
	nan := math.NaN()
	for _, members := range []int{1, 3} {
		for _, bad := range []float32{nan32, inf32} {
			for at := range members * 3 {
				for label := range 3 {
					in := random(7, members, 1, 3, 1)
					in.labels[0] = float32(label)
					in.logp[at] = bad
					s := in.stat()
					same(t, s.Report(), Report{1, 0, nan, nan, nan, nan, nan, nan}, 0)

					good := table{[]float32{0, -inf32}, 1, 1, 2, []float32{0}}.stat()
					good.Merge(s)
					same(t, good.Report(), Report{2, 0.5, nan, nan, nan, nan, nan, nan}, 0)
				}
			}
		}
	}
}

func TestAgainstDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t)
		same(t, in.stat().Report(), naive(in), 1e-12)
	})
}

func TestRanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t)
		r := in.stat().Report()
		const slack = 1e-5 // float32 rows do not sum to 1 exactly
		for name, bound := range map[string][2]float64{
			"Accuracy": {0, 1}, "NLL": {-slack, 12 * math.Ln10}, "Brier": {0, 2 + slack}, "ECE": {0, 1 + slack},
			"Entropy": {-slack, math.Log(float64(in.classes)) + slack}, "MutualInformation": {0, math.Log(float64(in.members)) + slack},
		} {
			if v := fields(r)[name]; !(v >= bound[0] && v <= bound[1]) {
				t.Errorf("%s = %v outside %v", name, v, bound)
			}
		}
		if in.members == 1 && r.MutualInformation != 0 {
			t.Errorf("one member: mutual information %v, want 0 exactly", r.MutualInformation)
		}
	})
}

func TestMembersAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t)
		one := in.logp[:in.rows*in.classes]
		in.logp = nil
		for range in.members {
			in.logp = append(in.logp, one...)
		}
		r := in.stat().Report()
		if math.Abs(r.MutualInformation) > 1e-14 {
			t.Errorf("%d equal members: mutual information %v, want 0", in.members, r.MutualInformation)
		}
		in.logp, in.members = one, 1
		same(t, r, in.stat().Report(), 1e-12)
	})
}

func TestMergeIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t)
		client := rapid.SliceOfN(rapid.IntRange(0, 4), in.rows, in.rows).Draw(t, "client")
		rows := make([][]int, 5)
		for r, c := range client {
			rows[c] = append(rows[c], r)
		}
		var merged, added Stat
		for _, part := range rows {
			p := in.pick(part)
			merged.Merge(p.stat())
			added.Add(p.logp, p.members, p.rows, p.classes, p.labels)
		}
		whole := in.stat()
		same(t, merged.Report(), whole.Report(), 1e-12)
		same(t, added.Report(), whole.Report(), 1e-12)
		for i, b := range whole.Bins {
			if m := merged.Bins[i]; m.N != b.N || m.Correct != b.Correct {
				t.Errorf("bin %d: merged %+v, whole %+v", i, m, b)
			}
		}
	})
}

func TestOrder(t *testing.T) {
	in := random(3, 3, 2000, 10, 3)
	want := in.stat().Report()
	same(t, in.pick(rand.New(rand.NewPCG(4, 4)).Perm(in.rows)).stat().Report(), want, 1e-12)
}

func TestPanics(t *testing.T) {
	logp := make([]float32, 6)
	tests := []struct {
		name                   string
		members, rows, classes int
		labels                 []float32
	}{
		{"too few log-probabilities", 2, 2, 2, []float32{0, 0}},
		{"too many log-probabilities", 1, 2, 2, []float32{0, 0}},
		{"labels short", 1, 2, 3, []float32{0}},
		{"no members", 0, 2, 3, []float32{0, 0}},
		{"no classes", 1, 2, 0, []float32{0, 0}},
		{"negative rows", 1, -1, 3, nil},
		{"label too large", 1, 2, 3, []float32{0, 3}},
		{"label negative", 1, 2, 3, []float32{0, -1}},
		{"label between classes", 1, 2, 3, []float32{0, 0.5}},
		{"label NaN", 1, 2, 3, []float32{0, nan32}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			new(Stat).Add(logp, tt.members, tt.rows, tt.classes, tt.labels)
		})
	}
}

func TestNoAllocations(t *testing.T) {
	for _, members := range []int{1, 3} {
		in := random(1, members, 50, 10, 1)
		var s Stat
		if n := testing.AllocsPerRun(20, func() { s.Add(in.logp, in.members, in.rows, in.classes, in.labels) }); n != 0 {
			t.Errorf("%d members: Add allocates %v times, want 0", members, n)
		}
	}
}

func benchmarkAdd(b *testing.B, members int) {
	in := random(1, members, 10_000, 10, 3)
	b.SetBytes(int64(4 * len(in.logp)))
	b.ReportAllocs()
	var s Stat
	for b.Loop() {
		s.Add(in.logp, in.members, in.rows, in.classes, in.labels)
	}
}

func BenchmarkAdd1(b *testing.B)  { benchmarkAdd(b, 1) }
func BenchmarkAdd10(b *testing.B) { benchmarkAdd(b, 10) }

// BenchmarkMixtureOfOne is what one member would cost without its own path.
func BenchmarkMixtureOfOne(b *testing.B) {
	in := random(1, 1, 10_000, 10, 3)
	var s Stat
	for b.Loop() {
		for i, y := range in.labels {
			s.add(mixture(in.logp[i*10:], 1, 10, 10, int(y)), int(y))
		}
	}
}
