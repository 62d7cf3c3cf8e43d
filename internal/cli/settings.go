package cli

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"fedbayes/algorithms"
	"fedbayes/datasets"
)

// settings are the flags of train that do not belong to a method. A fresh one holds the defaults.
type settings struct {
	Algo, Preset, Model, Device string

	Dataset, DataDir          string
	Partition, Assign, Regime string
	Clients, LabelsPerClient  int
	HoldoutClients            int // that take no part, besides Clients
	HoldoutSteps              int
	TrainPerClass             int // 0 for the regime's
	TestPerClass              int // likewise
	Alpha                     float64
	MinSamples                int
	TestPerClient             float64 // a count, or a fraction below 1
	Order                     string
	ValFraction               float64
	PermuteLabels             int // groups; 0 for none

	Rounds, LocalSteps, LocalEpochs, Batch int
	Participation                          float64 // a count, or a fraction below 1; 0 for all clients
	EvalEvery, MC, FinalMC                 int
	Patience                               int // evaluations; 0 for no early stop
	DropRate, StragglerRate                float64

	Seed, Workers int
	Out, Resume   string
	Quiet, Force  bool
	LogFormat     string
	Tensorboard   string // folder; "" for no event files

	CheckpointEvery int // rounds; 0 for no checkpoint at all

	Watch, WatchRounds string // a test image, as CLIENT:NUMBER; rounds with commas between
}

// atTheEnd is a number of rounds from one checkpoint to the next that lets there be one alone.
const atTheEnd = math.MaxInt

func defaults() *settings {
	return &settings{
		Algo: "pfedbayes", Model: "mlp", Device: "cpu",
		Dataset: datasets.All()[0].Name, Partition: "labels", Assign: "pairs", Regime: "small",
		Clients: 10, LabelsPerClient: 5, Alpha: 0.5, MinSamples: 10, TestPerClient: 0.25, Order: "shuffled", HoldoutSteps: newcomerSteps,
		Rounds: 100, LocalSteps: 20, Batch: 100, EvalEvery: 10, FinalMC: 10,
		LogFormat: formatText, WatchRounds: "0,1,10",
		Seed: 1, Workers: runtime.GOMAXPROCS(0), CheckpointEvery: atTheEnd,
	}
}

// usualVal is the part of the training images that a run with patience validates on.
const usualVal = 0.2

// An option is a flag of train that does not belong to a method.
type option struct {
	algorithms.Param
	category string
	shown    string   // default in the help, where it is not that of Param
	kinds    []string // of the partitions that the flag belongs to, if it does not to all
}

// in reports whether the flag has an effect in a partition.
func (o option) in(partition string) bool {
	return o.kinds == nil || slices.Contains(o.kinds, partition)
}

// The categories of train's help, which sorts them.
const (
	categoryData   = "data and partition"
	categoryMethod = "method (see fedbayes algos NAME)"
	categoryOutput = "output"
	categoryRounds = "rounds"
)

