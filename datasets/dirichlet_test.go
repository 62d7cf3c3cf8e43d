package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDrawShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(0, 300), 1, 12).Draw(t, "counts")
		counts[0]++
		cfg := PartitionConfig{
			Clients: rapid.IntRange(1, 40).Draw(t, "clients"),
			Alpha:   math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "log alpha")),
			Seed:    rapid.Uint64().Draw(t, "seed"),
		}
		shares := drawShares(counts, cfg, cfg.stream(drawMixture, 0))
		held, total := make([]int, cfg.Clients), sum(counts)
		for c, n := range counts {
			given := 0
			for i, share := range shares {
				if share[c] < 0 || (share[c] > 0 && held[i]*cfg.Clients >= total) {
					t.Fatalf("class %d: client %d holds %d of %d images and gets %d more", c, i, held[i], total, share[c])
				}
				given += share[c]
			}
			if given != n {
				t.Fatalf("class %d: %d of %d images given out", c, given, n)
			}
			for i, share := range shares {
				held[i] += share[c]
			}
		}
	})
}

// The first class is divided by a plain draw from Dir(α): a share has mean 1/N and variance (1/N)(1−1/N)/(Nα+1).
func TestDrawSharesMoments(t *testing.T) {
	const clients, draws, images = 5, 4000, 1_000_000
	for _, alpha := range []float64{0.01, 0.1, 0.5, 1, 10} {
		cfg := PartitionConfig{Clients: clients, Alpha: alpha, Seed: 5}
		var mean, square [clients]float64
		for draw := range draws {
			for i, share := range drawShares([]int{images}, cfg, cfg.stream(drawMixture, draw)) {
				p := float64(share[0]) / images
				mean[i] += p / draws
				square[i] += p * p / draws
			}
		}
		wantVar := (1.0 / clients) * (1 - 1.0/clients) / (clients*alpha + 1)
		for i := range clients {
			// Five standard errors of the mean; the variance of a square of a bounded p is below that of p.
			tolerance := 5 * math.Sqrt(wantVar/draws)
			if math.Abs(mean[i]-1.0/clients) > tolerance {
				t.Errorf("alpha %g: client %d gets %.4f on average, want %.4f ± %.4f", alpha, i, mean[i], 1.0/clients, tolerance)
			}
			if got := square[i] - mean[i]*mean[i]; math.Abs(got/wantVar-1) > 0.15 {
				t.Errorf("alpha %g: client %d: variance %.5f, want %.5f", alpha, i, got, wantVar)
			}
		}
	}
}

func TestDirichletAlphaSetsTheSkew(t *testing.T) {
	d := toy(slices.Repeat([]int{500}, 10)...)
	labels := func(alpha float64) (n int) {
		splits, _, err := Partition(d, PartitionConfig{Kind: "dirichlet", Clients: 10, Alpha: alpha, MinSamples: 10, Seed: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range splits {
			n += len(s.Labels)
		}
		return n
	}
	if few, some, all := labels(0.01), labels(0.3), labels(100); !(few < 30 && few < some && some < all && all == 100) {
		t.Errorf("clients hold %d, %d and %d labels in all at alpha 0.01, 0.3 and 100", few, some, all)
	}
}

// What the error recommends must work.
func TestDirichletErrorNamesTheLimit(t *testing.T) {
	d := toy(slices.Repeat([]int{100}, 10)...)
	for _, alpha := range []float64{1e-6, 1e-3, 0.1, 1} {
		cfg := PartitionConfig{Kind: "dirichlet", Clients: 8, Alpha: alpha, MinSamples: 125, Seed: 4}
		_, _, err := Partition(d, cfg)
		if err == nil {
			t.Errorf("alpha %g: exactly equal shares", alpha)
			continue
		}
		want := fmt.Sprintf("datasets: toy: dirichlet: no draw in 100 gives every client 125 examples (alpha %g, 8 clients); the best gave ", alpha)
		_, number, ok := strings.Cut(err.Error(), "lower --min-samples to ")
		if !strings.HasPrefix(err.Error(), want) || !ok {
			t.Errorf("alpha %g: got %q, want %q", alpha, err, want)
			continue
		}
		if _, scanErr := fmt.Sscan(number, &cfg.MinSamples); scanErr != nil {
			t.Fatal(scanErr)
		}
		if _, _, err := Partition(d, cfg); err != nil {
			t.Errorf("alpha %g: with --min-samples %d: %v", alpha, cfg.MinSamples, err)
		}
		cfg.MinSamples++
		if _, _, err := Partition(d, cfg); err == nil {
			t.Errorf("alpha %g: %d was not the best", alpha, cfg.MinSamples-1)
		}
	}
	_, _, err := Partition(toy(50), PartitionConfig{Kind: "dirichlet", Clients: 50, Alpha: 1e-3, MinSamples: 1})
	if err == nil || !strings.HasSuffix(err.Error(), "the best gave 0: raise --alpha, or lower --clients") {
		t.Errorf("nothing reachable: got %v", err)
	}
}

func TestStratify(t *testing.T) {
	for _, test := range []struct{ share, want []int }{
		{[]int{0, 0}, []int{0, 0}},
		{[]int{1, 0}, []int{0, 0}}, // one example stays for training
		{[]int{2, 0}, []int{1, 0}},
		{[]int{40, 20, 0, 4}, []int{10, 5, 0, 1}},
		{[]int{3, 1}, []int{1, 0}},
		{[]int{1, 3}, []int{0, 1}},
		{[]int{1, 1, 1, 1}, []int{1, 0, 0, 0}},
		{[]int{6, 6}, []int{2, 1}},
	} {
		if got := stratify(test.share, PartitionConfig{}.tests(sum(test.share))); !slices.Equal(got, test.want) {
			t.Errorf("stratify(%v) = %v, want %v", test.share, got, test.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		share := rapid.SliceOfN(rapid.IntRange(0, 100), 1, 12).Draw(t, "share")
		total := sum(share)
		want := rapid.IntRange(0, total).Draw(t, "want")
		tests := stratify(share, want)
		if sum(tests) != want {
			t.Fatalf("%v: %v for the test, want %d in all", share, tests, want)
		}
		for c, n := range tests {
			if exact := float64(share[c]*want) / float64(max(total, 1)); n > share[c] || math.Abs(float64(n)-exact) >= 1 {
				t.Fatalf("%v: %d of class %d for the test, want %.2f", share, n, c, exact)
			}
		}
	})
}
