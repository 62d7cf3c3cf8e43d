package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/federation"
	"fedbayes/internal/kernels"
	"fedbayes/internal/metrics"
)

const predictHelp = `Says of each image which class a model takes it for, and how sure it is: a CSV with input, class, probability, entropy and
mutual_information, the last two in nats.

   fedbayes predict --run results/mine --client 3 --input digits.csv
   fedbayes predict --run results/mine --input one.png
   fedbayes predict --model new.json --input images.idx

The model is a client's personal one, without --client the global one, or one that personalize has saved.

The input is an IDX file of images, gzipped or not, a PNG, or a CSV. Images have the size of the data set's, and none is
resized. In a CSV a row is an image: its values from 0 to 255, row by row and colours of a pixel together; a line of names and
a column of labels in front are passed over. For a data set without images a row is an example, its values as they are in
training; a line of names may also say which columns are label and client. Colours become grey for a data set that is grey (0.299 R + 0.587 G + 0.114 B), grey
becomes colours for one that is not, and what is transparent lies on black. Values are normalised as in training, x/255 or
(x/255 − mean)/std. They are not inverted: MNIST and Fashion-MNIST are light on a black ground, and so the images have to be.
In a run with --partition permuted, --client puts them into that client's order of pixels; the global model sees them as they are.

Exit status: 0 done, 2 command line, 3 data, 5 no checkpoint, 1 anything else.`

// prediction are the flags of predict.
type prediction struct {
	Run, Model, DataDir string
	Client              int
	Input               string
}

func predictCommand(stderr io.Writer) *cli.Command {
	ts, p := texts{}, &prediction{}
	flags := []lookFlag{
		{folder("run", "folder of a run", &p.Run), "none"},
		{folder("model", "in place of a run, a model that personalize has saved", &p.Model), "none"},
		{algorithms.Param{Name: "client", Usage: "number of the client whose personal model is taken", Value: &p.Client, Max: 1 << 24}, "none, the global model"},
		{folder("input", "file of the images", &p.Input), "none, it must be given"},
		{mcParam(new(int)), strconv.Itoa(usualDraws) + ", 0 for models without a distribution"},
		{folder("data-dir", "folder of the data set's files", &p.DataDir), "the run's"},
	}
	return &cli.Command{
		Name: "predict", Usage: "say what a model takes images for, and how sure it is",
		UsageText: "fedbayes predict (--run DIR [--client I] | --model FILE) --input FILE [flags]", Description: predictHelp,
		Flags: ts.looks(flags),
		Action: func(c *cli.Context) error {
			if err := atMost(c, 0); err != nil {
				return err
			}
			if err := ts.read(flags, "input"); err != nil {
				return err
			}
			if err := ts.excludes("model", "run", "client", "data-dir"); err != nil {
				return err
			}
			var entry datasets.Entry
			var images *datasets.Dataset
			var said []metrics.Prediction
			var err error
			switch {
			case ts.has("model"):
				entry, images, said, err = p.bySaved(ts)
			case ts.has("run"):
				entry, images, said, err = p.byRun(ts, stderr)
			default:
				err = usagef("want --run or --model")
			}
			if err != nil {
				return err
			}
			return csv.NewWriter(c.App.Writer).WriteAll(predictionRows(entry, images, said))
		},
	}
}

// byRun predicts with a model of a run.
func (p *prediction) byRun(ts texts, stderr io.Writer) (datasets.Entry, *datasets.Dataset, []metrics.Prediction, error) {
	fail := func(err error) (datasets.Entry, *datasets.Dataset, []metrics.Prediction, error) {
		return datasets.Entry{}, nil, nil, err
	}
	l, err := load(p.Run, p.DataDir, 1, stderr)
	if err != nil {
		return fail(err)
	}
	mc, err := draws(ts, l.about.Bayesian, l.Algo)
	if err != nil {
		return fail(err)
	}
	if err := l.has(ts.has("client"), p.Client); err != nil {
		return fail(err)
	}
	images, err := imagesOf(l.entry, p.Input)
	if err != nil {
		return fail(err)
	}
	all := images.All()
	if ts.has("client") {
		all.Permute(l.splits[p.Client].Order) // as those that it was trained on
		return l.entry, images, l.models.PredictPersonal(p.Client, all.X, mc), nil
	}
	return l.entry, images, l.models.PredictGlobal(all.X, mc), nil
}

// has returns an error if the run has no such model.
func (l *loaded) has(personal bool, client int) error {
	switch {
	case personal && l.models.Personal(0) == nil:
		return usagef("--client: %s has no personal models; without it the global one predicts", l.Algo)
	case !personal && l.models.Global() == nil:
		return usagef("--client: want it, as %s has no global model", l.Algo)
	case personal && client >= l.Clients && client < l.Clients+len(l.heldOut):
		return usagef("--client %d: it was held out, and has no model in the run: personalize makes it one", client)
	case personal && client >= l.Clients:
		return usagef("--client %d: want 0 to %d", client, l.Clients-1)
	}
	return nil
}

// bySaved predicts with a model that stands alone.
func (p *prediction) bySaved(ts texts) (datasets.Entry, *datasets.Dataset, []metrics.Prediction, error) {
	fail := func(err error) (datasets.Entry, *datasets.Dataset, []metrics.Prediction, error) {
		return datasets.Entry{}, nil, nil, err
	}
	m, err := readModel(p.Model)
	if err != nil {
		return fail(err)
	}
	mc, err := draws(ts, m.predictor.Random(), p.Model)
	if err != nil {
		return fail(err)
	}
	images, err := imagesOf(m.entry, p.Input)
	if err != nil {
		return fail(err)
	}
	said, err := federation.Predict(m.net, m.predictor, images.All().X, mc, m.Seed, kernels.Best())
	return m.entry, images, said, err
}

// imagesOf reads the images of a file.
func imagesOf(e datasets.Entry, path string) (*datasets.Dataset, error) {
	images, _, err := e.Images(path)
	if err != nil {
		return nil, dataError{fmt.Errorf("--input %w", err)}
	}
	return images, nil
}

// predictionRows is the table of what was said of images. Of a file that can have several, an input is called by its place
// too, from 0.
func predictionRows(e datasets.Entry, images *datasets.Dataset, said []metrics.Prediction) [][]string {
	rows := [][]string{{"input", "class", "probability", "entropy", "mutual_information"}}
	name := filepath.Base(images.Source)
	for i, s := range said {
		input := name
		if len(said) > 1 {
			input += ":" + strconv.Itoa(i)
		}
		rows = append(rows, []string{input, e.ClassName(s.Class), number(s.Confidence), number(s.Entropy), number(s.MutualInformation)})
	}
	return rows
}
