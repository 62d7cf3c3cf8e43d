package gp

import (
	"math"

	"fedbayes/internal/kernels"
)

// floor is the least probability that a class has, whether it was among the examples or not, before they are made to sum
// to 1: the log-probability of a class that was never seen is −27.6 and finite.
const floor = 1e-12

// A Classifier predicts classes. One goroutine uses it at a time.
type Classifier struct {
	kernel Kernel
	scheme scheme
	width  int
	x      []float32 // directions of the examples by place, [n, width]
	half   []float64 // ½‖x‖² of each
	nodes  []node

	dir, k, v []float32 // of the rows at hand: directions, covariances with the examples, these times R
}

// A node answers a question, from the examples at places lo … hi−1.
type node struct {
	lo, hi int
	draws  []draw
}

// A draw is a posterior, for predictions in float32.
type draw struct {
	alpha []float64
	root  []float32 // R [n, n]
}

// Fit makes a classifier of examples with embeddings z [n, width] and labels y [n]. Without examples it has all classes
// equal; with one class, which no question is about, it is sure of that.
func (m Model) Fit(z []float64, y []float32, width int) *Classifier {
	c := &Classifier{kernel: m.Kernel, width: width}
	if len(y) == 0 {
		return c
	}
	x, _ := directions(z, width)
	c.scheme = m.scheme(x, y)
	rows, start := c.scheme.arrange(y)
	x = gather(x, rows)
	c.half = halfNorms(x)
	for i := range rows {
		for _, v := range x.RawRowView(i) {
			c.x = append(c.x, float32(v))
		}
	}
	g := m.Kernel.between(x, x)
	for _, sp := range c.scheme.splits {
		nd := node{lo: start[sp.lo], hi: start[sp.hi]}
		k, kappa := m.Kernel.square(g, nd.lo, nd.hi), sp.answers(start)
		for _, omega := range m.Inference.Omegas(k, kappa) {
			p := condition(k, omega, kappa)
			d := draw{alpha: p.alpha}
			for _, v := range p.root.RawMatrix().Data {
				d.root = append(d.root, float32(v))
			}
			nd.draws = append(nd.draws, d)
		}
		c.nodes = append(c.nodes, nd)
	}
	return c
}

// LogProbs writes log-probabilities into dst [rows, classes], for embeddings z [rows, width]. Labels are below classes.
func (c *Classifier) LogProbs(cpu *kernels.CPU, dst, z []float32, classes int) {
	rows := len(z) / c.width
	c.covariances(cpu, z, rows)
	yes, no := make([]float64, rows*len(c.nodes)), make([]float64, rows*len(c.nodes))
	for q, nd := range c.nodes {
		c.ask(cpu, nd, rows, func(row int, y, n float64) {
			yes[row*len(c.nodes)+q] += y
			no[row*len(c.nodes)+q] += n
		})
	}
	p := make([]float64, len(c.scheme.classes))
	all := make([]float64, classes)
	for i := range rows {
		c.scheme.probabilities(p, yes[i*len(c.nodes):][:len(c.nodes)], no[i*len(c.nodes):][:len(c.nodes)])
		clear(all)
		for place, v := range p {
			all[int(c.scheme.classes[place])] = v
		}
		var sum float64
		for j := range all {
			all[j] = math.Max(all[j], floor)
			sum += all[j]
		}
		for j, v := range all {
			dst[i*classes+j] = float32(math.Log(v / sum))
		}
	}
}

// covariances makes directions of rows of z, and their covariances with the examples.
func (c *Classifier) covariances(cpu *kernels.CPU, z []float32, rows int) {
	n := len(c.half)
	grow(&c.dir, rows*c.width)
	grow(&c.k, rows*n)
	half := make([]float64, rows)
	for i := range rows {
		row, dir := z[i*c.width:(i+1)*c.width], c.dir[i*c.width:(i+1)*c.width]
		var sum float64
		for _, v := range row {
			sum += float64(v) * float64(v)
		}
		scale := 0.0
		if norm := math.Sqrt(sum); norm > tiny || math.IsNaN(norm) {
			scale, half[i] = 1/norm, 0.5
		}
		for j, v := range row {
			dir[j] = float32(float64(v) * scale)
		}
	}
	cpu.GemmNT(rows, n, c.width, c.dir, c.width, c.x, c.width, c.k, n)
	for i, h := range half {
		row := c.k[i*n : (i+1)*n]
		for j, dot := range row {
			row[j] = float32(c.kernel.at(float64(dot), h+c.half[j]))
		}
	}
}

// ask calls add with each draw's share of the probabilities of yes and no, for each row.
func (c *Classifier) ask(cpu *kernels.CPU, nd node, rows int, add func(row int, yes, no float64)) {
	all, n := len(c.half), nd.hi-nd.lo
	grow(&c.v, rows*n)
	for _, d := range nd.draws {
		cpu.GemmNN(rows, n, n, c.k[nd.lo:], all, d.root, n, c.v, n)
		for i := range rows {
			var mean, explained float64
			for j, k := range c.k[i*all+nd.lo : i*all+nd.hi] {
				v := float64(c.v[i*n+j])
				mean += float64(k) * d.alpha[j]
				explained += v * v
			}
			yes, no := logistic(mean, max(c.kernel.variance()-explained, c.kernel.Jitter))
			add(i, yes/float64(len(nd.draws)), no/float64(len(nd.draws)))
		}
	}
}

// grow makes v at least n long.
func grow(v *[]float32, n int) {
	if len(*v) < n {
		*v = make([]float32, n)
	}
}
