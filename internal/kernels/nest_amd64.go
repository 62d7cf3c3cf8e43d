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

// nested computes dst[i, j] = Σ a[i·aRow + ·] · b[j + ·] over the nest s, for m rows and n columns, all positive.
func (c *CPU) nested(m, n int, a []float32, aRow int, b []float32, s *nest, dst []float32, dstRow int, e epilogue) {
	height := 6
	switch c.isa {
	case Generic:
		nestedGeneric(m, n, a, aRow, b, s, dst, dstRow, e)
		return
	case AVX512:
		height = 14
	}
	sum, relu := s.loops(), flag(e.relu)
	tiles := (m + height - 1) / height
	for i, tile := 0, 1; tile <= tiles; tile++ {
		next := m * tile / tiles // heights differ by one at most
		if c.isa == AVX512 {
			for j := 0; j < n; j += 32 {
				w := min(32, n-j)
				vectors := (w + 15) / 16
				lanes := uint64(1)<<(w-16*(vectors-1)) - 1
				out := &dst[i*dstRow+j]
				add, addRow := e.add(out, dstRow, j)
				gemmTileAVX512(next-i, vectors, &a[i*aRow], 4*aRow, &b[j], &sum, out, 4*dstRow, lanes, add, 4*addRow, relu)
			}
		} else {
			for j := 0; j < n; j += 16 {
				w := min(16, n-j)
				vectors := (w + 7) / 8
				var lanes *int32
				if w%8 > 0 {
					lanes = &laneMasks[8-w%8]
				}
				out := &dst[i*dstRow+j]
				add, addRow := e.add(out, dstRow, j)
				gemmTileAVX2(next-i, vectors, &a[i*aRow], 4*aRow, &b[j], &sum, out, 4*dstRow, lanes, add, 4*addRow, relu)
			}
		}
		i = next
	}
}

// add returns what is added to a tile that begins at dst, in column j: the tile itself, or the bias in every row.
func (e *epilogue) add(dst *float32, dstRow, j int) (add *float32, addRow int) {
	switch {
	case e.acc:
		return dst, dstRow
	case e.bias != nil:
		return &e.bias[j], 0
	}
	return nil, 0
}
