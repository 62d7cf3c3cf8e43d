package cli

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"runtime"
	"time"

	"fedbayes/algorithms"
	"fedbayes/datasets"
	"fedbayes/internal/kernels"
)

// record is config.json.
type record struct {
	Started     string            `json:"started"` // RFC 3339
	Version     string            `json:"version"`
	Go          string            `json:"go"`
	Platform    string            `json:"platform"`
	ISA         string            `json:"isa"`
	CPUFeatures []string          `json:"cpu_features"`
	Flags       map[string]string `json:"flags"`    // as they were given, but for those of the folder and the output
	Settings    map[string]any    `json:"settings"` // of the flags that have an effect, by name
	Method      map[string]any    `json:"method"`   // its own flags, likewise
	Model       modelRecord       `json:"model"`
	Dataset     datasetRecord     `json:"dataset"`
	Split       splitRecord       `json:"split"`
	Clients     []clientRecord    `json:"clients"`
	Notes       []string          `json:"notes"`
}

type modelRecord struct {
	Name       string `json:"name"`
	Parameters int    `json:"parameters"`
}

type datasetRecord struct {
	Name          string    `json:"name"`
	Source        string    `json:"source"` // "embedded", a folder, or an archive
	Images        int       `json:"images"` // or other examples
	Counts        []int     `json:"images_of_class"`
	Normalisation string    `json:"normalisation"`
	Mean          []float32 `json:"mean,omitempty"` // of each channel
	Std           []float32 `json:"std,omitempty"`
	Sum           string    `json:"sha256,omitempty"` // of an open data set, whose counts do not tell it from others
}

// A splitRecord says what a reader would ask of the split. The overlaps are 0, or there would be no run.
type splitRecord struct {
	SharedByClients int     `json:"images_of_two_clients"`
	TrainedAndTest  int     `json:"test_images_trained_on"` // or validated on
	Unused          int     `json:"images_of_no_client"`
	Unseen          float64 `json:"test_share_of_labels_never_trained_on"` // by the client that is tested on them
	LabelOf         [][]int `json:"label_of_class_by_group,omitempty"`     // where labels are permuted; client i is of group i mod their number
}

// A clientRecord says what a client holds. Hash is the SHA-256 of the indices of its training, validation and test images, of
// their order of values if it has one of its own, and of its labels where they are permuted. Labels are its classes, by the
// labels that the data give them.
type clientRecord struct {
	ID     int     `json:"id"`
	Name   string  `json:"name,omitempty"` // in the data
	Labels []int   `json:"labels"`
	Train  int     `json:"train"`
	Val    int     `json:"val,omitempty"`
	Test   int     `json:"test"`
	Unseen float64 `json:"test_share_of_labels_never_trained_on"`
	Hash   string  `json:"sha256"`
}

func (p *plan) config(d *datasets.Dataset, splits []datasets.Split) record {
	r := record{
		Started: time.Now().Format(time.RFC3339),
		Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		ISA: kernels.Best().String(), CPUFeatures: append([]string{}, kernels.Features()...),
		Flags: p.flags,
		Model: modelRecord{p.Model, p.net.Size()},
		Dataset: datasetRecord{
			Name: d.Name, Source: d.Source, Images: d.Len(), Counts: d.Counts(),
			Normalisation: d.Normalisation(), Mean: d.Mean, Std: d.Std, Sum: d.Sum,
		},
		Notes: append([]string{}, p.notes...),
	}
	r.Settings, r.Method = p.inForce()
	stats := datasets.StatsOf(d, splits)
	r.Split = splitRecord{stats.SharedByClients, stats.TrainedAndTest, stats.Unused, stats.UnseenShare(), p.labelOf(splits)}
	for i, s := range splits {
		r.Clients = append(r.Clients, clientRecord{i, s.Owner, s.Labels, len(s.Train), len(s.Val), len(s.Test), stats.ClientUnseenShare(i), hash(s)})
	}
	return r
}

// inForce returns the settings that have an effect, and those of the method.
func (p *plan) inForce() (settings, method map[string]any) {
	settings, method = map[string]any{}, map[string]any{}
	for _, o := range p.options() {
		if o.in(p.Partition) {
			settings[o.Name] = value(o.Param)
		}
	}
	p.effective(settings)
	idle := p.method.Idle()
	for _, m := range p.method.Params() {
		if _, ok := idle[m.Name]; !ok {
			method[m.Name] = value(m)
		}
	}
	return settings, method
}