// options lists the flags that set s.
func (s *settings) options() []option {
	whole := func(name, usage string, v *int, least float64) algorithms.Param {
		return algorithms.Param{Name: name, Usage: usage, Value: v, Min: least, Max: math.Inf(1)}
	}
	choice := func(name, usage string, v *string, of ...string) algorithms.Param {
		return algorithms.Param{Name: name, Usage: usage, Value: v, OneOf: of}
	}
	return []option{
		{Param: choice("algo", "method", &s.Algo, algoNames()...)},
		{Param: choice("preset", "set of defaults of the method", &s.Preset), shown: "the method's first, or that of the model"},
		{Param: choice("model", "network: "+strings.Join(modelNames(), " or ")+", or with widths as mlp:200,100", &s.Model), shown: besides("mlp", func(d datasets.Defaults) string { return d.Model })},
		{Param: whole("seed", "of everything random", &s.Seed, 0)},
		{Param: whole("workers", "clients that run at the same time; no result depends on it", &s.Workers, 1)},
		{Param: choice("device", "where to compute", &s.Device, "cpu")},

		{Param: choice("dataset", "data set", &s.Dataset, datasetNames()...), category: categoryData},
		{Param: choice("data-dir", "folder of the data set's files", &s.DataDir), category: categoryData, shown: "$" + datasets.EnvDir + ", then the usual places"},
		{Param: choice("partition", "how clients share the data", &s.Partition, "labels", "iid", "permuted", "dirichlet", "natural"), category: categoryData, shown: besides(s.Partition, func(d datasets.Defaults) string { return d.Partition })},
		{Param: whole("clients", "number of clients", &s.Clients, 1), category: categoryData, shown: besides(strconv.Itoa(s.Clients), func(d datasets.Defaults) int { return d.Clients })},
		{Param: whole("holdout-clients", "clients besides that take no part, and get models after the last round", &s.HoldoutClients, 0), category: categoryData},
		{Param: whole("holdout-steps", "mini-batches that each of these is fitted in", &s.HoldoutSteps, 1), category: categoryData},
		{Param: choice("assign", "of labels to clients", &s.Assign, "pairs", "sliding", "blocks"), category: categoryData, kinds: []string{"labels"}},
		{Param: whole("labels-per-client", "labels that a client holds", &s.LabelsPerClient, 1), category: categoryData, kinds: []string{"labels"}},
		{Param: choice("regime", "images of each label that a client gets [small, medium, large]", &s.Regime), category: categoryData, kinds: []string{"labels"}},
		{Param: whole("train-per-class", "in place of a regime, training images of each label and client", &s.TrainPerClass, 1), category: categoryData, shown: "the small regime's", kinds: []string{"labels"}},
		{Param: whole("test-per-class", "in place of a regime, test images of each label and client", &s.TestPerClass, 1), category: categoryData, shown: "the small regime's", kinds: []string{"labels"}},
		{Param: algorithms.Param{Name: "alpha", Usage: "concentration of the shares, smaller is less equal", Value: &s.Alpha, Min: 1e-6, Max: 1e6}, category: categoryData, kinds: []string{"dirichlet"}},
		{Param: whole("min-samples", "images that each client gets at least; those of the data's own that have fewer are left out", &s.MinSamples, 1), category: categoryData, kinds: []string{"dirichlet", "natural"}},
		{Param: choice("order", "in which clients are dealt their shares, or that in which training and test files were published", &s.Order, "shuffled", "published"), category: categoryData, kinds: []string{"iid", "permuted"}},
		{Param: algorithms.Param{Name: "test-per-client", Usage: "images that each client is tested on: a count, or a fraction of its own below 1", Value: &s.TestPerClient, Open: true, Max: math.Inf(1)}, category: categoryData, shown: besides("0.25", func(d datasets.Defaults) float64 { return d.TestPerClient }), kinds: []string{"iid", "permuted", "dirichlet", "natural"}},
		{Param: whole("permute-labels", "groups of clients, client by client in turn, that each call the classes by other labels; the first by its own", &s.PermuteLabels, 2), category: categoryData, shown: "none"},
		{Param: algorithms.Param{Name: "val-fraction", Usage: "part of each client's training images, label by label, to validate on instead", Value: &s.ValFraction, Max: 0.9}, category: categoryData, shown: fmt.Sprintf("0, %v with --patience", usualVal)},

		{Param: whole("rounds", "number of rounds", &s.Rounds, 1), category: categoryRounds},
		{Param: whole("local-steps", "mini-batches of a client's round", &s.LocalSteps, 1), category: categoryRounds},
		{Param: whole("local-epochs", "in place of local steps, passes over a client's data in a round", &s.LocalEpochs, 1), category: categoryRounds, shown: "none"},
		{Param: whole("batch", "examples of a mini-batch", &s.Batch, 1), category: categoryRounds, shown: besides(strconv.Itoa(s.Batch), func(d datasets.Defaults) int { return d.Batch })},
		{Param: algorithms.Param{Name: "participation", Usage: "clients sampled in a round: a count, or a fraction below 1", Value: &s.Participation, Open: true, Max: math.Inf(1)}, category: categoryRounds, shown: besides("all", func(d datasets.Defaults) int { return d.PerRound })},
		{Param: whole("eval-every", "rounds from one evaluation to the next; the last round has one in any case", &s.EvalEvery, 1), category: categoryRounds},
		{Param: algorithms.Param{Name: "mc", Usage: "draws of the weights in a prediction; 0 takes their mean", Value: &s.MC, Max: 256}, category: categoryRounds},
		{Param: algorithms.Param{Name: "final-mc", Usage: "draws in one more evaluation of the last models, where the others are of mean weights; 0 for none", Value: &s.FinalMC, Max: 256}, category: categoryRounds},
		{Param: whole("patience", "evaluations without a better accuracy in validation, of personal or global model, after which the run stops; 0 for none", &s.Patience, 0), category: categoryRounds},
		{Param: algorithms.Param{Name: "drop-rate", Usage: "chance of a client to drop out of a round that it has begun", Value: &s.DropRate, Max: 1}, category: categoryRounds},
		{Param: algorithms.Param{Name: "straggler-rate", Usage: "chance of a client to do fewer steps in a round, by a uniform draw", Value: &s.StragglerRate, Max: 1}, category: categoryRounds},

		{Param: choice("out", "folder of the results", &s.Out), category: categoryOutput, shown: "results/<algo>-<dataset>-<regime>-<seed>-<time>"},
		{Param: whole("checkpoint-every", "rounds from one checkpoint to the next, besides that of the end or of Ctrl-C; 0 for none at all", &s.CheckpointEvery, 0), category: categoryOutput, shown: "that of the end alone"},
		{Param: choice("watch", "test image, as CLIENT:NUMBER, of which beliefs.csv is to say how probable each client's model thinks each class, with --mc draws or 20", &s.Watch), category: categoryOutput, shown: "none"},
		{Param: choice("watch-rounds", "after which rounds besides the last, 0 for before the first", &s.WatchRounds), category: categoryOutput},
		{Param: choice("resume", "folder of a run to go on with, from its last checkpoint", &s.Resume), category: categoryOutput, shown: "none"},
		{Param: algorithms.Param{Name: "force", Usage: "replace the run that the folder holds", Value: &s.Force}, category: categoryOutput},
		{Param: choice("log-format", "how the run says on stderr how it goes: lines for people, or a JSON object a line", &s.LogFormat, formatText, formatJSON), category: categoryOutput},
		{Param: choice("tensorboard", "folder for TensorBoard's event files, in which each run has one of its own name", &s.Tensorboard), category: categoryOutput, shown: "none"},
		{Param: algorithms.Param{Name: "quiet", Usage: "print the summary alone", Value: &s.Quiet}, category: categoryOutput},
	}
}

