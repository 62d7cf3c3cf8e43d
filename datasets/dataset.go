package datasets

// A Dataset is labelled images, training and test files pooled in this order, or other examples that are rows of numbers.
type Dataset struct {
	Name    string
	Shape   []int     // of one image: 28, 28, or 32, 32, 3 with the channels last; of another example its number of values
	Classes int       // labels are 0 … Classes-1
	Mean    []float32 // [Channels], of x/255; nil with Std if examples are x/255 and no more
	Std     []float32 // [Channels]
	Pixels  []uint8   // [N, Dim], row-major
	Values  []float32 // [N, Dim], in place of Pixels where the examples are no images
	Labels  []uint8   // [N]
	Source  string    // where it was read from: "embedded", a folder, or a file
	Notes   []string  // what a user should know of this copy, one line each; usually none

	ClassNames []string // of an open data set, if its labels are texts; see Entry.As
	Sum        string   // SHA-256 of an open data set's file, unpacked

	Training int      // examples of the published training files, which come first; 0 where nothing tells them from those for testing
	Owner    []int    // [N], the number of the client whose example it is; nil where the data do not say
	Owners   []string // what these clients are called, by number
	Gap      int      // where an owner's examples are in order of time and overlap, how many a cut between two parts of them leaves out
}

// Len returns the number of examples.
func (d *Dataset) Len() int { return len(d.Labels) }

// Dim returns the number of values of one example.
func (d *Dataset) Dim() int { return size(d.Shape) }

// Bytes returns the memory that the values of the examples take.
func (d *Dataset) Bytes() int { return len(d.Pixels) + 4*len(d.Values) }

// Noun is what an example is called: "image", or "example" where it is none.
func (d *Dataset) Noun() string {
	if d.Values != nil {
		return "example"
	}
	return "image"
}

// Channels returns the number of values of one pixel.
func (d *Dataset) Channels() int {
	if len(d.Shape) < 3 {
		return 1
	}
	return d.Shape[2]
}

// Normalisation says what Examples makes of a pixel value x.
func (d *Dataset) Normalisation() string {
	switch {
	case d.Values != nil:
		return "none"
	case d.Mean == nil:
		return "x/255"
	}
	return "(x/255 − mean)/std"
}

// Counts returns the number of images of each class. [Classes]
func (d *Dataset) Counts() []int {
	counts := make([]int, d.Classes)
	for _, c := range d.Labels {
		counts[c]++
	}
	return counts
}

// countsOf returns how many of some images are of each class. [Classes]
func (d *Dataset) countsOf(indices []int) []int {
	counts := make([]int, d.Classes)
	for _, i := range indices {
		counts[d.Labels[i]]++
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

// Examples copies those of the given indices out, in this order, normalised if they are images.
func (d *Dataset) Examples(idx []int) Examples {
	dim, channels := d.Dim(), d.Channels()
	e := Examples{X: make([]float32, len(idx)*dim), Y: make([]float32, len(idx)), Dim: dim}
	values := d.values()
	for row, i := range idx {
		x := e.X[row*dim : (row+1)*dim]
		e.Y[row] = float32(d.Labels[i])
		if d.Values != nil {
			copy(x, d.Values[i*dim:(i+1)*dim])
			continue
		}
		pixels := d.Pixels[i*dim : (i+1)*dim]
		for c := range channels {
			of := &values[c]
			for j := c; j < dim; j += channels {
				x[j] = of[pixels[j]]
			}
		}
	}
	return e
}

// values returns what each channel's pixel values become. [Channels, 256]
func (d *Dataset) values() [][256]float32 {
	values := make([][256]float32, d.Channels())
	for c := range values {
		for p := range values[c] {
			v := float32(p) / 255
			if d.Mean != nil {
				v = (v - d.Mean[c]) / d.Std[c]
			}
			values[c][p] = v
		}
	}
	return values
}

// Examples are inputs and labels as a model takes them.
type Examples struct {
	X   []float32 // [N, Dim], row-major, normalised
	Y   []float32 // [N], class indices: float32 because a graph has one type
	Dim int
}

// Len returns the number of examples.
func (e *Examples) Len() int { return len(e.Y) }

// A Client is one client's share of a data set.
type Client struct {
	ID          int
	Group       int   // of clients that label alike; 0 unless labels are permuted
	Labels      []int // that it holds, ascending
	Train, Test Examples
	Val         Examples // that it is validated on; usually none
}

// Clients copies the examples of each split out, in its order of values. Client i has the i-th split.
func Clients(d *Dataset, splits []Split) []Client {
	clients := make([]Client, len(splits))
	for i, s := range splits {
		c := Client{ID: i, Group: s.Group, Labels: s.labels(), Train: d.Examples(s.Train), Test: d.Examples(s.Test), Val: d.Examples(s.Val)}
		for _, e := range []*Examples{&c.Train, &c.Test, &c.Val} {
			e.Permute(s.Order)
			e.relabel(s.LabelOf)
		}
		clients[i] = c
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
