package algorithms

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// Virtual has a posterior over shared weights θ that is a prior times a factor, a site, of each client, and private weights φ
// of each client beside them. All are Gaussian.
//
//	q(θ) = p(θ)·Πᵢ sᵢ(θ)
//
//	client: cavity = q/sᵢ, what the others know
//	        min over q(θ), c(φ)  E[NLL] + β·KL(q ‖ cavity) + β·KL(c ‖ p), from the server's q on
//	        change = (q/cavity / sᵢ)^δ, less what is pruned;  sᵢ ← sᵢ·change
//	server: q(θ) ← q(θ)·Π changes
//
// The site of a client that is not sampled stays in q(θ). What a client multiplies its site by is what it sends, to the bit,
// so q(θ) is the product of the prior and the sites whatever is damped or pruned. A site takes no precision away: where a
// client has come to less than its cavity's, it is taken to have that.
//
// The personal model is cavity × site as it was after the client's last round, with the client's φ, and before that the start;
// the global one is the server's q(θ) without φ. The loss is divided by a client's number of examples: the mean NLL of a mini-batch, and β/n.
//
// Corinzia et al., Variational Federated Multi-Task Learning. 2019. Algorithm 1.
//
// Deviates: the public code (github.com/lucori/virtual) changes the client's site by 1−η and the server by η(1−η) of it, and
// prunes what it sends but not what it stores, so that its cavities lose all precision and more. It descends in natural
// parameters with rates of 10⁸; here q and c move in μ and ρ, σ = log(1+e^ρ). Its layers have no biases, its starting
// means are averages of the clients' own draws, which for its network on MNIST have the spread of He's.
type Virtual struct {
	Descent // of q, of c and of the gates, each round anew

	KLWeight  float64 // β
	Damping   float64 // δ
	Rho       float64 // ρ at the start
	Estimator string  // weights: one draw for a mini-batch; local: a draw of each output of each layer
	Lateral   bool    // clients have private networks
	Retain    string  // the q of a personal model: sent, cavity × site; or fitted, what the client came to before damping and pruning
	Sparsity  int     // per cent of a change that are pruned
}

// NewVirtual returns the method as the paper has it. β is the best of its study; δ is 1/S for its ten clients a round: where
// β is small a cavity hardly holds a client, and what S clients do to the same end adds up.
func NewVirtual() *Virtual {
	return &Virtual{
		Descent:  Descent{Optimizer: "sgd", LR: 0.1},
		KLWeight: 1e-5, Damping: 0.1, Rho: -4.85, Estimator: "local", Lateral: true, Retain: "sent",
	}
}

// NewVirtualLSTM returns the method for networks with recurrent layers, which have no lateral form, with the best rate and β of a
// search on Shakespeare (results/search_shakespeare_virtual.csv).
func NewVirtualLSTM() *Virtual {
	m := NewVirtual()
	m.Lateral, m.LR, m.KLWeight = false, 2, 1e-6
	return m
}

// NewVirtualCode returns what the published configurations are: weights that are drawn, and no private network.
func NewVirtualCode() *Virtual {
	m := NewVirtual()
	m.Estimator, m.Lateral = "weights", false
	return m
}

// VirtualServer is what the server keeps.
type VirtualServer struct {
	Q     priors.Natural  // q(θ)
	Theta priors.Gaussian // the same in moments
	Undo  []Change        // by client, what it has to take back of its last change
}

// VirtualDownload is what a client gets: q(θ), as the change that makes it of nothing, and what the client has to take back.
type VirtualDownload struct{ Q, Undo Change }

// VirtualState is what a client keeps: 24 bytes for each weight, and 8 more with a private network, beside its gates.
type VirtualState struct {
	Site    priors.Natural
	Theta   priors.Gaussian // of its last round
	Private *PrivateNet     // nil before the first one
}

const (
	priorSigma = 1 // of every weight, as in the public code

	// precisionFloor is the precision that no weight of the server may fall below.
	precisionFloor = 1e-8
)

func (m *Virtual) Params() []Param {
	return append(slices.DeleteFunc(m.Descent.Params(), func(p Param) bool { return p.Name == "weight-decay" }),
		Param{Name: "kl-weight", Usage: "weight β of the divergences from the cavity and from the private prior", Value: &m.KLWeight, Max: inf},
		Param{Name: "damping", Usage: "part δ of its change that a client makes and sends", Value: &m.Damping, Max: 1},
		Param{Name: "rho", Usage: "ρ of all weights at the start, σ = log(1+e^ρ)", Value: &m.Rho, Min: rhoFloor, Max: 0.5}, // σ < priorSigma
		Param{Name: "estimator", Usage: "what a step draws: the weights, or the outputs of each layer", Value: &m.Estimator, OneOf: []string{"local", "weights"}},
		Param{Name: "lateral", Usage: "clients have private networks that the shared one listens to", Value: &m.Lateral},
		Param{Name: "retain", Usage: "posterior of a personal model: with the client's site as it was sent, or as it was fitted, before damping and pruning", Value: &m.Retain, OneOf: []string{"sent", "fitted"}},
		Param{Name: "sparsity", Usage: "per cent of a change that are not sent, those least above noise; the last layer is sent whole", Value: &m.Sparsity, Max: 95},
	)
}

