package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func init() {
	generators["gemm"] = func() {
		tiles(avx512)
		tiles(avx2)
		narrow()
		transpose8()
	}
}

// target is what the two instruction sets differ in.
type target struct {
	name  string
	lanes int // float32 lanes of a vector
	rows  int // rows of the largest tile: with two vectors a row, all but a few registers accumulate
	regs  []reg.VecPhysical
}

var (
	avx2 = target{"AVX2", 8, 6, []reg.VecPhysical{
		reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
		reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15}}
	avx512 = target{"AVX512", 16, 14, []reg.VecPhysical{
		reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
		reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
		reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
		reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31}}
)

// tiles emits one function that computes a tile of dst of any height up to t.rows and a width of one or two vectors,
// with a nest of loops of its own for each shape. The width is given in vectors; mask says which lanes of the last one exist:
// a bit set for AVX-512, a pointer to eight int32 for AVX2, where nil stands for all.
func tiles(t target) {
	mask := "mask uint64"
	if t.name == "AVX2" {
		mask = "mask *int32"
	}
	TEXT("gemmTile"+t.name, NOSPLIT, "func(rows int, vectors int, a *float32, aRow int, b *float32, sum *[9]int, "+
		"dst *float32, dstRow int, "+mask+", add *float32, addRow int, relu uint64)")
	Pragma("noescape")
	Doc("gemmTile"+t.name+" computes a tile of rows × vectors of dst = a·b + add, without add if it is nil, and raises it",
		"to 0 if relu is 1. add may be dst. Strides are in bytes. Its reference implementations are gemmGeneric and product.generic.")
	// A tree of comparisons finds the loop of the wanted shape.
	shape, width := GP64(), GP64()
	Load(Param("rows"), shape)
	Load(Param("vectors"), width)
	LEAQ(Mem{Base: width, Index: shape, Scale: 2}, shape) // 2·rows + vectors
	tree(t, shape, 3, 2*t.rows+2)
}

// tree emits the code for the shapes lo to hi.
func tree(t target, shape reg.GPVirtual, lo, hi int) {
	if lo == hi {
		vectors := 2 - lo%2
		if t.name == "AVX2" {
			full := fmt.Sprintf("full%d", lo)
			mask := Load(Param("mask"), GP64())
			TESTQ(mask, mask)
			JZ(LabelRef(full))
			tile(t, (lo-vectors)/2, vectors, true)
			Label(full)
		}
		tile(t, (lo-vectors)/2, vectors, t.name == "AVX512")
		return
	}
	mid := (lo + hi) / 2
	right := fmt.Sprintf("above%d", mid)
	CMPQ(shape, Imm(uint64(mid)))
	JGT(LabelRef(right))
	tree(t, shape, lo, mid)
	Label(right)
	tree(t, shape, mid+1, hi)
}

// tile emits the loops of a sum for one shape of tile, and the stores. With masked, the last vector of a row of b and of
// dst is partial.
func tile(t target, rows, vectors int, masked bool) {
	name := fmt.Sprintf("%dx%d", rows, vectors)
	if masked {
		name += "masked"
	}
	sums := t.regs[:rows*vectors]
	bs := t.regs[len(t.regs)-vectors:]
	spare := t.regs[len(sums) : len(t.regs)-vectors]
	lanes := mask{t, nil}
	if masked {
		spare = lanes.load(spare)
	}
	spare = spare[:min(len(spare), 4)]

	sum := Load(Param("sum"), GP64())
	aRow := Load(Param("aRow"), GP64())
	k, middle, outer, aCol, bRow := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVQ(turns(sum, 2), outer)
	MOVQ(aStep(sum, 0), aCol)
	MOVQ(bStep(sum, 0), bRow)
	// One pointer serves three rows: the addressing modes reach base, base + stride and base + 2·stride.
	as := []reg.Register{Load(Param("a"), GP64())}
	for r := 3; r < rows; r += 3 {
		next := GP64()
		LEAQ(Mem{Base: as[len(as)-1], Index: aRow, Scale: 2}, next)
		ADDQ(aRow, next)
		as = append(as, next)
	}
	b := Load(Param("b"), GP64())
	for _, s := range sums {
		if t.name == "AVX512" {
			VPXORD(s, s, s)
		} else {
			VXORPS(s, s, s)
		}
	}

	Label("outer" + name)
	MOVQ(turns(sum, 1), middle)
	Label("middle" + name)
	MOVQ(turns(sum, 0), k)
	Label("k" + name)
	for v, r := range bs {
		m := Mem{Base: b, Disp: v * t.lanes * 4}
		if masked && v == vectors-1 {
			lanes.move(m, r)
		} else {
			VMOVUPS(m, r)
		}
	}
	ADDQ(bRow, b)
	for r := range rows {
		m := Mem{Base: as[r/3]}
		if r%3 > 0 {
			m.Index, m.Scale = aRow, uint8(r%3)
		}
		if vectors == 1 && t.name == "AVX512" {
			VFMADD231PS_BCST(m, bs[0], sums[r])
			continue
		}
		x := spare[r%len(spare)]
		VBROADCASTSS(m, x)
		for v, y := range bs {
			VFMADD231PS(y, x, sums[r*vectors+v])
		}
	}
	for _, p := range as {
		ADDQ(aCol, p)
	}
	DECQ(k)
	JNZ(LabelRef("k" + name))
	for level, loop := range []struct {
		turns reg.Register
		name  string
	}{{middle, "middle"}, {outer, "outer"}} {
		MOVQ(aStep(sum, level+1), k)
		for _, p := range as {
			ADDQ(k, p)
		}
		ADDQ(bStep(sum, level+1), b)
		DECQ(loop.turns)
		JNZ(LabelRef(loop.name + name))
	}

	dst := Load(Param("dst"), GP64())
	dstRow := Load(Param("dstRow"), GP64())
	add := Load(Param("add"), GP64())
	addRow := Load(Param("addRow"), GP64())
	TESTQ(add, add)
	JZ(LabelRef("added" + name))
	for r := range rows {
		for v := range vectors {
			m, s := Mem{Base: add, Disp: v * t.lanes * 4}, sums[r*vectors+v]
			if masked && v == vectors-1 {
				lanes.move(m, bs[v])
				VADDPS(bs[v], s, s)
			} else {
				VADDPS(m, s, s)
			}
		}
		if r < rows-1 {
			ADDQ(addRow, add)
		}
	}
	Label("added" + name)
	relu := Load(Param("relu"), GP64())
	TESTQ(relu, relu)
	JZ(LabelRef("store" + name))
	zero := bs[0]
	if t.name == "AVX512" {
		VPXORD(zero, zero, zero)
	} else {
		VXORPS(zero, zero, zero)
	}
	for _, s := range sums {
		VMAXPS(s, zero, s) // s, if that is NaN
	}
	Label("store" + name)
	for r := range rows {
		for v := range vectors {
			m, s := Mem{Base: dst, Disp: v * t.lanes * 4}, sums[r*vectors+v]
			if masked && v == vectors-1 {
				lanes.move(s, m)
			} else {
				VMOVUPS(s, m)
			}
		}
		if r < rows-1 {
			ADDQ(dstRow, dst)
		}
	}
	VZEROUPPER()
	RET()
}