// exclusive lists the flags of which one alone can be given.
func exclusive() [][2]string {
	return [][2]string{
		{"local-steps", "local-epochs"}, {"regime", "train-per-class"}, {"regime", "test-per-class"}, {"seed", "seeds"},
	}
}

// parse sets s from the command line and refuses flags that would have no effect.
func (s *settings) parse(ts texts) error {
	for _, o := range s.options() {
		if err := ts.assign(o.Param); err != nil {
			return err
		}
	}
	if e, err := datasets.Lookup(s.Dataset); err == nil && e.Defaults.Partition != "" && !ts.has("partition") {
		s.Partition = e.Defaults.Partition
	}
	for _, o := range s.options() {
		if !o.in(s.Partition) && ts.has(o.Name) {
			return usagef("--%s: it belongs to --partition %s, not to %s", o.Name, strings.Join(o.kinds, " or "), s.Partition)
		}
	}
	for _, pair := range exclusive() {
		if ts.has(pair[0]) && ts.has(pair[1]) {
			return usagef("--%s and --%s: want one of them", pair[0], pair[1])
		}
	}
	if s.LocalEpochs > 0 {
		s.LocalSteps = 0
	}
	switch {
	case s.Order == "published" && ts.has("test-per-client"):
		return usagef("--test-per-client: no effect with --order published, which has test files")
	case s.TestPerClient > 1 && s.TestPerClient != math.Trunc(s.TestPerClient):
		return usagef("--test-per-client %v: want a whole number, or a fraction below 1", s.TestPerClient)
	case s.MC > 0 && ts.has("final-mc"):
		return usagef("--final-mc: no effect with --mc %d, as every evaluation has draws", s.MC)
	case s.StragglerRate > 0 && s.LocalSteps == 1:
		return usagef("--straggler-rate: no effect with --local-steps 1, of which there are no fewer")
	case s.Patience > 0 && s.ValFraction == 0 && ts.has("val-fraction"):
		return usagef("--patience: it goes by validation, so want --val-fraction above 0")
	case s.Patience > 0 && s.ValFraction == 0:
		s.ValFraction = usualVal
	}
	return nil
}

