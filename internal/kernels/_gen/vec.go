package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// vec writes elementwise code once for both instruction sets: an operation takes vectors and gives a new one, and the
// register allocator does the rest. With the same operations in the same order, both sets give the same bits.
type vec struct{ target }

// vecs are the vectors of both instruction sets.
var vecs = []vec{{avx2}, {avx512}}

func (v vec) wide() bool { return v.lanes == 16 }

func (v vec) reg() reg.VecVirtual {
	if v.wide() {
		return ZMM()
	}
	return YMM()
}

// constant is a number in memory, for all lanes. AVX-512 broadcasts its first four bytes in the instruction that uses
// it (a full vector would take a load of a whole cache line); AVX2 reads a vector of copies.
type constant struct{ Mem }

// constants holds the table of one generated file.
var constants struct {
	table Mem
	at    map[uint32]int
	end   int
}

// startConstants begins the table of a file.
func startConstants(name string) {
	constants.table = GLOBL(name, RODATA|NOPTR)
	constants.at = map[uint32]int{}
	constants.end = 0
}

// bits returns the constant with a bit pattern.
func bits(u uint32) constant {
	offset, ok := constants.at[u]
	if !ok {
		offset = row(func(int) uint32 { return u }, 8)
		constants.at[u] = offset
	}
	return constant{constants.table.Offset(offset)}
}

// row adds n words to the table and returns where they begin.
func row(f func(i int) uint32, n int) int {
	offset := constants.end
	for i := range n {
		DATA(offset+4*i, U32(f(i)))
	}
	constants.end += 4 * n
	return offset
}

// num returns the constant that is the float32 nearest to x.
func num(x float64) constant { return bits(math.Float32bits(float32(x))) }

func (v vec) load(m Op) reg.VecVirtual {
	r := v.reg()
	if c, ok := m.(constant); ok {
		VBROADCASTSS(c.Mem, r)
	} else {
		VMOVUPS(m, r)
	}
	return r
}

// param broadcasts a float32 parameter.
func (v vec) param(name string) reg.VecVirtual { return v.broadcast(paramAddr(name)) }

func (v vec) broadcast(m Mem) reg.VecVirtual {
	r := v.reg()
	VBROADCASTSS(m, r)
	return r
}

// op writes an instruction, in its broadcasting form where AVX-512 meets a constant.
func (v vec) op(plain, bcst func(...Op), ops ...Op) {
	for i, o := range ops {
		if c, ok := o.(constant); ok {
			ops[i] = c.Mem
			if v.wide() {
				plain = bcst
			}
		}
	}
	plain(ops...)
}

func (v vec) binary(plain, bcst func(...Op), a, b Op) reg.VecVirtual {
	r := v.reg()
	v.op(plain, bcst, b, a, r)
	return r
}

func (v vec) add(a, b Op) reg.VecVirtual { return v.binary(VADDPS, VADDPS_BCST, a, b) }
func (v vec) sub(a, b Op) reg.VecVirtual { return v.binary(VSUBPS, VSUBPS_BCST, a, b) }
func (v vec) mul(a, b Op) reg.VecVirtual { return v.binary(VMULPS, VMULPS_BCST, a, b) }
func (v vec) div(a, b Op) reg.VecVirtual { return v.binary(VDIVPS, VDIVPS_BCST, a, b) }

func (v vec) sqrt(a Op) reg.VecVirtual {
	r := v.reg()
	VSQRTPS(a, r)
	return r
}

// max returns the larger of a and x, and x if either is NaN or both are zero.
func (v vec) max(a, x Op) reg.VecVirtual { return v.binary(VMAXPS, VMAXPS_BCST, a, x) }

// min returns the smaller of a and x, and x if either is NaN or both are zero.
func (v vec) min(a, x Op) reg.VecVirtual { return v.binary(VMINPS, VMINPS_BCST, a, x) }

// fma returns a·b + c in the register of a, which is lost.
func (v vec) fma(a reg.VecVirtual, b, c Op) reg.VecVirtual {
	v.op(VFMADD213PS, VFMADD213PS_BCST, c, b, a)
	return a
}

// fmadd returns c + a·b in the register of c, which is lost.
func (v vec) fmadd(c reg.VecVirtual, a, b Op) reg.VecVirtual {
	v.op(VFMADD231PS, VFMADD231PS_BCST, b, a, c)
	return c
}

// fnmadd returns c − a·b in the register of c, which is lost.
func (v vec) fnmadd(c reg.VecVirtual, a, b Op) reg.VecVirtual {
	v.op(VFNMADD231PS, VFNMADD231PS_BCST, b, a, c)
	return c
}

// poly returns Σ c[i]·x^(n−1−i), the polynomial with the coefficients c from the highest power down.
func (v vec) poly(x reg.VecVirtual, c ...float64) reg.VecVirtual {
	p := v.load(num(c[0]))
	for _, a := range c[1:] {
		p = v.fma(p, x, num(a))
	}
	return p
}

func (v vec) copy(a reg.VecVirtual) reg.VecVirtual {
	r := v.reg()
	VMOVAPS(a, r)
	return r
}

func (v vec) zero() reg.VecVirtual {
	r := v.reg()
	if v.wide() {
		VPXORD(r, r, r)
	} else {
		VXORPS(r, r, r)
	}
	return r
}

