package layers

import (
	"math"

	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// InitNormal returns parameters drawn from N(0, std²), weights and biases alike: the means of a Gaussian network
// (0.1 in the public code of pFedBayes).
func (m *Model) InitNormal(cpu *kernels.CPU, std float32, r rng.Stream) []float32 {
	w := make([]float32, m.Size())
	r.For(rng.Init).Normals(cpu, w, 0)
	cpu.Scale(w, std, w)
	return w
}

// InitHe returns weights drawn from N(0, 2/fan-in) and biases of zero: layers with ReLU neither blow up what passes
// through them nor let it fade, however deep the network is.
//
// He et al., Delving Deep into Rectifiers. ICCV 2015.
func (m *Model) InitHe(cpu *kernels.CPU, r rng.Stream) []float32 {
	w := m.InitNormal(cpu, 1, r)
	for _, s := range m.Segments {
		std := 0.0
		if len(s.Shape) > 1 {
			std = math.Sqrt(2 / float64(s.FanIn))
		}
		cpu.Scale(s.Of(w), float32(std), s.Of(w))
	}
	return w
}

// InitUniform returns parameters drawn from U(−a, a), a = 1/√fan-in of the layer, weights and biases alike: what PyTorch
// does for linear layers, and so what the deterministic methods were published with.
func (m *Model) InitUniform(r rng.Stream) []float32 {
	w := make([]float32, m.Size())
	gen := r.For(rng.Init).Rand()
	for _, s := range m.Segments {
		a := 1 / math.Sqrt(float64(s.FanIn))
		for i := range s.Of(w) {
			s.Of(w)[i] = float32((2*gen.Float64() - 1) * a)
		}
	}
	return w
}
