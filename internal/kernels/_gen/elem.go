package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func init() {
	generators["elem"] = func() {
		startConstants("elemConstants")
		for _, v := range vecs {
			v.arithmetic()
			v.optimisers()
			v.kernel("exp", "expGeneric", []string{"dst", "x"}, "", nil, func(at func(string) Mem) {
				VMOVUPS(v.exp(v.load(at("x"))), at("dst"))
			})
			v.clampMin()
			v.sumRows()
		}
	}
}

// arithmetic writes the kernels of a few operations.
func (v vec) arithmetic() {
	v.kernel("add", "addGeneric", []string{"dst", "a", "b"}, "", nil, func(at func(string) Mem) {
		VMOVUPS(v.add(v.load(at("a")), at("b")), at("dst"))
	})
	v.kernel("mul", "mulGeneric", []string{"dst", "a", "b"}, "", nil, func(at func(string) Mem) {
		VMOVUPS(v.mul(v.load(at("a")), at("b")), at("dst"))
	})
	var p, q reg.VecVirtual
	v.kernel("scale", "scaleGeneric", []string{"dst", "x"}, "a float32", func() { p = v.param("a") }, func(at func(string) Mem) {
		VMOVUPS(v.mul(p, at("x")), at("dst"))
	})
	v.kernel("combine", "combineGeneric", []string{"dst", "x", "y"}, "a, b float32", func() { p, q = v.param("a"), v.param("b") },
		func(at func(string) Mem) {
			VMOVUPS(v.fmadd(v.mul(q, at("y")), p, at("x")), at("dst"))
		})
	v.kernel("axpy", "axpyGeneric", []string{"dst", "x"}, "a float32", func() { p = v.param("a") }, func(at func(string) Mem) {
		VMOVUPS(v.fmadd(v.load(at("dst")), p, at("x")), at("dst"))
	})
	v.kernel("biasReLU", "biasReLUGeneric", []string{"y", "b"}, "", func() { p = v.zero() }, func(at func(string) Mem) {
		VMOVUPS(v.max(p, v.add(v.load(at("y")), at("b"))), at("y"))
	})
	v.kernel("reluGrad", "reluGradGeneric", []string{"dst", "gy", "y"}, "", func() { p = v.zero() }, func(at func(string) Mem) {
		y := v.load(at("y"))
		r := v.choose(v.compare(moreThan, y, p), v.load(at("gy")), p)
		VMOVUPS(v.choose(v.compare(isNaN, y, y), y, r), at("dst"))
	})
}

// optimisers writes the kernels that take a step.
func (v vec) optimisers() {
	var lr, momentum, decay reg.VecVirtual
	v.kernel("sgd", "sgdGeneric", []string{"p", "dp"}, "lr, decay float32", func() { lr, decay = v.param("lr"), v.param("decay") },
		func(at func(string) Mem) {
			p := v.load(at("p"))
			d := v.fmadd(v.load(at("dp")), decay, p)
			VMOVUPS(v.fnmadd(p, lr, d), at("p"))
		})
	v.kernel("momentum", "momentumGeneric", []string{"p", "vel", "dp"}, "lr, momentum, decay float32",
		func() { lr, momentum, decay = v.param("lr"), v.param("momentum"), v.param("decay") },
		func(at func(string) Mem) {
			p := v.load(at("p"))
			d := v.fmadd(v.load(at("dp")), decay, p)
			d = v.fmadd(d, momentum, at("vel"))
			VMOVUPS(d, at("vel"))
			VMOVUPS(v.fnmadd(p, lr, d), at("p"))
		})
	var b1, c1, b2, c2, correct2, eps reg.VecVirtual
	v.kernel("adam", "adamGeneric", []string{"p", "m1", "m2", "dp"}, "lr, b1, c1, b2, c2, correct2, eps float32",
		func() {
			lr, b1, c1, b2, c2 = v.param("lr"), v.param("b1"), v.param("c1"), v.param("b2"), v.param("c2")
			correct2, eps = v.param("correct2"), v.param("eps")
		},
		func(at func(string) Mem) {
			d := v.load(at("dp"))
			m := v.fmadd(v.mul(c1, d), b1, at("m1"))
			VMOVUPS(m, at("m1"))
			s := v.fmadd(v.mul(c2, v.mul(d, d)), b2, at("m2"))
			VMOVUPS(s, at("m2"))
			den := v.add(v.sqrt(v.mul(s, correct2)), eps)
			VMOVUPS(v.sub(v.load(at("p")), v.div(v.mul(m, lr), den)), at("p"))
		})
}

const (
	magic = 3 << 22 // 1.5·2²³: adding and subtracting it rounds to an integer
	ln2Hi = 0.693359375
	ln2Lo = -2.12194440e-4
)

