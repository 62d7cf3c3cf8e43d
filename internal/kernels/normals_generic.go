package kernels

import "math"

func normalsGeneric(dst []float32, keys *[20]uint32, ctr *[4]uint32) {
	c, key := *ctr, [2]uint32{keys[0], keys[1]}
	for ; len(dst) >= group; dst = dst[group:] {
		for l := range lanes {
			w := Philox(c, key)
			c[0]++
			dst[l], dst[lanes+l] = boxMuller(w[0], w[1])
			dst[2*lanes+l], dst[3*lanes+l] = boxMuller(w[2], w[3])
		}
	}
}

// boxMuller makes two independent normals of two words: radius √(−2·ln u) with u = (2a'+1)/2³² in (0, 1], where a' is
// a without its last bit, and angle 2π·b/2³².
func boxMuller(a, b uint32) (sin, cos float32) {
	u := float32(a>>1)*0x1p-31 + 0x1p-32
	f, e := logSplit(u)
	z := f * f
	l := f*z*logPoly(f) + e*ln2Lo
	l -= 0.5 * z
	r := float32(math.Sqrt(float64(-2 * (f + l + e*ln2Hi))))

	// Quadrant q and the rest of the angle, in [−π/4, π/4].
	q := (b + 1<<29) >> 30
	f = float32(int32(b-q<<30)) * (2 * math.Pi / (1 << 32))
	z = f * f
	var s float32 = -1.9515295891e-4
	s = s*z + 8.3321608736e-3
	s = s*z - 1.6666654611e-1
	s = f + f*(z*s)
	var c float32 = 2.443315711809948e-5
	c = c*z - 1.388731625493765e-3
	c = c*z + 4.166664568298827e-2
	c = 1 + (z*z*c - 0.5*z)
	if q&1 != 0 {
		s, c = c, s
	}
	// q = 1: (c, −s); q = 2: (−s, −c); q = 3: (−c, s).
	if q == 2 || q == 3 {
		s = -s
	}
	if q == 1 || q == 2 {
		c = -c
	}
	return r * s, r * c
}
