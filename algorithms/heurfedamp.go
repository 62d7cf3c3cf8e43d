package algorithms

import "math"

// HeurFedAMP is FedAMP whose mixes go by angles in place of distances, which say little for deep networks.
//
//	server: ξᵢⱼ = (1 − ξᵢᵢ)·e^(σ·cos(wᵢ, wⱼ)) / Σ over h ≠ i of e^(σ·cos(wᵢ, w_h)),  ξᵢᵢ a constant
//
// All else is FedAMP's; α is in the proximal term alone. Angles of networks with one start differ by little, so that σ has
// to be large.
//
// Huang et al., Personalized Cross-Silo Federated Learning on Non-IID Data. AAAI 2021.
type HeurFedAMP struct {
	FedAMP
	SelfWeight float64 // ξᵢᵢ; 0 stands for one part in as many as the server knows clients
}

// NewHeurFedAMP returns HeurFedAMP with its defaults: cosines on MNIST differ by hundredths and less, so σ is 100.
func NewHeurFedAMP() *HeurFedAMP {
	m := &HeurFedAMP{FedAMP: *NewFedAMP()}
	m.Sigma = 100
	return m
}

func (m *HeurFedAMP) Params() []Param {
	params := m.FedAMP.Params()
	for i := range params {
		switch p := &params[i]; p.Name {
		case "sigma":
			p.Usage, p.Min = "factor σ of the cosine of two clients' weights", 0
		case "step":
			p.Usage = "α, which divides λ"
		}
	}
	return append(params, Param{Name: "self-weight", Usage: "weight of a client's own weights in its mix; 0 stands for 1/clients", Value: &m.SelfWeight, Max: 1})
}

func (m *HeurFedAMP) Idle() map[string]string {
	idle := m.FedAMP.Idle()
	if m.Lambda == 0 {
		for _, name := range []string{"step", "step-decay", "step-every"} {
			idle[name] = "with --lambda 0 there is no proximal term"
		}
	}
	return idle
}

func (m *HeurFedAMP) Download(s AMPServer, i int) AMPDownload {
	own, others := s.around(i)
	return AMPDownload{mix(own, others, m.weights(own, others)), float32(m.alpha(s))}
}

// weights returns ξᵢⱼ of each other client.
func (m *HeurFedAMP) weights(own []float32, others [][]float32) []float64 {
	xi := make([]float64, len(others))
	top := math.Inf(-1)
	for j, w := range others {
		xi[j] = m.Sigma * cosine(own, w)
		top = max(top, xi[j])
	}
	var sum float64
	for j := range xi {
		xi[j] = math.Exp(xi[j] - top)
		sum += xi[j]
	}
	self := m.SelfWeight
	if self == 0 {
		self = 1 / float64(1+len(others))
	}
	for j := range xi {
		xi[j] *= (1 - self) / sum
	}
	return xi
}

// cosine returns that of the angle between a and b, and 0 if one of them is the null vector.
func cosine(a, b []float32) float64 {
	var ab, aa, bb float64
	for k, x := range a {
		x, y := float64(x), float64(b[k])
		ab += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}
