package state

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"fedbayes/graph"
)

type point []float32

type inner struct{ Mu, Rho []float32 }

// everything has each kind of part that a state can have.
type everything struct {
	Embedded
	Q          inner
	OptQ       *inner
	None       *inner
	W          point
	Precise    []float64
	Models     []inner
	Cache      [][]float32
	NoCache    [][]float32
	Empty      []float32
	NoneAtAll  []inner
	Step       int
	Seed       uint64
	Small      int8
	Loss       float64
	LR         float32
	Done       bool
	Rule       rule
	Counts     []int
	Seeds      []uint64
	Seen       []bool
	Bytes      []byte
	Names      []string
	Pair       [2]float64
	Three      [3]inner
	KLWeight2D [][][]float32
}

type rule string

// Embedded is embedded.
type Embedded struct{ Deep []float32 }

// layout has 5 values in two segments.
func layout() graph.Layout {
	var l graph.Layout
	l.Add("dense1.weight", 2, 2, 2)
	l.Add("dense1.bias", 2, 1)
	return l
}

func five(from float32) []float32 { return []float32{from, from + 1, from + 2, from + 3, from + 4} }

func full() *everything {
	nan := math.Float32frombits(0x7fc01234)
	return &everything{
		Embedded: Embedded{five(7)},
		Q:        inner{five(1), []float32{nan, float32(math.Inf(1)), float32(math.Copysign(0, -1)), 1e-45, math.MaxFloat32}},
		OptQ:     &inner{Mu: five(2)}, W: five(3), Precise: []float64{1, 2, 3, 4, math.Pi},
		Models: []inner{{five(4), nil}, {}, {nil, five(5)}}, Cache: [][]float32{nil, five(6), {1, 2}, {}},
		Empty: []float32{}, NoneAtAll: []inner{},
		Step: -1 << 62, Seed: math.MaxUint64, Small: -128, Loss: math.NaN(), LR: 0.1, Done: true, Rule: "ρ-mean",
		Counts: []int{math.MinInt64, math.MaxInt64}, Seeds: []uint64{math.MaxUint64, 1}, Seen: []bool{true, false, true},
		Bytes: []byte{0, 255}, Names: []string{"", "a"}, Pair: [2]float64{1, 2}, Three: [3]inner{{}, {Mu: five(9)}, {}},
		KLWeight2D: [][][]float32{{{1}, nil}, nil, {}},
	}
}

// source copies tensors, by name.
func source(tensors []Tensor) (saved map[string]Tensor, from Source) {
	saved = map[string]Tensor{}
	for _, t := range tensors {
		v := reflect.ValueOf(t.Data)
		data := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(data, v)
		saved[t.Name] = Tensor{t.Name, t.Shape, data.Interface()}
	}
	return saved, func(name string) (Tensor, bool) {
		t, ok := saved[name]
		delete(saved, name)
		return t, ok
	}
}

// spell is a value with its bits, and nil told from empty.
func spell(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Float32:
		return fmt.Sprintf("%x", math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return fmt.Sprintf("%x", math.Float64bits(v.Float()))
	case reflect.Pointer:
		if v.IsNil() {
			return "nil"
		}
		return "&" + spell(v.Elem())
	case reflect.Slice, reflect.Array:
		if v.Kind() == reflect.Slice && v.IsNil() {
			return "nil"
		}
		var parts []string
		for i := range v.Len() {
			parts = append(parts, spell(v.Index(i)))
		}
		return "[" + strings.Join(parts, " ") + "]"
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			parts = append(parts, v.Type().Field(i).Name+":"+spell(v.Field(i)))
		}
		return "{" + strings.Join(parts, "\n") + "}"
	default:
		return fmt.Sprint(v)
	}
}

// TestRoundTrip saves each kind of part, and fills both an empty state and one that holds other things.
func TestRoundTrip(t *testing.T) {
	for _, want := range []*everything{full(), {}} {
		for _, into := range []*everything{{}, full()} {
			left, from := source(Tensors("s", want, layout()))
			if err := Fill("s", into, layout(), from); err != nil {
				t.Fatal(err)
			}
			if got, want := spell(reflect.ValueOf(*into)), spell(reflect.ValueOf(*want)); got != want {
				t.Errorf("%s\nwant\n%s", got, want)
			}
			for name := range left {
				t.Errorf("nobody asked for %s", name)
			}
		}
	}
}

