// Package state walks plain structs of exported fields, so that counting and saving what they hold needs no code of a
// method's own.
package state

import (
	"fmt"
	"reflect"
)

// Bytes returns the size of a message on the wire: 4 for each float32, 1 for each byte, 8 for each other number. A message is made of
// structs with exported fields, slices and pointers; anything else is a programmer's error and panics.
func Bytes(msg any) int64 { return bytes(reflect.ValueOf(msg)) }

func bytes(v reflect.Value) int64 {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return 0
		}
		return bytes(v.Elem())
	case reflect.Struct:
		var n int64
		for i := range v.NumField() {
			exported(v.Type(), i)
			n += bytes(v.Field(i))
		}
		return n
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Float32 {
			return 4 * int64(v.Len())
		}
		var n int64
		for i := range v.Len() {
			n += bytes(v.Index(i))
		}
		return n
	case reflect.Float32:
		return 4
	case reflect.Uint8:
		return 1
	case reflect.Float64, reflect.Int, reflect.Int64:
		return 8
	}
	panic(fmt.Sprintf("state: a message holds a %s", v.Type()))
}

// exported panics if the i-th field of a struct is not.
func exported(t reflect.Type, i int) {
	if f := t.Field(i); !f.IsExported() {
		panic(fmt.Sprintf("state: %s.%s is not exported", t, f.Name))
	}
}
