package kernels

// group is the number of words that 16 consecutive counters give. Word q of counter 16g+l is at 64g+16q+l: the layout
// of vectors of 16 lanes, on every instruction set.
const group = 4 * lanes

// Normals fills dst with independent draws of N(0, 1): Philox4x32-10 words, two and two (q = 0, 1 and 2, 3 of a counter)
// through Box-Muller.
//
// ctr[0] is the position of the first of the counters that are used, 16 for every 64 values or part of them; a shorter
// dst gets the same leading values. The position does not carry into ctr[1]: dst may have up to 4·(2³²−ctr[0]) values,
// and a longer one panics.
//
// Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011. Box and Muller, A Note on the Generation of
// Random Normal Deviates. 1958.
func (c *CPU) Normals(dst []float32, key [2]uint32, ctr [4]uint32) {
	fits(len(dst), ctr)
	keys := schedule(key)
	for len(dst) >= group {
		n := min(len(dst), chunk) &^ (group - 1)
		c.normals(dst[:n], &keys, &ctr)
		ctr[0] += uint32(n / 4)
		dst = dst[n:]
	}
	if len(dst) > 0 {
		var b [group]float32
		c.normals(b[:], &keys, &ctr)
		copy(dst, b[:])
	}
}

// fits panics if n values need counters beyond the last position.
func fits(n int, ctr [4]uint32) {
	if (uint64(n)+group-1)/group*lanes > 1<<32-uint64(ctr[0]) {
		panic("kernels: Normals: the stream ends before the slice: position would exceed 32 bits")
	}
}

// schedule returns the keys of the ten rounds.
func schedule(key [2]uint32) (s [20]uint32) {
	for r := 0; r < len(s); r += 2 {
		s[r], s[r+1] = key[0], key[1]
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return s
}
