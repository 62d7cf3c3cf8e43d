package algorithms

import (
	"context"
	"errors"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// BNFed matches the hidden units of the clients' networks before it averages them: a unit may sit in another place in each
// network, and units that nobody else has are kept beside the others. So the server's network is wider than a client's.
//
//	client: w ← its units of the server's network; a round of steps on the mean cross-entropy of a mini-batch
//	server: pair the clients' units with the server's, layer by layer from the top (match.go)
//	        θᵢ ← (μ₀/σ₀² + Σ u/σ²) / (1/σ₀² + Σ 1/σ²), over the units u that are paired with i
//
// A unit is the vector of its bias and of its weights to the layer above, and in the lowest hidden layer of those from
// the inputs too. A client knows little of labels that it has few of: for weights to a logit, and for the logit's bias,
// 1/σ² is multiplied by the client's share of the examples of this label, which is why clients send their counts.
//
// It has a global model and no personal one. In the first round the clients' networks are paired from nothing, later
// their last pairings are revised. Beyond the paper, for rounds that sample clients: of one that is not sampled, the server
// keeps what it sent last, and its pairing; one that trains for the first time later on gets the most popular units.
//
// Deviates: its Adam is without AMSGrad and has no weight decay, which is 10⁻⁶ in the public code and falls to 0 after a
// round (github.com/IBM/probabilistic-federated-neural-matching); the server's width has no bound, there it is 700.
//
// Yurochkin et al., Bayesian Nonparametric Federated Learning of Neural Networks. ICML 2019. Algorithms 1 and 2.
type BNFed struct {
	Descent

	LRDecay    float64 // factor of the learning rate from one round to the next
	PriorVar   float64 // σ₀², of the server's weights
	NoiseVar   float64 // σ², of a client's weights around the server's
	Gamma      float64 // γ, mass of the process: how many units are new
	Sweeps     int     // how often each pairing is revised
	Popularity string  // what a pairing that many clients have gains: the paper's, or ibm, that of the public code
	Start      string  // of the clients' first networks: shared, or independent (their own draw)
}

// NewBNFed returns the method with the settings of the public code.
func NewBNFed() *BNFed {
	return &BNFed{
		Descent: Descent{Optimizer: "adam", LR: 0.01}, LRDecay: 0.99,
		PriorVar: 1, NoiseVar: 1, Gamma: 1, Sweeps: 5, Popularity: "paper", Start: "independent",
	}
}

// priorBias is μ₀ of biases, as in the public code. That of weights is 0.
const priorBias = 0.1

// BNFedState is what the server keeps.
type BNFedState struct {
	Seed    uint64
	Rounds  int         // so far
	Widths  []int       // of a client's network
	Global  Perceptron  // θ
	Clients []BNFedPeer // by number
}

// BNFedPeer is what the server keeps of a client; the zero value if it has sent nothing yet.
type BNFedPeer struct {
	Last  BNFedUpload
	Units [][]int // by hidden layer: the server's units that its own are paired with
}

// BNFedUpload is a client's network and its number of examples of each label.
type BNFedUpload struct{ W, Counts []float32 }

func (m *BNFed) Params() []Param {
	return append(m.Descent.Params(),
		Param{Name: "lr-decay", Usage: "factor of the learning rate from one round to the next", Value: &m.LRDecay, Open: true, Max: 1},
		Param{Name: "prior-var", Usage: "variance σ₀² of the server's weights around 0, and of its biases around 0.1", Value: &m.PriorVar, Open: true, Max: inf},
		Param{Name: "noise-var", Usage: "variance σ² of a client's weights around the server's", Value: &m.NoiseVar, Open: true, Max: inf},
		Param{Name: "gamma", Usage: "mass γ of the process: how many of a client's units are new", Value: &m.Gamma, Open: true, Max: inf},
		Param{Name: "sweeps", Usage: "how often the server revises a client's pairing in a round", Value: &m.Sweeps, Max: 1000},
		Param{Name: "popularity", Usage: "what a unit of m of J clients gains: 2·log(m/(J−m)), or half of it, as IBM's code", Value: &m.Popularity, OneOf: []string{"paper", "ibm"}},
		Param{Name: "start", Usage: "weights at the start: the server's, or a draw of each client's own", Value: &m.Start, OneOf: []string{"shared", "independent"}},
	)
}

func (m *BNFed) Accepts(net *layers.Model) error {
	if _, ok := widths(net); !ok {
		return errors.New("it matches the units of dense layers; want --model mlp (on CIFAR-10 that is 3072-100-10) or mlp2")
	}
	return nil
}

func (m *BNFed) Server(task Task, _ *kernels.CPU, r rng.Stream) BNFedState {
	ws, _ := widths(task.Net)
	return BNFedState{Seed: r.Seed, Widths: ws, Global: Perceptron{ws, task.Net.InitUniform(r)}}
}

func (m *BNFed) Client(Task, *kernels.CPU, BNFedState, rng.Stream) None { return None{} }

func (m *BNFed) Download(s BNFedState, i int) []float32 {
	if s.Rounds == 0 && m.Start == "independent" {
		return initUniform(s.Widths, rng.Stream{Seed: s.Seed}.At(0, i+1))
	}
	return s.Global.part(s.units(i)).W
}

// units returns the server's units, by hidden layer, that client i trains: those that it is paired with, or the most
// popular if there are none.
func (s *BNFedState) units(i int) [][]int {
	if i < len(s.Clients) && s.Clients[i].Units != nil {
		return s.Clients[i].Units
	}
	var units [][]int
	for h, width := range s.Widths[1 : len(s.Widths)-1] {
		count := make([]int, s.Global.Widths[1+h])
		for _, c := range s.Clients {
			if c.Units != nil {
				for _, u := range c.Units[h] {
					count[u]++
				}
			}
		}
		popular := upTo(len(count))
		slices.SortStableFunc(popular, func(a, b int) int { return count[b] - count[a] })
		units = append(units, popular[:width])
	}
	return units
}

func (m *BNFed) Train(ctx context.Context, w *Worker, d []float32, _ *None, data *Data, r rng.Stream) (BNFedUpload, Report, error) {
	up := BNFedUpload{slices.Clone(d), make([]float32, w.Net.Classes)}
	for _, y := range data.Of.Y {
		up.Counts[int(y)]++
	}
	local := m.Descent
	local.LR *= math.Pow(m.LRDecay, float64(r.Round-1))
	rep, err := local.descend(ctx, w, up.W, w.forgetful(0), data)
	return up, rep, err
}

func (m *BNFed) Aggregate(s *BNFedState, ups []Upload[BNFedUpload]) {
	sent := s.receive(ups)

	// No result depends on the clients' numbers: they are ordered by what they sent.
	var peers []int
	for i, c := range s.Clients {
		if c.Last.W != nil {
			peers = append(peers, i)
		}
	}
	slices.SortStableFunc(peers, func(a, b int) int { return slices.Compare(s.Clients[a].Last.W, s.Clients[b].Last.W) })

	var nets []Perceptron
	var counts [][]float32
	var turns []int // who sent something, by its place in peers
	units := make([][][]int, len(s.Widths)-2)
	for k, i := range peers {
		c := s.Clients[i]
		nets, counts = append(nets, Perceptron{s.Widths, c.Last.W}), append(counts, c.Last.Counts)
		for h := range units {
			units[h] = append(units[h], nil)
			if c.Units != nil {
				units[h][k] = slices.Clone(c.Units[h])
			}
		}
		if slices.Contains(sent, i) {
			turns = append(turns, k)
		}
	}
	order := rng.Stream{Seed: s.Seed}.For(rng.Match).At(s.Rounds+1, 0).Rand()
	s.Global = m.merge(nets, shares(counts), units, func() (sweeps []int) {
		for range m.Sweeps {
			for _, k := range order.Perm(len(turns)) {
				sweeps = append(sweeps, turns[k])
			}
		}
		return sweeps
	})
	for k, i := range peers {
		s.Clients[i].Units = nil
		for h := range units {
			s.Clients[i].Units = append(s.Clients[i].Units, units[h][k])
		}
	}
	s.Rounds++
}

// receive puts uploads in their places and returns who sent them. Who trained for the first time, but not in the first
// round, is paired with the units that it was given.
func (s *BNFedState) receive(ups []Upload[BNFedUpload]) (sent []int) {
	given := make([][][]int, len(ups)) // all of them before any: they depend on the pairings so far
	for k, u := range ups {
		if s.Rounds > 0 {
			given[k] = s.units(u.Client)
		}
	}
	for k, u := range ups {
		for u.Client >= len(s.Clients) {
			s.Clients = append(s.Clients, BNFedPeer{})
		}
		s.Clients[u.Client] = BNFedPeer{BNFedUpload{slices.Clone(u.Msg.W), slices.Clone(u.Msg.Counts)}, given[k]}
		sent = append(sent, u.Client)
	}
	return sent
}

// shares returns each client's part of the examples of each label; 0 of a label without examples.
func shares(counts [][]float32) [][]float64 {
	total := make([]float64, len(counts[0]))
	for _, of := range counts {
		for c, n := range of {
			total[c] += float64(n)
		}
	}
	parts := make([][]float64, len(counts))
	for j, of := range counts {
		for c, n := range of {
			parts[j] = append(parts[j], float64(n)/max(1, total[c]))
		}
	}
	return parts
}

// merge pairs the clients' units, beginning with units [hidden layer][client][unit], which it changes, and returns the
// network of their likeliest values. shares is [client][label]; sweeps gives the order of the revisions of a layer.
func (m *BNFed) merge(nets []Perceptron, shares [][]float64, units [][][]int, sweeps func() []int) Perceptron {
	wide := slices.Clone(nets[0].Widths)
	last := len(wide) - 1
	theta := make([][]float64, last)
	for k := last - 1; k > 0; k-- {
		h := m.hidden(nets, k, wide[k+1])
		h.units = units[k-1]
		for j, net := range nets {
			if k == last-1 {
				h.add(net, k, upTo(wide[last]), shares[j])
				continue
			}
			h.add(net, k, units[k][j], nil)
		}
		h.match(sweeps())
		theta[k] = h.means()
		wide[k] = len(theta[k]) / h.dim
	}

	global := newPerceptron(wide)
	for k := 1; k < last; k++ {
		below, bias := global.dense(k - 1)
		above, _ := global.dense(k)
		dim := len(theta[k]) / wide[k]
		in := dim - 1 - wide[k+1]
		for i := range wide[k] {
			u := theta[k][i*dim : (i+1)*dim]
			for x := range in {
				below[x*wide[k]+i] = float32(u[x])
			}
			bias[i] = float32(u[in])
			for o := range wide[k+1] {
				above[i*wide[k+1]+o] = float32(u[in+1+o])
			}
		}
	}
	_, bias := global.dense(last - 1)
	for c := range bias {
		g, p := priorBias/m.PriorVar, 1/m.PriorVar
		for j, net := range nets {
			_, b := net.dense(last - 1)
			g += shares[j][c] / m.NoiseVar * float64(b[c])
			p += shares[j][c] / m.NoiseVar
		}
		bias[c] = float32(g / p)
	}
	return global
}

// hidden returns the matching problem of hidden layer k, from 1, without clients. The layer above has out units.
func (m *BNFed) hidden(nets []Perceptron, k, out int) *hidden {
	h := &hidden{beliefs: beliefs{m.PriorVar, m.NoiseVar, m.Gamma, logOdds}}
	if m.Popularity == "ibm" {
		h.popularity = cappedOdds
	}
	in := 0 // weights from a hidden layer belong to its units
	if k == 1 {
		in = nets[0].Widths[0]
	}
	h.dim, h.head = in+1+out, in+1+out
	if k == len(nets[0].Widths)-2 {
		h.head = in + 1
	}
	h.prior = make([]float64, h.dim)
	h.prior[in] = priorBias / m.PriorVar
	return h
}

// add appends a client's units of hidden layer k. Its units in the layer above are those of the server that above says:
// its weights to all others are zeros. The precision is multiplied by shares, one for each unit above, where they are given.
func (h *hidden) add(net Perceptron, k int, above []int, shares []float64) {
	weight, bias := net.dense(k - 1)
	out, _ := net.dense(k)
	precision := 1 / h.noiseVar
	c := neurons{n: net.Widths[k], prec: []float64{precision}}
	for _, share := range shares {
		c.prec = append(c.prec, share*precision)
	}
	c.v = make([]float64, c.n*h.dim)
	for l := range c.n {
		v := c.v[l*h.dim : (l+1)*h.dim]
		if k == 1 {
			for i := range net.Widths[0] {
				v[i] = precision * float64(weight[i*c.n+l])
			}
			v = v[net.Widths[0]:]
		}
		v[0], v = precision*float64(bias[l]), v[1:]
		for o, at := range above {
			p := precision
			if shares != nil {
				p = c.prec[1+o]
			}
			v[at] = p * float64(out[l*len(above)+o])
		}
	}
	h.clients = append(h.clients, c)
}

func (m *BNFed) Personal(BNFedState, None, *datasets.Examples) Predictor { return nil }
func (m *BNFed) Global(s BNFedState) Predictor                           { return s.Global }
func (m *BNFed) TrainsAll() bool                                         { return false }
