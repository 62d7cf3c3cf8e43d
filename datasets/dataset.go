package datasets

import "slices"

// A Dataset is labelled images, training and test files pooled in this order.
type Dataset struct {
	Name    string
	Shape   []int   // of one image, e.g. 28, 28
	Classes int     // labels are 0 … Classes-1
	Pixels  []uint8 // [N, Dim], row-major
	Labels  []uint8 // [N]
	Source  string  // where it was read from: "embedded", or the folder
	License string
	Notes   []string // what a user should know of this copy, one line each; usually none
}

// Len returns the number of images.
func (d *Dataset) Len() int { return len(d.Labels) }

// Dim returns the number of pixel values of one image.
func (d *Dataset) Dim() int { return size(d.Shape) }

// Counts returns the number of images of each class. [Classes]
func (d *Dataset) Counts() []int {
	counts := make([]int, d.Classes)
	for _, c := range d.Labels {
		counts[c]++
	}
	return counts
}

// classes returns the indices of each class's images, ascending.
func (d *Dataset) classes() [][]int {
	byClass := make([][]int, d.Classes)
	for i, c := range d.Labels {
		byClass[c] = append(byClass[c], i)
	}
	return byClass
}

// Examples copies the images of the given indices out, in this order.
func (d *Dataset) Examples(idx []int) Examples {
	dim := d.Dim()
	e := Examples{X: make([]float32, len(idx)*dim), Y: make([]float32, len(idx)), Dim: dim}
	for row, i := range idx {
		x := e.X[row*dim : (row+1)*dim]
		for j, p := range d.Pixels[i*dim : (i+1)*dim] {
			x[j] = float32(p) / 255
		}
		e.Y[row] = float32(d.Labels[i])
	}
	return e
}

// Examples are images and labels as a model takes them.
type Examples struct {
	X   []float32 // [N, Dim], row-major, in [0, 1]
	Y   []float32 // [N], class indices: float32 because a graph has one type
	Dim int
}

// Len returns the number of examples.
func (e *Examples) Len() int { return len(e.Y) }

// A Client is one client's share of a data set.
type Client struct {
	ID          int
	Labels      []int // the classes it holds, ascending
	Train, Test Examples
}

// Clients copies the examples of each split out. Client i has the i-th split.
func Clients(d *Dataset, splits []Split) []Client {
	clients := make([]Client, len(splits))
	for i, s := range splits {
		clients[i] = Client{ID: i, Labels: slices.Clone(s.Labels), Train: d.Examples(s.Train), Test: d.Examples(s.Test)}
	}
	return clients
}

func size(shape []int) int {
	n := 1
	for _, s := range shape {
		n *= s
	}
	return n
}
