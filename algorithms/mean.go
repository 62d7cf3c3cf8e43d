package algorithms

// weights returns what clients count for in a server's mean: each the same where the weighting is "uniform", its number of
// examples where it is "data".
func weights[U any](ups []Upload[U], weighting string) []float64 {
	a := make([]float64, len(ups))
	for k, u := range ups {
		a[k] = 1
		if weighting == "data" {
			a[k] = float64(u.Examples)
		}
	}
	return a
}

// average returns the mean of what the clients sent, weighted by their numbers of examples.
func average(ups []Upload[[]float32]) []float32 { return mean(ups, "data") }

// mean returns Σ aᵢ·vᵢ / Σ aᵢ for the weights aᵢ of a weighting, summed in float64 in ascending order of client.
func mean(ups []Upload[[]float32], weighting string) []float32 {
	sum := make([]float64, len(ups[0].Msg))
	var n float64
	for k, a := range weights(ups, weighting) {
		n += a
		for i, x := range ups[k].Msg {
			sum[i] += a * float64(x)
		}
	}
	out := make([]float32, len(sum))
	for i, s := range sum {
		out[i] = float32(s / n)
	}
	return out
}
