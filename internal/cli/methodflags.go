package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"fedbayes/algorithms"
)

// A methodFlag is a hyper-parameter that one or more methods have under one name.
type methodFlag struct {
	algorithms.Param          // of the first that has it
	owners           []string // methods, in the order of the registry
	shown            string   // default, or defaults
	about            string   // what it is to each method that has it, which are named where not all do
}

// methodFlags returns the hyper-parameters of all methods and presets, each name once. They are the same in every call, and made
// once: they are many, and each command wants them. They are not to be changed, and their values belong to no run.
var methodFlags = sync.OnceValue(func() []methodFlag {
	var flags []methodFlag
	for _, e := range algorithms.All() {
		for _, p := range e.Presets[0].New().Params() {
			i := slices.IndexFunc(flags, func(f methodFlag) bool { return f.Name == p.Name })
			if i < 0 {
				i = len(flags)
				flags = append(flags, methodFlag{Param: p})
			}
			flags[i].owners = append(flags[i].owners, e.Name)
		}
	}
	for i := range flags {
		flags[i].shown = defaultsOf(flags[i])
		flags[i].about = aboutOf(flags[i])
	}
	return flags
})

// defaultsOf says the default of a hyper-parameter, as "0.001 for pfedbayes, 0.05 for fedavg and local". A preset is
// named where its default differs from that of its method's first one, as in "-2.5, -3 with --preset code".
func defaultsOf(f methodFlag) string {
	var values byText
	for _, owner := range f.owners {
		e, _ := algo(owner)
		first := defaultIn(e.Presets[0].New(), f.Name)
		values.add(first, owner)
		for _, preset := range e.Presets[1:] {
			if v := defaultIn(preset.New(), f.Name); v != first {
				values.add(v, owner+" --preset "+preset.Name)
			}
		}
	}
	if len(values.texts) == 1 {
		return values.texts[0]
	}
	text := values.join("%s for %s", ", ")
	if len(f.owners) == 1 { // whose it is goes without saying
		text = strings.ReplaceAll(text, " for "+f.owners[0]+" --", " with --")
		text = strings.ReplaceAll(text, " and "+f.owners[0]+" --", " and --")
		text = strings.ReplaceAll(text, " for "+f.owners[0], "")
	}
	return text
}

// byText groups methods by what is to be said of them, in the order in which that came.
type byText struct {
	texts []string
	whose map[string][]string
}

func (g *byText) add(text, who string) {
	if g.whose == nil {
		g.whose = map[string][]string{}
	}
	if len(g.whose[text]) == 0 {
		g.texts = append(g.texts, text)
	}
	g.whose[text] = append(g.whose[text], who)
}

// join writes each text with whose it is, as format says, in one line.
func (g *byText) join(format, separator string) string {
	var parts []string
	for _, text := range g.texts {
		parts = append(parts, fmt.Sprintf(format, text, and(g.whose[text])))
	}
	return strings.Join(parts, separator)
}

// defaultIn returns what a method that was just made has for a hyper-parameter.
func defaultIn(m algorithms.Algorithm, name string) string {
	p, _ := find(m.Params(), name)
	return show(p)
}

func find(params []algorithms.Param, name string) (algorithms.Param, bool) {
	for _, p := range params {
		if p.Name == name {
			return p, true
		}
	}
	return algorithms.Param{}, false
}

// and joins names as a sentence does.
func and(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// newMethod makes the method that the settings name and gives it the hyper-parameters on the command line.
func (s *settings) newMethod(ts texts) (algorithms.Algorithm, error) {
	m, err := s.preset()
	if err != nil {
		return nil, err
	}
	switch e, _ := algo(s.Algo); {
	case e.Alone && ts.has("participation"):
		return nil, usagef("--participation: every client of %s trains in every round, alone", s.Algo)
	case !e.Bayesian && ts.has("mc"):
		return nil, usagef("--mc: %s has no distribution to draw weights from", s.Algo)
	case !e.Bayesian && ts.has("final-mc"):
		return nil, usagef("--final-mc: %s has no distribution to draw weights from", s.Algo)
	}
	params := m.Params()
	for _, f := range methodFlags() {
		p, ok := find(params, f.Name)
		if !ok && ts.has(f.Name) {
			return nil, usagef("--%s: %s has no such setting, it belongs to %s", f.Name, s.Algo, and(f.owners))
		}
		if !ok {
			continue
		}
		if err := ts.assign(p); err != nil {
			return nil, err
		}
	}
	if err := m.Check(); err != nil {
		return nil, usageError{err}
	}
	idle := m.Idle()
	for _, name := range slices.Sorted(maps.Keys(idle)) {
		if ts.has(name) {
			return nil, usagef("--%s: no effect, %s", name, idle[name])
		}
	}
	return m, nil
}

// preset makes the method with the defaults of its preset, and puts the preset's name into s if none was given.
func (s *settings) preset() (algorithms.Algorithm, error) {
	e, _ := algo(s.Algo)
	if s.Preset == "" {
		s.Preset = e.Default(s.Model, s.Dataset).Name
	}
	var names []string
	for _, p := range e.Presets {
		if p.Name == s.Preset {
			return p.New(), nil
		}
		names = append(names, p.Name)
	}
	return nil, usagef("--preset %q: %s, for %s", s.Preset, oneOf(s.Preset, names), s.Algo)
}

// aboutOf says what a hyper-parameter is to the methods that have it.
func aboutOf(f methodFlag) string {
	var usages byText
	for _, owner := range f.owners {
		e, _ := algo(owner)
		p, _ := find(e.Presets[0].New().Params(), f.Name)
		usages.add(usageOf(p), owner)
	}
	if len(usages.texts) == 1 && len(f.owners) == len(algorithms.All()) {
		return usages.texts[0]
	}
	return usages.join("%s (%s)", "; ")
}
