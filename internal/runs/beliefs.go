package runs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// A Belief is what the model of one client, as it was after a round, says of one image: how probable each class is.
type Belief struct {
	Client, Round int
	Label         int // the class of the image; −1 if nothing says
	Classes       []int
	Probability   []float64 // mean over draws of the weights, by place in Classes
	Deviation     []float64 // standard deviation over them, likewise
}

// ErrUnwatched says that a run has no beliefs.csv.
var ErrUnwatched = errors.New("no such file, as the run was made without --watch")

// Beliefs reads the beliefs.csv of the run in a folder, or any CSV with the columns client, round, class, probability, deviation and, if it is known, label, the class of
// the image that all rows are about. They are in order of client and round.
func Beliefs(path string) ([]Belief, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, beliefsFile)
		if _, err := os.Stat(path); os.IsNotExist(err) {
			return nil, fmt.Errorf("%s: %w", path, ErrUnwatched)
		}
	}
	t, err := readTable(path)
	if err != nil {
		return nil, err
	}
	if err := t.need("client", "round", "class", "probability", "deviation"); err != nil {
		return nil, err
	}
	var all []Belief
	for i := range t.rows {
		b := Belief{Label: -1}
		class := 0
		for _, cell := range []struct {
			name string
			v    *int
		}{{"client", &b.Client}, {"round", &b.Round}, {"class", &class}, {"label", &b.Label}} {
			if cell.name == "label" && t.text(i, "label") == "" {
				continue
			}
			if *cell.v, err = t.whole(i, cell.name); err != nil {
				return nil, err
			}
		}
		probability, err := t.share(i, "probability")
		if err != nil {
			return nil, err
		}
		deviation, err := t.share(i, "deviation")
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(o Belief) bool { return o.Client == b.Client && o.Round == b.Round })
		if at < 0 {
			at = len(all)
			all = append(all, b)
		}
		there := &all[at]
		if slices.Contains(there.Classes, class) {
			return nil, fmt.Errorf("%s: line %d is the second of client %d, round %d, class %d", path, t.lines[i], b.Client, b.Round, class)
		}
		there.Classes = append(there.Classes, class)
		there.Probability, there.Deviation = append(there.Probability, probability), append(there.Deviation, deviation)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no row", path)
	}
	return all, nil
}

// share returns the number from 0 to 1 in a cell.
func (t *table) share(row int, name string) (float64, error) {
	v, err := strconv.ParseFloat(t.text(row, name), 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return 0, fmt.Errorf("%s: line %d: %s is %q, want a number from 0 to 1", t.path, t.lines[row], name, t.text(row, name))
	}
	return v, nil
}