func (m *Virtual) Accepts(net *layers.Model) error {
	if !m.Lateral {
		return nil
	}
	if _, err := net.Units(); err != nil {
		return fmt.Errorf("%w (take --lateral=false)", err)
	}
	return nil
}

func (m *Virtual) Objective(b *graph.Builder, task Task) {
	n := task.Net.Size()
	q, cavity := b.Gaussian("q", n), b.FixedGaussian("cavity", n)
	x, y := inputs(b, task)
	theta := m.source(b, q, "theta")
	params, kl := []*graph.Node{q.Mu, q.Rho}, priors.KL(q, cavity)
	var logits *graph.Node
	if m.Lateral {
		units, _ := task.Net.Units()
		c, prior, gates := b.Gaussian("c", n), b.FixedGaussian("prior", n), b.Param("gates", units)
		logits = task.Net.Lateral(x, theta, m.source(b, c, "phi"), gates)
		params, kl = append(params, c.Mu, c.Rho, gates), graph.Sum(kl, priors.KL(c, prior))
		predictTogether(b, task.Net, gates)
	} else {
		logits = task.Net.Logits(x, theta)
	}
	nll := graph.CrossEntropy(logits, y)
	b.Output("nll", nll)
	b.Output("kl", kl)
	b.Minimize("loss", graph.Sum(graph.Scale(nll, b.Scalar("1/rows")), graph.Scale(kl, b.Scalar("beta/n"))), params...)
}

// source returns the weights of a forward pass, whose noise has a name.
func (m *Virtual) source(b *graph.Builder, q graph.Gaussian, name string) layers.Source {
	if m.Estimator == "local" {
		return layers.Local(b, q, name)
	}
	return layers.Draw(q, b.Input(name, q.Mu.Shape()[0]))
}

// noise returns what is to be filled with noise before each step.
func (m *Virtual) noise(wk *Worker) (all [][]float32) {
	names := []string{"theta", "phi"}
	if m.Estimator == "local" {
		return wk.Net.Noise(wk.Exec, names...)
	}
	for _, name := range names {
		if wk.Exec.Has(name) {
			all = append(all, wk.Exec.Buffer(name))
		}
	}
	return all
}

func (m *Virtual) Server(task Task, cpu *kernels.CPU, r rng.Stream) VirtualServer {
	theta := priors.Constant(task.Net.InitHe(cpu, r), float32(m.Rho))
	return VirtualServer{Q: theta.Natural(), Theta: theta}
}

// Client gives a client of the run its share of what q(θ) is at the start, by its examples; it is replaced by what the client
// learns. Who comes later has no share.
func (m *Virtual) Client(task Task, _ *kernels.CPU, s VirtualServer, r rng.Stream) VirtualState {
	share, all := 0.0, 0.0
	for i, n := range task.Examples {
		all += float64(n)
		if i == r.Client-1 {
			share = float64(n)
		}
	}
	site := s.Q.Over(m.prior(len(s.Q.H))).Power(share / max(all, 1))
	return VirtualState{Site: site, Theta: s.Theta.Clone()}
}

func (*Virtual) prior(n int) priors.Natural { return priors.Normal(n, priorSigma) }

func (m *Virtual) Download(s VirtualServer, i int) VirtualDownload {
	d := VirtualDownload{Q: changeAt(s.Q, nil)}
	if i < len(s.Undo) {
		d.Undo = s.Undo[i]
	}
	return d
}

func (m *Virtual) Train(ctx context.Context, wk *Worker, d VirtualDownload, c *VirtualState, data *Data, r rng.Stream) (Change, Report, error) {
	received := d.Q.to(priors.NewNatural(len(d.Q.H)), 1)
	site := d.Undo.to(c.Site, -1)
	cavity := received.Over(site)
	raised := cavity.Floor(1 / (priorSigma * priorSigma)) // a site is more exact than the q(θ) that came
	if m.Lateral && c.Private == nil {
		c.Private = wk.newPrivateNet(m.Rho, r)
	}

	start := received.Gaussian()
	q := start.Clone()
	rep, err := m.fit(ctx, wk, q, cavity.Gaussian(), c.Private, data, r)
	if err != nil {
		return Change{}, rep, err
	}
	// From where it was received, and not from where float32 had it: what did not move does not change.
	moved := received.Times(q.Natural().Over(start.Natural()))
	next, clipped := moved.Site(cavity)
	factor := site.Damped(m.Damping, next).Over(site)
	change := changeAt(factor, m.kept(wk.Net, factor, moved))
	c.Site, c.Theta = change.to(site, 1), change.to(received, 1).Gaussian()
	if m.Retain == "fitted" {
		c.Theta = q
	}
	rep.Clamped += raised + clipped + len(d.Undo.H)
	return change, rep, nil
}