// follow takes the defaults of the data set where the command line says nothing else.
func (s *settings) follow(d datasets.Defaults, ts texts) {
	if d.Clients > 0 && !ts.has("clients") {
		s.Clients = d.Clients
		if s.Partition == "natural" { // there are no others
			s.Clients = max(1, d.Clients-s.HoldoutClients)
		}
	}
	if d.TestPerClient > 0 && !ts.has("test-per-client") {
		s.TestPerClient = d.TestPerClient
	}
	if d.Batch > 0 && !ts.has("batch") {
		s.Batch = d.Batch
	}
	if d.Model != "" && !ts.has("model") {
		s.Model = d.Model
	}
	// A method without a server trains all clients, whatever the protocol.
	if e, _ := algo(s.Algo); d.PerRound > 0 && !ts.has("participation") && !e.Alone {
		s.Participation = float64(min(d.PerRound, s.Clients))
	}
}

// perRound returns the number of clients of a round.
func (s *settings) perRound() (int, error) {
	p := s.Participation
	switch {
	case p == 0:
		return s.Clients, nil
	case p < 1:
		return max(1, int(math.Round(p*float64(s.Clients)))), nil
	case p != math.Trunc(p) || p > float64(s.Clients):
		return 0, usagef("--participation %v: want a whole number from 1 to the %d of --clients, or a fraction below 1", p, s.Clients)
	}
	return int(p), nil
}

// perClass returns the images of each label and client, and the name of that regime.
func (s *settings) perClass(e datasets.Entry) (train, test int, name string, err error) {
	if len(e.Regimes) == 0 {
		if s.TrainPerClass == 0 || s.TestPerClass == 0 {
			return 0, 0, "", usagef("--partition labels: %s has no regimes: want --train-per-class and --test-per-class", e.Name)
		}
		return s.TrainPerClass, s.TestPerClass, "custom", nil
	}
	r, err := e.Regime(s.Regime)
	if err != nil {
		var names []string
		for _, r := range e.Regimes {
			names = append(names, r.Name)
		}
		return 0, 0, "", usagef("--regime %q: %s", s.Regime, oneOf(s.Regime, names))
	}
	if s.TrainPerClass == 0 && s.TestPerClass == 0 {
		return r.Train, r.Test, r.Name, nil
	}
	train, test = r.Train, r.Test
	if s.TrainPerClass > 0 {
		train = s.TrainPerClass
	}
	if s.TestPerClass > 0 {
		test = s.TestPerClass
	}
	return train, test, "custom", nil
}

// besides adds to a default those of the data sets that have one of their own.
func besides[T int | float64 | string](general string, of func(datasets.Defaults) T) string {
	var none T
	var values byText
	for _, e := range datasets.All() {
		if v := of(e.Defaults); v != none {
			values.add(fmt.Sprint(v), e.Name)
		}
	}
	return strings.TrimSuffix(general+", "+values.join("%s for %s", ", "), ", ")
}

// usage is the help of the flag.
func (o option) usage() string {
	if o.kinds != nil {
		return fmt.Sprintf("%s (partition %s)", usageOf(o.Param), strings.Join(o.kinds, ", "))
	}
	return usageOf(o.Param)
}
