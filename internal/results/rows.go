package results

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"fedbayes/internal/federation"
	"fedbayes/internal/metrics"
)

// roundsHeader names the columns of rounds.csv. Accuracies are in [0, 1], likelihoods and divergences in nats; bytes and
// seconds are sums since the start of the run, and so is how many clients failed. There are only the columns that the run has a
// use for.
func roundsHeader(h Head) []string {
	columns := []string{
		"run", "algo", "dataset", "regime", "model", "seed", "round",
		"pm_acc", "gm_acc", "pm_nll", "gm_nll", "pm_ece", "gm_ece", "pm_acc_worst", "gm_acc_worst",
		"train_loss", "kl", "bytes_up", "bytes_down", "train_seconds", "eval_seconds",
	}
	if h.Validates {
		columns = append(columns, "pm_val_acc", "gm_val_acc")
	}
	if h.Fails {
		columns = append(columns, "dropped", "stragglers", "empty_rounds")
	}
	return columns
}

func roundRow(run string, h Head, e federation.Evaluation) []string {
	pm, gm := pooled(e.Personal), pooled(e.Global)
	row := []string{
		cell(run), cell(h.Algo), cell(h.Dataset), cell(h.Regime), cell(h.Model), strconv.FormatUint(h.Seed, 10), strconv.Itoa(e.Round),
		number(pm.Accuracy), number(gm.Accuracy), number(pm.NLL), number(gm.NLL), number(pm.ECE), number(gm.ECE),
		number(pm.Clients.Worst), number(gm.Clients.Worst),
		number(e.Loss), number(e.KL),
		strconv.FormatInt(e.BytesUp, 10), strconv.FormatInt(e.BytesDown, 10),
		seconds(e.Training.Seconds()), seconds(e.Scoring.Seconds()),
	}
	if h.Validates {
		v := federation.Validation{}
		if e.Validation != nil {
			v = *e.Validation
		}
		row = append(row, number(pooled(v.Personal).Accuracy), number(pooled(v.Global).Accuracy))
	}
	if h.Fails {
		row = append(row, strconv.Itoa(e.Dropped), strconv.Itoa(e.Stragglers), strconv.Itoa(e.Empty))
	}
	return row
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

// number formats with as few digits as give v back, so that equal cells mean equal results; "" if v is NaN or infinite.
func number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 3, 64) }
