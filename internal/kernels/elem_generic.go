package kernels

import "math"

// Coefficients of the elementary functions. Cephes (Moshier, single precision): exp and log. The logarithm of 1+e and
// the sine and cosine are minimax polynomials of this program's own.
const (
	magic = 3 << 22 // 1.5·2²³: adding and subtracting it rounds to an integer
	ln2Hi = 0.693359375
	ln2Lo = -2.12194440e-4

	expMin = -104 // e^-104 rounds to 0
	expMax = 89   // e^89 is beyond the largest float32
)

// exp32 returns eˣ.
func exp32(x float32) float32 {
	// NaN fails both comparisons and passes.
	if x < expMin {
		x = expMin
	}
	if x > expMax {
		x = expMax
	}
	p, n := expCore(x)
	// In two steps: 2ⁿ alone can be beyond the range of normal numbers.
	h := n >> 1
	return p * pow2(h) * pow2(n-h)
}

// expCore returns p in (0.7, 1.5) and n with eˣ = p·2ⁿ.
func expCore(x float32) (p float32, n int32) {
	f := float32(x*math.Log2E+magic) - magic
	r := x - f*ln2Hi
	r -= f * ln2Lo
	p = 1.9875691500e-4
	p = p*r + 1.3981999507e-3
	p = p*r + 8.3334519073e-3
	p = p*r + 4.1665795894e-2
	p = p*r + 1.6666665459e-1
	p = p*r + 5.0000001201e-1
	return p*(r*r) + r + 1, int32(f)
}

// pow2 returns 2ⁿ for n in [-126, 127].
func pow2(n int32) float32 { return math.Float32frombits(uint32(n+127) << 23) }

// logSplit returns f in [√½−1, √2−1] and the integer e with x = (1+f)·2ᵉ, for x positive and normal.
func logSplit(x float32) (f, e float32) {
	const sqrtHalf = 0x3f3504f3
	b := math.Float32bits(x)
	n := int32(b-sqrtHalf) >> 23
	return math.Float32frombits(b-uint32(n)<<23) - 1, float32(n)
}

// logPoly returns P(f) of log(1+f) = f − f²/2 + f³·P(f).
func logPoly(f float32) float32 {
	var p float32 = 7.0376836292e-2
	p = p*f - 1.1514610310e-1
	p = p*f + 1.1676998740e-1
	p = p*f - 1.2420140846e-1
	p = p*f + 1.4249322787e-1
	p = p*f - 1.6668057665e-1
	p = p*f + 2.0000714765e-1
	p = p*f - 2.4999993993e-1
	return p*f + 3.3333331174e-1
}

func expGeneric(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		dst[i] = exp32(v)
	}
}

func addGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func mulGeneric(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func scaleGeneric(dst, x []float32, a float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] = a * x[i]
	}
}

func combineGeneric(dst, x, y []float32, a, b float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = a*x[i] + b*y[i]
	}
}

func axpyGeneric(dst, x []float32, a float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += a * x[i]
	}
}

func clampMinGeneric(x []float32, lo float32) int {
	raised := 0
	for i, v := range x {
		if v < lo {
			x[i] = lo
			raised++
		}
	}
	return raised
}

func biasReLUGeneric(y, b []float32) {
	b = b[:len(y)]
	for i := range y {
		v := y[i] + b[i]
		if v < 0 {
			v = 0
		}
		y[i] = v
	}
}

func reluGradGeneric(dst, g, y []float32) {
	g, y = g[:len(dst)], y[:len(dst)]
	for i := range dst {
		v := g[i]
		if !(y[i] > 0) {
			v = 0
			if y[i] != y[i] {
				v = y[i]
			}
		}
		dst[i] = v
	}
}

// sumRowsGeneric adds the first rows of g, stride apart, to acc.
func sumRowsGeneric(acc, g []float32, rows, stride int) {
	for r := range rows {
		row := g[r*stride:][:len(acc)]
		for i := range acc {
			acc[i] += row[i]
		}
	}
}
