package datasets

import "fedbayes/internal/rng"

// Batches deals mini-batches without end. Each epoch visits every example once, in an order of its own, which depends
// on the stream's seed and client and on the epoch alone; the last batch of an epoch is as small as it comes out.
//
// Epoch and Pos are all that it remembers: set both to what they once were, and the same batches follow. The zero values
// are the start. A Batches must not be used by two goroutines at once.
type Batches struct {
	Of     *Examples
	Size   int        // of a batch, at least 1
	Stream rng.Stream // seed and client count

	Epoch int // from 0
	Pos   int // examples dealt in this epoch, 0 … Of.Len()-1

	order []int // of the epoch that it was shuffled for
	key   shuffled
}

// shuffled is what an order depends on.
type shuffled struct {
	n      int
	stream rng.Stream
}

// PerEpoch returns the number of batches in an epoch.
func (b *Batches) PerEpoch() int { return (b.Of.Len() + b.Size - 1) / b.Size }

// Next copies the next batch to the front of x and y and returns its number of rows, 1 to Size.
//
//	x   [≥ rows, Dim]
//	y   [≥ rows]
//
// It panics if there are no examples or if x or y is too short.
func (b *Batches) Next(x, y []float32) (rows int) {
	n, dim := b.Of.Len(), b.Of.Dim
	if n == 0 || b.Size < 1 {
		panic("datasets: Batches: no examples or no batch size")
	}
	b.shuffle()
	batch := b.order[b.Pos:min(b.Pos+b.Size, n)]
	rows = len(batch)
	if len(x) < rows*dim || len(y) < rows {
		panic("datasets: Batches: x or y too short for a batch")
	}
	for row, i := range batch {
		copy(x[row*dim:(row+1)*dim], b.Of.X[i*dim:(i+1)*dim])
		y[row] = b.Of.Y[i]
	}
	b.Pos += rows
	if b.Pos == n {
		b.Epoch, b.Pos = b.Epoch+1, 0
	}
	return rows
}

// shuffle makes the order of the present epoch, if it is not there yet. It starts from the identity each time, so that
// an order does not depend on those before it.
func (b *Batches) shuffle() {
	n := b.Of.Len()
	now := shuffled{n, b.Stream.For(rng.Batch).At(b.Epoch, b.Stream.Client)}
	if b.key == now {
		return
	}
	b.key = now
	if cap(b.order) < n {
		b.order = make([]int, n)
	}
	b.order = b.order[:n]
	for i := range b.order {
		b.order[i] = i
	}
	shuffle(b.order, now.stream)
}
