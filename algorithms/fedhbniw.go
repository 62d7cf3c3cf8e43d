package algorithms

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
	"fedbayes/priors"
)

// FedHBNIW takes clients' networks for draws from one Gaussian N(μ, Σ), whose mean and covariance the server infers.
//
//	client: a ← m0; for each mini-batch, with the columns kept that each example's mask has
//	          a ← (a − η·∇CE(a ⊙ mask) + ηc⊙m0) / (1 + ηc)    c = κ·p·n0/(v·nᵢ)
//	server: NIW(m0, diag v, l0, n0) ← the posterior of (μ, Σ), given the a of all
//
// A client's posterior are weights a whose columns are lost with probability 1 − p, which is dropout without a division by
// p; its mean is p·a. Its loss is E NLL plus priors.NIWTerm; for that term, which can be steep where v is small, the step is
// implicit, and so is stable for any c. The global model is m0, or draws from the t of networks that are to come.
//
// A newcomer does what clients do, at the mode of (μ, Σ). Clients begin each round at m0; what they keep is for predictions
// alone. The divergence that is reported is the term, without κ.
//
// Deviates: biases are never lost, so p is 1 for them in all formulas. n0 in the first round, when no client has been
// seen, is that of one. Each weight has a NIW of its own unless told otherwise, see priors.NIWPrior.
//
// Kim and Hospedales, FedHB: Hierarchical Bayesian Federated Learning. arXiv 2305.04979, 2023.
type FedHBNIW struct {
	LR          float64
	NIW         string  // whether weights have a NIW each, per-weight, or one together, full
	PriorWeight float64 // κ, of the term
	PriorCount  float64 // λ0, how many networks of zeros the prior is worth
	KeepProb    float64 // p, with which a column is kept
	Inverted    bool    // inverted dropout: clients train m = p·a, from m0
	GM          string  // the global model: mode, or student-t
	Temperature float64 // factor of the scale of the t
	CacheAll    bool    // the server infers from the last networks of all clients, not of those of the round
}

// NewFedHBNIW returns the method with its defaults: the paper's prior, and the rate of FedAvg.
func NewFedHBNIW() *FedHBNIW {
	return &FedHBNIW{
		LR: 0.05, NIW: "per-weight", PriorWeight: 1, PriorCount: 1, KeepProb: 0.999, GM: "mode", Temperature: 1,
	}
}

// FedHBNIWState is what the server keeps.
type FedHBNIWState struct {
	Q    priors.NIW
	Keep []float32   // [d], probability with which a weight is kept
	Last [][]float32 // by client, with CacheAll: what it sent last, nil if nothing yet
}

func (m *FedHBNIW) Params() []Param {
	return []Param{
		learningRate(&m.LR),
		{Name: "niw", Usage: "prior of the clients' networks: a normal-inverse-Wishart for each weight, or one for all", Value: &m.NIW, OneOf: []string{"per-weight", "full"}},
		{Name: "prior-weight", Usage: "weight κ of the term that holds a client near the server's mean", Value: &m.PriorWeight, Max: inf},
		{Name: "prior-count", Usage: "networks of zeros λ0 that count in the server's mean", Value: &m.PriorCount, Max: inf},
		{Name: "keep-prob", Usage: "probability p with which an input unit of a layer is kept", Value: &m.KeepProb, Open: true, Max: 1},
		{Name: "inverted", Usage: "inverted dropout: clients train p·a, the mean of weights a that columns are dropped from, and not a", Value: &m.Inverted},
		{Name: "gm", Usage: "global model: the mode of the clients' networks, or draws of new ones from their Student's t", Value: &m.GM, OneOf: []string{"mode", "student-t"}},
		{Name: "temperature", Usage: "factor of the scale of Student's t", Value: &m.Temperature, Max: inf},
		{Name: "cache-all", Usage: "the server's posterior is that of the last networks of all clients, and not of a round's", Value: &m.CacheAll},
	}
}

