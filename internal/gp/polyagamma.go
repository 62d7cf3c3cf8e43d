package gp

import "math"

// pgMean returns the mean tanh(z/2)/(2z) of PG(1, z).
func pgMean(z float64) float64 {
	if z = math.Abs(z); z < 1e-3 {
		return 0.25 - z*z/48 // its series: the quotient would be 0/0
	}
	return math.Tanh(z/2) / (2 * z)
}

// pgCut is where the sampler's envelope goes over from an inverse Gaussian to an exponential.
const pgCut = 0.64

// pgDraw returns a draw of PG(1, z), exactly: a proposal from a two-part envelope is accepted once the partial sums of the
// density's alternating series settle on which side of it a uniform number lies.
//
// Polson, Scott and Windle, Bayesian Inference for Logistic Models Using Pólya–Gamma Latent Variables. JASA 2013.
func pgDraw(z float64, src Source) float64 {
	if math.IsNaN(z) {
		return z // nothing would ever be accepted
	}
	z = math.Abs(z) / 2
	rate := math.Pi*math.Pi/8 + z*z/2
	tail := pgTail(z, rate)
	for {
		var x float64
		if src.Float64() < tail {
			x = pgCut + src.ExpFloat64()/rate
		} else {
			x = inverseGaussian(z, src)
		}
		sum := pgTerm(0, x)
		u := src.Float64() * sum
		for n := 1; ; n++ {
			if n%2 == 0 {
				if sum += pgTerm(n, x); u > sum {
					break
				}
			} else if sum -= pgTerm(n, x); u <= sum {
				return x / 4
			}
		}
	}
}

// pgTerm returns the n-th term of the series at x.
func pgTerm(n int, x float64) float64 {
	h := float64(n) + 0.5
	if x > pgCut {
		return math.Pi * h * math.Exp(-h*h*math.Pi*math.Pi*x/2)
	}
	return math.Pi * h * math.Pow(2/(math.Pi*x), 1.5) * math.Exp(-2*h*h/x)
}

// pgTail returns the share P/(P+Q) of the envelope right of the cut.
func pgTail(z, rate float64) float64 {
	// Q = 2e⁻ᶻ·F, with F the distribution function of the inverse Gaussian of mean 1/z at the cut. From z = 20 on it is 1.
	f := 1.0
	if z < 20 {
		root := math.Sqrt(pgCut)
		f = phi((pgCut*z-1)/root) + math.Exp(2*z)*phi(-(pgCut*z+1)/root)
	}
	logRatio := math.Log(2*f) - z - math.Log(math.Pi/(2*rate)) + rate*pgCut // of Q to P
	return 1 / (1 + math.Exp(logRatio))
}

// phi is the distribution function of N(0, 1).
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// inverseGaussian returns a draw of the inverse Gaussian of mean 1/z and shape 1 that is no more than the cut.
func inverseGaussian(z float64, src Source) float64 {
	if z < 1/pgCut {
		// The cut is left of the mean: a draw of the Lévy distribution (z = 0) below the cut, thinned.
		for {
			e := src.ExpFloat64()
			if e*e > 2*src.ExpFloat64()/pgCut {
				continue
			}
			x := pgCut / ((1 + pgCut*e) * (1 + pgCut*e))
			if src.Float64() <= math.Exp(-z*z*x/2) {
				return x
			}
		}
	}
	mean := 1 / z
	for {
		n := src.NormFloat64()
		y := mean * n * n
		x := mean * (1 + y/2 - math.Sqrt(y+y*y/4))
		if src.Float64() > mean/(mean+x) {
			x = mean * mean / x
		}
		if x <= pgCut && x > 0 {
			return x
		}
	}
}
