package plots

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// multiples are ticks at multiples of 1, 2 or 5 times a power of ten, five or so of them.
type multiples struct {
	whole bool // of whole numbers alone
}

// Ticks implements [plot.Ticker].
func (m multiples) Ticks(low, high float64) []plot.Tick {
	step := math.Pow10(int(math.Floor(math.Log10((high - low) / 4))))
	for _, more := range []float64{5, 2} {
		if (high-low)/(more*step) >= 4 {
			step *= more
			break
		}
	}
	if m.whole {
		step = max(step, 1)
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := range 12 {
		v := (math.Ceil(low/step-1e-9) + float64(i)) * step
		if !(v <= high+1e-9*step) { // not even if it is NaN
			break
		}
		ticks = append(ticks, plot.Tick{Value: v, Label: number(v, decimals)})
	}
	return ticks
}

// number writes v as a tick does: large numbers as powers of ten.
func number(v float64, decimals int) string {
	if math.Abs(v) >= 1e7 || decimals > 8 {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	v += 0 // −0 becomes 0
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
