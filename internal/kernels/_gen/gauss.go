package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func init() {
	generators["gauss"] = func() {
		startConstants("gaussConstants")
		for _, v := range vecs {
			v.kernel("softplus", "softplusGeneric", []string{"sigma", "dsigma", "rho"}, "", nil, func(at func(string) Mem) {
				s, d := v.softplus(v.load(at("rho")))
				VMOVUPS(s, at("sigma"))
				VMOVUPS(d, at("dsigma"))
			})
			v.kernel("sample", "sampleGeneric", []string{"theta", "mu", "sigma", "eps"}, "", nil, func(at func(string) Mem) {
				VMOVUPS(v.fma(v.load(at("sigma")), v.load(at("eps")), at("mu")), at("theta"))
			})
			v.kernel("sampleGrad", "sampleGradGeneric", []string{"drho", "dtheta", "eps", "dsigma"}, "", nil, func(at func(string) Mem) {
				VMOVUPS(v.mul(v.mul(v.load(at("dtheta")), at("eps")), at("dsigma")), at("drho"))
			})
			v.kernel("varianceGrad", "varianceGradGeneric", []string{"drho", "dvar", "sigma", "dsigma"}, "", nil, func(at func(string) Mem) {
				half := v.mul(v.mul(v.load(at("dvar")), at("sigma")), at("dsigma"))
				VMOVUPS(v.add(half, half), at("drho"))
			})
			v.kl("kl", "klGeneric", "dmq, drq, dmw, drw, mq, sq, dq, mw, sw, dw")
			v.kl("klTo", "klToGeneric", "dmq, drq, mq, sq, dq, mw, sw")
		}
	}
}

// softplus returns log(1+eᵖ) and 1/(1+e⁻ᵖ).
func (v vec) softplus(rho reg.VecVirtual) (s, d reg.VecVirtual) {
	x := v.max(v.load(num(-87.33654)), v.or(rho, bits(1<<31))) // −|ρ|; NaN passes as the second operand
	e, n, t := v.expCore(x)
	if v.wide() {
		VSCALEFPS(n, e, e)
	} else {
		e = v.mul(e, v.addInt(v.shl(t, 23), num(1)))
	}
	s = v.add(v.max(v.zero(), rho), v.log1p01(e))
	one := v.load(num(1))
	return s, v.div(v.ifNegative(rho, e, one), v.add(e, one))
}

// log1p01 returns log(1+e) for e in [0, 1]: 2·artanh(t/2) of t = 2e/(2+e).
func (v vec) log1p01(e reg.VecVirtual) reg.VecVirtual {
	t := v.div(e, v.fma(v.load(num(0.5)), e, num(1)))
	z := v.mul(t, t)
	p := v.poly(z, 0.1161246088505824/1024, 0.10853230498709278/256, 0.14296182397592277/64, 0.1999985310341255/16, 0.3333333366043575/4)
	return v.fma(v.mul(z, p), t, t)
}

// kl adds the divergence of each element to its lane of sum and writes the gradients that are among its slices: those to
// w or not.
func (v vec) kl(name, reference, slices string) {
	v.function(name, reference, "func(sum *[16]float32, "+slices+" []float32)")
	base := map[string]reg.GPVirtual{}
	for _, s := range strings.Split(slices, ", ") {
		base[s] = GP64()
		Load(Param(s).Base(), base[s])
	}
	n, p := GP64(), GP64()
	Load(Param("mq").Len(), n)
	Load(Param("sum"), p)
	var sums []reg.VecVirtual
	for disp := 0; disp < 64; disp += 4 * v.lanes {
		sums = append(sums, v.load(Mem{Base: p, Disp: disp}))
	}
	v.blocks(n, func(i reg.GPVirtual, disp int) {
		at := func(s string) Mem { return Mem{Base: base[s], Index: i, Scale: 1, Disp: disp} }
		sum := sums[disp/(4*v.lanes)]
		sq, sw := v.load(at("sq")), v.load(at("sw"))
		one := v.load(num(1))
		iq, iw := v.div(one, sq), v.div(one, sw)
		u := v.mul(v.sub(v.load(at("mq")), at("mw")), iw)
		r := v.mul(v.sub(sq, sw), iw)

		// The gradients.
		a := v.mul(r, v.add(r, num(2)))
		VMOVUPS(v.mul(a, v.mul(iq, at("dq"))), at("drq"))
		du := v.mul(u, iw)
		VMOVUPS(du, at("dmq"))
		zero := v.zero()
		u2 := v.mul(u, u)
		if base["dw"] != nil {
			VMOVUPS(v.sub(zero, du), at("dmw"))
			VMOVUPS(v.mul(v.sub(zero, v.add(a, u2)), v.mul(iw, at("dw"))), at("drw"))
		}

		// The divergence.
		f, e := v.logSplit(v.mul(sq, iw))
		f = v.choose(v.compare(equal, e, zero), r, f)
		z := v.mul(f, f)
		h := v.add(v.fmadd(u2, r, r), z)
		k := v.fnmadd(v.sub(r, f), e, num(0.6931471805599453))
		k = v.fmadd(k, h, num(0.5))
		k = v.fnmadd(k, v.mul(f, z), v.logPoly(f))
		VADDPS(k, sum, sum)
	})
	Load(Param("sum"), p)
	for i, s := range sums {
		VMOVUPS(s, Mem{Base: p, Disp: 4 * v.lanes * i})
	}
	leave()
}
