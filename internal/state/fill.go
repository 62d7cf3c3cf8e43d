package state

import (
	"fmt"
	"reflect"
	"slices"

	"fedbayes/graph"
)

// A Source returns the tensor of a name, whose memory is the caller's from then on.
type Source func(name string) (Tensor, bool)

// Fill sets what v points to to what [Tensors] made tensors of. Slices and what pointers point to are new. An error says
// which tensor is missing, or has other values or another shape than v has room for.
func Fill(name string, v any, l graph.Layout, from Source) error {
	r := reader{layout: l, from: from}
	r.value(name, reflect.ValueOf(v).Elem())
	return r.err
}

// A reader keeps its first error, after which what it reads is of no use.
type reader struct {
	layout graph.Layout
	from   Source
	err    error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) value(name string, v reflect.Value) {
	t := v.Type()
	switch t.Kind() {
	case reflect.Pointer:
		v.SetZero()
		if _, ok := r.from(present(name)); ok {
			v.Set(reflect.New(t.Elem()))
			r.value(name, v.Elem())
		}
	case reflect.Struct:
		for i := range t.NumField() {
			exported(t, i)
			r.value(field(name, t.Field(i)), v.Field(i))
		}
	case reflect.Slice:
		v.SetZero()
		if single(t.Elem()) {
			r.slice(name, v)
			return
		}
		if n, ok := r.count(name); ok {
			v.Set(reflect.MakeSlice(t, n, n))
			r.elements(name, v)
		}
	case reflect.Array:
		if single(t.Elem()) {
			r.array(name, v)
			return
		}
		if n, _ := r.count(name); n != t.Len() {
			r.fail("%s has %d elements, want %d", name, n, t.Len())
			return
		}
		r.elements(name, v)
	case reflect.String:
		text, ok := r.must(name).Data.([]byte)
		if !ok {
			r.fail("%s is not a text", name)
			return
		}
		v.SetString(string(text))
	default:
		if !single(t) {
			panic(fmt.Sprintf("state: %s is a %s", name, t))
		}
		one := reflect.New(reflect.ArrayOf(1, t)).Elem()
		r.array(name, one)
		v.Set(one.Index(0))
	}
}

// count returns the number of elements of a slice, false if it is nil.
func (r *reader) count(name string) (int, bool) {
	t, ok := r.from(present(name))
	if !ok {
		return 0, false
	}
	there, ok := t.Data.([]bool) // a value for each element, so that a file cannot ask for more than it holds
	if !ok {
		r.fail("%s is not a number of elements", t.Name)
	}
	return len(there), ok
}

func (r *reader) elements(name string, v reflect.Value) {
	for i := range v.Len() {
		if r.err != nil {
			return
		}
		r.value(element(name, i), v.Index(i))
	}
}

func (r *reader) must(name string) Tensor {
	t, ok := r.from(name)
	if !ok {
		r.fail("%s is missing", name)
	}
	return t
}

// slice sets a slice of numbers, which is nil if there are no tensors of its name.
func (r *reader) slice(name string, v reflect.Value) {
	if t, ok := r.from(name); ok {
		r.set(v, t)
		return
	}
	switch v.Type().Elem().Kind() {
	case reflect.Float32:
		r.set(v, gathered[float32](r, name))
	case reflect.Float64:
		r.set(v, gathered[float64](r, name))
	default:
	}
}

// gathered puts the segments of a vector together.
func gathered[T float32 | float64](r *reader, name string) Tensor {
	var data []T
	for i, s := range r.layout.Segments {
		t, ok := r.from(segment(name, s))
		if !ok && i == 0 {
			return Tensor{}
		}
		part, typed := t.Data.([]T)
		if !typed || !slices.Equal(t.Shape, s.Shape) {
			r.fail("%s is a %T of shape %v, want %T of %v", segment(name, s), t.Data, t.Shape, part, s.Shape)
			return Tensor{}
		}
		if data == nil {
			data = make([]T, r.layout.Size())
		}
		copy(data[s.Offset:], part)
	}
	return Tensor{Name: name, Data: data}
}

// array sets an array of numbers.
func (r *reader) array(name string, v reflect.Value) {
	t := r.must(name)
	if r.err != nil {
		return
	}
	if n := reflect.ValueOf(t.Data).Len(); n != v.Len() {
		r.fail("%s has %d values, want %d", name, n, v.Len())
		return
	}
	slice := reflect.New(reflect.SliceOf(v.Type().Elem())).Elem()
	r.set(slice, t)
	reflect.Copy(v, slice)
}

// set puts the values of a tensor into a slice.
func (r *reader) set(v reflect.Value, t Tensor) {
	if t.Data == nil || r.err != nil {
		return
	}
	data := reflect.ValueOf(t.Data)
	if data.Type().AssignableTo(v.Type()) {
		v.Set(data)
		return
	}
	to, kept := v.Type().Elem(), reflect.ValueOf(values(reflect.Zero(v.Type()))).Type()
	if kept != data.Type() {
		r.fail("%s is a %s, want %s", t.Name, data.Type(), kept)
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), data.Len(), data.Len()))
	for i := range data.Len() {
		x := data.Index(i)
		if x.CanInt() && reflect.Zero(to).OverflowInt(x.Int()) || x.CanUint() && reflect.Zero(to).OverflowUint(x.Uint()) {
			r.fail("%s: %v is no %s", t.Name, x, to)
			return
		}
		v.Index(i).Set(x.Convert(to))
	}
}
