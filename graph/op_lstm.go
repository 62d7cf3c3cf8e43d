package graph

import "gorgonia.org/tensor"

// LSTM returns the states [steps, batch, units] that a layer of memory cells goes through as it reads a sequence x [steps,
// batch, in], with a kernel w [in, 4·units] and a recurrent kernel u [units, 4·units]. Both have the gates i, f, g and o side
// by side; there is no bias, and state and cell begin at 0.
//
//	i, f, o = σ(x_t·W + h_{t−1}·U)      σ(a) = clip(0.2·a + 0.5, 0, 1)
//	g       = tanh(x_t·W + h_{t−1}·U)
//	c_t     = f⊙c_{t−1} + i⊙g
//	h_t     = o⊙tanh(c_t)
//
// All steps are one operation, and one more goes back through them. Gradients of σ at its kinks are 0.
//
// Hochreiter and Schmidhuber, Long Short-Term Memory. Neural Computation 1997; with forget gates of Gers et al. 2000, and the
// hard σ of early Keras, which Corinzia et al. 2019 use.
func LSTM(x, w, u *Node) *Node {
	s, in := sequenceOf("lstm", x)
	k := cells{sequence: s, in: in, units: u.Shape()[0]}
	want("lstm", w, in, 4*k.units)
	want("lstm", u, k.units, 4*k.units)
	all := apply("lstm", lstm{cells: k}, tensor.Shape{k.tape()}, x, w, u)
	return apply("lstm.states", states{k}, tensor.Shape{k.steps, k.batch, k.units}, all, x, w, u)
}

// cells are the sizes of a layer of memory cells.
type cells struct {
	sequence
	in, units int
}

// one returns the number of values that all units have over all steps, rounded up to a cache line.
func (k cells) one() int { return align(k.steps * k.batch * k.units) }

// tape returns the size of what a pass leaves behind for the way back: see parts.
func (k cells) tape() int { return 7*k.one() + 4*k.batch*k.units }

// parts cuts it:
//
//	[states h | gates i, f, g, o of each example | cells c | tanh c | room for what U adds to a step]
//
// Each but the last is a sequence.
func (k cells) parts(tape []float32) (h, gates, c, tanh, room []float32) {
	n := k.one()
	return tape[:n], tape[n : 5*n], tape[5*n : 6*n], tape[6*n : 7*n], tape[7*n:]
}

type lstm struct {
	terminal
	cells
}

func (k lstm) run(m *machine, out []float32, in [][]float32) {
	x, w, u := in[0], in[1], in[2]
	h, gates, c, tanh, room := k.parts(out)
	rows, wide := k.rows(m), 4*k.units
	n := rows * k.units // values of a step
	m.cpu.GemmNN(k.steps*rows, wide, k.in, x, k.in, w, wide, gates, wide)
	before := room[:n] // cells of the step before; of the first they are 0
	clear(before)
	for t := range k.steps {
		at, end := t*n, (t+1)*n
		z := gates[4*at : 4*end]
		if t > 0 {
			m.cpu.GemmNN(rows, wide, k.units, h[at-n:at], k.units, u, wide, room, wide)
			m.cpu.Add(z, z, room[:4*n])
			before = c[at-n : at]
		}
		k.step(m, h[at:end], z, c[at:end], tanh[at:end], before)
	}
}

// step makes a step of its gates' arguments, which become the gates.
func (k lstm) step(m *machine, h, gates, c, tanh, before []float32) {
	n := k.units
	for at := 0; at < len(h); at += n {
		z := gates[4*at : 4*(at+n)]
		hardSigmoid(z[:2*n])
		copy(tanh[at:at+n], z[2*n:3*n])
		hardSigmoid(z[3*n:])
	}
	tanhOf(m, tanh)
	for at := 0; at < len(h); at += n {
		z := gates[4*at : 4*(at+n)]
		i, f, g := z[:n], z[n:2*n], z[2*n:3*n]
		copy(g, tanh[at:at+n])
		old, now := before[at:at+n], c[at:at+n]
		for j := range now {
			now[j] = f[j]*old[j] + i[j]*g[j]
		}
	}
	copy(tanh, c)
	tanhOf(m, tanh)
	for at := 0; at < len(h); at += n {
		o := gates[4*at+3*n : 4*(at+n)]
		m.cpu.Mul(h[at:at+n], o, tanh[at:at+n])
	}
}

// hardSigmoid makes clip(0.2·x + 0.5, 0, 1) of x. NaN stays NaN.
func hardSigmoid(x []float32) {
	for i, v := range x {
		x[i] = min(max(0.2*v+0.5, 0), 1)
	}
}

// tanhOf makes tanh x = 1 − 2/(e²ˣ + 1) of x, to an absolute error of 1e-7.
func tanhOf(m *machine, x []float32) {
	m.cpu.Scale(x, 2, x)
	m.cpu.Exp(x, x)
	for i, e := range x {
		x[i] = 1 - 2/(e+1)
	}
}

// states are the front of what lstm makes.
type states struct{ cells }

func (k states) view(in []float32) []float32 {
	n := k.steps * k.batch * k.units
	return in[:n:n]
}

func (k states) run(_ *machine, out []float32, in [][]float32) { copy(out, k.view(in[0])) }

func (states) wrt() []bool { return []bool{false, true, true, true} }

