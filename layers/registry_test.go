package layers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	tests := []struct {
		spec    string
		shape   []int
		classes int
		in      int
		layout  []string // segments with their offsets
		size    int
	}{
		// Zhang et al. 2022: 784-100-10 has 79,510 parameters.
		{"mlp", []int{28, 28}, 10, 784, []string{
			"dense1.weight [784 100] 0", "dense1.bias [100] 78400", "dense2.weight [100 10] 78500", "dense2.bias [10] 79500",
		}, 79510},
		{"mlp2", []int{28, 28}, 10, 784, []string{
			"dense1.weight [784 100] 0", "dense1.bias [100] 78400", "dense2.weight [100 100] 78500", "dense2.bias [100] 88500",
			"dense3.weight [100 10] 88600", "dense3.bias [10] 89600",
		}, 89610},
		{"mlp:5", []int{6}, 3, 6, []string{
			"dense1.weight [6 5] 0", "dense1.bias [5] 30", "dense2.weight [5 3] 35", "dense2.bias [3] 50",
		}, 53},
		{"mlp:4,2", []int{2, 2, 3}, 2, 12, []string{
			"dense1.weight [12 4] 0", "dense1.bias [4] 48", "dense2.weight [4 2] 52", "dense2.bias [2] 60",
			"dense3.weight [2 2] 62", "dense3.bias [2] 66",
		}, 68},
		{"mlp2:3,1", []int{1}, 2, 1, []string{
			"dense1.weight [1 3] 0", "dense1.bias [3] 3", "dense2.weight [3 1] 6", "dense2.bias [1] 9",
			"dense3.weight [1 2] 10", "dense3.bias [2] 12",
		}, 14},
		{"mlp:1,1,1,1,1,1,1,1,1", []int{1}, 1, 1, nil, 20},
		{"mlp:100", []int{28, 28}, 10, 784, nil, 79510},
		{"lstm", []int{80}, 86, 80, []string{
			"embedding.table [86 8] 0", "lstm1.kernel [8 400] 688", "lstm1.recurrent [100 400] 3888",
			"lstm2.kernel [100 400] 43888", "lstm2.recurrent [100 400] 83888", "dense1.weight [100 86] 123888", "dense1.bias [86] 132488",
		}, 132574},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			m, err := New(tt.spec, tt.shape, tt.classes)
			if err != nil {
				t.Fatal(err)
			}
			if m.Name != tt.spec || m.In != tt.in || m.Classes != tt.classes || m.Size() != tt.size {
				t.Errorf("%s: %d in, %d classes, %d parameters; want %d, %d, %d", m.Name, m.In, m.Classes, m.Size(), tt.in, tt.classes, tt.size)
			}
			var layout []string
			end := 0
			for _, s := range m.Segments {
				layout = append(layout, fmt.Sprint(s, " ", s.Offset))
				if s.Offset != end {
					t.Errorf("%s begins at %d, where the one before it ends at %d", s, s.Offset, end)
				}
				end += s.Size()
			}
			if end != m.Size() {
				t.Errorf("segments end at %d of %d", end, m.Size())
			}
			if tt.layout != nil && !slices.Equal(layout, tt.layout) {
				t.Errorf("layout %q, want %q", layout, tt.layout)
			}
		})
	}
}

