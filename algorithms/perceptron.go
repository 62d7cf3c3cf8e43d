package algorithms

import (
	"strconv"
	"strings"

	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
	"fedbayes/layers"
)

// A Perceptron is a network of dense layers, of widths that need not be those of the task's.
type Perceptron struct {
	Widths []int     // of input, hidden layers and logits
	W      []float32 // laid out as a layers.Model of these widths: weight [in, out] and bias [out] of each layer
}

// newPerceptron returns one with weights of zero.
func newPerceptron(widths []int) Perceptron {
	n := 0
	for k, in := range widths[:len(widths)-1] {
		n += (in + 1) * widths[k+1]
	}
	return Perceptron{widths, make([]float32, n)}
}

// dense returns weight [in, out] and bias [out] of the layer between widths k and k+1.
func (p Perceptron) dense(k int) (weight, bias []float32) {
	at := 0
	for i := range k {
		at += (p.Widths[i] + 1) * p.Widths[i+1]
	}
	in, out := p.Widths[k], p.Widths[k+1]
	weight, at = p.W[at:at+in*out], at+in*out
	return weight, p.W[at : at+out]
}

// part returns the network that has these units of each hidden layer, in this order, and the weights between them.
func (p Perceptron) part(units [][]int) Perceptron {
	widths := []int{p.Widths[0]}
	for _, u := range units {
		widths = append(widths, len(u))
	}
	last := len(p.Widths) - 1
	sub := newPerceptron(append(widths, p.Widths[last]))
	all := func(k int) []int {
		if k == 0 || k == last {
			return upTo(p.Widths[k])
		}
		return units[k-1]
	}
	for k := range last {
		weight, bias := p.dense(k)
		w, b := sub.dense(k)
		from, to := all(k), all(k+1)
		for i, row := range from {
			for o, col := range to {
				w[i*len(to)+o] = weight[row*p.Widths[k+1]+col]
			}
		}
		for o, col := range to {
			b[o] = bias[col]
		}
	}
	return sub
}

// upTo returns 0, …, n−1.
func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// widths returns those of a model of dense layers, and whether it is one.
func widths(net *layers.Model) ([]int, bool) {
	ws := []int{net.In}
	for _, l := range net.Layers {
		d, ok := l.(layers.Dense)
		if !ok {
			return nil, false
		}
		ws = append(ws, d.Bias.Size())
	}
	return ws, true
}

// initUniform returns the start of a model of these widths; see [layers.Model.InitUniform].
func initUniform(widths []int, r rng.Stream) []float32 {
	last := len(widths) - 1
	var hidden []string
	for _, w := range widths[1:last] {
		hidden = append(hidden, strconv.Itoa(w))
	}
	net, err := layers.New("mlp:"+strings.Join(hidden, ","), widths[:1], widths[last])
	if err != nil {
		panic(err) // such a model was there before
	}
	return net.InitUniform(r)
}

// Members implements [Predictor]. All members are the same.
func (p Perceptron) Members(w *Worker, dst, x []float32, m int, _ rng.Stream) {
	last := len(p.Widths) - 1
	slab := len(x) / p.Widths[0] * p.Widths[last]
	p.logProbs(w.CPU, dst[:slab], x)
	for i := 1; i < m; i++ {
		copy(dst[i*slab:(i+1)*slab], dst)
	}
}

// logProbs writes log p(y|x) into dst [n, classes] for x [n, in].
func (p Perceptron) logProbs(cpu *kernels.CPU, dst, x []float32) {
	last := len(p.Widths) - 1
	var h [2][]float32 // what a layer reads and what it writes, by turns
	for len(x) > 0 {
		rows := min(predictRows, len(x)/p.Widths[0])
		a := x[:rows*p.Widths[0]]
		for k := range last {
			in, out := p.Widths[k], p.Widths[k+1]
			weight, bias := p.dense(k)
			y := &h[k%2]
			if len(*y) < rows*out {
				*y = make([]float32, rows*out)
			}
			cpu.GemmNN(rows, out, in, a, in, weight, out, *y, out)
			a = (*y)[:rows*out]
			cpu.BiasReLU(a, bias, rows, out, k+1 < last)
		}
		cpu.LogSoftmax(dst[:len(a)], a, rows, p.Widths[last])
		dst, x = dst[len(a):], x[rows*p.Widths[0]:]
	}
}

// Random implements [Predictor].
func (Perceptron) Random() bool { return false }
