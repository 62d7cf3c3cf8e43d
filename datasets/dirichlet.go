package datasets

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"fedbayes/internal/rng"
)

// maxDraws bounds how often a Dirichlet partition is drawn anew.
const maxDraws = 100

// The concentrations that are not refused. Below, one client gets all of a class anyway and log-shares overflow;
// above, shares are equal to six digits.
const minAlpha, maxAlpha = 1e-6, 1e6

// dirichlet divides each class by a draw of its own, p ~ Dir(Alpha·1). A client that already holds its equal part of all
// images gets nothing of the classes that follow.
//
// Yurochkin et al., Bayesian Nonparametric Federated Learning of Neural Networks. ICML 2019. The draw is repeated as in
// their code; unlike there, not without end.
func dirichlet(d *Dataset, cfg PartitionConfig) ([]Split, error) {
	if !(cfg.Alpha >= minAlpha && cfg.Alpha <= maxAlpha) { // not the opposite comparisons, so that NaN is refused
		return nil, fmt.Errorf("--alpha %g: want %g to %g", cfg.Alpha, minAlpha, maxAlpha)
	}
	if cfg.MinSamples < 1 {
		return nil, fmt.Errorf("--min-samples %d: want at least 1", cfg.MinSamples)
	}
	counts := d.Counts()
	best, least := 0, cfg.least()
	for draw := range maxDraws {
		shares := drawShares(counts, cfg, cfg.stream(drawMixture, draw))
		smallest := d.Len()
		for i := range cfg.Clients {
			smallest = min(smallest, sum(shares[i]))
		}
		if smallest >= least {
			return dealShares(shuffledClasses(d, cfg), shares, cfg), nil
		}
		best = max(best, smallest)
	}
	way := "raise --alpha, or lower --clients"
	switch {
	case best > 0 && least > cfg.MinSamples:
		way = fmt.Sprintf("lower --test-per-client to %d, or raise --alpha", best-1)
	case best > 0:
		way = fmt.Sprintf("lower --min-samples to %d, or raise --alpha", best)
	}
	return nil, fmt.Errorf("no draw in %d gives every client %d examples (alpha %g, %d clients); the best gave %d: %s",
		maxDraws, least, cfg.Alpha, cfg.Clients, best, way)
}

// drawShares returns how many images of each class each client gets. [Clients, Classes]
func drawShares(counts []int, cfg PartitionConfig, s rng.Stream) [][]int {
	shares := make([][]int, cfg.Clients)
	flat := make([]int, cfg.Clients*len(counts))
	for i := range shares {
		shares[i], flat = flat[:len(counts):len(counts)], flat[len(counts):]
	}
	r := s.Rand()
	// A gamma variate of a small shape underflows, so p is made of logarithms: if G ~ Gamma(α+1) and U is uniform,
	// then log G + log(U)/α is the logarithm of a Gamma(α) variate. Marsaglia and Tsang, TOMS 2000, section 6.
	gamma := distuv.Gamma{Alpha: cfg.Alpha + 1, Beta: 1, Src: r}
	total := sum(counts)
	sizes := make([]int, cfg.Clients)
	logs, p := make([]float64, cfg.Clients), make([]float64, cfg.Clients)
	for c, n := range counts {
		for i := range logs {
			logs[i] = math.Log(gamma.Rand()) + math.Log(1-r.Float64())/cfg.Alpha
			if sizes[i]*cfg.Clients >= total {
				logs[i] = math.Inf(-1)
			}
		}
		// Not all clients are full while images remain, so the largest logarithm is finite and p sums to at least 1.
		largest := slices.Max(logs)
		var norm float64
		for i, l := range logs {
			p[i] = math.Exp(l - largest)
			norm += p[i]
		}
		var upTo float64
		from, last := 0, slices.Index(logs, largest)
		for i := range p {
			upTo += p[i] / norm
			to := min(int(upTo*float64(n)), n)
			shares[i][c] = to - from
			from = to
		}
		shares[last][c] += n - from // rounding of the sum
		for i := range sizes {
			sizes[i] += shares[i][c]
		}
	}
	return shares
}

// dealShares cuts each class, and each client's part of it, into training and test images.
func dealShares(byClass, shares [][]int, cfg PartitionConfig) []Split {
	splits := make([]Split, len(shares))
	for i, share := range shares {
		tests := stratify(share, cfg.tests(sum(share)))
		for c, n := range share {
			hand := byClass[c][:n]
			byClass[c] = byClass[c][n:]
			splits[i].Train = append(splits[i].Train, hand[tests[c]:]...)
			splits[i].Test = append(splits[i].Test, hand[:tests[c]]...)
		}
	}
	return splits
}

// stratify divides so many test images of a client among its classes in proportion to what it holds, by largest remainder.
func stratify(share []int, want int) []int {
	total := sum(share)
	if total == 0 {
		return make([]int, len(share))
	}
	tests := make([]int, len(share))
	order := make([]int, len(share))
	for c, n := range share {
		tests[c] = n * want / total
		order[c] = c
	}
	remainder := func(c int) int { return share[c] * want % total }
	slices.SortStableFunc(order, func(a, b int) int { return remainder(b) - remainder(a) })
	for _, c := range order[:want-sum(tests)] {
		tests[c]++
	}
	return tests
}

func sum(x []int) int {
	total := 0
	for _, v := range x {
		total += v
	}
	return total
}