func (m *FedHBNIW) Idle() map[string]string {
	idle := map[string]string{}
	if m.GM == "mode" {
		idle["temperature"] = "with --gm mode no network is drawn"
	}
	if m.PriorWeight == 0 {
		idle["niw"] = "with --prior-weight 0 nothing holds a client near the server's mean"
	}
	return idle
}

// Accepts refuses a network with memory cells, whose weights are used more than once: no gate on what it reads is a loss of
// their columns.
func (m *FedHBNIW) Accepts(net *layers.Model) error {
	if net.Text && m.KeepProb < 1 {
		return errors.New("the columns of memory cells cannot be lost: want --keep-prob 1")
	}
	return nil
}

func (m *FedHBNIW) Objective(b *graph.Builder, task Task) {
	d := task.Net.Size()
	a := b.Param("a", d)
	from := layers.Point(a)
	if m.KeepProb < 1 {
		from = layers.Dropout(b, a)
	}
	x, y := inputs(b, task)
	nll := graph.CrossEntropy(task.Net.Logits(x, from), y)
	term := priors.NIWTerm(a, b.Input("m0", d), b.Input("lambda", d))
	b.Output("nll", nll)
	b.Output("term", term)
	b.Minimize("loss", graph.Sum(graph.Scale(nll, b.Scalar("1/rows")), graph.Scale(term, b.Scalar("kappa/n"))), a)
}

// prior returns the prior over networks of d weights.
func (m *FedHBNIW) prior(d int) priors.NIWPrior {
	if m.NIW == "full" {
		return priors.NIWPrior{Count: m.PriorCount, Dims: d}
	}
	return priors.NIWPrior{Count: m.PriorCount, Dims: 1}
}

func (m *FedHBNIW) Server(task Task, _ *kernels.CPU, r rng.Stream) FedHBNIWState {
	start := task.Net.InitUniform(r)
	return FedHBNIWState{Q: m.prior(len(start)).Start(start), Keep: kept(task.Net, m.KeepProb)}
}

func (m *FedHBNIW) Client(_ Task, _ *kernels.CPU, s FedHBNIWState, _ rng.Stream) []float32 {
	return m.start(s.Q.M0, s.Keep)
}

// start returns the weights a that a client begins with.
func (m *FedHBNIW) start(m0, keep []float32) []float32 {
	a := slices.Clone(m0)
	if m.Inverted {
		for k, p := range keep {
			a[k] /= p
		}
	}
	return a
}

func (m *FedHBNIW) Download(s FedHBNIWState, _ int) priors.NIW { return s.Q }

func (m *FedHBNIW) Train(ctx context.Context, w *Worker, q priors.NIW, c *[]float32, data *Data, r rng.Stream) ([]float32, Report, error) {
	a, rep, err := m.fit(ctx, w, q.M0, q.Precision(), data, r)
	copy(*c, a)
	return a, rep, err
}

// Adapt fits a newcomer's weights near those at the mode.
func (m *FedHBNIW) Adapt(ctx context.Context, w *Worker, s FedHBNIWState, data *Data, r rng.Stream) (Predictor, error) {
	a, _, err := m.fit(ctx, w, s.Q.M0, m.prior(len(s.Keep)).ModePrecision(s.Q), data, r)
	return Dropout{a, m.KeepProb}, err
}

