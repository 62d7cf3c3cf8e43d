package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// narrow emits the AVX-512 kernels for up to four columns of dst, where a tile of whole vectors would leave most lanes
// idle. Here a vector holds four rows of four columns: a row of b is broadcast to its four quarters, and four elements
// of a column of a, each repeated four times, stand against it. Each sum still grows in order of k, so that the bits are
// those of the other kernels.
//
// Rows come in groups of four, up to seven, which are enough sums to hide the latency of one another. The last group
// ends with the last row and may overlap the one before; both then store the same values.
func narrow() {
	for _, layout := range []string{"Rows", "Columns"} {
		byRow := layout == "Rows"
		stride := "aRow"
		if !byRow {
			stride = "aCol"
		}
		TEXT("gemmNarrow"+layout, NOSPLIT, "func(rows int, k int, a *float32, "+stride+" int, "+
			"b *float32, bRow int, dst *float32, dstRow int, mask uint64, acc uint64)")
		Pragma("noescape")
		subject := "gemmNarrowRows computes 4 to 28 rows of up to four columns of dst = a·b with a row-major, or adds to it if acc is 1."
		if !byRow {
			subject = "gemmNarrowColumns is gemmNarrowRows for a column-major a."
		}
		Doc(subject, "A bit of mask is set for each column. Strides are in bytes. Its reference implementation is gemmGeneric.")
		groups := GP64()
		Load(Param("rows"), groups)
		ADDQ(Imm(3), groups)
		SHRQ(Imm(2), groups)
		for n := 1; n < 7; n++ {
			next := fmt.Sprintf("more%d", n)
			CMPQ(groups, Imm(uint64(n)))
			JNE(LabelRef(next))
			narrowTile(n, byRow)
			Label(next)
		}
		narrowTile(7, byRow)
	}
}

// rowMasks[r] selects the quarter of row r. K1 selects, of the first quarter, the columns that exist.
var rowMasks = []reg.OpmaskPhysical{nil, reg.K2, reg.K3, reg.K4}

func narrowTile(groups int, byRow bool) {
	z := avx512.regs
	sums, as, b, x := z[:groups], z[groups:2*groups], z[29], z[30]
	name := fmt.Sprint(groups)

	bits := GP64()
	Load(Param("mask"), bits)
	KMOVW(bits.As32(), reg.K1)
	for r := 1; r < 4; r++ {
		MOVQ(U32(0xF<<(4*r)), bits)
		KMOVW(bits.As32(), rowMasks[r])
	}
	for _, s := range sums {
		VPXORD(s, s, s)
	}
	bp := Load(Param("b"), GP64())
	bRow := Load(Param("bRow"), GP64())
	k := Load(Param("k"), GP64())
	if byRow {
		narrowRows(name, sums, as, b, x, bp, bRow, k)
	} else {
		narrowColumns(name, sums, b, x, bp, bRow, k)
	}

	dst := Load(Param("dst"), GP64())
	dstRow := Load(Param("dstRow"), GP64())
	bases := groupBases(groups, dst, dstRow)
	dstRow3 := GP64()
	LEAQ(Mem{Base: dstRow, Index: dstRow, Scale: 2}, dstRow3)
	acc := Load(Param("acc"), GP64())
	TESTQ(acc, acc)
	JZ(LabelRef("store" + name))
	for i := range sums { // before the first store: groups may overlap
		for r, m := range groupRows(bases[i], dstRow, dstRow3) {
			if r == 0 {
				VMOVUPS_Z(m, reg.K1, as[i])
				continue
			}
			VMOVUPS_Z(m, reg.K1, x)
			VSHUFF32X4(Imm(0), x, x, rowMasks[r], as[i])
		}
		VADDPS(as[i], sums[i], sums[i])
	}
	Label("store" + name)
	for i, s := range sums {
		for r, m := range groupRows(bases[i], dstRow, dstRow3) {
			VSHUFF32X4(Imm(uint64(r)), s, s, x) // not VEXTRACTF32X4, which faults on lanes that are masked off
			VMOVUPS(x, reg.K1, m)
		}
	}
	VZEROUPPER()
	RET()
}