// fit minimises the free energy of q and of a private network, in place, over the mini-batches of a round.
func (m *Virtual) fit(ctx context.Context, wk *Worker, q, cavity priors.Gaussian, own *PrivateNet, data *Data, r rng.Stream) (Report, error) {
	e, rule, rep := wk.Exec, m.rule(m.LR), Report{}
	feed(e, "q", q)
	feed(e, "cavity", cavity)
	moving := []stepper{{wk, rule, q, wk.forgetful(0), wk.forgetful(1), "q.mu", "q.rho"}}
	if own != nil {
		feed(e, "c", own.Phi)
		feed(e, "prior", m.prior(len(q.Mu)).Gaussian())
		e.Feed("gates", own.Gates)
		moving = append(moving, stepper{wk, rule, own.Phi, wk.forgetful(2), wk.forgetful(3), "c.mu", "c.rho"})
	}
	noise, opt := m.noise(wk), wk.forgetful(4)
	e.Set("beta/n", float32(m.KLWeight/float64(data.Examples())))
	for step := range data.Steps {
		if err := ctx.Err(); err != nil {
			return rep, err
		}
		rows := wk.next(data)
		e.Set("1/rows", 1/float32(rows))
		for k := range noise {
			r.For(rng.Noise).Normals(wk.CPU, noise[k], step*len(noise)+k)
		}
		e.RunFor("loss", rows)
		nll, kl := float64(e.Value("nll"))/float64(rows), float64(e.Value("kl"))
		if err := cmp.Or(finite(step, "negative log-likelihood", nll), finite(step, "divergence", kl)); err != nil {
			return rep, err
		}
		rep.Loss += nll / float64(data.Steps)
		rep.KL += kl / float64(data.Steps)
		for _, s := range moving {
			rep.Clamped += s.update()
		}
		if own != nil {
			rule.Update(wk.CPU, opt, own.Gates, e.Grad("gates"))
			wk.CPU.ClampMin(own.Gates, 0)
		}
	}
	return rep, nil
}

// kept says which coordinates of a change are sent: of each segment but those of the last layer, the part that moves q the
// farthest in units of its σ. It is nil if all are.
func (m *Virtual) kept(net *layers.Model, change, q priors.Natural) []bool {
	if m.Sparsity == 0 {
		return nil
	}
	keep := make([]bool, net.Size())
	for _, s := range net.Segments {
		order, drop := make([]int, s.Size()), s.Size()*m.Sparsity/100
		if s.Offset >= net.FeatureSize() {
			drop = 0
		}
		for k := range order {
			order[k] = s.Offset + k
		}
		slices.SortStableFunc(order, func(i, j int) int {
			return cmp.Compare(change.H[j]*change.H[j]/q.Tau[j], change.H[i]*change.H[i]/q.Tau[i])
		})
		for _, i := range order[:len(order)-drop] {
			keep[i] = true
		}
	}
	return keep
}

// Aggregate multiplies q(θ) by all changes, but for coordinates of which too little precision would be left: there the
// clients take back what they sent, at their next download. Changes that come from sites never do that.
func (m *Virtual) Aggregate(s *VirtualServer, ups []Upload[Change]) {
	all := priors.NewNatural(len(s.Q.H))
	for _, u := range ups {
		all = u.Msg.to(all, 1)
	}
	next := s.Q.Times(all)
	refused := make([]bool, len(next.H))
	for i, tau := range next.Tau {
		if refused[i] = !(tau >= precisionFloor); refused[i] {
			next.H[i], next.Tau[i] = s.Q.H[i], s.Q.Tau[i]
		}
	}
	for _, u := range ups {
		s.owe(u.Client, u.Msg.only(refused))
	}
	s.Q, s.Theta = next, next.Gaussian()
}

// owe notes what a client has to take back; of what it had to before, it has.
func (s *VirtualServer) owe(client int, c Change) {
	for len(c.H) > 0 && len(s.Undo) <= client {
		s.Undo = append(s.Undo, Change{})
	}
	if client < len(s.Undo) {
		s.Undo[client] = c
	}
}

// Adapt fits a newcomer's q, which begins at the server's and has that for its cavity, as the newcomer has no part in it.
func (m *Virtual) Adapt(ctx context.Context, wk *Worker, s VirtualServer, data *Data, r rng.Stream) (Predictor, error) {
	c := VirtualState{Theta: s.Theta.Clone()}
	if m.Lateral {
		c.Private = wk.newPrivateNet(m.Rho, r)
	}
	_, err := m.fit(ctx, wk, c.Theta, s.Theta, c.Private, data, r)
	return m.Personal(s, c, data.Of), err
}

func (m *Virtual) Personal(_ VirtualServer, c VirtualState, _ *datasets.Examples) Predictor {
	if c.Private == nil {
		return Bayes(c.Theta)
	}
	return together{c.Theta, *c.Private}
}
func (m *Virtual) Global(s VirtualServer) Predictor { return Bayes(s.Theta) }
func (m *Virtual) TrainsAll() bool                  { return false }