// fit minimises the loss of weights a over the mini-batches of a round, for networks with this mean and precision.
//
// A step is that of the gradient G of the whole loss with rates of η/(1+ηc), which is the implicit one:
//
//	a − η/(1+ηc)·(g + c·(a − m0)) = (a − η·g + ηc·m0) / (1 + ηc)
//
// In terms of m = p·a, as Inverted has it, the rate of a is η/p² instead of η.
func (m *FedHBNIW) fit(ctx context.Context, w *Worker, m0, lambda []float32, data *Data, r rng.Stream) ([]float32, Report, error) {
	keep, weight := kept(w.Net, m.KeepProb), m.PriorWeight/float64(data.Examples())
	a, rates := m.start(m0, keep), make([]float32, len(m0))
	for k, p := range keep {
		lambda[k] *= p
		eta := m.LR
		if m.Inverted {
			eta /= float64(p) * float64(p)
		}
		rates[k] = -float32(eta / (1 + eta*weight*float64(lambda[k])))
	}
	e, gates, rep := w.Exec, w.Net.Gates(w.Exec), Report{}
	e.Feed("a", a)
	e.Feed("m0", m0)
	e.Feed("lambda", lambda)
	e.Set("kappa/n", float32(weight))
	for step := range data.Steps {
		if err := ctx.Err(); err != nil {
			return a, rep, err
		}
		rows := w.next(data)
		e.Set("1/rows", 1/float32(rows))
		for i, g := range gates {
			r.For(rng.Noise).Gates(w.CPU, g, m.KeepProb, step*len(gates)+i)
		}
		e.Run(rows)
		nll, term := float64(e.Value("nll"))/float64(rows), float64(e.Value("term"))
		if err := cmp.Or(finite(step, "negative log-likelihood", nll), finite(step, "divergence", term)); err != nil {
			return a, rep, err
		}
		rep.Loss += nll / float64(data.Steps)
		rep.KL += term / float64(data.Steps)
		w.CPU.Sample(a, a, rates, e.Grad("a"))
	}
	return a, rep, nil
}

func (m *FedHBNIW) Aggregate(s *FedHBNIWState, ups []Upload[[]float32]) {
	var networks [][]float32
	for _, u := range ups {
		networks = append(networks, u.Msg)
	}
	if m.CacheAll {
		networks = s.remember(ups)
	}
	s.Q = m.prior(len(s.Keep)).Posterior(networks, s.Keep)
}

// remember keeps what clients sent, and returns what there is of all in order.
func (s *FedHBNIWState) remember(ups []Upload[[]float32]) [][]float32 {
	if n := ups[len(ups)-1].Client + 1; n > len(s.Last) {
		s.Last = append(s.Last, make([][]float32, n-len(s.Last))...)
	}
	for _, u := range ups {
		s.Last[u.Client] = slices.Clone(u.Msg)
	}
	return slices.DeleteFunc(slices.Clone(s.Last), func(a []float32) bool { return a == nil })
}

// Vitals are those of m0, whatever the global model draws around it.
func (m *FedHBNIW) Vitals(s FedHBNIWState) Vitals {
	return Vitals{Norm: norm(s.Q.M0), Sigma: math.NaN()}
}

// Remedy names what takes m0 to 0. With a NIW for all weights n0 counts them, so that the term holds a client where it began
// and λ0 takes a part of m0 away in each round; without λ0, the columns that clients lose do that.
func (m *FedHBNIW) Remedy() string {
	last := "--prior-count 0"
	if m.PriorCount == 0 {
		last = "--keep-prob 1"
	}
	switch {
	case m.PriorWeight == 0:
		return last
	case m.NIW == "full":
		return "--niw per-weight, a smaller --prior-weight or " + last
	}
	return "a smaller --prior-weight or " + last
}

func (m *FedHBNIW) Personal(_ FedHBNIWState, a []float32, _ *datasets.Examples) Predictor {
	return Dropout{a, m.KeepProb}
}

func (m *FedHBNIW) Global(s FedHBNIWState) Predictor {
	if m.GM == "mode" {
		return Point(s.Q.M0)
	}
	nu, b := m.prior(len(s.Keep)).Predictive(s.Q)
	scale := make([]float32, len(s.Q.V))
	for k, v := range s.Q.V {
		scale[k] = float32(m.Temperature * math.Sqrt(b*float64(v)))
	}
	return StudentT{s.Q.M0, scale, nu}
}

func (m *FedHBNIW) TrainsAll() bool { return false }