// The fields of a level of loops, in package kernels.

func turns(sum reg.Register, level int) Mem { return Mem{Base: sum, Disp: 24 * level} }
func aStep(sum reg.Register, level int) Mem { return Mem{Base: sum, Disp: 24*level + 8} }
func bStep(sum reg.Register, level int) Mem { return Mem{Base: sum, Disp: 24*level + 16} }

// mask moves partial vectors.
type mask struct {
	target
	vector reg.VecPhysical // AVX2: sign bits of the lanes to move
}

// load reads the mask argument; AVX2 takes a register for it from spare, and load returns the others.
func (m *mask) load(spare []reg.VecPhysical) []reg.VecPhysical {
	arg := Load(Param("mask"), GP64())
	if m.name == "AVX512" {
		KMOVW(arg.(reg.GP).As32(), reg.K1)
		return spare
	}
	m.vector = spare[len(spare)-1]
	VMOVDQU(Mem{Base: arg}, m.vector)
	return spare[:len(spare)-1]
}

// move emits a masked load, whose missing lanes are 0, or a masked store. It touches no memory of missing lanes.
func (m *mask) move(from, to Op) {
	_, isLoad := from.(Mem)
	switch {
	case m.name == "AVX2":
		VMASKMOVPS(from, m.vector, to)
	case isLoad:
		VMOVUPS_Z(from, reg.K1, to)
	default:
		VMOVUPS(from, reg.K1, to)
	}
}

// transpose8 packs eight rows of a transposed operand into columns.
func transpose8() {
	TEXT("gemmTranspose8", NOSPLIT, "func(blocks int, src *float32, srcRow int, dst *float32, dstRow int)")
	Pragma("noescape")
	Doc("gemmTranspose8 writes eight rows of 8·blocks elements of src as columns of dst. Strides are in bytes.")
	blocks := Load(Param("blocks"), GP64())
	src := Load(Param("src"), GP64())
	srcRow := Load(Param("srcRow"), GP64())
	dst := Load(Param("dst"), GP64())
	dstRow := Load(Param("dstRow"), GP64())
	bases := []reg.Register{src, GP64(), GP64()}
	for i := range 2 {
		LEAQ(Mem{Base: bases[i], Index: srcRow, Scale: 2}, bases[i+1])
		ADDQ(srcRow, bases[i+1])
	}
	Label("block")
	rows := vectors(8)
	for i, r := range rows {
		m := Mem{Base: bases[i/3]}
		if i%3 > 0 {
			m.Index, m.Scale = srcRow, uint8(i%3)
		}
		VMOVUPS(m, r)
	}
	for _, p := range bases {
		ADDQ(Imm(32), p)
	}
	pairs := vectors(8)
	for i := 0; i < 8; i += 2 {
		VUNPCKLPS(rows[i+1], rows[i], pairs[i])
		VUNPCKHPS(rows[i+1], rows[i], pairs[i+1])
	}
	quads := vectors(8)
	for h := 0; h < 8; h += 4 {
		for i := range 2 {
			VUNPCKLPD(pairs[h+2+i], pairs[h+i], quads[h+2*i])
			VUNPCKHPD(pairs[h+2+i], pairs[h+i], quads[h+2*i+1])
		}
	}
	columns := vectors(8)
	for i := range 4 {
		VPERM2F128(Imm(0x20), quads[4+i], quads[i], columns[i])
		VPERM2F128(Imm(0x31), quads[4+i], quads[i], columns[4+i])
	}
	for _, c := range columns {
		VMOVUPS(c, Mem{Base: dst})
		ADDQ(dstRow, dst)
	}
	DECQ(blocks)
	JNZ(LabelRef("block"))
	VZEROUPPER()
	RET()
}

// vectors returns n registers of eight lanes.
func vectors(n int) []reg.VecVirtual {
	v := make([]reg.VecVirtual, n)
	for i := range v {
		v[i] = YMM()
	}
	return v
}
