package plots

import (
	"fmt"
	"strings"

	"fedbayes/internal/runs"
)

// A Metric is what the vertical axis of a picture shows.
type Metric struct {
	Name    string
	About   string // label of the axis
	Percent bool   // fractions, shown times 100
	Lower   bool   // the less the better
	models  []model
}

// A model is a column of the metric.
type model struct{ name, title, column string }

// Metrics lists the columns of rounds.csv that can be drawn.
func Metrics() []Metric {
	both := func(ending string) []model {
		return []model{{"PM", "PM: personal models", "pm_" + ending}, {"GM", "GM: global model", "gm_" + ending}}
	}
	return []Metric{
		{Name: "acc", About: "accuracy (%)", Percent: true, models: both("acc")},
		{Name: "worst", About: "accuracy of the worst client (%)", Percent: true, models: both("acc_worst")},
		{Name: "nll", About: "negative log-likelihood (nats)", Lower: true, models: both("nll")},
		{Name: "ece", About: "expected calibration error (%)", Percent: true, Lower: true, models: both("ece")},
		{Name: "loss", About: "training loss (nats)", Lower: true, models: []model{{"loss", "", "train_loss"}}},
		{Name: "kl", About: "KL of the clients' distributions (nats)", Lower: true, models: []model{{"KL", "", "kl"}}},
	}
}

// FindMetric returns the metric of a name.
func FindMetric(name string) (Metric, bool) {
	for _, m := range Metrics() {
		if m.Name == name {
			return m, true
		}
	}
	return Metric{}, false
}

func (m Metric) scale() float64 {
	if m.Percent {
		return 100
	}
	return 1
}

// present returns the models of which some group has a number.
func (m Metric) present(groups []runs.Group) ([]model, error) {
	var there []model
	var columns []string
	for _, mo := range m.models {
		columns = append(columns, mo.column)
		for _, g := range groups {
			if len(g.Points(mo.column)) > 0 {
				there = append(there, mo)
				break
			}
		}
	}
	if len(there) == 0 {
		return nil, fmt.Errorf("%s: no evaluation has a number in %s", groups[0].Runs[0].Source, strings.Join(columns, " or "))
	}
	return there, nil
}
