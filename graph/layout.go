package graph

import "fmt"

// A Layout names the parts of a model's flat parameter vector. Everything that a model keeps for each parameter (means,
// ρ, gradients, an optimizer's moments) is a []float32 of this layout; who adds, averages, counts or saves such vectors
// need not know of layers.
type Layout struct {
	Segments []Segment
}

// A Segment is one tensor of a model, row-major.
type Segment struct {
	Name   string // as "dense1.weight"
	Shape  []int
	Offset int // of its first value in the vector
	FanIn  int // inputs that one output of its layer sums over
}

// Add appends a segment and returns it.
func (l *Layout) Add(name string, fanIn int, shape ...int) Segment {
	s := Segment{Name: name, Shape: shape, Offset: l.Size(), FanIn: fanIn}
	l.Segments = append(l.Segments, s)
	return s
}

// Size returns the number of values of the vector.
func (l *Layout) Size() int {
	if len(l.Segments) == 0 {
		return 0
	}
	last := l.Segments[len(l.Segments)-1]
	return last.Offset + last.Size()
}

// Size returns the number of values of the segment.
func (s Segment) Size() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Of returns the segment's part of v.
func (s Segment) Of(v []float32) []float32 { return v[s.Offset : s.Offset+s.Size()] }

// Node returns the segment's part of a node of the layout.
func (s Segment) Node(v *Node) *Node { return Slice(v, s.Offset, s.Shape...) }

func (s Segment) String() string { return fmt.Sprintf("%s %v", s.Name, s.Shape) }
