package algorithms

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// An Entry describes a method to the command line.
type Entry struct {
	Name  string
	About string // one line
	Paper string

	// Presets are named sets of defaults. The first is the default, but on models and data sets that another one names.
	Presets []Preset

	Bayesian bool // predictions can draw weights
	Alone    bool // nothing is sent, so it is the same which clients a round samples

	Closed   string // why a client that took no part gets no model of its own; "" if it does
	Stepless bool   // such a client takes no steps to it
}

// A Preset makes a method with one set of defaults.
type Preset struct {
	Name, About string
	New         func() Algorithm
	Models      []string // that have this preset as their default, by the name before their argument
	Data        []string // if not nil, on these data sets only; a sample of a data set counts as it
}

// Default returns the preset that a model has on a data set unless another one is named.
func (e Entry) Default(model, dataset string) Preset {
	name, _, _ := strings.Cut(model, ":")
	for _, p := range e.Presets {
		if slices.Contains(p.Models, name) && (p.Data == nil || slices.Contains(p.Data, strings.TrimSuffix(dataset, "-sample"))) {
			return p
		}
	}
	return e.Presets[0]
}

// All lists the methods. A new method is one file and one entry here.
func All() []Entry {
	return []Entry{
		{
			Name:     "pfedbayes",
			About:    "a Gaussian network for each client, held near a global one by a divergence",
			Paper:    "Zhang et al., Personalized Federated Learning via Variational Bayesian Inference, ICML 2022",
			Bayesian: true,
			Presets: []Preset{
				{
					Name: "paper", About: "Algorithm 1 of the paper, with Adam",
					New: func() Algorithm { return erase(NewPFedBayes()) },
				},
				{
					Name: "code", About: "what the public code does: five personal steps, noise 0.001, ζ/R",
					New: func() Algorithm { return erase(NewPFedBayesCode()) },
				},
				{
					Name: "conv", About: "the paper's, with a start that deep convolutional networks learn from, and the ζ that goes with it",
					New:    func() Algorithm { return erase(NewPFedBayesConv()) },
					Models: []string{"vgg", "convnet"},
				},
			},
		},
		{
			Name:    "fedavg",
			About:   "one network for all, the average of what the clients make of it",
			Paper:   "McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017",
			Presets: append([]Preset{{Name: "paper", About: "Algorithm 1 of the paper", New: func() Algorithm { return erase(NewFedAvg()) }}, fedAvgLSTM()}, searchedFedAvg()...),
		},
		{
			Name:    "fedprox",
			About:   "fedavg whose clients are held near the server's weights",
			Paper:   "Li et al., Federated Optimization in Heterogeneous Networks, MLSys 2020",
			Presets: append([]Preset{{Name: "paper", About: "Algorithm 2 of the paper", New: func() Algorithm { return erase(NewFedProx()) }}, fedProxLSTM()}, searchedFedProx()...),
		},
		{
			Name:    "fedamp",
			About:   "a mix of all clients' weights for each client, in which near ones weigh most",
			Paper:   "Huang et al., Personalized Cross-Silo Federated Learning on Non-IID Data, AAAI 2021",
			Presets: append([]Preset{{Name: "paper", About: "Algorithm 1 of the paper", New: func() Algorithm { return erase(NewFedAMP()) }}}, searchedFedAMP()...),
		},
		{
			Name:    "heurfedamp",
			About:   "fedamp whose mixes go by the angles between clients' weights",
			Paper:   "Huang et al., Personalized Cross-Silo Federated Learning on Non-IID Data, AAAI 2021",
			Presets: append([]Preset{{Name: "paper", About: "the paper's variant for deep networks", New: func() Algorithm { return erase(NewHeurFedAMP()) }}}, searchedHeurFedAMP()...),
		},
		{
			Name:  "perfedavg",
			About: "a start for all, from which each client is a step on its own data away",
			Paper: "Fallah et al., Personalized Federated Learning with Theoretical Guarantees: A Model-Agnostic Meta-Learning Approach, NeurIPS 2020",
			Presets: append([]Preset{{
				Name: "paper", About: "Algorithm 1 of the paper, first-order, with the rates of pFedMe's public code",
				New: func() Algorithm { return erase(NewPerFedAvg()) },
			}}, searchedPerFedAvg()...),
		},
		{
			Name:  "pfedme",
			About: "personal weights near the server's, which follow the Moreau envelope of the clients' losses",
			Paper: "T. Dinh et al., Personalized Federated Learning with Moreau Envelopes, NeurIPS 2020",
			Presets: append([]Preset{
				{
					Name: "paper", About: "Algorithm 1 of the paper, with the rates of the public code for MNIST",
					New: func() Algorithm { return erase(NewPFedMe()) },
				},
				{
					Name: "conv", About: "the same with the rates of the public code for CIFAR-10",
					New:    func() Algorithm { return erase(NewPFedMeConv()) },
					Models: []string{"vgg", "convnet"},
				},
			}, searchedPFedMe()...),
		},
		{
			Name:    "ditto",
			About:   "fedavg, beside which each client has weights of its own near those that it receives",
			Paper:   "Li et al., Ditto: Fair and Robust Federated Learning Through Personalization, ICML 2021",
			Presets: append([]Preset{{Name: "paper", About: "Algorithm 1 of the paper", New: func() Algorithm { return erase(NewDitto()) }}}, searchedDitto()...),
		},
		{
			Name:   "bnfed",
			About:  "the clients' networks with their hidden units matched, which makes a wider one",
			Paper:  "Yurochkin et al., Bayesian Nonparametric Federated Learning of Neural Networks, ICML 2019",
			Closed: "its global network is wider than a client's, and which of its units a new client would have is the server's to say",
			Presets: []Preset{
				{Name: "paper", About: "Algorithms 1 and 2 of the paper, with the variances of its public code", New: func() Algorithm { return erase(NewBNFed()) }},
				searchedBNFed(),
			},
		},
		{
			Name:     "pfedgp",
			About:    "one network for all below Gaussian processes of each client's own",
			Paper:    "Achituve et al., Personalized Federated Learning with Gaussian Processes, NeurIPS 2021",
			Stepless: true,
			Presets: []Preset{
				{Name: "paper", About: "the paper's, with variational inference and many steps a round", New: func() Algorithm { return erase(NewPFedGP()) }},
				{Name: "code", About: "what the public code does, with a Gibbs sampler; take --local-steps 1", New: func() Algorithm { return erase(NewPFedGPCode()) }},
			},
		},
		{
			Name:     "fedhb-niw",
			About:    "networks that lose columns, as draws from one Gaussian whose mean and variance the server infers",
			Paper:    "Kim and Hospedales, FedHB: Hierarchical Bayesian Federated Learning, arXiv 2305.04979, 2023",
			Bayesian: true,
			Presets: append([]Preset{{Name: "paper", About: "the paper's prior, with a normal-inverse-Wishart for each weight", New: func() Algorithm { return erase(NewFedHBNIW()) }}},
				searchedFedHBNIW()...),
		},
		{
			Name:    "fedhb-mix",
			About:   "networks that are each near one of a few prototypes, which the server moves by EM",
			Paper:   "Kim and Hospedales, FedHB: Hierarchical Bayesian Federated Learning, arXiv 2305.04979, 2023",
			Presets: []Preset{{Name: "paper", About: "two prototypes, with a gate between them that clients train", New: func() Algorithm { return erase(NewFedHBMix()) }}},
		},
		{
			Name:     "virtual",
			About:    "a posterior over shared weights to which each client has a factor of its own, and private weights beside them",
			Paper:    "Corinzia et al., Variational Federated Multi-Task Learning, 2019",
			Bayesian: true,
			Presets: []Preset{
				{Name: "paper", About: "Algorithm 1 of the paper, with private networks and draws of each layer's outputs", New: func() Algorithm { return erase(NewVirtual()) }},
				{Name: "code", About: "the published configurations: no private networks, and draws of the weights", New: func() Algorithm { return erase(NewVirtualCode()) }},
				{
					Name: "lstm", About: "the paper's without private networks, as recurrent layers have no lateral connections, and with a rate at which they learn",
					New:    func() Algorithm { return erase(NewVirtualLSTM()) },
					Models: []string{"lstm"},
				},
			},
		},
		{
			Name:    "local",
			About:   "each client alone, nothing sent",
			Paper:   "none: the floor of every comparison",
			Alone:   true,
			Presets: append([]Preset{{Name: "paper", About: "SGD", New: func() Algorithm { return erase(NewLocal()) }}}, searchedLocal()...),
		},
	}
}