func (k states) diff(in Nodes, _, grad *Node, need []bool) []part {
	tape, x, w, u := in[0], in[1], in[2], in[3]
	back := apply("lstm'", lstmGrad{cells: k.cells}, tensor.Shape{k.back()}, grad, tape, u)
	ps := make([]part, 4)
	if need[1] {
		ps[1] = whole(apply("lstm'x", lstmGradX{cells: k.cells}, x.Shape(), back, w))
	}
	if need[2] {
		ps[2] = whole(apply("lstm'w", lstmGradW{cells: k.cells}, w.Shape(), back, x))
	}
	if need[3] {
		ps[3] = whole(apply("lstm'u", lstmGradU{cells: k.cells}, u.Shape(), back, tape))
	}
	return ps
}

// lstmGrad makes the gradients of the gates' arguments, a sequence, and what it needs for that:
//
//	[gradients | Uᵀ | gradient of a step's states | gradient of its cells]
type lstmGrad struct {
	terminal
	cells
}

func (k cells) back() int { return 4*k.one() + align(4*k.units*k.units) + 2*align(k.batch*k.units) }

func (k lstmGrad) run(m *machine, out []float32, in [][]float32) {
	grad, u := in[0], in[2]
	_, gates, c, tanh, _ := k.parts(in[1])
	rows, wide := k.rows(m), 4*k.units
	n := rows * k.units
	dz, rest := out[:4*k.one()], out[4*k.one():]
	turned, rest := rest[:wide*k.units], rest[align(wide*k.units):]
	dh, dc := rest[:n], rest[align(k.batch*k.units):][:n]
	// Once, and not in the product of each step.
	for i := range k.units {
		for j, v := range u[i*wide : (i+1)*wide] {
			turned[j*k.units+i] = v
		}
	}
	clear(dh)
	clear(dc)
	for t := k.steps - 1; t >= 0; t-- {
		at, end := t*n, (t+1)*n
		if end < k.steps*n {
			m.cpu.GemmNN(rows, k.units, wide, dz[4*end:4*(end+n)], wide, turned, k.units, dh, k.units)
		}
		m.cpu.Add(dh, dh, grad[at:end])
		var before []float32
		if t > 0 {
			before = c[at-n : at]
		}
		k.step(dz[4*at:4*end], dh, dc, gates[4*at:4*end], tanh[at:end], before)
	}
}

// step makes the gradients of a step's arguments from those of its states, and adds to those of its cells, which become
// those of the cells before.
func (k lstmGrad) step(dz, dh, dc, gates, tanh, before []float32) {
	n := k.units
	for at := 0; at < len(dh); at += n {
		z, d := gates[4*at:4*(at+n)], dz[4*at:4*(at+n)]
		i, f, g, o := z[:n], z[n:2*n], z[2*n:3*n], z[3*n:4*n]
		di, df, dg, do := d[:n], d[n:2*n], d[2*n:3*n], d[3*n:4*n]
		dh, dc, tanh := dh[at:at+n], dc[at:at+n], tanh[at:at+n]
		clear(df)
		for j := range dh {
			do[j] = dh[j] * tanh[j] * slope(o[j])
			sum := dc[j] + dh[j]*o[j]*(1-tanh[j]*tanh[j])
			if before != nil {
				df[j] = sum * before[at+j] * slope(f[j])
			}
			di[j] = sum * g[j] * slope(i[j])
			dg[j] = sum * i[j] * (1 - g[j]*g[j])
			dc[j] = sum * f[j]
		}
	}
}

// slope returns the derivative of the hard σ where it has the value s.
func slope(s float32) float32 {
	if s > 0 && s < 1 {
		return 0.2
	}
	return 0
}

type lstmGradX struct {
	terminal
	cells
}

func (k lstmGradX) run(m *machine, out []float32, in [][]float32) {
	m.cpu.GemmNT(k.steps*k.rows(m), k.in, 4*k.units, in[0], 4*k.units, in[1], 4*k.units, out, k.in)
}

type lstmGradW struct {
	terminal
	cells
}

func (k lstmGradW) run(m *machine, out []float32, in [][]float32) {
	m.cpu.GemmTN(k.in, 4*k.units, k.steps*k.rows(m), in[1], k.in, in[0], 4*k.units, out, 4*k.units)
}

type lstmGradU struct {
	terminal
	cells
}

// The state that a step meets is that of the step before, which is the one before it in the sequence.
func (k lstmGradU) run(m *machine, out []float32, in [][]float32) {
	rows, wide := k.rows(m), 4*k.units
	h, _, _, _, _ := k.parts(in[1])
	m.cpu.GemmTN(k.units, wide, (k.steps-1)*rows, h, k.units, in[0][rows*wide:], wide, out, wide)
}

// Last returns the last step [batch, values] of a sequence x [steps, batch, values].
func Last(x *Node) *Node {
	s, values := sequenceOf("last", x)
	return apply("last", last{s, values}, tensor.Shape{s.batch, values}, x)
}

type last struct {
	sequence
	values int
}

func (k last) run(m *machine, out []float32, in [][]float32) {
	n := k.rows(m) * k.values
	copy(out[:n], in[0][(k.steps-1)*n:])
}

func (last) wrt() []bool { return []bool{true} }

func (k last) diff(in Nodes, _, grad *Node, _ []bool) []part {
	return []part{whole(apply("last'", lastGrad{sequence: k.sequence, values: k.values}, in[0].Shape(), grad))}
}

type lastGrad struct {
	terminal
	sequence
	values int
}

func (k lastGrad) run(m *machine, out []float32, in [][]float32) {
	n := k.rows(m) * k.values
	clear(out[:(k.steps-1)*n])
	copy(out[(k.steps-1)*n:k.steps*n], in[0])
}
