package results

import (
	"path/filepath"

	"fedbayes/internal/federation"
	"fedbayes/internal/tensorboard"
)

// CheckEvents returns an error if dir cannot be a folder, or holds event files of a run of this name that are not to be
// replaced by force.
func CheckEvents(dir, name string, force bool) error {
	if err := Check(dir, true); err != nil {
		return err
	}
	return tensorboard.Check(filepath.Join(dir, name), force)
}

// eventsDir is the folder of the run's event files, whose name TensorBoard shows. A run that was moved keeps it.
func (r *Run) eventsDir() string { return filepath.Join(r.head.Events, r.name) }

// show appends an evaluation to the event file, if there is one. What is no number is left out.
func (r *Run) show(e federation.Evaluation) error {
	if r.events == nil {
		return nil
	}
	var all []tensorboard.Scalar
	for _, n := range r.head.Numbers(e) {
		all = append(all, tensorboard.Scalar{Tag: n.tag, Value: n.Value})
	}
	return r.events.Write(e.Round, all)
}
