package layers

import (
	"fmt"
	"strconv"
	"strings"
)

// An Entry describes a model to the command line.
type Entry struct {
	Name    string
	About   string
	Default string // the argument that stands for none, as "100"

	make func(in []int, classes int, arg string) (*Model, error)
}

// All lists the models. A model is called by its name, or by name:argument; hyphens may stand for an argument's commas.
func All() []Entry {
	return []Entry{
		{"mlp", "perceptron with one hidden layer; mlp:200,100 sets the widths of its hidden layers", "100", mlp},
		{"mlp2", "perceptron with two hidden layers, of the widths of mlp2:200,100", "100,100", mlp2},
		{"vgg", "3×3 convolutions of as many channels as its numbers say, and 2×2 pools where it says M", "16,M,32,M,64,M,128,M,128,M", vgg},
		{"convnet", "two 5×5 convolutions with pools and two dense layers, of the sizes of convnet:32,64,100,100", "32,64,100,100", convnet},
		{"lstm", "says which symbol of a text comes next, by two layers of as many memory cells as its number says", "100", lstm},
	}
}

// maxWidth bounds what a model's argument may ask for.
const maxWidth = 1 << 16

// New returns the model that spec names, for examples of a shape. Errors name spec and what it may be.
func New(spec string, shape []int, classes int) (*Model, error) {
	name, arg, given := strings.Cut(spec, ":")
	var names []string
	for _, e := range All() {
		if e.Name != name {
			names = append(names, e.Name)
			continue
		}
		if !given {
			arg = e.Default
		}
		m, err := e.make(shape, classes, arg)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", spec, err)
		}
		m.Name = spec
		return m, nil
	}
	return nil, fmt.Errorf("model %s: want one of %s", spec, strings.Join(names, ", "))
}

// list splits the argument of a model at its commas, or at its hyphens: cells of a CSV write mlp:200-100 for mlp:200,100,
// and can be given back.
func list(arg string) []string {
	if strings.Contains(arg, ",") || strings.HasPrefix(arg, "-") {
		return strings.Split(arg, ",")
	}
	return strings.Split(arg, "-")
}

// numbers parses a list like 200,100.
func numbers(arg string, most int) ([]int, error) {
	var ns []int
	for _, s := range list(arg) {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("width %q, want a whole number from 1 to %d", s, most)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

func mlp(shape []int, classes int, arg string) (*Model, error) {
	widths, err := numbers(arg, maxWidth)
	if err != nil {
		return nil, err
	}
	if len(widths) > 9 {
		return nil, fmt.Errorf("%d hidden layers, want at most 9", len(widths))
	}
	in := 1
	for _, n := range shape {
		in *= n
	}
	return newMLP(in, widths, classes), nil
}

func mlp2(shape []int, classes int, arg string) (*Model, error) {
	if n := len(list(arg)); n != 2 {
		return nil, fmt.Errorf("%d hidden layers, want 2, as mlp2:100,100", n)
	}
	return mlp(shape, classes, arg)
}
