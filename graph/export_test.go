package graph

import "slices"

// Steps returns the operations of a program in the order of a run, to be timed one by one, without those that run once.
func (e *Executor) Steps(rows int) (names []string, run []func()) {
	e.Run(rows)
	for _, k := range e.all {
		if s := e.steps[k]; s.view == nil && !s.once {
			names = append(names, s.op.name)
			run = append(run, func() { s.op.run(&e.machine, e.values[s.out], e.in[k]) })
		}
	}
	return names, run
}

// InPlace runs e and returns the operations that wrote over an input, but for packs, which then do nothing.
func (e *Executor) InPlace(rows int) (names []string) {
	e.Run(rows)
	for k, s := range e.steps {
		_, pack := s.op.kernel.(packed)
		over := slices.ContainsFunc(e.in[k], func(x []float32) bool { return &x[0] == &e.values[s.out][0] })
		if s.view == nil && !pack && over {
			names = append(names, s.op.name)
		}
	}
	return names
}

// Names returns the operations of a program, but for views, in the order of a run.
func (e *Executor) Names() (names []string) {
	for _, k := range e.all {
		if s := e.steps[k]; s.view == nil {
			names = append(names, s.op.name)
		}
	}
	return names
}