// New returns the method of a name with the defaults of a preset; an empty preset stands for the first.
func New(name, preset string) (Algorithm, error) {
	var names []string
	for _, e := range All() {
		if e.Name != name {
			names = append(names, e.Name)
			continue
		}
		var presets []string
		for _, p := range e.Presets {
			if preset == "" || p.Name == preset {
				return p.New(), nil
			}
			presets = append(presets, p.Name)
		}
		return nil, fmt.Errorf("--preset %q: want one of %s for %s", preset, strings.Join(presets, ", "), name)
	}
	return nil, fmt.Errorf("--algo %q: want one of %s", name, strings.Join(names, ", "))
}

// Algorithm is a Method with its types hidden; the loop drives it. States travel as pointers, messages as values.
type Algorithm interface {
	Params() []Param
	Check() error
	Idle() map[string]string
	Accepts(net *layers.Model) error
	Objective(b *graph.Builder, task Task)
	Server(task Task, cpu *kernels.CPU, r rng.Stream) any
	Client(task Task, cpu *kernels.CPU, s any, r rng.Stream) any
	Download(s any, i int) any
	Train(ctx context.Context, w *Worker, d, c any, data *Data, r rng.Stream) (any, Report, error)
	Aggregate(s any, ups []Upload[any])
	Adapt(ctx context.Context, w *Worker, s any, data *Data, r rng.Stream) (Predictor, error)
	Unadapted(w *Worker, s any, r rng.Stream) Predictor
	Personal(s, c any, train *datasets.Examples) Predictor
	Global(s any) Predictor
	GlobalFor(s, c any) Predictor
	Vitals(s any) Vitals
	Remedy() string
	TrainsAll() bool
}

