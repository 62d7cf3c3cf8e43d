package algorithms

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// problem returns a matching problem of clients with these numbers of random neurons, of three values in the head and two
// in the tail.
func problem(r *rand.Rand, b beliefs, sizes ...int) *hidden {
	h := &hidden{beliefs: b, dim: 5, head: 3, prior: []float64{0, 0.1 / b.priorVar, 0, 0, 0}, units: make([][]int, len(sizes))}
	for _, n := range sizes {
		c := neurons{n: n, prec: []float64{1 / b.noiseVar, r.Float64() / b.noiseVar, 0.3 / b.noiseVar}}
		for range n {
			for k := range h.dim {
				c.v = append(c.v, precision(h, c, k)*r.NormFloat64())
			}
		}
		h.clients = append(h.clients, c)
	}
	return h
}

// precision returns 1/σ² of value k of a client's neurons.
func precision(h *hidden, c neurons, k int) float64 { return c.prec[max(0, k-h.head+1)] }

// posterior64 is twice the logarithm of the posterior of all pairings, as a function of client j's alone: for each of the
// server's neurons the square that is left when θ is integrated out, and what the process says of client j given the rest.
func posterior64(h *hidden, units [][]int, j int) float64 {
	var sum, fresh float64
	for i := range 50 {
		g, p := slices.Clone(h.prior), slices.Repeat([]float64{1 / h.priorVar}, h.dim)
		m, own := 0.0, false
		for c, of := range units {
			l := slices.Index(of, i)
			if l < 0 {
				continue
			}
			if c == j {
				own = true
			} else {
				m++
			}
			for k := range h.dim {
				g[k] += h.clients[c].v[l*h.dim+k]
				p[k] += precision(h, h.clients[c], k)
			}
		}
		for k := range h.dim {
			sum += g[k]*g[k]/p[k] - h.prior[k]*h.prior[k]*h.priorVar
		}
		others := float64(len(units))
		switch {
		case own && m > 0:
			sum += h.popularity(m, others)
		case own:
			fresh++
			sum += 2*math.Log(h.gamma/others) - 2*math.Log(fresh)
		}
	}
	return sum
}

// likeliest64 tries all pairings of client j, given the others', and returns the value of the best.
func likeliest64(h *hidden, j int) float64 {
	units, most, known := slices.Clone(h.units), math.Inf(-1), 0
	for c, of := range units {
		if c != j {
			for _, i := range of {
				known = max(known, i+1)
			}
		}
	}
	var try func(of []int, next int)
	try = func(of []int, next int) {
		if len(of) == h.clients[j].n {
			units[j] = of
			most = max(most, posterior64(h, units, j))
			return
		}
		for i := range next + 1 {
			if !slices.Contains(of, i) {
				try(append(slices.Clone(of), i), max(next, i+1))
			}
		}
	}
	try(nil, known)
	return most
}

// TestRematchIsLikeliest holds each pairing, at the start and in sweeps, against all that there are, and against the one
// that the client had before: no revision makes the posterior smaller.
func TestRematchIsLikeliest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	revised := 0
	for _, odds := range []func(m, clients float64) float64{logOdds, cappedOdds} {
		for _, b := range []beliefs{{1, 1, 1, odds}, {10, 0.05, 0.3, odds}, {0.5, 0.2, 5, odds}} {
			t.Run(fmt.Sprint(b.priorVar, b.noiseVar, b.gamma), func(t *testing.T) {
				h := problem(r, b, 2, 3, 1, 3)
				for step, j := range []int{1, 3, 0, 2, 0, 1, 2, 3, 3, 2, 1, 0} {
					before := math.Inf(-1)
					if h.units[j] != nil {
						before = posterior64(h, h.units, j)
					}
					h.rematch(j)
					got, want := posterior64(h, h.units, j), likeliest64(h, j)
					if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
						t.Fatalf("step %d: client %d has %v, worth %v; the best is worth %v", step, j, h.units[j], got, want)
					}
					if got < before-1e-9 {
						t.Errorf("step %d: client %d: the posterior falls from %v to %v", step, j, before, got)
					}
					if got > before+1e-9 && step > 3 {
						revised++
					}
				}
			})
		}
	}
	if revised == 0 {
		t.Error("no sweep revised a pairing")
	}
}

