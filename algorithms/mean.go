package algorithms

// average returns Σ aᵢ·vᵢ / Σ aᵢ for the weights aᵢ = number of examples, summed in float64 in ascending order of client.
func average(ups []Upload[[]float32]) []float32 {
	sum := make([]float64, len(ups[0].Msg))
	var n float64
	for _, u := range ups {
		a := float64(u.Examples)
		n += a
		for i, x := range u.Msg {
			sum[i] += a * float64(x)
		}
	}
	mean := make([]float32, len(sum))
	for i, s := range sum {
		mean[i] = float32(s / n)
	}
	return mean
}
