package graph

// Steps returns the operations of a program in the order of a run, to be timed one by one.
func (e *Executor) Steps(rows int) (names []string, run []func()) {
	e.Run(rows)
	for _, k := range e.all {
		if s := e.steps[k]; s.view == nil {
			names = append(names, s.op.name)
			run = append(run, func() { s.op.run(&e.machine, e.values[s.out], e.in[k]) })
		}
	}
	return names, run
}