// TestMatchOrder checks that the widest client is first, and that pairings that exist are revised by sweeps alone.
func TestMatchOrder(t *testing.T) {
	h := problem(rand.New(rand.NewPCG(2, 2)), beliefs{1, 1, 1, logOdds}, 2, 4, 3)
	h.match(nil)
	if want := []int{0, 1, 2, 3}; !slices.Equal(h.units[1], want) {
		t.Errorf("the widest client has %v, want %v", h.units[1], want)
	}
	h.units = [][]int{{5, 0}, {0, 1, 2, 3}, {4, 3, 5}}
	h.match([]int{2})
	if of := h.units[1]; !slices.Equal(of, []int{0, 1, 2, 3}) {
		t.Errorf("a client whose turn it was not has %v", of)
	}
	if got, want := posterior64(h, h.units, 2), likeliest64(h, 2); !(math.Abs(got-want) <= 1e-9) {
		t.Errorf("a revision is worth %v, the best %v", got, want)
	}
}

// TestRenumber deletes neurons that nobody has.
func TestRenumber(t *testing.T) {
	h := &hidden{units: [][]int{{7, 2}, nil, {2, 4}}}
	h.renumber()
	if got, want := fmt.Sprint(h.units), "[[2 0] [] [0 1]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestMatchRecoversPermutations gives the clients copies of the same neurons in orders of their own, with a little noise.
func TestMatchRecoversPermutations(t *testing.T) {
	const n, clients = 20, 4
	r := rand.New(rand.NewPCG(3, 3))
	h := problem(r, beliefs{1, 0.01, 1, logOdds}, n)
	one := h.clients[0]
	one.prec = []float64{100, 100, 100}
	for i := range one.v {
		one.v[i] = 100 * r.NormFloat64()
	}
	h.clients, h.units = nil, make([][]int, clients)
	var orders [][]int
	for range clients {
		c, order := neurons{n: n, prec: one.prec}, r.Perm(n)
		for _, l := range order {
			for _, v := range one.v[l*h.dim : (l+1)*h.dim] {
				c.v = append(c.v, v+0.1*r.NormFloat64())
			}
		}
		h.clients, orders = append(h.clients, c), append(orders, order)
	}
	h.match([]int{3, 0, 2, 1})
	theta := h.means()
	if got := len(theta) / h.dim; got != n {
		t.Fatalf("%d neurons, want %d", got, n)
	}
	place := make([]int, n) // of a neuron at the server
	for l, i := range h.units[0] {
		place[orders[0][l]] = i
	}
	for j, order := range orders {
		for l, neuron := range order {
			if h.units[j][l] != place[neuron] {
				t.Fatalf("client %d: its %d-th neuron is paired with %d, want %d", j, l, h.units[j][l], place[neuron])
			}
		}
	}
	for i := range n {
		for k := range h.dim {
			g, p := h.prior[k], 1.0
			for j, c := range h.clients {
				g += c.v[slices.Index(h.units[j], i)*h.dim+k]
				p += 100
			}
			if got := theta[i*h.dim+k]; !(math.Abs(got-g/p) < 1e-12) {
				t.Fatalf("θ of %d is %v at %d, want %v", i, got, k, g/p)
			}
		}
	}
}

// TestGamma checks the extremes: with hardly any mass identical clients share all neurons and unlike ones too, with much
// of it unlike ones share none.
func TestGamma(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, tt := range []struct {
		gamma float64
		alike bool
		want  int
	}{{1e-300, true, 6}, {1e-300, false, 6}, {1e9, false, 18}} {
		h := problem(r, beliefs{1, 1, tt.gamma, logOdds}, 6, 6, 6)
		if tt.alike {
			h.clients[1], h.clients[2] = h.clients[0], h.clients[0]
		}
		h.match([]int{0, 1, 2})
		if got := len(h.means()) / h.dim; got != tt.want {
			t.Errorf("γ = %v, alike %v: %d neurons, want %d", tt.gamma, tt.alike, got, tt.want)
		}
	}
}

func TestPopularity(t *testing.T) {
	for _, tt := range []struct{ m, clients, paper, ibm float64 }{
		{1, 2, 0, 0}, {9, 10, 2 * math.Log(9), math.Log(9)}, {15, 20, 2 * math.Log(3), 0},
	} {
		if got := logOdds(tt.m, tt.clients); math.Abs(got-tt.paper) > 1e-12 {
			t.Errorf("%v of %v: %v, want %v", tt.m, tt.clients, got, tt.paper)
		}
		if got := cappedOdds(tt.m, tt.clients); math.Abs(got-tt.ibm) > 1e-12 {
			t.Errorf("%v of %v, capped: %v, want %v", tt.m, tt.clients, got, tt.ibm)
		}
	}
}