// Integer operations on 32-bit lanes.

func (v vec) addInt(a, b Op) reg.VecVirtual { return v.binary(VPADDD, VPADDD_BCST, a, b) }
func (v vec) subInt(a, b Op) reg.VecVirtual { return v.binary(VPSUBD, VPSUBD_BCST, a, b) }

func (v vec) and(a, b Op) reg.VecVirtual {
	if v.wide() {
		return v.binary(VPANDD, VPANDD_BCST, a, b)
	}
	return v.binary(ops3(VPAND), nil, a, b)
}

func (v vec) or(a, b Op) reg.VecVirtual {
	if v.wide() {
		return v.binary(VPORD, VPORD_BCST, a, b)
	}
	return v.binary(ops3(VPOR), nil, a, b)
}

func (v vec) xor(a, b Op) reg.VecVirtual {
	if v.wide() {
		return v.binary(VPXORD, VPXORD_BCST, a, b)
	}
	return v.binary(ops3(VPXOR), nil, a, b)
}

func ops3(f func(a, b, c Op)) func(...Op) { return func(o ...Op) { f(o[0], o[1], o[2]) } }

func (v vec) shl(a Op, n uint64) reg.VecVirtual { r := v.reg(); VPSLLD(Imm(n), a, r); return r }
func (v vec) shr(a Op, n uint64) reg.VecVirtual { r := v.reg(); VPSRLD(Imm(n), a, r); return r }
func (v vec) sar(a Op, n uint64) reg.VecVirtual { r := v.reg(); VPSRAD(Imm(n), a, r); return r }

// float converts signed integers.
func (v vec) float(a Op) reg.VecVirtual { r := v.reg(); VCVTDQ2PS(a, r); return r }

// Predicates of compare; all are false for NaN, but for isNaN.
const (
	equal    = 0
	less     = 1
	isNaN    = 3
	moreThan = 30
)

// compare returns a mask of the lanes with a ⋈ b: a mask register for AVX-512, a vector for AVX2.
func (v vec) compare(predicate uint64, a reg.VecVirtual, b Op) reg.Register {
	if v.wide() {
		k := K()
		v.op(VCMPPS, VCMPPS_BCST, Imm(predicate), b, a, k)
		return k
	}
	r := YMM()
	v.op(VCMPPS, nil, Imm(predicate), b, a, r)
	return r
}

// choose returns a where the mask is set, b elsewhere.
func (v vec) choose(mask reg.Register, a, b Op) reg.VecVirtual {
	r := v.reg()
	if v.wide() {
		v.op(VBLENDMPS, VBLENDMPS_BCST, a, b, mask, r)
		return r
	}
	if c, ok := a.(constant); ok {
		a = c.Mem
	}
	VBLENDVPS(mask, a, b, r)
	return r
}

// ifNegative returns a where the sign bit of x is set, b elsewhere.
func (v vec) ifNegative(x reg.VecVirtual, a, b reg.VecVirtual) reg.VecVirtual {
	if !v.wide() {
		r := v.reg()
		VBLENDVPS(x, a, b, r)
		return r
	}
	k := K()
	z := v.zero()
	VPCMPD(Imm(1), z, x, k) // x < 0
	r := v.reg()
	VBLENDMPS(a, b, k, r)
	return r
}

func paramAddr(name string) Mem {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(fmt.Sprintf("parameter %s: %v", name, err))
	}
	return p.Addr
}

// kernel writes a function over slices of whole blocks of 16 values, at least one: setup once and body for each
// vector. A name in slices becomes a parameter; rest holds the other parameters, or is empty.
func (v vec) kernel(name, reference string, slices []string, rest string, setup func(), body func(at func(name string) Mem)) {
	sig := "func("
	for i, s := range slices {
		if i > 0 {
			sig += ", "
		}
		sig += s
	}
	sig += " []float32"
	if rest != "" {
		sig += ", " + rest
	}
	v.function(name, reference, sig+")")
	base := map[string]reg.GPVirtual{}
	for _, s := range slices {
		base[s] = GP64()
		Load(Param(s).Base(), base[s])
	}
	n := GP64()
	Load(Param(slices[0]).Len(), n)
	if setup != nil {
		setup()
	}
	v.blocks(n, func(i reg.GPVirtual, disp int) {
		body(func(s string) Mem { return Mem{Base: base[s], Index: i, Scale: 1, Disp: disp} })
	})
	leave()
}

// function begins the function of an instruction set.
func (v vec) function(name, reference, signature string) {
	TEXT(name+v.name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + v.name + " works on whole blocks of 16 values, at least one. Its reference implementation is " + reference + ".")
}

// blocks loops over n values, a multiple of 16: once for AVX-512 and twice for AVX2 in each turn.
func (v vec) blocks(n reg.GPVirtual, body func(i reg.GPVirtual, disp int)) {
	i := GP64()
	XORQ(i, i)
	SHRQ(Imm(4), n)
	Label("loop")
	for disp := 0; disp < 64; disp += 4 * v.lanes {
		body(i, disp)
	}
	ADDQ(Imm(64), i)
	DECQ(n)
	JNZ(LabelRef("loop"))
}

func leave() {
	VZEROUPPER()
	RET()
}