func TestNewErrors(t *testing.T) {
	tests := []struct{ spec, want string }{
		{"", `model : want one of mlp, mlp2, vgg, convnet, lstm`},
		{"cnn", `model cnn: want one of mlp, mlp2, vgg, convnet, lstm`},
		{"MLP", `model MLP: want one of mlp, mlp2, vgg, convnet, lstm`},
		{"mlp3:5", `model mlp3:5: want one of mlp, mlp2, vgg, convnet, lstm`},
		{"mlp:", `model mlp:: width "", want a whole number from 1 to 65536`},
		{"mlp:0", `model mlp:0: width "0", want a whole number from 1 to 65536`},
		{"mlp:-1", `model mlp:-1: width "-1", want a whole number from 1 to 65536`},
		{"mlp:1.5", `model mlp:1.5: width "1.5", want a whole number from 1 to 65536`},
		{"mlp:65537", `model mlp:65537: width "65537", want a whole number from 1 to 65536`},
		{"mlp:99999999999999999999", `model mlp:99999999999999999999: width "99999999999999999999", want a whole number from 1 to 65536`},
		{"mlp:100,", `model mlp:100,: width "", want a whole number from 1 to 65536`},
		{"mlp:100, 100", `model mlp:100, 100: width " 100", want a whole number from 1 to 65536`},
		{"mlp:1,1,1,1,1,1,1,1,1,1", `model mlp:1,1,1,1,1,1,1,1,1,1: 10 hidden layers, want at most 9`},
		{"mlp2:5", `model mlp2:5: 1 hidden layers, want 2, as mlp2:100,100`},
		{"mlp2:5,5,5", `model mlp2:5,5,5: 3 hidden layers, want 2, as mlp2:100,100`},
		{"vgg:3", `model vgg:3: examples of shape [4], want images`},
		{"mlp:5--5", `model mlp:5--5: width "", want a whole number from 1 to 65536`},
		{"mlp:5-", `model mlp:5-: width "", want a whole number from 1 to 65536`},
		{"mlp:5,-5", `model mlp:5,-5: width "-5", want a whole number from 1 to 65536`},
		{"mlp:5-5,5", `model mlp:5-5,5: width "5-5", want a whole number from 1 to 65536`},
		{"mlp2:5-5-5", `model mlp2:5-5-5: 3 hidden layers, want 2, as mlp2:100,100`},
		{"lstm:5,5", `model lstm:5,5: 2 numbers, want the cells of a layer`},
		{"lstm:4097", `model lstm:4097: width "4097", want a whole number from 1 to 4096`},
		{"mlp2:5,x", `model mlp2:5,x: width "x", want a whole number from 1 to 65536`},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			m, err := New(tt.spec, []int{4}, 2)
			if err == nil {
				t.Fatalf("a model of %d parameters, want an error", m.Size())
			}
			if err.Error() != tt.want {
				t.Errorf("got  %s\nwant %s", err, tt.want)
			}
		})
	}
}

// shapeOf returns that of an example that a model takes.
func shapeOf(e Entry) []int {
	if e.Name == "lstm" {
		return []int{32}
	}
	return []int{32, 32}
}

func TestAll(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All() {
		if seen[e.Name] || e.About == "" || strings.Contains(e.Name, ":") {
			t.Errorf("entry %+v: want a name of its own, without a colon, and a description", e)
		}
		seen[e.Name] = true
		plain, err := New(e.Name, shapeOf(e), 3)
		if err != nil {
			t.Fatal(err)
		}
		full, err := New(e.Name+":"+e.Default, shapeOf(e), 3)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(plain.Segments) != fmt.Sprint(full.Segments) {
			t.Errorf("%s is %v, with its default written out %v", e.Name, plain.Segments, full.Segments)
		}
	}
}

// TestHyphens: the cell that a CSV has for a model, with hyphens for commas, makes the same model.
func TestHyphens(t *testing.T) {
	for _, e := range All() {
		spec := e.Name + ":" + e.Default
		cell := strings.ReplaceAll(spec, ",", "-")
		want, err := New(spec, shapeOf(e), 3)
		if err != nil {
			t.Fatal(err)
		}
		got, err := New(cell, shapeOf(e), 3)
		if err != nil {
			t.Errorf("%s: %v", cell, err)
			continue
		}
		if fmt.Sprint(got.Segments) != fmt.Sprint(want.Segments) {
			t.Errorf("%s is %v, want %v as %s", cell, got.Segments, want.Segments, spec)
		}
	}
}
