package algorithms

import "fedbayes/datasets"

// This file takes examples through the network of an objective that has an output z and its gradient dz, batch by batch,
// as a loss over more examples than a batch needs it.

// embed returns the embeddings [len(ids), width] of some of the examples.
func (w *Worker) embed(theta []float32, of *datasets.Examples, ids []int) []float64 {
	w.Exec.Feed("theta", theta)
	z := make([]float64, 0, len(ids)*w.Net.FeatureWidth())
	for len(ids) > 0 {
		rows := w.gather(of, ids)
		w.Exec.RunOutput("z", rows)
		for _, v := range w.Exec.Fetch("z")[:rows*w.Net.FeatureWidth()] {
			z = append(z, float64(v))
		}
		ids = ids[rows:]
	}
	return z
}

// pull returns the gradient with respect to theta of a loss whose gradient with respect to the embeddings is dz.
func (w *Worker) pull(theta []float32, of *datasets.Examples, ids []int, dz []float64) []float32 {
	w.Exec.Feed("theta", theta)
	sum := make([]float32, len(theta))
	for len(ids) > 0 {
		rows := w.gather(of, ids)
		n := rows * w.Net.FeatureWidth()
		buf := w.Exec.Buffer("dz")
		for i, v := range dz[:n] {
			buf[i] = float32(v)
		}
		w.Exec.RunFor("loss", rows)
		w.CPU.Axpy(sum, 1, w.Exec.Grad("theta"))
		ids, dz = ids[rows:], dz[n:]
	}
	return sum
}

// gather puts the first of the examples into the input x and returns how many.
func (w *Worker) gather(of *datasets.Examples, ids []int) (rows int) {
	x := w.Exec.Buffer("x")
	rows = min(w.Batch, len(ids))
	for i, id := range ids[:rows] {
		copy(x[i*of.Dim:(i+1)*of.Dim], of.X[id*of.Dim:(id+1)*of.Dim])
	}
	return rows
}
