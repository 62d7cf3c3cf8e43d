package kernels

// A nest is three loops that a sum runs over, the innermost first. Each has a number of turns, at least one, and the
// distances that a and b move on in a turn.
type nest [3]struct{ n, a, b int }

// An epilogue says what becomes of a finished sum: it is added to what is there if acc is set, or to bias [n] if there is
// one, and then raised to 0 where it is negative if relu is set.
type epilogue struct {
	acc  bool
	bias []float32
	relu bool
}

// nestedGeneric computes dst[i, j] = Σ a[i·aRow + ·] · b[j + ·] over the nest s, for m rows and n columns.
func nestedGeneric(m, n int, a []float32, aRow int, b []float32, s *nest, dst []float32, dstRow int, e epilogue) {
	for i := range m {
		row := dst[i*dstRow:][:n]
		if !e.acc {
			clear(row)
		}
		for r := range s[2].n {
			for q := range s[1].n {
				x, y := a[i*aRow+r*s[2].a+q*s[1].a:], b[r*s[2].b+q*s[1].b:]
				sa, sb, p := s[0].a, s[0].b, 0
				for ; p+4 <= s[0].n; p += 4 {
					addRows4(row, x[p*sa], x[(p+1)*sa], x[(p+2)*sa], x[(p+3)*sa], y[p*sb:], y[(p+1)*sb:], y[(p+2)*sb:], y[(p+3)*sb:])
				}
				for ; p < s[0].n; p++ {
					x0 := x[p*sa]
					for j, v := range y[p*sb:][:n] {
						row[j] += x0 * v
					}
				}
			}
		}
		if e.bias != nil {
			for j, v := range e.bias[:n] {
				row[j] += v
			}
		}
		if e.relu {
			for j, v := range row {
				if v < 0 {
					row[j] = 0
				}
			}
		}
	}
}
