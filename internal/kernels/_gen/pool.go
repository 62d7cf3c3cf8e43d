package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func init() {
	generators["pool"] = func() {
		startConstants("poolConstants")
		for _, v := range vecs {
			v.maxPool()
			v.maxPoolGrad()
		}
	}
}

const (
	notAtMost = 22 // true for NaN
	isOrdered = 7  // neither is NaN
)

// window holds what the loops over a row of places have in common.
type window struct {
	v     vec
	x     reg.GPVirtual // the first position of a place
	tap   reg.GPVirtual // the position at hand, in the channels at hand
	at    reg.GPVirtual // of the channels at hand, in bytes
	index reg.VecVirtual
}

// places emits the loops over places and vectors of channels: body for each.
func (w *window) places(xName string, step func(bytes reg.GPVirtual), body func()) {
	w.x, w.tap, w.at, w.index = GP64(), GP64(), GP64(), w.v.reg()
	Load(Param(xName), w.x)
	Label("place")
	XORQ(w.at, w.at)
	Label("vector")
	body()
	ADDQ(Imm(uint64(4*w.v.lanes)), w.at)
	CMPQ(w.at, paramAddr("channels"))
	JLT(LabelRef("vector"))
	ADDQ(paramAddr("place"), w.x)
	MOVQ(paramAddr("stride"), w.at)
	step(w.at)
	DECQ(paramAddr("places"))
	JNZ(LabelRef("place"))
}

// taps emits the loops over the positions that the window sees: body for each, with its address in tap and its index.
func (w *window) taps(body func()) {
	row, kx, ky := GP64(), GP64(), GP64()
	LEAQ(Mem{Base: w.x, Index: w.at, Scale: 1}, row)
	VBROADCASTSS(paramAddr("first"), w.index)
	one, skip := w.v.load(bits(1)), w.v.reg()
	VBROADCASTSS(paramAddr("skip"), skip)
	MOVQ(paramAddr("rows"), ky)
	Label("row")
	MOVQ(row, w.tap)
	MOVQ(paramAddr("cols"), kx)
	Label("tap")
	body()
	ADDQ(paramAddr("position"), w.tap)
	w.v.increase(w.index, one)
	DECQ(kx)
	JNZ(LabelRef("tap"))
	ADDQ(paramAddr("row"), row)
	w.v.increase(w.index, skip)
	DECQ(ky)
	JNZ(LabelRef("row"))
}

// increase adds integers to those of r.
func (v vec) increase(r, by reg.VecVirtual) { VPADDD(by, r, r) }

// maxPool keeps the largest value so far and its index in registers.
func (v vec) maxPool() {
	v.function("maxPool", "maxPoolGeneric", "func(y, index, x *float32, channels, stride, places, place int, "+
		"rows, row, cols, position int, first, skip uint32, positive float32)")
	y, index := GP64(), GP64()
	Load(Param("y"), y)
	Load(Param("index"), index)
	least := v.param("positive")
	w := window{v: v}
	best, where := v.reg(), v.reg()
	w.places("x", func(n reg.GPVirtual) { ADDQ(n, y); ADDQ(n, index) }, func() {
		VMOVUPS(Mem{Base: w.x, Index: w.at, Scale: 1}, best)
		VBROADCASTSS(paramAddr("first"), where)
		w.taps(func() {
			x := v.load(Mem{Base: w.tap})
			wins := v.compare(notAtMost, x, best)
			ordered := v.compare(isOrdered, best, best)
			if v.wide() {
				KANDW(wins, ordered, ordered)
				VBLENDMPS(x, best, ordered, best)
				VPBLENDMD(w.index, where, ordered, where)
			} else {
				VANDPS(wins, ordered, ordered)
				VBLENDVPS(ordered, x, best, best)
				VBLENDVPS(ordered, w.index, where, where)
			}
		})
		VMOVUPS(best, Mem{Base: y, Index: w.at, Scale: 1})
		nowhere := v.load(bits(0xFFFFFFFF))
		VMOVUPS(v.choose(v.compare(notAtMost, best, least), where, nowhere), Mem{Base: index, Index: w.at, Scale: 1})
	})
	leave()
}

// maxPoolGrad adds to every position what its index selects.
func (v vec) maxPoolGrad() {
	v.function("maxPoolGrad", "maxPoolGradGeneric", "func(dx, dy, index *float32, channels, stride, places, place int, "+
		"rows, row, cols, position int, first, skip uint32)")
	dy, index := GP64(), GP64()
	Load(Param("dy"), dy)
	Load(Param("index"), index)
	w := window{v: v}
	g, where, zero := v.reg(), v.reg(), v.zero()
	w.places("dx", func(n reg.GPVirtual) { ADDQ(n, dy); ADDQ(n, index) }, func() {
		VMOVUPS(Mem{Base: dy, Index: w.at, Scale: 1}, g)
		VMOVUPS(Mem{Base: index, Index: w.at, Scale: 1}, where)
		w.taps(func() {
			var here reg.Register
			if v.wide() {
				here = K()
				VPCMPEQD(where, w.index, here)
			} else {
				here = v.reg()
				VPCMPEQD(where, w.index, here)
			}
			VMOVUPS(v.add(v.choose(here, g, zero), Mem{Base: w.tap}), Mem{Base: w.tap})
		})
	})
	leave()
}
