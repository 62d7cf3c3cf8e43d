package gp

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Kernel is the covariance of a process at two points of the sphere,
//
//	k(x, x') = Scale·exp(−‖x−x'‖²/(2·Length²)) + Jitter·[x and x' are one example]
type Kernel struct{ Scale, Length, Jitter float64 }

// at returns k of two examples, given x·x' and ½(‖x‖²+‖x'‖²).
func (k Kernel) at(dot, half float64) float64 {
	return k.Scale * math.Exp((dot-half)/(k.Length*k.Length))
}

// between returns k of each row of x [n, width] with each of y [m, width], as of different examples.
func (k Kernel) between(x, y *mat.Dense) *mat.Dense {
	var g mat.Dense
	g.Mul(x, y.T())
	nx, ny := halfNorms(x), halfNorms(y)
	for i, hx := range nx {
		row := g.RawRowView(i)
		for j, dot := range row {
			row[j] = k.at(dot, hx+ny[j])
		}
	}
	return &g
}

// square returns the covariance of examples lo … hi−1 of g = between(x, x), jitter included.
func (k Kernel) square(g *mat.Dense, lo, hi int) *mat.SymDense {
	s := mat.NewSymDense(hi-lo, nil)
	for i := lo; i < hi; i++ {
		copy(s.RawSymmetric().Data[(i-lo)*(hi-lo):], g.RawRowView(i)[lo:hi])
		s.SetSym(i-lo, i-lo, g.At(i, i)+k.Jitter)
	}
	return s
}

// variance returns k of an example with itself.
func (k Kernel) variance() float64 { return k.Scale + k.Jitter }

// pull returns the gradients with respect to x and y of a loss whose gradient with respect to g = between(x, y) is dg,
// which it overwrites. It sums, over the pairs, dg·∂k/∂x = −dg·k·(x−y)/Length², and the opposite for y.
func (k Kernel) pull(dg, g, x, y *mat.Dense) (dx, dy *mat.Dense) {
	dg.MulElem(dg, g)
	dg.Scale(1/(k.Length*k.Length), dg)
	dx, dy = new(mat.Dense), new(mat.Dense)
	dx.Mul(dg, y)
	dy.Mul(dg.T(), x)
	n, m := dg.Dims()
	cols := make([]float64, m)
	for i := range n {
		row := dg.RawRowView(i)
		floats.AddScaled(dx.RawRowView(i), -floats.Sum(row), x.RawRowView(i))
		floats.Add(cols, row)
	}
	for j, s := range cols {
		floats.AddScaled(dy.RawRowView(j), -s, y.RawRowView(j))
	}
	return dx, dy
}

// tiny is a norm below which an embedding has no direction. Such a row becomes 0, at distance 1 from all that have one.
const tiny = 1e-12

// directions returns the rows z/‖z‖ of z [n, width], with their norms.
func directions(z []float64, width int) (x *mat.Dense, norms []float64) {
	x = mat.NewDense(len(z)/width, width, nil)
	norms = make([]float64, len(z)/width)
	for i := range norms {
		row := z[i*width : (i+1)*width]
		if norms[i] = floats.Norm(row, 2); !(norms[i] <= tiny) { // NaN stays
			floats.ScaleTo(x.RawRowView(i), 1/norms[i], row)
		}
	}
	return x, norms
}

// undirect turns a gradient with respect to x = z/‖z‖ into that with respect to z: (dx − x·(x·dx))/‖z‖, and 0 where z has
// no direction.
func undirect(dz, dx, x []float64, norm float64) {
	if norm <= tiny {
		clear(dz)
		return
	}
	floats.AddScaledTo(dz, dx, -floats.Dot(x, dx), x)
	floats.Scale(1/norm, dz)
}

// halfNorms returns ½‖x‖² of each row.
func halfNorms(x *mat.Dense) []float64 {
	n, _ := x.Dims()
	h := make([]float64, n)
	for i := range h {
		h[i] = floats.Dot(x.RawRowView(i), x.RawRowView(i)) / 2
	}
	return h
}
