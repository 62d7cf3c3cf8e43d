package algorithms

import (
	"math"
	"slices"

	"fedbayes/internal/assignment"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
)

// This file matches the neurons of one hidden layer over clients, as bnfed does for each of its layers. A neuron is a
// vector u of its weights. In the model of the paper the server has any number of neurons θᵢ ~ N(μ₀, σ₀²), a client has
// some of them, with noise, u ~ N(θᵢ, σ²), and which ones is a draw from a Beta-Bernoulli process: those that many clients
// have are likely, and each client has a few that were in none before. What is sought is the likeliest pairing.
//
// All is in natural parameters: a precision 1/σ², and u/σ².

// beliefs are the constants of the model.
type beliefs struct {
	priorVar, noiseVar float64 // σ₀², σ²
	gamma              float64 // γ, mass of the process: how many neurons are new

	// popularity is what it adds to the value of a pairing that m of the other clients have made, out of all clients.
	popularity func(m, clients float64) float64
}

// logOdds is the paper's popularity: twice the logarithm of the odds m : J−m, on the scale of the other terms of a value.
func logOdds(m, clients float64) float64 { return 2 * math.Log(m/(clients-m)) }

// cappedOdds is what the public code has: half of the paper's, and no more than ten clients count.
func cappedOdds(m, clients float64) float64 {
	m = min(m, 10)
	return math.Log(m / (clients - m))
}

// neurons are those of one client in a layer. The values of a neuron have a head, with one precision for all of it, and
// a tail, with a precision for each value.
type neurons struct {
	n    int
	v    []float64 // [n, dim], u/σ²
	prec []float64 // [1 + tail], 1/σ²: of the head, of each value of the tail
}

// A hidden is the matching problem of one hidden layer.
type hidden struct {
	beliefs
	dim, head int
	prior     []float64 // [dim], μ₀/σ₀²
	clients   []neurons
	units     [][]int // by client: the server's neurons that its own are paired with; nil as long as there are none
}

// match pairs the neurons of all clients: of those first that have no pairing yet, the widest first; then once more of the
// clients that sweeps name, one after the other, given all others' pairings.
func (h *hidden) match(sweeps []int) {
	var fresh []int
	for j, units := range h.units {
		if units == nil {
			fresh = append(fresh, j)
		}
	}
	slices.SortStableFunc(fresh, func(a, b int) int { return h.clients[b].n - h.clients[a].n })
	for _, j := range append(fresh, sweeps...) {
		h.rematch(j)
	}
}

// rematch gives client j the pairing of the largest value, given those of the others. A server's neuron that no client
// has any more is deleted.
func (h *hidden) rematch(j int) {
	h.units[j] = nil
	h.renumber()
	at, c := h.atoms(), h.clients[j]
	known, fresh := len(at.m), 0
	units := assignment.Max(h.values(c, at), c.n, known+c.n)
	for l, i := range units {
		if i >= known { // which of the new ones it is does not matter
			units[l] = known + fresh
			fresh++
		}
	}
	h.units[j] = units
}

// values returns what the pairings of a client's neurons are worth, [n, L+n]: with each of the server's L neurons, and
// with a first, second, … new one. It is twice the gain in the logarithm of the posterior, without terms that are equal
// for all pairings. The k-th new neuron of a client is worth less than the one before it, by the Poisson distribution of
// their number.
func (h *hidden) values(c neurons, at atoms) []float64 {
	known, cols := len(at.m), len(at.m)+c.n
	fit, value := h.fit(c, at), make([]float64, c.n*cols)
	clients := float64(len(h.clients))
	for l := range c.n {
		row, fit := value[l*cols:(l+1)*cols], fit[l*(known+1):]
		for i, m := range at.m {
			row[i] = fit[1+i] + h.popularity(float64(m), clients)
		}
		for k := range c.n {
			row[known+k] = fit[0] + 2*math.Log(h.gamma/clients) - 2*math.Log(float64(k+1))
		}
	}
	for i, v := range value {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			value[i] = 0 // training diverged: there is nothing to choose, and the evaluation will report it
		}
	}
	return value
}

