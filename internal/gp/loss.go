package gp

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Loss takes the first known of the examples as known and scores what is predicted of the others, the targets: z [n, width]
// are embeddings, y [n] labels. Every class must be among both.
//
// It returns the mean over the targets of −log p(y|z), and writes into dz [n, width] the gradient of the loss
//
//	Σ over questions, mean over the question's targets, of −log E σ(±f)
//
// through K alone: ω is a constant to it, as in the paper. With one class there is nothing to ask: both are 0.
func (m Model) Loss(dz, z []float64, y []float32, known, width int) (nll float64) {
	x, norms := directions(z, width)
	s := m.scheme(x, y)
	rows, start := s.arrange(y[:known])
	targets, targetStart := s.arrange(y[known:])
	for _, t := range targets {
		rows = append(rows, known+t)
	}
	all := gather(x, rows)
	context := all.Slice(0, known, 0, width).(*mat.Dense)
	g := m.Kernel.between(all, context)
	dg := mat.NewDense(len(rows), known, nil)

	yes, no := mat.NewDense(len(targets), max(len(s.splits), 1), nil), mat.NewDense(len(targets), max(len(s.splits), 1), nil)
	for i, sp := range s.splits {
		q := question{
			known:   span{start[sp.lo], start[sp.hi]},
			targets: span{targetStart[sp.lo], targetStart[sp.hi]},
		}
		p := m.ask(q, g, dg, sp.answers(start), sp.answers(targetStart))
		for t := range p {
			yes.Set(q.targets.lo+t, i, p[t][0])
			no.Set(q.targets.lo+t, i, p[t][1])
		}
	}
	p := make([]float64, len(s.classes))
	for c := range p {
		for t := targetStart[c]; t < targetStart[c+1]; t++ {
			s.probabilities(p, yes.RawRowView(t), no.RawRowView(t))
			nll -= math.Log(math.Max(p[c], floor)) / float64(len(targets))
		}
	}

	dx, dcontext := m.Kernel.pull(dg, g, all, context)
	for i, r := range rows {
		d := dx.RawRowView(i)
		if i < known {
			floats.Add(d, dcontext.RawRowView(i))
		}
		undirect(dz[r*width:(r+1)*width], d, all.RawRowView(i), norms[r])
	}
	return nll
}

// A question is about some of the examples, by their place in Loss.
type question struct{ known, targets span }

type span struct{ lo, hi int }

func (s span) len() int { return s.hi - s.lo }

// ask answers a question for its targets, whose right answers are truth. It adds to dg the gradient of their mean −log p
// with respect to g, whose first rows are covariances of the known examples and the others those of targets with them. It
// returns the probabilities of yes and no.
func (m Model) ask(q question, g, dg *mat.Dense, kappa, truth []float64) (p [][2]float64) {
	_, context := g.Dims()
	at := span{context + q.targets.lo, context + q.targets.hi}
	ks := g.Slice(at.lo, at.hi, q.known.lo, q.known.hi)
	dks := dg.Slice(at.lo, at.hi, q.known.lo, q.known.hi).(*mat.Dense)
	dk := dg.Slice(q.known.lo, q.known.hi, q.known.lo, q.known.hi).(*mat.Dense)
	k := m.Kernel.square(g, q.known.lo, q.known.hi)

	omegas := m.Inference.Omegas(k, kappa)
	answers := make([]answer, len(omegas))
	p = make([][2]float64, q.targets.len())
	for i, omega := range omegas {
		a := &answers[i]
		a.posterior = condition(k, omega, kappa)
		a.mean, a.variance, a.v = a.predict(ks, m.Kernel)
		for t := range p {
			yes, no := logistic(a.mean[t], a.variance[t])
			p[t][0] += yes / float64(len(omegas))
			p[t][1] += no / float64(len(omegas))
		}
	}
	for i := range answers {
		answers[i].backward(dks, dk, p, truth, len(omegas))
	}
	return p
}

// An answer is what one draw of ω predicts.
type answer struct {
	posterior
	mean, variance []float64
	v              *mat.Dense // ks·R
}

// backward adds the gradients of mean −log p with respect to ks [targets, n] and k [n, n], for one of several draws of
// which p is the mean. With U = ks·A, and the derivatives gₘ and gᵥ of the loss by mean and variance of each target,
//
//	∂ks = gₘαᵀ − 2 diag(gᵥ)U,  ∂k = −(Uᵀgₘ)αᵀ + Uᵀdiag(gᵥ)U
func (a answer) backward(dks, dk *mat.Dense, p [][2]float64, truth []float64, draws int) {
	byMean, byVariance := make([]float64, len(p)), make([]float64, len(p))
	for t, right := range truth {
		// E σ(−f) falls by what E σ(f) rises.
		scale := -1 / math.Max(p[t][0], floor)
		if right < 0 {
			scale = 1 / math.Max(p[t][1], floor)
		}
		dm, dv := slopes(a.mean[t], a.variance[t])
		byMean[t] = scale * dm / float64(draws*len(p))
		byVariance[t] = scale * dv / float64(draws*len(p))
	}
	var u, scaled mat.Dense
	u.Mul(a.v, a.root.T())
	var um mat.VecDense
	um.MulVec(u.T(), mat.NewVecDense(len(p), byMean))
	scaled.CloneFrom(&u)
	for t, g := range byVariance {
		floats.Scale(g, scaled.RawRowView(t))
	}
	alpha := mat.NewVecDense(len(a.alpha), a.alpha)
	dks.RankOne(dks, 1, mat.NewVecDense(len(p), byMean), alpha)
	for t := range p {
		floats.AddScaled(dks.RawRowView(t), -2, scaled.RawRowView(t))
	}
	dk.RankOne(dk, -1, &um, alpha)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, u.RawMatrix(), scaled.RawMatrix(), 1, dk.RawMatrix())
}