// groupBases returns pointers to the first rows of groups that begin at base.
func groupBases(groups int, base, stride reg.Register) []reg.Register {
	bases := []reg.Register{base}
	if groups == 1 {
		return bases
	}
	for range groups - 2 {
		next := GP64()
		LEAQ(Mem{Base: bases[len(bases)-1], Index: stride, Scale: 4}, next)
		bases = append(bases, next)
	}
	last := GP64()
	Load(Param("rows"), last)
	SUBQ(Imm(4), last)
	IMULQ(stride, last)
	ADDQ(base, last)
	return append(bases, last)
}

// groupRows returns the addresses of the rows of a group.
func groupRows(base, stride, stride3 reg.Register) []Mem {
	return []Mem{{Base: base}, {Base: base, Index: stride, Scale: 1}, {Base: base, Index: stride, Scale: 2}, {Base: base, Index: stride3, Scale: 1}}
}

// loadRow broadcasts the columns that exist of a row of b to the quarters of v.
func loadRow(bp, bRow reg.Register, v reg.VecPhysical) {
	VMOVUPS_Z(Mem{Base: bp}, reg.K1, v)
	VSHUFF32X4(Imm(0), v, v, v)
	ADDQ(bRow, bp)
}

// narrowRows emits the loop over k for a row-major a: four of k at a time, then one at a time.
func narrowRows(name string, sums, as []reg.VecPhysical, b, x reg.VecPhysical, bp, bRow, k reg.Register) {
	a := Load(Param("a"), GP64())
	aRow := Load(Param("aRow"), GP64())
	bases := groupBases(len(sums), a, aRow)
	aRow3 := GP64()
	LEAQ(Mem{Base: aRow, Index: aRow, Scale: 2}, aRow3)

	SUBQ(Imm(4), k)
	JLT(LabelRef("tail" + name))
	Label("four" + name)
	for i, base := range bases {
		rows := groupRows(base, aRow, aRow3)
		VBROADCASTF32X4(rows[0], as[i])
		for r := 1; r < 4; r++ {
			VBROADCASTF32X4(rows[r], rowMasks[r], as[i])
		}
		ADDQ(Imm(16), base)
	}
	for p := range 4 {
		loadRow(bp, bRow, b)
		for i, s := range sums {
			VPERMILPS(Imm(uint64(p*0x55)), as[i], x)
			VFMADD231PS(b, x, s)
		}
	}
	SUBQ(Imm(4), k)
	JGE(LabelRef("four" + name))

	Label("tail" + name)
	ADDQ(Imm(4), k)
	JZ(LabelRef("done" + name))
	Label("one" + name)
	loadRow(bp, bRow, b)
	for i, base := range bases {
		rows := groupRows(base, aRow, aRow3)
		VBROADCASTSS(rows[0], x)
		for r := 1; r < 4; r++ {
			VBROADCASTSS(rows[r], rowMasks[r], x)
		}
		VFMADD231PS(b, x, sums[i])
		ADDQ(Imm(4), base)
	}
	DECQ(k)
	JNZ(LabelRef("one" + name))
	Label("done" + name)
}

// narrowColumns emits the loop over k for a column-major a.
func narrowColumns(name string, sums []reg.VecPhysical, b, x reg.VecPhysical, bp, bRow, k reg.Register) {
	spread := avx512.regs[31]
	VPMOVZXBD(spreadIndices(), spread)
	a := Load(Param("a"), GP64())
	aCol := Load(Param("aCol"), GP64())
	last := GP64()
	Load(Param("rows"), last)
	LEAQ(Mem{Base: a, Index: last, Scale: 4, Disp: -16}, last)
	Label("one" + name)
	loadRow(bp, bRow, b)
	for i, s := range sums {
		m := Mem{Base: a, Disp: 16 * i}
		if i == len(sums)-1 {
			m = Mem{Base: last}
		}
		VBROADCASTF32X4(m, x)
		VPERMILPS(spread, x, x)
		VFMADD231PS(b, x, s)
	}
	ADDQ(aCol, a)
	ADDQ(aCol, last)
	DECQ(k)
	JNZ(LabelRef("one" + name))
}

var spreadData *Mem

// spreadIndices returns the bytes 0, 0, 0, 0, 1, 1, 1, 1 … 3.
func spreadIndices() Mem {
	if spreadData == nil {
		m := GLOBL("gemmSpread", RODATA|NOPTR)
		for i := range 4 {
			DATA(4*i, U32(0x01010101*i))
		}
		spreadData = &m
	}
	return *spreadData
}
