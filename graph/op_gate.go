package graph

// Gated returns z + g⊙a, and max(·, 0) of it if relu, for z and a of one shape [batch, …] and gates g [values of an example],
// which are those of every example. It has gradients to all three.
func Gated(z, a, gates *Node, relu bool) *Node {
	s := z.Shape()
	k := gated{cols: size(s) / s[0], relu: relu}
	want("gated", a, s...)
	want("gated", gates, k.cols)
	return apply("gated", k, s, z, a, gates)
}

type gated struct {
	cols int
	relu bool
}

func (k gated) run(m *machine, out []float32, in [][]float32) {
	z, a, gates := in[0], in[1], in[2]
	n := min(m.rows, len(out)/k.cols) * k.cols
	for i := 0; i < n; i += k.cols {
		m.cpu.Sample(out[i:i+k.cols], z[i:i+k.cols], gates, a[i:i+k.cols])
	}
	if k.relu {
		rectify(out[:n])
	}
}

func (gated) wrt() []bool { return []bool{true, true, true} }

func (k gated) diff(in Nodes, out, grad *Node, need []bool) []part {
	if k.relu {
		grad = apply("relu'", reluGrad{cols: k.cols}, out.Shape(), grad, out)
	}
	ps := []part{whole(grad), {}, {}}
	if need[1] {
		ps[1] = whole(apply("gated'a", gatedGradA{cols: k.cols}, grad.Shape(), grad, in[2]))
	}
	if need[2] {
		ps[2] = whole(apply("gated'g", gatedGradGates{cols: k.cols}, in[2].Shape(), grad, in[1]))
	}
	return ps
}

type gatedGradA struct {
	terminal
	cols int
}

func (k gatedGradA) run(m *machine, out []float32, in [][]float32) {
	for i := 0; i < min(m.rows, len(out)/k.cols)*k.cols; i += k.cols {
		m.cpu.Mul(out[i:i+k.cols], in[0][i:i+k.cols], in[1])
	}
}

type gatedGradGates struct {
	terminal
	cols int
}

func (k gatedGradGates) run(m *machine, out []float32, in [][]float32) {
	clear(out)
	for i := 0; i < min(m.rows, len(in[0])/k.cols)*k.cols; i += k.cols {
		m.cpu.Sample(out, out, in[0][i:i+k.cols], in[1][i:i+k.cols])
	}
}

// Softmax returns the probabilities of logits [batch, classes].
//
//	∂/∂logits = p⊙(g − Σ g⊙p)
func Softmax(logits *Node) *Node {
	return apply("softmax", softmax{classes: logits.Shape()[1]}, logits.Shape(), logits)
}

type softmax struct{ classes int }

func (k softmax) run(m *machine, out []float32, in [][]float32) {
	rows := min(m.rows, len(out)/k.classes)
	n := rows * k.classes
	m.cpu.LogSoftmax(out[:n], in[0][:n], rows, k.classes)
	m.cpu.Exp(out[:n], out[:n])
}

func (softmax) wrt() []bool { return []bool{true} }

func (k softmax) diff(_ Nodes, out, grad *Node, _ []bool) []part {
	return []part{whole(apply("softmax'", softmaxGrad{classes: k.classes}, out.Shape(), grad, out))}
}

type softmaxGrad struct {
	terminal
	classes int
}

func (k softmaxGrad) run(m *machine, out []float32, in [][]float32) {
	for i := range min(m.rows, len(out)/k.classes) {
		at, end := i*k.classes, (i+1)*k.classes
		g, p := in[0][at:end], in[1][at:end]
		var sum float32
		for c := range g {
			sum += g[c] * p[c]
		}
		for c := range g {
			out[at+c] = p[c] * (g[c] - sum)
		}
	}
}