// expCore returns p, n and t with eˣ = p·2ⁿ; the low bits of t are n as an integer.
func (v vec) expCore(x reg.VecVirtual) (p, n, t reg.VecVirtual) {
	t = v.fma(v.load(num(math.Log2E)), x, num(magic))
	n = v.sub(t, num(magic))
	r := v.fnmadd(v.copy(x), n, num(ln2Hi))
	r = v.fnmadd(r, n, num(ln2Lo))
	p = v.poly(r, 1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
	return v.add(v.fma(p, v.mul(r, r), r), num(1)), n, t
}

// exp returns eˣ for every x. NaN passes the bounds because it is the second operand of max and min.
func (v vec) exp(x reg.VecVirtual) reg.VecVirtual {
	x = v.max(v.load(num(-104)), x)
	x = v.min(v.load(num(89)), x)
	p, n, t := v.expCore(x)
	if v.wide() {
		VSCALEFPS(n, p, p)
		return p
	}
	// In two steps: 2ⁿ alone can be beyond the range of normal numbers.
	i := v.subInt(t, num(magic))
	h := v.sar(i, 1)
	l := v.subInt(i, h)
	one := num(1)
	return v.mul(v.mul(p, v.addInt(v.shl(h, 23), one)), v.addInt(v.shl(l, 23), one))
}

// logSplit returns f in [√½−1, √2−1] and the integer e, as a number, with x = (1+f)·2ᵉ, for x positive and normal.
func (v vec) logSplit(x reg.VecVirtual) (f, e reg.VecVirtual) {
	n := v.sar(v.subInt(x, num(math.Sqrt2/2)), 23)
	return v.sub(v.subInt(x, v.shl(n, 23)), num(1)), v.float(n)
}

// logPoly returns P(f) of log(1+f) = f − f²/2 + f³·P(f).
func (v vec) logPoly(f reg.VecVirtual) reg.VecVirtual {
	return v.poly(f, 7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
		2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)
}

// logOf returns log(1+f) + e·ln 2.
func (v vec) logOf(f, e reg.VecVirtual) reg.VecVirtual {
	z := v.mul(f, f)
	y := v.mul(v.mul(v.logPoly(f), f), z)
	y = v.fmadd(y, e, num(ln2Lo))
	y = v.fnmadd(y, z, num(0.5))
	return v.fmadd(v.add(y, f), e, num(ln2Hi))
}

// clampMin counts what it raises.
func (v vec) clampMin() {
	v.function("clampMin", "clampMinGeneric", "func(x []float32, lo float32) int")
	x, n, raised, k := GP64(), GP64(), GP64(), GP32()
	Load(Param("x").Base(), x)
	Load(Param("x").Len(), n)
	lo := v.param("lo")
	XORQ(raised, raised)
	v.blocks(n, func(i reg.GPVirtual, disp int) {
		m := Mem{Base: x, Index: i, Scale: 1, Disp: disp}
		r := v.load(m)
		below := v.compare(less, r, lo)
		if v.wide() {
			KMOVW(below, k)
		} else {
			VMOVMSKPS(below, k)
		}
		POPCNTL(k, k)
		ADDQ(k.As64(), raised)
		VMOVUPS(v.max(lo, r), m)
	})
	Store(raised, ReturnIndex(0))
	leave()
}

// sumRows adds rows to acc, four blocks of columns at a time and then one, so that each sum stays in its register.
func (v vec) sumRows() {
	v.function("sumRows", "sumRowsGeneric", "func(acc, rows []float32, n int, stride int)")
	acc, src, cols, rows, stride := GP64(), GP64(), GP64(), GP64(), GP64()
	Load(Param("acc").Base(), acc)
	Load(Param("rows").Base(), src)
	Load(Param("acc").Len(), cols)
	Load(Param("n"), rows)
	Load(Param("stride"), stride)
	SHLQ(Imm(2), stride)
	for _, blocks := range []int{4, 1} {
		name := map[int]string{4: "four", 1: "one"}[blocks]
		Label(name)
		CMPQ(cols, Imm(uint64(16*blocks)))
		JLT(LabelRef(name + "done"))
		var sums []reg.VecVirtual
		vectors := 16 * blocks / v.lanes
		for i := range vectors {
			sums = append(sums, v.load(Mem{Base: acc, Disp: 4 * v.lanes * i}))
		}
		p, r := GP64(), GP64()
		MOVQ(src, p)
		MOVQ(rows, r)
		Label(name + "row")
		for i, s := range sums {
			VADDPS(Mem{Base: p, Disp: 4 * v.lanes * i}, s, s)
		}
		ADDQ(stride, p)
		DECQ(r)
		JNZ(LabelRef(name + "row"))
		for i, s := range sums {
			VMOVUPS(s, Mem{Base: acc, Disp: 4 * v.lanes * i})
		}
		ADDQ(U32(64*blocks), acc)
		ADDQ(U32(64*blocks), src)
		SUBQ(Imm(uint64(16*blocks)), cols)
		JMP(LabelRef(name))
		Label(name + "done")
	}
	leave()
}
