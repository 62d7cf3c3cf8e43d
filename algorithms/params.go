package algorithms

import (
	"fmt"
	"math"
	"strings"
)

// A Param is a hyper-parameter of a method, and so a flag of the command line.
type Param struct {
	Name  string
	Usage string

	// Value points into the method: *float64, *int, *bool or *string. What it points to is the default.
	Value any

	// A number lies in [Min, Max], or in (Min, Max] if Open. A string is one of OneOf.
	Min, Max float64
	Open     bool
	OneOf    []string
}

// inf is the Max of a number without bound.
var inf = math.Inf(1)

// Check reports a value out of range in one line that names the flag, the value and what is allowed.
func (p Param) Check() error {
	ok, value := true, ""
	switch v := p.Value.(type) {
	case *float64:
		ok, value = p.holds(*v), fmt.Sprint(*v)
	case *int:
		ok, value = p.holds(float64(*v)), fmt.Sprint(*v)
	case *string:
		ok, value = false, fmt.Sprintf("%q", *v)
		for _, s := range p.OneOf {
			ok = ok || s == *v
		}
	}
	if !ok {
		return fmt.Errorf("--%s %s: want %s", p.Name, value, p.Allowed())
	}
	return nil
}

func (p Param) holds(v float64) bool {
	return v >= p.Min && v <= p.Max && !math.IsInf(v, 0) && (!p.Open || v > p.Min)
}

// Allowed says what the value may be.
func (p Param) Allowed() string {
	what := "a number"
	switch p.Value.(type) {
	case *bool:
		return "true or false"
	case *string:
		return "one of " + strings.Join(p.OneOf, ", ")
	case *int:
		what = "a whole number"
	}
	low := "≥"
	if p.Open {
		low = ">"
	}
	switch {
	case math.IsInf(p.Max, 1) && math.IsInf(p.Min, -1):
		return what
	case math.IsInf(p.Max, 1):
		return fmt.Sprintf("%s %s %v", what, low, p.Min)
	}
	return fmt.Sprintf("%s %s %v and ≤ %v", what, low, p.Min, p.Max)
}
