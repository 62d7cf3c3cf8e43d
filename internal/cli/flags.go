package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"fedbayes/algorithms"
)

// A text is the value of a flag as package flag sees it. It keeps what was given and judges nothing, so that errors are
// ours, come in one order, and can depend on other flags.
type text struct {
	given   int
	value   string
	boolean bool
	at      string // file and line that gave it; "" for the command line
}

// Set implements [flag.Value].
func (t *text) Set(s string) error {
	t.given++
	t.value = s
	return nil
}

// String implements [flag.Value].
func (t *text) String() string { return t.value }

// IsBoolFlag says to package flag that the flag stands alone.
func (t *text) IsBoolFlag() bool { return t.boolean }

// texts are the flags of a command, by name.
type texts map[string]*text

// A switchFlag is a flag whose help has no place for a value.
type switchFlag struct{ *cli.GenericFlag }

// TakesValue implements [cli.DocGenerationFlag].
func (switchFlag) TakesValue() bool { return false }

// String implements [cli.Flag].
func (f switchFlag) String() string { return cli.FlagStringer(f) }

// add makes a flag. shown is the default that its help shows.
func (ts texts) add(name, usage, shown, category string, boolean bool) cli.Flag {
	t := &text{boolean: boolean}
	ts[name] = t
	f := &cli.GenericFlag{Name: name, Usage: usage, DefaultText: shown, Category: category, Value: t}
	if boolean {
		return switchFlag{f}
	}
	return f
}

// twice returns an error if a flag was given twice: which of the two was meant?
func (ts texts) twice() error {
	for _, name := range ts.givenNames() {
		if ts[name].given > 1 {
			return usagef("--%s: given %d times, want it once", name, ts[name].given)
		}
	}
	return nil
}

// givenNames returns the flags on the command line in alphabetical order.
func (ts texts) givenNames() []string {
	var names []string
	for name, t := range ts {
		if t.given > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (ts texts) has(name string) bool { return ts[name] != nil && ts[name].given > 0 }

// assign parses the text of a parameter's flag into it, if there is one, and checks the value.
func (ts texts) assign(p algorithms.Param) error {
	if !ts.has(p.Name) {
		return nil
	}
	s := ts[p.Name].value
	var err error
	switch v := p.Value.(type) {
	case *bool:
		*v, err = strconv.ParseBool(s)
	case *int:
		*v, err = strconv.Atoi(s)
	case *float64:
		*v, err = strconv.ParseFloat(s, 64)
	case *string:
		*v = s
		if p.OneOf == nil {
			if s == "" {
				return usagef(`--%s "": want a value`, p.Name)
			}
			if rest, ok := strings.CutPrefix(s, "-"); ok && strings.TrimLeft(rest, "0123456789") == rest { // most likely the next flag
				return usagef("--%s %q: want a folder (write ./%s for one of that name)", p.Name, s, s)
			}
			return nil
		}
		if !slices.Contains(p.OneOf, s) {
			return usagef("--%s %q: %s", p.Name, s, oneOf(s, p.OneOf))
		}
	}
	if errors.Is(err, strconv.ErrRange) {
		return usagef("--%s %q: want %s", p.Name, s, limits(p))
	}
	if err != nil {
		return usagef("--%s %q: want %s", p.Name, s, p.Allowed())
	}
	if err := p.Check(); err != nil {
		return usageError{err}
	}
	if v, ok := p.Value.(*float64); ok && !single(*v) {
		return usagef("--%s %v: want %s, as a float32 holds it: 0, or from 1e-45 to 3.4e+38", p.Name, *v, p.Allowed())
	}
	return nil
}

// single reports whether a float32, in which methods compute, has room for v: neither infinity nor 0 stands for it.
func single(v float64) bool {
	return math.Abs(v) <= math.MaxFloat32 && (float32(v) != 0 || v == 0)
}

// limits is what p allows, with the bound of its type where it has none of its own.
func limits(p algorithms.Param) string {
	if !math.IsInf(p.Max, 1) {
		return p.Allowed()
	}
	if _, whole := p.Value.(*int); whole {
		return fmt.Sprintf("%s and ≤ %d", p.Allowed(), math.MaxInt)
	}
	return fmt.Sprintf("%s and ≤ %v", p.Allowed(), float32(math.MaxFloat32))
}

// show formats what a parameter points to.
func show(p algorithms.Param) string {
	switch v := p.Value.(type) {
	case *bool:
		return strconv.FormatBool(*v)
	case *int:
		return strconv.Itoa(*v)
	case *float64:
		return strconv.FormatFloat(*v, 'g', -1, 64)
	case *string:
		return *v
	}
	panic(fmt.Sprintf("cli: --%s is a %T", p.Name, p.Value))
}

// usageOf is the help of a parameter: what it is and, for a choice, what it may be.
func usageOf(p algorithms.Param) string {
	if len(p.OneOf) > 1 {
		return fmt.Sprintf("%s [%s]", p.Usage, strings.Join(p.OneOf, ", "))
	}
	return p.Usage
}
