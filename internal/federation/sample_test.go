package federation

import (
	"math"
	"slices"
	"testing"

	"fedbayes/algorithms"
	"fedbayes/internal/rng"
)

// sampler returns a run that can sample k of n clients and nothing else. Client ids are multiples of 3.
func sampler(seed uint64, k, n int) *run {
	r := &run{Config: Config{PerRound: k}, root: rng.Stream{Seed: seed}}
	for i := range n {
		r.able = append(r.able, 3*i)
	}
	return r
}

func TestSampleWithoutReplacement(t *testing.T) {
	for _, k := range []int{1, 2, 9, 10, 11} {
		r := sampler(1, k, 10)
		for round := range 200 {
			ids := r.sample(round)
			if len(ids) != min(k, 10) {
				t.Fatalf("%d of 10: sampled %v", k, ids)
			}
			for i, id := range ids {
				if id%3 != 0 || id < 0 || id > 27 || i > 0 && id <= ids[i-1] {
					t.Fatalf("%d of 10: sampled %v, want ascending ids, each once", k, ids)
				}
			}
		}
	}
}

// TestSampleIsUniform counts clients and pairs of clients.
func TestSampleIsUniform(t *testing.T) {
	const rounds, k, n = 4000, 3, 10
	r := sampler(5, k, n)
	var singles [n]float64
	var pairs [n][n]float64
	for round := range rounds {
		ids := r.sample(round)
		for _, i := range ids {
			singles[i/3]++
			for _, j := range ids {
				pairs[i/3][j/3]++
			}
		}
	}
	// Five standard deviations of a binomial: by chance one run in 30,000, and the seed is fixed.
	near := func(got, p float64) bool {
		return math.Abs(got-rounds*p) < 5*math.Sqrt(rounds*p*(1-p))
	}
	for i := range n {
		if !near(singles[i], k/float64(n)) {
			t.Errorf("client %d sampled in %v of %d rounds, want about %v", i, singles[i], rounds, rounds*k/n)
		}
		for j := range i {
			if p := k * (k - 1) / float64(n*(n-1)); !near(pairs[i][j], p) {
				t.Errorf("clients %d and %d sampled together in %v rounds, want about %v", j, i, pairs[i][j], rounds*p)
			}
		}
	}
}

// TestSampleIsAFunctionOfSeedAndRound asks for the rounds in another order, and of runs that did other things before.
func TestSampleIsAFunctionOfSeedAndRound(t *testing.T) {
	const rounds = 50
	forth, back, other := sampler(1, 4, 12), sampler(1, 4, 12), sampler(2, 4, 12)
	var want [rounds][]int
	for round := range rounds {
		want[round] = forth.sample(round)
	}
	repeats, equal := 0, 0
	for round := rounds - 1; round >= 0; round-- {
		if got := back.sample(round); !slices.Equal(got, want[round]) {
			t.Errorf("round %d: %v, and %v where rounds go up", round, got, want[round])
		}
		if round > 0 && slices.Equal(want[round], want[round-1]) {
			repeats++
		}
		if slices.Equal(other.sample(round), want[round]) {
			equal++
		}
	}
	// Of 495 possible samples.
	if repeats > 3 || equal > 3 {
		t.Errorf("of %d rounds %d sample as the one before, and %d as those of another seed", rounds, repeats, equal)
	}
}

// TestMethodsShareSamples checks that methods of one seed meet the same clients in the same rounds.
func TestMethodsShareSamples(t *testing.T) {
	cfg := config()
	cfg.Rounds = 6
	var want []int
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		s, _, _ := play(t, cfg, make(), toys(mixed...))
		var ids []int
		for _, ups := range s.ups {
			for _, u := range ups {
				ids = append(ids, u.Client)
			}
		}
		if want == nil {
			want = ids
		}
		if !slices.Equal(ids, want) {
			t.Errorf("clients %v upload, want %v", ids, want)
		}
	})
}
