//go:build amd64 && !purego

package kernels

// loops is a nest as the tiles read it: turns, distance in a and distance in b of each loop. Distances are in bytes, and
// those of the outer loops go from where the loop inside has ended.
type loops = [9]int

func (s *nest) loops() (l loops) {
	for i, t := range s {
		l[3*i], l[3*i+1], l[3*i+2] = t.n, 4*t.a, 4*t.b
		if i > 0 {
			l[3*i+1] -= 4 * s[i-1].n * s[i-1].a
			l[3*i+2] -= 4 * s[i-1].n * s[i-1].b
		}
	}
	return l
}

// compute takes a tile of rows to all places before it goes on to the next, since neighbouring places share most of what
// they read of a.
func (p *product) compute(c *CPU) {
	height := 6
	switch c.isa {
	case Generic:
		p.generic()
		return
	case AVX512:
		height = 14
	}
	sum := p.sum.loops()
	tiles := balanced(p.m, height)
	for i := 0; i < p.m; i += tiles {
		rows := min(tiles, p.m-i)
		for q := range p.places {
			a, dst := &p.a[q*p.aPlace+i*p.aRow], p.dst[q*p.dstPlace+i*p.dstRow:]
			if c.isa == AVX512 {
				p.rowAVX512(rows, a, dst, &sum)
			} else {
				p.rowAVX2(rows, a, dst, &sum)
			}
		}
	}
}

// rowAVX512 computes a row of tiles.
func (p *product) rowAVX512(rows int, a *float32, dst []float32, sum *loops) {
	for j := 0; j < p.n; j += 32 {
		w := min(32, p.n-j)
		vectors := (w + 15) / 16
		lanes := uint64(1)<<(w-16*(vectors-1)) - 1
		add, addRow := p.add(dst, j)
		gemmTileAVX512(rows, vectors, a, 4*p.aRow, &p.b[j], sum, &dst[j], 4*p.dstRow, lanes, add, addRow, flag(p.relu))
	}
}

func (p *product) rowAVX2(rows int, a *float32, dst []float32, sum *loops) {
	for j := 0; j < p.n; j += 16 {
		w := min(16, p.n-j)
		vectors := (w + 7) / 8
		var lanes *int32
		if w%8 > 0 {
			lanes = &laneMasks[8-w%8]
		}
		add, addRow := p.add(dst, j)
		gemmTileAVX2(rows, vectors, a, 4*p.aRow, &p.b[j], sum, &dst[j], 4*p.dstRow, lanes, add, addRow, flag(p.relu))
	}
}

// add returns what is added to a tile in column j, and the bytes between its rows: the tile itself, or the bias in every row.
func (p *product) add(dst []float32, j int) (add *float32, addRow int) {
	switch {
	case p.acc:
		return &dst[j], 4 * p.dstRow
	case p.bias != nil:
		return &p.bias[j], 0
	}
	return nil, 0
}

// flip writes the transpose of src [rows, cols] to dst.
func (c *CPU) flip(dst, src []float32, rows, cols int) {
	if c.isa == Generic || min(rows, cols) < 8 {
		flipGeneric(dst, src, rows, cols)
		return
	}
	for i := 0; i < rows; i += 8 {
		i := min(i, rows-8) // the last eight may overlap the ones before
		transpose(dst[i:], rows, src[i*cols:], cols, cols)
	}
}
