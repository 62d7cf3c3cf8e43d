package layers

import (
	"fmt"
	"strconv"

	"fedbayes/graph"
)

// A stack is a convolutional model in the making, with the shape of what its last layer gives.
type stack struct {
	*Model
	height, width, channels int
	convs                   int
}

// newStack begins with images of a shape: height and width, or height, width and channels.
func newStack(shape []int, classes int) (*stack, error) {
	s := &stack{Model: &Model{Classes: classes}}
	switch len(shape) {
	case 2:
		s.height, s.width, s.channels = shape[0], shape[1], 1
	case 3:
		s.height, s.width, s.channels = shape[0], shape[1], shape[2]
	default:
		return nil, fmt.Errorf("examples of shape %v, want images", shape)
	}
	s.In = s.height * s.width * s.channels
	s.add(Shape{s.height, s.width, s.channels})
	return s, nil
}

func (s *stack) add(l Layer) { s.Layers = append(s.Layers, l) }

// conv adds a convolution that keeps height and width, and a ReLU.
func (s *stack) conv(kernel, out int) {
	s.convs++
	win := graph.Window{KH: kernel, KW: kernel, Stride: 1, Pad: graph.Same}
	s.add(NewConv(&s.Layout, fmt.Sprintf("conv%d", s.convs), win, s.channels, out, true))
	s.channels = out
}

// pool halves height and width; a last odd row or column is left out.
func (s *stack) pool() error {
	if s.height < 2 || s.width < 2 {
		return fmt.Errorf("a pool (M) after which nothing is left of %d × %d", s.height, s.width)
	}
	s.add(Pool{graph.Window{KH: 2, KW: 2, Stride: 2, Pad: graph.Valid}})
	s.height, s.width = s.height/2, s.width/2
	return nil
}

// dense adds dense layers of the widths given and the one that gives the logits.
func (s *stack) dense(widths ...int) *Model {
	in := s.height * s.width * s.channels
	s.add(Shape{in})
	s.Model.dense(in, widths)
	return s.Model
}

// vgg makes the network of a list like 16,M,32,M: a number is a 3×3 convolution with as many channels and a ReLU, M a 2×2
// pool; a dense layer gives the logits. There is no batch normalisation.
//
// Zhang et al. 2022 use 16,M,32,M,64,M,128,M,128,M for CIFAR-10: 246,314 parameters.
func vgg(shape []int, classes int, arg string) (*Model, error) {
	s, err := newStack(shape, classes)
	if err != nil {
		return nil, err
	}
	for _, item := range list(arg) {
		if item == "M" {
			if err := s.pool(); err != nil {
				return nil, err
			}
			continue
		}
		channels, err := strconv.Atoi(item)
		if err != nil || channels < 1 || channels > maxChannels {
			return nil, fmt.Errorf("item %q, want M or a whole number from 1 to %d", item, maxChannels)
		}
		if s.convs == maxConvs {
			return nil, fmt.Errorf("more than %d convolutions", maxConvs)
		}
		s.conv(3, channels)
	}
	return s.dense(), nil
}

// Bounds of what the argument of vgg may ask for.
const (
	maxChannels = 4096
	maxConvs    = 32
)

// convnet makes the network of Corinzia et al. 2019: two 5×5 convolutions with pools, of 32 and 64 channels, and two dense
// layers of 100. Its argument is these four numbers.
func convnet(shape []int, classes int, arg string) (*Model, error) {
	s, err := newStack(shape, classes)
	if err != nil {
		return nil, err
	}
	widths, err := numbers(arg, maxChannels)
	if err != nil {
		return nil, err
	}
	if len(widths) != 4 {
		return nil, fmt.Errorf("%d numbers, want the channels of two convolutions and the widths of two dense layers", len(widths))
	}
	for _, channels := range widths[:2] {
		s.conv(5, channels)
		if err := s.pool(); err != nil {
			return nil, err
		}
	}
	return s.dense(widths[2:]...), nil
}
