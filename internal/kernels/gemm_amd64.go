//go:build amd64 && !purego

package kernels

// The blocks that the kernels work in. A row tile of a is read from the first-level cache once for each panel of b, a
// block of b from the second-level cache once for each row tile.
const (
	gemmDepth = 400 // of k: also fixes how sums are rounded, so all instruction sets share it
	gemmWidth = 256 // of n
)

// A row-major b is read in place, unless its rows are so far apart that a panel wastes most of every page it is spread
// over, and enough row tiles read it to pay for a copy.
const (
	farRow    = 32 // panels
	manyTiles = 8
)

func (c *CPU) gemmKernel(m, n, k int, a, b operand, dst []float32, ldd int) {
	rows, lanes := 6, 8
	switch c.isa {
	case Generic:
		c.gemmGeneric(m, n, k, a, b, dst, ldd)
		return
	case AVX512:
		rows, lanes = 14, 16
	}
	depth := balanced(k, gemmDepth)
	for j := 0; j < n; j += gemmWidth {
		nb := min(gemmWidth, n-j)
		for p := 0; p < k; p += depth {
			kb := min(depth, k-p)
			t := tiling{
				rows: rows, lanes: lanes,
				m: m, n: nb, k: kb,
				a: a.from(0, p), b: b.from(p, j), bPanel: 2 * lanes,
				dst: dst[j:], ldd: ldd,
				acc: p > 0,
			}
			if b.col != 1 || b.row >= farRow*2*lanes && m >= manyTiles*rows {
				t.bPanel = kb * 2 * lanes
				t.b = operand{c.packPanels(t.b, kb, nb, 2*lanes), 2 * lanes, 1}
			}
			if c.isa == AVX512 {
				t.runAVX512()
			} else {
				t.runAVX2()
			}
		}
	}
}

// from returns the part of x that begins at element (i, j).
func (x operand) from(i, j int) operand {
	return operand{x.data[i*x.row+j*x.col:], x.row, x.col}
}

// tiling is a block of a product that is computed tile by tile: dst[m, n] = a[m, k]·b[k, n].
type tiling struct {
	rows, lanes int // of the largest tile; its width is two vectors of lanes
	m, n, k     int
	a, b        operand
	bPanel      int // elements of b from one panel of two vectors to the next
	dst         []float32
	ldd         int
	acc         bool // add to what earlier blocks of k have left in dst
}

// sum returns the one loop that the sums of t run over.
func (t *tiling) sum() loops {
	return loops{t.k, 4 * t.a.col, 4 * t.b.row, 1, 0, 0, 1, 0, 0}
}

func (t *tiling) runAVX512() {
	wide := t.n
	if r := t.n % 32; 0 < r && r <= 4 && t.m >= 4 {
		wide -= r
		t.runNarrow(wide)
	}
	sum := t.sum()
	tiles := (t.m + t.rows - 1) / t.rows
	for i, tile := 0, 1; tile <= tiles; tile++ {
		next := t.m * tile / tiles // heights differ by one at most
		a := &t.a.data[i*t.a.row]
		for j, panel := 0, 0; j < wide; j, panel = j+32, panel+t.bPanel {
			w := min(32, wide-j)
			vectors := (w + 15) / 16
			lanes := uint64(1)<<(w-16*(vectors-1)) - 1
			dst := &t.dst[i*t.ldd+j]
			var add *float32
			if t.acc {
				add = dst
			}
			gemmTileAVX512(next-i, vectors, a, 4*t.a.row, &t.b.data[panel], &sum, dst, 4*t.ldd, lanes, add, 4*t.ldd, 0)
		}
		i = next
	}
}

// runNarrow computes the columns of dst from the j-th on, four at most, where j begins a panel. In tiles they would cost
// as much as sixteen: a product with n = 100 takes 8 % less time this way.
func (t *tiling) runNarrow(j int) {
	b, acc := &t.b.data[j/32*t.bPanel], flag(t.acc)
	lanes := uint64(1)<<(t.n-j) - 1
	tiles := (t.m + 27) / 28
	for i, tile := 0, 1; tile <= tiles; tile++ {
		next := t.m * tile / tiles
		a, dst := &t.a.data[i*t.a.row], &t.dst[i*t.ldd+j]
		if t.a.col == 1 {
			gemmNarrowRows(next-i, t.k, a, 4*t.a.row, b, 4*t.b.row, dst, 4*t.ldd, lanes, acc)
		} else {
			gemmNarrowColumns(next-i, t.k, a, 4*t.a.col, b, 4*t.b.row, dst, 4*t.ldd, lanes, acc)
		}
		i = next
	}
}

// laneMasks[8-n:] begins with n lanes that exist.
var laneMasks = [16]int32{-1, -1, -1, -1, -1, -1, -1, -1}

func (t *tiling) runAVX2() {
	sum := t.sum()
	tiles := (t.m + t.rows - 1) / t.rows
	for i, tile := 0, 1; tile <= tiles; tile++ {
		next := t.m * tile / tiles
		a := &t.a.data[i*t.a.row]
		for j, panel := 0, 0; j < t.n; j, panel = j+16, panel+t.bPanel {
			w := min(16, t.n-j)
			vectors := (w + 7) / 8
			var lanes *int32
			if w%8 > 0 {
				lanes = &laneMasks[8-w%8]
			}
			dst := &t.dst[i*t.ldd+j]
			var add *float32
			if t.acc {
				add = dst
			}
			gemmTileAVX2(next-i, vectors, a, 4*t.a.row, &t.b.data[panel], &sum, dst, 4*t.ldd, lanes, add, 4*t.ldd, 0)
		}
		i = next
	}
}

func flag(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// packPanels copies the n columns of b into panels of width columns, so that panel q holds element (p, q·width+j) at
// (q·k + p)·width + j. Columns after the n-th are left unspecified.
func (c *CPU) packPanels(b operand, k, n, width int) []float32 {
	panels := (n + width - 1) / width
	dst := c.scratch(panels * k * width)
	if b.col == 1 {
		for j := 0; j < n; j += width {
			w := min(width, n-j)
			for p := range k {
				copy(dst[j*k+p*width:][:w], b.data[p*b.row+j:])
			}
		}
		return dst
	}
	if n < 8 || k < 8 {
		for j := range n {
			panel := dst[j/width*k*width+j%width:]
			for p := range k {
				panel[p*width] = b.data[j*b.col+p]
			}
		}
		return dst
	}
	// Columns go in groups of eight. The last group of a panel backs up so as to end with the panel's last column. Where
	// that takes it out of the panel it spoils what lies before: unused columns, and the end of the panel before, which
	// is why the panels are filled from the last to the first.
	for j := (panels - 1) * width; j >= 0; j -= width {
		w := min(width, n-j)
		for q := 0; q < w; q += 8 {
			q := min(q, w-8)
			transpose(dst[j*k+q:], width, b.data[(j+q)*b.col:], b.col, k)
		}
	}
	return dst
}

// transpose writes eight rows of k ≥ 8 elements of src as columns of dst.
func transpose(dst []float32, dstRow int, src []float32, srcRow, k int) {
	gemmTranspose8(k/8, &src[0], 4*srcRow, &dst[0], 4*dstRow)
	if k%8 > 0 { // once more for the last eight, some of which are there already
		gemmTranspose8(1, &src[k-8], 4*srcRow, &dst[(k-8)*dstRow], 4*dstRow)
	}
}
