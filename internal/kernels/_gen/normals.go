package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func init() {
	generators["normals"] = func() {
		startConstants("normalsConstants")
		for _, v := range vecs {
			v.normals()
		}
	}
}

// normals writes the kernel over groups of 64 values from 16 counters, that of word q of counter l of a group at 16q+l.
func (v vec) normals() {
	v.function("normals", "normalsGeneric", "func(dst []float32, keys *[20]uint32, ctr *[4]uint32)")
	dst, n, keys, ctr := GP64(), GP64(), GP64(), GP64()
	Load(Param("dst").Base(), dst)
	Load(Param("dst").Len(), n)
	Load(Param("keys"), keys)
	Load(Param("ctr"), ctr)
	SHRQ(Imm(6), n)
	lanes := row(func(i int) uint32 { return uint32(i) }, v.lanes)
	position := v.broadcast(Mem{Base: ctr})
	VPADDD(constants.table.Offset(lanes), position, position)
	if v.wide() {
		odd := GP32()
		MOVL(U32(0xAAAA), odd)
		KMOVW(odd, reg.K1)
	}
	Label("loop")
	for lane := 0; lane < 16; lane += v.lanes {
		w := v.philox([4]reg.VecVirtual{position, v.broadcast(Mem{Base: ctr, Disp: 4}), v.broadcast(Mem{Base: ctr, Disp: 8}), v.broadcast(Mem{Base: ctr, Disp: 12})}, keys)
		var z [4]reg.VecVirtual
		z[0], z[1] = v.boxMuller(w[0], w[1])
		z[2], z[3] = v.boxMuller(w[2], w[3])
		for q, z := range z {
			VMOVUPS(z, Mem{Base: dst, Disp: 64*q + 4*lane})
		}
		v.op(VPADDD, VPADDD_BCST, bits(uint32(v.lanes)), position, position)
	}
	ADDQ(U32(256), dst)
	DECQ(n)
	JNZ(LabelRef("loop"))
	leave()
}

// philox returns the words of the counters c. A product of 64 bits takes two lanes, so the counters of even and of odd
// lanes go through the rounds apart, each in the lower half of a double lane; upper halves hold rubbish.
func (v vec) philox(c [4]reg.VecVirtual, keys reg.GPVirtual) [4]reg.VecVirtual {
	high := func(a reg.VecVirtual) reg.VecVirtual { r := v.reg(); VPSRLQ(Imm(32), a, r); return r }
	product := func(a, b reg.VecVirtual) reg.VecVirtual { r := v.reg(); VPMULUDQ(b, a, r); return r }
	m0, m1 := v.load(bits(0xD2511F53)), v.load(bits(0xCD9E8D57))
	even, odd := c, [4]reg.VecVirtual{high(c[0]), c[1], c[2], c[3]}
	for round := range 10 {
		k0, k1 := Mem{Base: keys, Disp: 8 * round}, Mem{Base: keys, Disp: 8*round + 4}
		var b0, b1 reg.VecVirtual
		if !v.wide() {
			b0, b1 = v.broadcast(k0), v.broadcast(k1)
		}
		for _, s := range []*[4]reg.VecVirtual{&even, &odd} {
			p0, p1 := product(s[0], m0), product(s[2], m1)
			h0, h1 := high(p0), high(p1)
			if v.wide() {
				VPTERNLOGD_BCST(Imm(0x96), k0, s[1], h1) // exclusive or of three
				VPTERNLOGD_BCST(Imm(0x96), k1, s[3], h0)
			} else {
				h1 = v.xor(v.xor(h1, s[1]), b0)
				h0 = v.xor(v.xor(h0, s[3]), b1)
			}
			*s = [4]reg.VecVirtual{h1, p1, h0, p0}
		}
	}
	var out [4]reg.VecVirtual
	for i := range out {
		h := v.reg()
		VPSLLQ(Imm(32), odd[i], h)
		if v.wide() {
			out[i] = v.copy(even[i])
			VMOVDQA32(h, reg.K1, out[i])
		} else {
			out[i] = v.reg()
			VPBLENDD(Imm(0xAA), h, even[i], out[i])
		}
	}
	return out
}

// boxMuller makes two normals of two words, as boxMuller in the package.
func (v vec) boxMuller(a, b reg.VecVirtual) (sin, cos reg.VecVirtual) {
	u := v.fma(v.float(v.shr(a, 1)), v.load(num(0x1p-31)), num(0x1p-32))
	r := v.sqrt(v.mul(v.logOf(v.logSplit(u)), num(-2)))

	// Quadrant q and the rest of the angle, in [−π/4, π/4].
	q := v.shr(v.addInt(b, bits(1<<29)), 30)
	f := v.mul(v.float(v.subInt(b, v.shl(q, 30))), num(2*math.Pi/(1<<32)))
	z := v.mul(f, f)
	s := v.poly(z, -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
	s = v.fma(v.mul(s, z), f, f)
	c := v.poly(z, 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1)

	// In odd quadrants sine and cosine change places. The sine is negative in quadrants 2 and 3, the cosine in 1 and 2:
	// bit 1 of q, and of q+1.
	swap := v.shl(q, 31)
	signs := v.and(v.shl(q, 30), bits(1<<31))
	sin = v.xor(v.ifNegative(swap, c, s), signs)
	cos = v.xor(v.xor(v.ifNegative(swap, s, c), signs), swap)
	return v.mul(sin, r), v.mul(cos, r)
}
