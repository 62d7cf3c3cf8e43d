package kernels

import (
	"fmt"
	"math"
)

// softmaxBlock is about the number of logits that go through one vector exponential, chosen to stay in the first cache.
const softmaxBlock = 2048

// CrossEntropy returns the sum over rows of −log softmax(logits)[label], in float64, and sets
// grad = softmax(logits) − onehot(label), its gradient by the logits. logits and grad are [rows, n], labels [rows] holds
// class indices. grad may be logits. A label that is not one of 0, …, n−1 panics. NaN or +Inf among the logits of a row
// make its loss and its gradient NaN; −Inf is a class of probability 0.
func (c *CPU) CrossEntropy(grad, logits, labels []float32, rows, n int) float64 {
	matrix("CrossEntropy", rows, n, len(grad), len(logits))
	same("CrossEntropy", rows, len(labels))
	loss, k := 0.0, max(1, softmaxBlock/n)
	for r := 0; r < rows; r += k {
		end := min(r+k, rows)
		for i := r; i < end; i++ {
			label := class(labels[i], i, n)
			loss -= float64(subMax(grad[i*n:(i+1)*n], logits[i*n:(i+1)*n], label))
		}
		p := grad[r*n : end*n]
		c.Exp(p, p)
		for i := r; i < end; i++ {
			row := grad[i*n : (i+1)*n]
			s := sum(row)
			loss += math.Log(s)
			inv := float32(1 / s)
			for j := range row {
				row[j] *= inv
			}
			row[int(labels[i])]--
		}
	}
	return loss
}

// class returns the label of a row as an index.
func class(label float32, row, n int) int {
	l := int(label)
	if !(label >= 0 && label < float32(n)) || float32(l) != label {
		panic(fmt.Sprintf("kernels: CrossEntropy: label %v in row %d, want a class index below %d", label, row, n))
	}
	return l
}

// subMax sets dst = x − max(x) and returns its element i.
func subMax(dst, x []float32, i int) float32 {
	m := x[0]
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	dst = dst[:len(x)]
	for j, v := range x {
		dst[j] = v - m
	}
	return dst[i]
}

// sum returns the sum of x in float64.
func sum(x []float32) float64 {
	s := 0.0
	for _, v := range x {
		s += float64(v)
	}
	return s
}

// LogSoftmax sets dst = log softmax(logits) for every row; both are [rows, n]. dst may be logits.
func (c *CPU) LogSoftmax(dst, logits []float32, rows, n int) {
	matrix("LogSoftmax", rows, n, len(dst), len(logits))
	var buf [softmaxBlock]float32
	k := max(1, softmaxBlock/n)
	for r := 0; r < rows; r += k {
		end := min(r+k, rows)
		for i := r; i < end; i++ {
			subMax(dst[i*n:(i+1)*n], logits[i*n:(i+1)*n], 0)
		}
		if n > softmaxBlock {
			c.subLog(dst[r*n:end*n], buf[:])
			continue
		}
		e := buf[:(end-r)*n]
		c.Exp(e, dst[r*n:end*n])
		for i := r; i < end; i++ {
			shift(dst[i*n:(i+1)*n], math.Log(sum(e[(i-r)*n:(i-r+1)*n])))
		}
	}
}

// subLog subtracts log Σ eˣ from a row that is longer than the scratch.
func (c *CPU) subLog(x, scratch []float32) {
	s := 0.0
	for i := 0; i < len(x); i += len(scratch) {
		part := x[i:min(i+len(scratch), len(x))]
		e := scratch[:len(part)]
		c.Exp(e, part)
		s += sum(e)
	}
	shift(x, math.Log(s))
}

// shift subtracts a from x.
func shift(x []float32, a float64) {
	f := float32(a)
	for i := range x {
		x[i] -= f
	}
}