// atoms are the server's L neurons, with the prior before them as one that has no client's neuron in it yet.
type atoms struct {
	m []int     // [L], clients that have it
	g []float64 // [1+L, dim]: μ₀/σ₀² + Σ u/σ²
	p []float64 // [1+L, 1+tail]: 1/σ₀² + Σ 1/σ²
}

// atoms sums the neurons that are paired with each of the server's, in order of client.
func (h *hidden) atoms() atoms {
	width := 1 + h.dim - h.head
	at := atoms{g: slices.Clone(h.prior), p: slices.Repeat([]float64{1 / h.priorVar}, width)}
	for j, c := range h.clients {
		for l, i := range h.units[j] {
			for i >= len(at.m) {
				at.m = append(at.m, 0)
				at.g = append(at.g, at.g[:h.dim]...)
				at.p = append(at.p, at.p[:width]...)
			}
			at.m[i]++
			floats.Add(at.g[(1+i)*h.dim:(2+i)*h.dim], c.v[l*h.dim:(l+1)*h.dim])
			floats.Add(at.p[(1+i)*width:(2+i)*width], c.prec)
		}
	}
	return at
}

// fit returns Σ (g+v)²/(p+1/σ²) − g²/p over the values of a neuron, for each of a client's and each atom, [n, 1+L].
func (h *hidden) fit(c neurons, at atoms) []float64 {
	rows, tail := len(at.m)+1, h.dim-h.head
	fit := make([]float64, c.n*rows)
	// In the head both precisions are one number, so the squares come apart and a matrix product is most of the work.
	blas64.Gemm(blas.NoTrans, blas.Trans,
		2, blas64.General{Rows: c.n, Cols: h.head, Stride: h.dim, Data: c.v},
		blas64.General{Rows: rows, Cols: h.head, Stride: h.dim, Data: at.g},
		0, blas64.General{Rows: c.n, Cols: rows, Stride: rows, Data: fit})
	vv, gg := h.squares(c.v, c.n), h.squares(at.g, rows)
	for l := range c.n {
		v := c.v[l*h.dim+h.head:][:tail]
		for i := range rows {
			g, p := at.g[i*h.dim+h.head:][:tail], at.p[i*(1+tail):][:1+tail]
			sum := (gg[i]+fit[l*rows+i]+vv[l])/(p[0]+c.prec[0]) - gg[i]/p[0]
			for t := range tail {
				both := g[t] + v[t]
				sum += both*both/(p[1+t]+c.prec[1+t]) - g[t]*g[t]/p[1+t]
			}
			fit[l*rows+i] = sum
		}
	}
	return fit
}

// squares returns the squared norms of the heads of n vectors.
func (h *hidden) squares(v []float64, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		u := v[i*h.dim:][:h.head]
		s[i] = floats.Dot(u, u)
	}
	return s
}

// renumber closes the gaps that the server's neurons without a client leave.
func (h *hidden) renumber() {
	var used []bool
	for _, units := range h.units {
		for _, i := range units {
			for i >= len(used) {
				used = append(used, false)
			}
			used[i] = true
		}
	}
	number, n := make([]int, len(used)), 0
	for i, is := range used {
		if number[i] = n; is {
			n++
		}
	}
	for _, units := range h.units {
		for l, i := range units {
			units[l] = number[i]
		}
	}
}

// means returns the likeliest values of the server's neurons, θ = g/p, [L, dim].
func (h *hidden) means() []float64 {
	at, tail := h.atoms(), h.dim-h.head
	for i := range at.m {
		g, p := at.g[(1+i)*h.dim:][:h.dim], at.p[(1+i)*(1+tail):]
		for k := range g {
			g[k] /= p[max(0, k-h.head+1)]
		}
	}
	return at.g[h.dim:]
}
