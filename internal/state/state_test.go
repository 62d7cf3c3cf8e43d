package state

import (
	"strings"
	"testing"
)

func TestBytes(t *testing.T) {
	type gaussian struct{ Mu, Rho []float32 }
	type counted struct {
		Step int
		Loss float64
		Of   *gaussian
	}
	var none *gaussian
	tests := []struct {
		name string
		msg  any
		want int64
	}{
		{"nothing", struct{}{}, 0},
		{"nil pointer", none, 0},
		{"nil slice", []float32(nil), 0},
		{"point", make([]float32, 79510), 318040},
		{"Gaussian", gaussian{make([]float32, 79510), make([]float32, 79510)}, 636080},
		{"pointer to Gaussian", &gaussian{make([]float32, 3), make([]float32, 3)}, 24},
		{"one float32", float32(1), 4},
		{"array", [5]float32{}, 20},
		{"numbers", counted{Step: 1, Loss: 2}, 16},
		{"nested", counted{Of: &gaussian{Mu: make([]float32, 3)}}, 28},
		{"list", []gaussian{{make([]float32, 1), nil}, {make([]float32, 2), nil}}, 12},
		{"bits", struct{ Mask []byte }{make([]byte, 5)}, 5},
		{"indices", []int{1, 2, 3}, 24},
		{"int64 and float64", struct {
			A int64
			B []float64
		}{1, []float64{1, 2}}, 24},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Bytes(tt.msg); got != tt.want {
				t.Errorf("Bytes(%v) = %d, want %d", tt.msg, got, tt.want)
			}
		})
	}
}

func TestBytesPanics(t *testing.T) {
	type hidden struct{ mu []float32 }
	tests := []struct {
		name string
		msg  any
		want string
	}{
		{"unexported field", hidden{mu: []float32{1}}, "state: state.hidden.mu is not exported"},
		{"map", struct{ M map[int]int }{}, "state: a message holds a map[int]int"},
		{"interface", []any{float32(1)}, "state: a message holds a interface {}"},
		{"text", "abc", "state: a message holds a string"},
		{"function", []func(){nil}, "state: a message holds a func()"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			defer func() {
				got, ok := recover().(string)
				if !ok || !strings.Contains(got, tt.want) {
					t.Errorf("panic %q, want %q", got, tt.want)
				}
			}()
			Bytes(tt.msg)
		})
	}
}