func TestNames(t *testing.T) {
	have := map[string]Tensor{}
	for _, tensor := range Tensors("client.3", full(), layout()) {
		if _, twice := have[tensor.Name]; twice {
			t.Errorf("two tensors are called %s", tensor.Name)
		}
		have[tensor.Name] = tensor
	}
	for name, want := range map[string]string{
		"client.3.q.mu/dense1.weight":        "[2 2] [1 2 3 4]",
		"client.3.q.mu/dense1.bias":          "[1] [5]",
		"client.3.precise/dense1.bias":       "[1] [3.141592653589793]",
		"client.3.w/dense1.bias":             "[1] [7]",
		"client.3.opt_q#":                    "[] [true]",
		"client.3.opt_q.mu/dense1.bias":      "[1] [6]",
		"client.3.models#":                   "[3] [true true true]",
		"client.3.models.2.rho/dense1.bias":  "[1] [9]",
		"client.3.cache.2":                   "[2] [1 2]",
		"client.3.cache.3":                   "[0] []",
		"client.3.step":                      "[] [-4611686018427387904]",
		"client.3.lr":                        "[] [0.1]",
		"client.3.counts":                    "[2] [-9223372036854775808 9223372036854775807]",
		"client.3.rule":                      "[7] [207 129 45 109 101 97 110]",
		"client.3.kl_weight2_d.0.0":          "[1] [1]",
		"client.3.embedded.deep/dense1.bias": "[1] [11]",
	} {
		tensor, ok := have[name]
		if got := fmt.Sprint(tensor.Shape, " ", tensor.Data); !ok || got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	for _, name := range []string{"client.3.none#", "client.3.models.0.rho/dense1.bias", "client.3.cache.0", "client.3.no_cache#"} {
		if _, ok := have[name]; ok {
			t.Errorf("%s is there, and the part is nil", name)
		}
	}
}

// TestMisfits fills from tensors that are not those of the type.
func TestMisfits(t *testing.T) {
	type narrow struct {
		N     int8
		Seeds []uint64
		W     []float32
		Pair  [2]int
		Name  string
		List  []inner
	}
	for name, test := range map[string]struct {
		tensor Tensor
		want   string
	}{
		"overflow":      {Tensor{"s.n", []int{}, []int64{300}}, "s.n: 300 is no int8"},
		"two values":    {Tensor{"s.n", []int{2}, []int64{1, 2}}, "s.n has 2 values, want 1"},
		"sign":          {Tensor{"s.seeds", []int{1}, []int64{1}}, "s.seeds is a []int64, want []uint64"},
		"precision":     {Tensor{"s.w", []int{1}, []float64{1}}, "s.w is a []float64, want []float32"},
		"array":         {Tensor{"s.pair", []int{1}, []int64{1}}, "s.pair has 1 values, want 2"},
		"text":          {Tensor{"s.name", []int{1}, []int64{1}}, "s.name is not a text"},
		"list":          {Tensor{"s.list#", []int{1}, []int64{1000}}, "s.list# is not a number of elements"},
		"segment":       {Tensor{"s.w/dense1.weight", []int{4}, five(0)[:4]}, "s.w/dense1.weight is a []float32 of shape [4], want []float32 of [2 2]"},
		"other segment": {Tensor{"s.w/dense1.weight", []int{2, 2}, five(0)[:4]}, "s.w/dense1.bias"},
	} {
		t.Run(name, func(t *testing.T) {
			saved, from := source(Tensors("s", &narrow{}, layout()))
			saved[test.tensor.Name] = test.tensor
			err := Fill("s", &narrow{}, layout(), from)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	if err := Fill("s", &narrow{}, layout(), func(string) (Tensor, bool) { return Tensor{}, false }); err == nil || err.Error() != "s.n is missing" {
		t.Errorf("%v, want that s.n is missing", err)
	}
}

func TestTensorsPanics(t *testing.T) {
	for want, v := range map[string]any{
		"state: state.hidden.mu is not exported": &hidden{},
		"state: s.m is a map[int]int":            &struct{ M map[int]int }{},
		"state: s.f is a func()":                 &struct{ F func() }{},
		"state: s.of is a interface {}":          &struct{ Of any }{},
	} {
		for what, f := range map[string]func(){
			"Tensors": func() { Tensors("s", v, layout()) },
			"Fill":    func() { _ = Fill("s", v, layout(), func(string) (Tensor, bool) { return Tensor{}, false }) },
		} {
			func() {
				defer func() {
					if got := recover(); got != want {
						t.Errorf("%s panics with %v, want %s", what, got, want)
					}
				}()
				f()
			}()
		}
	}
}

type hidden struct{ mu []float32 }

var _ = hidden{mu: nil}
