package state

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"fedbayes/graph"
)

// A Tensor is a named array of numbers: a part of a state, for a file that other programs can read.
type Tensor struct {
	Name  string
	Shape []int // row-major; empty for a single value
	Data  any   // []float32, []float64, []int64, []uint64, []bool or []byte
}

// Tensors returns what v points to as tensors, whose memory may be that of v.
//
//	field or element      name of its owner, dot, its own: server.mu, client.3.opt_q.step, server.models.0
//	vector of the layout  one tensor for each segment, in its shape: server.mu/dense1.weight [784, 100]
//	vector, string        one tensor [n]; none if it is nil
//	number, bool          one tensor []
//	other slice           name# is [n] times true, and its elements follow; none if it is nil
//	pointer               name# is true, and what it points to follows; none if it is nil
//
// A state is made of structs with exported fields, slices, arrays, pointers, numbers, bools and strings; anything else is
// a programmer's error and panics.
func Tensors(name string, v any, l graph.Layout) []Tensor {
	w := writer{layout: l, size: l.Size()}
	w.value(name, reflect.ValueOf(v).Elem())
	return w.tensors
}

type writer struct {
	layout  graph.Layout
	size    int
	tensors []Tensor
}

func (w *writer) add(name string, data any, shape ...int) {
	w.tensors = append(w.tensors, Tensor{name, append([]int{}, shape...), data})
}

func (w *writer) value(name string, v reflect.Value) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		w.add(present(name), []bool{true})
		w.value(name, v.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			exported(t, i)
			w.value(field(name, t.Field(i)), v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if t.Kind() == reflect.Slice && v.IsNil() {
			return
		}
		if single(t.Elem()) {
			w.vector(name, v)
			return
		}
		w.add(present(name), repeated(true, v.Len()), v.Len())
		for i := range v.Len() {
			w.value(element(name, i), v.Index(i))
		}
	case reflect.String:
		w.add(name, []byte(v.String()), v.Len())
	default:
		if !single(t) {
			panic(fmt.Sprintf("state: %s is a %s", name, t))
		}
		one := reflect.New(reflect.ArrayOf(1, t)).Elem()
		one.Index(0).Set(v)
		w.add(name, values(one))
	}
}

// vector adds a slice or an array of numbers.
func (w *writer) vector(name string, v reflect.Value) {
	if v.Len() == w.size && w.size > 0 {
		switch data := values(v).(type) {
		case []float32:
			for _, s := range w.layout.Segments {
				w.add(segment(name, s), s.Of(data), s.Shape...)
			}
			return
		case []float64:
			for _, s := range w.layout.Segments {
				w.add(segment(name, s), data[s.Offset:s.Offset+s.Size()], s.Shape...)
			}
			return
		}
	}
	w.add(name, values(v), v.Len())
}

// single reports whether values of a type are numbers or bools.
func single(t reflect.Type) bool {
	return t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 && t.Kind() != reflect.Uintptr
}

// values returns the values of a slice or an array as the data of a tensor.
func values(v reflect.Value) any {
	switch k := v.Type().Elem().Kind(); k {
	case reflect.Float32:
		if data, ok := reflect.TypeAssert[[]float32](v); ok {
			return data
		}
		return converted(v, func(x reflect.Value) float32 { return float32(x.Float()) })
	case reflect.Float64:
		if data, ok := reflect.TypeAssert[[]float64](v); ok {
			return data
		}
		return converted(v, reflect.Value.Float)
	case reflect.Bool:
		return converted(v, reflect.Value.Bool)
	case reflect.Uint8:
		return converted(v, func(x reflect.Value) byte { return byte(x.Uint()) })
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return converted(v, reflect.Value.Uint)
	default:
		return converted(v, reflect.Value.Int)
	}
}

func converted[T any](v reflect.Value, to func(reflect.Value) T) []T {
	data := make([]T, v.Len())
	for i := range data {
		data[i] = to(v.Index(i))
	}
	return data
}

func repeated(v bool, n int) []bool {
	all := make([]bool, n)
	for i := range all {
		all[i] = v
	}
	return all
}

// The names of parts.
func element(name string, i int) string               { return fmt.Sprintf("%s.%d", name, i) }
func segment(name string, s graph.Segment) string     { return name + "/" + s.Name }
func present(name string) string                      { return name + "#" }
func field(name string, f reflect.StructField) string { return name + "." + snake(f.Name) }

// snake writes OptQ as opt_q and KLWeight as kl_weight.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
