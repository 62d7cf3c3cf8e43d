package graph

import "gorgonia.org/tensor"

// CrossEntropy returns the sum over the rows of −log softmax(logits)[label], for logits [batch, classes] and labels
// [batch], class indices as float32. The sum, not the mean: a loss scales it by what its estimator wants.
func CrossEntropy(logits, labels *Node) *Node {
	batch, classes := logits.Shape()[0], logits.Shape()[1]
	want("cross-entropy", labels, batch)
	k := crossEntropy{classes: classes, grad: align(batch * classes)}
	return valued("cross-entropy", k, k.grad, Nodes{logits}, logits, labels)
}

type crossEntropy struct {
	terminal
	classes, grad int
}

func (k crossEntropy) run(m *machine, out []float32, in [][]float32) {
	logits, labels := in[0], in[1]
	rows := min(m.rows, len(labels))
	n := rows * k.classes
	out[k.grad] = float32(m.cpu.CrossEntropy(out[:n], logits[:n], labels[:rows], rows, k.classes))
}

// LogSoftmax returns the log-probabilities of logits [batch, classes]. It has no gradient: it is for predictions.
func LogSoftmax(logits *Node) *Node {
	return apply("log-softmax", logSoftmax{classes: logits.Shape()[1]}, logits.Shape(), logits)
}

type logSoftmax struct {
	terminal
	classes int
}

func (k logSoftmax) run(m *machine, out []float32, in [][]float32) {
	rows := min(m.rows, len(out)/k.classes)
	n := rows * k.classes
	m.cpu.LogSoftmax(out[:n], in[0][:n], rows, k.classes)
}

// align rounds n up so that what follows n floats begins on a cache line.
func align(n int) int { return (n + 15) &^ 15 }

// valued applies an operation whose gradients come almost free with its value. One pass makes
//
//	[gradient of wrt[0] | gradient of wrt[1] | … | value]
//
// each part aligned, the value at index at; the node returned is the value, and its gradients are views scaled by what
// comes from above.
func valued(name string, k kernel, at int, wrt Nodes, in ...*Node) *Node {
	all := apply(name, k, tensor.Shape{at + 1}, in...)
	return apply(name+".value", value{at: at, n: len(wrt)}, tensor.ScalarShape(), append(Nodes{all}, wrt...)...)
}

type value struct{ at, n int }

func (k value) view(in []float32) []float32 { return in[k.at : k.at+1 : k.at+1] }

func (k value) run(_ *machine, out []float32, in [][]float32) { out[0] = in[0][k.at] }

func (k value) wrt() []bool {
	w := make([]bool, k.n+1)
	for i := range k.n {
		w[i+1] = true
	}
	return w
}

func (k value) diff(in Nodes, _, grad *Node, need []bool) []part {
	ps := make([]part, len(in))
	offset := 0
	for i, x := range in[1:] {
		n := size(x.Shape())
		if need[i+1] {
			ps[i+1] = times(apply("gradient", slice{offset, n, k.at + 1}, x.Shape(), in[0]), grad)
		}
		offset += align(n)
	}
	return ps
}