// erase hides the types of m.
func erase[S, C, D, U any](m Method[S, C, D, U]) Algorithm { return erased[S, C, D, U]{m} }

type erased[S, C, D, U any] struct{ m Method[S, C, D, U] }

func (e erased[S, C, D, U]) Params() []Param { return e.m.Params() }

// Check reports a hyper-parameter out of range.
func (e erased[S, C, D, U]) Check() error {
	for _, p := range e.m.Params() {
		if err := p.Check(); err != nil {
			return err
		}
	}
	return nil
}

func (e erased[S, C, D, U]) Idle() map[string]string { return e.m.Idle() }

func (e erased[S, C, D, U]) Accepts(net *layers.Model) error { return e.m.Accepts(net) }

func (e erased[S, C, D, U]) Objective(b *graph.Builder, task Task) { e.m.Objective(b, task) }

func (e erased[S, C, D, U]) Server(task Task, cpu *kernels.CPU, r rng.Stream) any {
	s := e.m.Server(task, cpu, r)
	return &s
}

func (e erased[S, C, D, U]) Client(task Task, cpu *kernels.CPU, s any, r rng.Stream) any {
	c := e.m.Client(task, cpu, *s.(*S), r)
	return &c
}

func (e erased[S, C, D, U]) Download(s any, i int) any { return e.m.Download(*s.(*S), i) }

func (e erased[S, C, D, U]) Train(ctx context.Context, w *Worker, d, c any, data *Data, r rng.Stream) (any, Report, error) {
	return e.m.Train(ctx, w, d.(D), c.(*C), data, r)
}

func (e erased[S, C, D, U]) Aggregate(s any, ups []Upload[any]) {
	typed := make([]Upload[U], len(ups))
	for i, u := range ups {
		typed[i] = Upload[U]{u.Client, u.Examples, u.Msg.(U)}
	}
	e.m.Aggregate(s.(*S), typed)
}

func (e erased[S, C, D, U]) Personal(s, c any, train *datasets.Examples) Predictor {
	return e.m.Personal(*s.(*S), *c.(*C), train)
}

func (e erased[S, C, D, U]) Global(s any) Predictor { return e.m.Global(*s.(*S)) }

// GlobalFor returns the global predictor of a client's examples: that of Global, unless something is known of the client that
// makes a difference to it.
func (e erased[S, C, D, U]) GlobalFor(s, c any) Predictor {
	if own, ok := any(e.m).(interface{ GlobalFor(S, C) Predictor }); ok {
		return own.GlobalFor(*s.(*S), *c.(*C))
	}
	return e.Global(s)
}

func (e erased[S, C, D, U]) TrainsAll() bool { return e.m.TrainsAll() }
