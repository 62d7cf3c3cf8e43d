package kernels

import "math/bits"

// Philox returns the four words that Philox4x32-10 makes of a counter and a key.
//
// Salmon et al., Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011.
func Philox(ctr [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		h0, l0 := bits.Mul32(0xD2511F53, ctr[0])
		h1, l1 := bits.Mul32(0xCD9E8D57, ctr[2])
		ctr = [4]uint32{h1 ^ ctr[1] ^ key[0], l1, h0 ^ ctr[3] ^ key[1], l0}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return ctr
}