// effective puts in what a flag that was not given came out as, and takes out the flags that have no effect.
func (p *plan) effective(settings map[string]any) {
	settings["participation"] = p.clients
	if p.LocalEpochs > 0 {
		delete(settings, "local-steps")
	} else {
		delete(settings, "local-epochs")
	}
	if p.CheckpointEvery == atTheEnd {
		delete(settings, "checkpoint-every")
	}
	delete(settings, "resume")
	delete(settings, "log-format")
	for name, unused := range map[string]bool{
		"test-per-client": p.Order == "published",
		"permute-labels":  p.PermuteLabels == 0,
		"watch":           p.Watch == "", "watch-rounds": p.Watch == "",
		"val-fraction": p.ValFraction == 0, "patience": p.Patience == 0, "drop-rate": p.DropRate == 0, "straggler-rate": p.StragglerRate == 0,
	} {
		if unused {
			delete(settings, name)
		}
	}
	if p.HoldoutClients == 0 {
		delete(settings, "holdout-clients")
	}
	e, _ := algo(p.Algo)
	if p.HoldoutClients == 0 || e.Stepless {
		delete(settings, "holdout-steps")
	}
	if !e.Bayesian || p.MC > 0 {
		delete(settings, "final-mc")
	}
	if p.Tensorboard == "" {
		delete(settings, "tensorboard")
	}
	if p.DataDir == "" { // Source says where the data were found
		delete(settings, "data-dir")
	}
	if p.Partition == "labels" {
		settings["regime"] = p.regime
		settings["train-per-class"] = p.partition.TrainPerClass
		settings["test-per-class"] = p.tests // which can be fewer than were asked for: see Notes
	}
}

// A span is the fewest and the most of something; one number in JSON where they are the same.
type span struct{ fewest, most int }

func (s span) String() string {
	if s.fewest == s.most {
		return fmt.Sprint(s.fewest)
	}
	return fmt.Sprintf("%d to %d", s.fewest, s.most)
}

// MarshalJSON implements [encoding/json.Marshaler].
func (s span) MarshalJSON() ([]byte, error) {
	if s.fewest == s.most {
		return fmt.Appendf(nil, "%d", s.fewest), nil
	}
	return fmt.Appendf(nil, "[%d, %d]", s.fewest, s.most), nil
}

// testsOf returns how many test images a client has of each of its labels.
func testsOf(d *datasets.Dataset, splits []datasets.Split) span {
	var s span
	for i, split := range splits {
		n := make([]int, d.Classes)
		for _, image := range split.Test {
			n[d.Labels[image]]++
		}
		for j, c := range split.Labels {
			if i == 0 && j == 0 {
				s = span{n[c], n[c]}
			}
			s.fewest, s.most = min(s.fewest, n[c]), max(s.most, n[c])
		}
	}
	return s
}

// value returns what a parameter points to.
func value(p algorithms.Param) any {
	switch v := p.Value.(type) {
	case *bool:
		return *v
	case *int:
		return *v
	case *float64:
		return *v
	case *string:
		return *v
	}
	panic("cli: --" + p.Name + " has a value of an unknown type")
}

// labelOf returns the labels that each group of clients gives the classes; nil where all give the same.
func (p *plan) labelOf(splits []datasets.Split) (labels [][]int) {
	for _, s := range splits[:p.PermuteLabels] {
		labels = append(labels, s.LabelOf)
	}
	return labels
}

func hash(s datasets.Split) string {
	h := sha256.New()
	parts := [][]int{s.Train, s.Test}
	if len(s.Val) > 0 {
		parts = append(parts, s.Val)
	}
	if s.Order != nil {
		parts = append(parts, s.Order)
	}
	if s.LabelOf != nil {
		parts = append(parts, s.LabelOf)
	}
	for _, part := range parts {
		text := binary.AppendUvarint(nil, uint64(len(part)))
		for _, i := range part {
			text = binary.AppendUvarint(text, uint64(i))
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}
