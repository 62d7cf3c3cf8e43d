package algorithms

import (
	"context"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// FedHBMix is FedHB with a mixture of prototypes: the clients' weights lie near one of K networks rⱼ, which the server
// moves by EM, and one client's near another one than the next client's.
//
//	client: m ← the rⱼ of least loss on its examples; for each mini-batch, with κ = 1/(σ²·nᵢ) and c = softmaxⱼ(−‖m − rⱼ‖²/2σ²)
//	          m ← (m − η·∇CE(m) + ηκ·Σⱼ cⱼrⱼ) / (1 + ηκ)
//	server: rⱼ ← Σᵢ c(j|i)·mᵢ / (σ² + Σᵢ c(j|i))
//	global: p(y|x) = Σⱼ gⱼ(x)·p(y|x, rⱼ)
//
// The client's step is the implicit one on CE − log Σⱼ exp(−‖m − rⱼ‖²/2σ²)/nᵢ with c held (priors.Mixture), which is stable
// for any κ. The personal model is m. A client that took no part fits its m from the prototypes as the others do.
//
// The gate g is a small network of x that clients train to tell the c(·|i) of their own m, for all of their examples, and the
// server averages by their numbers of examples. Being p(j|x), it cannot tell clients apart that label the same images
// differently. The gate "client" is p(j|i), which can: on the examples of client i the c(·|i) of its last round, 1/K on those of
// anybody else.
//
// Prototypes that start as independent networks get their clients by chance, and clients stay where they have learnt
// something. Those that start near each other part by what clients learn, be it their groups or their sets of labels. Of 10
// clients of MNIST in two groups that label otherwise, each with 25 images of every label, independent ones did not part the
// groups for two seeds of six, those with a spread of 0.01 did for all.
//
// A client that has not trained yet predicts with the global model. The loss that is reported is the cross-entropy alone.
//
// Deviates: the published text leaves open how its gate is trained and which r a client starts from; and with Adam
// the whole gradient is Adam's, as scaling its rate would do nothing to it.
//
// Kim and Hospedales, FedHB: Hierarchical Bayesian Federated Learning. arXiv 2305.04979, 2023.
type FedHBMix struct {
	Descent // of m

	Prototypes int     // K
	Spread     float64 // of their starts around the first one: 1 for independent networks
	Var        float64 // σ²
	Temper     float64 // T of the responsibilities; c = softmaxⱼ(−‖m − rⱼ‖²/2σ²T)
	From       string  // where a client starts: best-loss, nearest (to its last m) or personal (that m)
	Reseed     bool    // a prototype that has lost all clients moves to whom the others explain worst

	Gate       string  // network, uniform, entropy or client
	GateLR     float64 // of the network
	GateEpochs int     // of its training in a round, each a step
	GateTemper float64 // T of entropy, g ∝ exp(−H/T)
}

// NewFedHBMix returns the method with its defaults.
func NewFedHBMix() *FedHBMix {
	return &FedHBMix{
		Descent: Descent{Optimizer: "sgd", LR: 0.05}, Prototypes: 2, Spread: 1, Var: 0.1, Temper: 1, From: "best-loss",
		Gate: "network", GateLR: 0.2, GateEpochs: 1, GateTemper: 1,
	}
}

// FedHBMixState is what the server keeps.
type FedHBMixState struct {
	Prototypes [][]float32 // r
	Gate       []float32   // weights of the gate's network; nil without one
	Clients    int         // of the run, that can train
	Unclaimed  []int       // by prototype: uploads in a row of which none was near it, so that it stayed where it was
}

// FedHBMixClient is what a client keeps; nothing before its first round.
type FedHBMixClient struct {
	W      []float32 // m
	Shares []float64 // c(·|i)
}

// FedHBMixDownload is what a client gets.
type FedHBMixDownload struct {
	Prototypes [][]float32
	Gate       []float32
}

// FedHBMixUpload is what it sends.
type FedHBMixUpload struct{ W, Gate []float32 }

func (m *FedHBMix) Params() []Param {
	return append(m.Descent.Params(),
		Param{Name: "prototypes", Usage: "networks K of the server", Value: &m.Prototypes, Min: 1, Max: 64},
		Param{Name: "prototype-spread", Usage: "how far from the first prototype the others start: 1 is independent networks", Value: &m.Spread, Open: true, Max: 1},
		Param{Name: "prototype-var", Usage: "variance σ² of clients' weights around a prototype", Value: &m.Var, Min: 1e-6, Max: 1e6},
		Param{Name: "temper", Usage: "factor of σ² in responsibilities alone: above 1, several prototypes count for one client", Value: &m.Temper, Min: 1, Max: 1e6},
		Param{Name: "client-start", Usage: "where a client's round starts: the prototype of least loss on its examples, that nearest to its last weights, or these", Value: &m.From, OneOf: []string{"best-loss", "nearest", "personal"}},
		Param{Name: "reseed", Usage: "move a prototype that has lost all clients to the weights that the others explain worst", Value: &m.Reseed},
		Param{Name: "gate", Usage: "what weighs prototypes in a global prediction: a network of the input, nothing, how sure they are, or the client", Value: &m.Gate, OneOf: []string{"network", "uniform", "entropy", "client"}},
		Param{Name: "gate-lr", Usage: "learning rate of the gate's network", Value: &m.GateLR, Open: true, Max: inf},
		Param{Name: "gate-epochs", Usage: "passes over a client's examples, each a step of the gate's network", Value: &m.GateEpochs, Min: 1, Max: 1000},
		Param{Name: "gate-temper", Usage: "temperature of the entropies that prototypes are weighed by", Value: &m.GateTemper, Open: true, Max: inf},
	)
}

func (m *FedHBMix) Idle() map[string]string {
	idle := m.Descent.Idle()
	if m.Prototypes == 1 { // some may be asked for beside it, as sweeps over numbers of prototypes do
		for _, name := range []string{"temper", "gate-lr", "gate-epochs", "gate-temper"} {
			idle[name] = "with --prototypes 1 there is nothing to choose between"
		}
		return idle
	}
	if m.Gate != "network" {
		for _, name := range []string{"gate-lr", "gate-epochs"} {
			idle[name] = "it belongs to --gate network, not to " + m.Gate
		}
	}
	if m.Gate != "entropy" {
		idle["gate-temper"] = "it belongs to --gate entropy, not to " + m.Gate
	}
	return idle
}

// gated reports whether the gate is a network.
func (m *FedHBMix) gated() bool { return m.Prototypes > 1 && m.Gate == "network" }

func (m *FedHBMix) prior(prototypes [][]float32) priors.Mixture {
	return priors.Mixture{Prototypes: prototypes, Var: m.Var, Temper: m.Temper}
}

func (m *FedHBMix) Objective(b *graph.Builder, task Task) {
	w, mean := b.Param("w", task.Net.Size()), b.Scalar("1/rows")
	x, y := inputs(b, task)
	nll := graph.CrossEntropy(task.Net.Logits(x, layers.Point(w)), y)
	b.Output("nll", nll)
	var prototypes []*graph.Node
	for j := range m.Prototypes {
		prototypes = append(prototypes, b.Input(nth("prototype", j), task.Net.Size()))
	}
	near := priors.MixtureTerm(w, b.Scalar("1/var"), prototypes...)
	b.Minimize("loss", graph.Sum(graph.Scale(nll, mean), graph.Scale(near, b.Scalar("near"))), w)
	if m.gated() {
		gating(b, x, mean, task.Batch, m.Prototypes)
	}
}

// Server returns K starts: equal ones would stay equal.
func (m *FedHBMix) Server(task Task, cpu *kernels.CPU, r rng.Stream) FedHBMixState {
	s := FedHBMixState{Unclaimed: make([]int, m.Prototypes)}
	for _, n := range task.Examples {
		s.Clients += min(n, 1)
	}
	for j := range m.Prototypes {
		start := m.Descent.Server(task, cpu, r.At(j, r.Client))
		if j > 0 && m.Spread < 1 {
			cpu.Combine(start, float32(m.Spread), start, float32(1-m.Spread), s.Prototypes[0])
		}
		s.Prototypes = append(s.Prototypes, start)
	}
	if m.gated() {
		s.Gate = gateNet(task.Net.In, m.Prototypes).InitUniform(r.At(m.Prototypes, r.Client))
	}
	return s
}

func (m *FedHBMix) Client(Task, *kernels.CPU, FedHBMixState, rng.Stream) (c FedHBMixClient) {
	return c
}

func (m *FedHBMix) Download(s FedHBMixState, _ int) FedHBMixDownload {
	return FedHBMixDownload{s.Prototypes, s.Gate}
}

func (m *FedHBMix) Train(ctx context.Context, w *Worker, d FedHBMixDownload, c *FedHBMixClient, data *Data, _ rng.Stream) (FedHBMixUpload, Report, error) {
	n := float64(data.Examples())
	theta := slices.Clone(m.start(w, d.Prototypes, c.W, data.Of))
	for j, r := range d.Prototypes {
		w.Exec.Feed(nth("prototype", j), r)
	}
	w.Exec.Set("1/var", float32(1/(m.Var*m.Temper)))
	w.Exec.Set("near", float32(m.Temper/n))
	steps := m.Descent
	if steps.Optimizer == "sgd" {
		// With κ(m − r̄) in the gradient g of the whole, the implicit step is m − η/(1 + ηκ)·g.
		steps.LR /= 1 + steps.LR/(m.Var*n)
	}
	rep, err := steps.descend(ctx, w, theta, w.forgetful(0), data)
	if err != nil {
		return FedHBMixUpload{}, rep, err
	}
	c.W, c.Shares = theta, m.prior(d.Prototypes).Responsibilities(theta)
	up := FedHBMixUpload{slices.Clone(theta), slices.Clone(d.Gate)}
	if m.gated() {
		err = w.fitGate(up.Gate, c.Shares, data.Of, m.GateEpochs, m.GateLR)
	}
	return up, rep, err
}

// start returns the weights that a client's round starts from. One that has no weights yet goes by the loss.
func (m *FedHBMix) start(w *Worker, prototypes [][]float32, own []float32, of *datasets.Examples) []float32 {
	if own != nil && m.From == "personal" {
		return own
	}
	badness := func(r []float32) float64 { return w.loss(r, of) }
	if own != nil && m.From == "nearest" {
		badness = func(r []float32) float64 { return m.prior([][]float32{r}).Energy(own) }
	}
	best, least := 0, math.Inf(1)
	if len(prototypes) > 1 {
		for j, r := range prototypes {
			if b := badness(r); b < least {
				best, least = j, b
			}
		}
	}
	return prototypes[best]
}

func (m *FedHBMix) Aggregate(s *FedHBMixState, ups []Upload[FedHBMixUpload]) {
	var ms [][]float32
	for _, u := range ups {
		ms = append(ms, u.Msg.W)
	}
	next, shares := m.prior(s.Prototypes).Update(ms)
	prior := m.prior(next)
	lost := s.claim(priors.Abandoned(shares), len(ups))
	if m.Reseed {
		prior.Reseed(ms, lost)
	}
	prior.Reseed(ms, prior.Twins())
	s.Prototypes = prior.Prototypes
	if m.gated() {
		gates := make([]Upload[[]float32], len(ups))
		for k, u := range ups {
			gates[k] = Upload[[]float32]{u.Client, u.Examples, u.Msg.Gate}
		}
		s.Gate = average(gates)
	}
}

// claim counts uploads for the prototypes that none of them was near, and returns those that by now nobody is: as many
// uploads in a row as there are clients were not.
func (s *FedHBMixState) claim(abandoned []int, uploads int) (lost []int) {
	for j := range s.Unclaimed {
		if !slices.Contains(abandoned, j) {
			s.Unclaimed[j] = 0
			continue
		}
		s.Unclaimed[j] += uploads
		if s.Unclaimed[j] >= s.Clients {
			lost = append(lost, j)
		}
	}
	return lost
}

// Vitals are those of the prototype that is least: one that has died takes its clients with it.
func (m *FedHBMix) Vitals(s FedHBMixState) Vitals {
	least := math.Inf(1)
	for _, r := range s.Prototypes {
		least = min(least, norm(r))
	}
	return Vitals{Norm: least, Sigma: math.NaN()}
}

// Remedy names what takes a prototype to 0: σ², beside which its clients count for little.
func (m *FedHBMix) Remedy() string {
	if m.Prototypes > 1 {
		return "a smaller --prototype-var or fewer --prototypes"
	}
	return "a smaller --prototype-var"
}

func (m *FedHBMix) Personal(s FedHBMixState, c FedHBMixClient, _ *datasets.Examples) Predictor {
	if c.W == nil {
		return m.Global(s)
	}
	return Point(c.W)
}

func (m *FedHBMix) Global(s FedHBMixState) Predictor {
	p := &blend{networks: s.Prototypes}
	switch m.Gate {
	case "network":
		p.gate = learned(s.Gate)
	case "entropy":
		p.gate = sure(m.GateTemper)
	default:
		p.gate = fixed(slices.Repeat([]float64{1 / float64(m.Prototypes)}, m.Prototypes))
	}
	return p
}

// GlobalFor weighs the prototypes by what is known of a client, where the gate asks for it.
func (m *FedHBMix) GlobalFor(s FedHBMixState, c FedHBMixClient) Predictor {
	if m.Gate != "client" || c.Shares == nil {
		return m.Global(s)
	}
	return &blend{s.Prototypes, fixed(c.Shares)}
}

func (m *FedHBMix) TrainsAll() bool { return false }
