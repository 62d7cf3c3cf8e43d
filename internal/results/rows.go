package results

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
)

// A column of rounds.csv has a number of each evaluation, which TensorBoard shows under a tag.
type column struct {
	name, tag string
	of        func(e federation.Evaluation) float64 // NaN if there is none
	text      func(v float64) string
}

// columns lists those that a run has a use for. Accuracies are in [0, 1], likelihoods and divergences in nats; bytes and seconds
// are sums since the start of the run, and so is how many clients failed.
func columns(h Head) []column {
	type evaluation = federation.Evaluation
	all := []column{
		{"pm_acc", "accuracy/pm", func(e evaluation) float64 { return pooled(e.Personal).Accuracy }, number},
		{"gm_acc", "accuracy/gm", func(e evaluation) float64 { return pooled(e.Global).Accuracy }, number},
		{"pm_nll", "nll/pm", func(e evaluation) float64 { return pooled(e.Personal).NLL }, number},
		{"gm_nll", "nll/gm", func(e evaluation) float64 { return pooled(e.Global).NLL }, number},
		{"pm_ece", "ece/pm", func(e evaluation) float64 { return pooled(e.Personal).ECE }, number},
		{"gm_ece", "ece/gm", func(e evaluation) float64 { return pooled(e.Global).ECE }, number},
		{"pm_acc_worst", "accuracy/pm_worst", func(e evaluation) float64 { return pooled(e.Personal).Clients.Worst }, number},
		{"gm_acc_worst", "accuracy/gm_worst", func(e evaluation) float64 { return pooled(e.Global).Clients.Worst }, number},
		{"train_loss", "train/loss", func(e evaluation) float64 { return e.Loss }, number},
		{"kl", "train/kl", func(e evaluation) float64 { return e.KL }, number},
		{"bytes_up", "bytes/up", func(e evaluation) float64 { return float64(e.BytesUp) }, count},
		{"bytes_down", "bytes/down", func(e evaluation) float64 { return float64(e.BytesDown) }, count},
		{"train_seconds", "seconds/train", func(e evaluation) float64 { return e.Training.Seconds() }, seconds},
		{"eval_seconds", "seconds/eval", func(e evaluation) float64 { return e.Scoring.Seconds() }, seconds},
	}
	if h.Validates {
		all = append(all,
			column{"pm_val_acc", "accuracy/pm_val", func(e evaluation) float64 { return pooled(validation(e).Personal).Accuracy }, number},
			column{"gm_val_acc", "accuracy/gm_val", func(e evaluation) float64 { return pooled(validation(e).Global).Accuracy }, number},
		)
	}
	if h.Fails {
		all = append(all,
			column{"dropped", "clients/dropped", func(e evaluation) float64 { return float64(e.Dropped) }, count},
			column{"stragglers", "clients/stragglers", func(e evaluation) float64 { return float64(e.Stragglers) }, count},
			column{"empty_rounds", "clients/empty_rounds", func(e evaluation) float64 { return float64(e.Empty) }, count},
		)
	}
	return append(all,
		column{"gm_norm", "weights/norm", func(e evaluation) float64 { return e.Vitals.Norm }, number},
		column{"gm_sigma", "weights/sigma", func(e evaluation) float64 { return e.Vitals.Sigma }, number},
	)
}

// roundsHeader names the columns of rounds.csv, of which those of numbers come last.
func roundsHeader(h Head) []string {
	names := []string{"run", "algo", "dataset", "regime", "model", "seed", "round"}
	for _, c := range columns(h) {
		names = append(names, c.name)
	}
	return names
}

func roundRow(run string, h Head, e federation.Evaluation) []string {
	row := []string{cell(run), cell(h.Algo), cell(h.Dataset), cell(h.Regime), cell(h.Model), strconv.FormatUint(h.Seed, 10), strconv.Itoa(e.Round)}
	for _, c := range columns(h) {
		row = append(row, c.text(c.of(e)))
	}
	return row
}

// A Named number is one of an evaluation.
type Named struct {
	Name  string // in rounds.csv
	Value float64
	tag   string
}

// Numbers returns those that an evaluation of a run has; NaN and infinities are none.
func (h Head) Numbers(e federation.Evaluation) []Named {
	var all []Named
	for _, c := range columns(h) {
		if v := c.of(e); !math.IsNaN(v) && !math.IsInf(v, 0) {
			all = append(all, Named{c.name, v, c.tag})
		}
	}
	return all
}

// clientsHeader names the columns of clients.csv: train and test are numbers of examples. The last three cells are empty
// where the client did not train in the round.
func clientsHeader() []string {
	return []string{
		"run", "round", "client", "train", "test",
		"pm_acc", "gm_acc", "pm_nll", "gm_nll", "pm_ece", "gm_ece",
		"train_loss", "kl", "clamped",
	}
}

func clientRow(run string, round int, c federation.Scores) []string {
	pm, gm := scored(c.Personal), scored(c.Global)
	loss, kl, clamped := "", "", ""
	if c.Trained {
		loss, kl, clamped = number(c.Report.Loss), number(c.Report.KL), strconv.Itoa(c.Report.Clamped)
	}
	return []string{
		cell(run), strconv.Itoa(round), strconv.Itoa(c.Client), strconv.Itoa(c.Train), strconv.Itoa(c.Test),
		number(pm.Accuracy), number(gm.Accuracy), number(pm.NLL), number(gm.NLL), number(pm.ECE), number(gm.ECE),
		loss, kl, clamped,
	}
}

// cell writes a hyphen for what would make encoding/csv quote a text: commas, quotes, spaces and their like. layers.New
// takes mlp:200-100 for mlp:200,100.
func cell(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`,"\`, r) || unicode.IsSpace(r) || unicode.IsControl(r) {
			return '-'
		}
		return r
	}, s)
}

// scored returns the report, or one of NaN where the method has no such model.
func scored(r *metrics.Report) metrics.Report {
	if r == nil {
		return metrics.Stat{}.Report()
	}
	return *r
}

func pooled(p *federation.Pooled) federation.Pooled {
	if p == nil {
		return federation.Pooled{Report: scored(nil), Clients: metrics.Across(nil)}
	}
	return *p
}

func validation(e federation.Evaluation) federation.Validation {
	if e.Validation == nil {
		return federation.Validation{}
	}
	return *e.Validation
}

// number formats with as few digits as give v back, so that equal cells mean equal results; "" if v is NaN or infinite.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func count(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
