package kernels

// A product is dst[i, j] = Σ a[i·aRow + ·] · b[j + ·] for m rows and n columns, where the sum runs over a nest of loops. It is
// taken at a number of places, which a and dst move on to while b stays.
//
// A finished sum is added to what is there if acc is set, or to bias [n] if there is one, and then raised to 0 where it is
// negative if relu is set. All sizes are positive.
type product struct {
	m, n   int
	a, b   []float32
	dst    []float32
	aRow   int // elements from row to row
	dstRow int
	sum    nest

	places   int
	aPlace   int // elements from place to place
	dstPlace int

	acc  bool
	bias []float32
	relu bool
}

// A nest is three loops, the innermost first. Each has a number of turns, at least one, and the distances that a and b move
// on in a turn.
type nest [3]struct{ n, a, b int }
