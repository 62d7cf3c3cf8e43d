package algorithms

import (
	"context"
	"math"
	"slices"

	"fedbayes/datasets"
	"fedbayes/graph"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// FedAMP sends each client a mix of all clients' weights, in which those near its own weigh most.
//
//	server: ξᵢⱼ = α·A′(‖wᵢ − wⱼ‖²) for j ≠ i,  A′(x) = e^(−x/σ)/σ,  ξᵢᵢ = 1 − Σ ξᵢⱼ
//	        uᵢ = Σ ξᵢⱼ·wⱼ
//	client: wᵢ ← min over w  CE(w) + λ/(2α)·‖w − uᵢ‖², from uᵢ on
//
// A client predicts with its wᵢ; there is no global model. The server keeps the last weights of each client, so a round
// may sample some clients only.
//
// Distances grow with the network. Where σ is far below them, every ξᵢⱼ is 0 and each client trains alone; where it is
// far above, all have one mean. α shrinks by --step-decay each --step-every rounds.
//
// Huang et al., Personalized Cross-Silo Federated Learning on Non-IID Data. AAAI 2021. Algorithm 1.
//
// Deviates: a row of ξ whose Σ ξᵢⱼ passes 1 is divided by it, because uᵢ is a convex combination for α ≤ σ/(N−1) only.
type FedAMP struct {
	Descent

	Lambda float64 // λ, weight of what clients have in common
	Sigma  float64 // σ, of squared distances
	Step   float64 // α in the first rounds
	Decay  float64 // of α, each Every rounds
	Every  int
}

// NewFedAMP returns FedAMP with its defaults. On MNIST, medium regime, squared distances of clients' weights were 0.04 to 2
// over 60 rounds, so σ is 1.
//
// Deviates: α stays at 10⁴. Public code takes a tenth of it each 30 rounds, which over hundreds of rounds holds clients at
// their mixes: at round 200 of MNIST, medium regime, HeurFedAMP's PM was 91.6 % so and 94.8 % with α as it was (σ = 25,
// η = 0.05, seed 1).
func NewFedAMP() *FedAMP {
	return &FedAMP{Descent: Descent{Optimizer: "sgd", LR: 0.1}, Lambda: 1, Sigma: 1, Step: 1e4, Decay: 1, Every: 30}
}

// AMPServer is what the server of FedAMP and of HeurFedAMP keeps.
type AMPServer struct {
	Start []float32   // that all clients start from
	W     [][]float32 // last weights of each client, by its number; empty until it has sent some
	Round int         // rounds that are over
}

// AMPDownload is what a client gets: the mix uᵢ, and the round's α.
type AMPDownload struct {
	U     []float32
	Alpha float32
}

// alphaFloor bounds α from below, however often it shrinks: clients divide by it.
const alphaFloor = 1e-9

func (m *FedAMP) Params() []Param {
	return append(m.Descent.Params(),
		Param{Name: "lambda", Usage: "weight λ of the proximal term, whose whole weight is λ/α", Value: &m.Lambda, Max: 1e6},
		Param{Name: "sigma", Usage: "scale σ of the squared distance of two clients' weights", Value: &m.Sigma, Min: 1e-6, Max: inf},
		Param{Name: "step", Usage: "step α of the server", Value: &m.Step, Min: alphaFloor, Max: 1e9},
		Param{Name: "step-decay", Usage: "factor by which α shrinks", Value: &m.Decay, Open: true, Max: 1},
		Param{Name: "step-every", Usage: "rounds after which α shrinks", Value: &m.Every, Min: 1, Max: inf},
	)
}

func (m *FedAMP) Idle() map[string]string {
	idle := m.Descent.Idle()
	if m.Decay == 1 {
		idle["step-every"] = "with --step-decay 1 the step does not shrink"
	}
	return idle
}

func (m *FedAMP) Objective(b *graph.Builder, task Task) { proximal(b, task) }

func (m *FedAMP) Server(task Task, cpu *kernels.CPU, r rng.Stream) AMPServer {
	return AMPServer{Start: m.Descent.Server(task, cpu, r)}
}

func (m *FedAMP) Client(_ Task, _ *kernels.CPU, s AMPServer, _ rng.Stream) []float32 {
	return slices.Clone(s.Start)
}

func (m *FedAMP) Download(s AMPServer, i int) AMPDownload {
	own, others := s.around(i)
	alpha := m.alpha(s)
	return AMPDownload{mix(own, others, m.weights(own, others, alpha)), float32(alpha)}
}

// alpha returns α in the round at hand.
func (m *FedAMP) alpha(s AMPServer) float64 {
	return max(alphaFloor, m.Step*math.Pow(m.Decay, float64(s.Round/m.Every)))
}

// weights returns ξᵢⱼ of each other client.
func (m *FedAMP) weights(own []float32, others [][]float32, alpha float64) []float64 {
	xi := make([]float64, len(others))
	var sum float64
	for j, w := range others {
		xi[j] = alpha * math.Exp(-squaredDistance(own, w)/m.Sigma) / m.Sigma
		sum += xi[j]
	}
	if sum > 1 {
		for j := range xi {
			xi[j] /= sum
		}
	}
	return xi
}

// around returns what the server has of client i, which is the start if it has sent nothing, and of the others that have,
// in ascending order.
func (s AMPServer) around(i int) (own []float32, others [][]float32) {
	own = s.Start
	for j, w := range s.W {
		switch {
		case len(w) == 0:
		case j == i:
			own = w
		default:
			others = append(others, w)
		}
	}
	return own, others
}

// mix returns (1 − Σ ξⱼ)·own + Σ ξⱼ·others[j].
func mix(own []float32, others [][]float32, xi []float64) []float32 {
	sum := make([]float64, len(own))
	for j, w := range others {
		for k, x := range w {
			sum[k] += xi[j] * (float64(x) - float64(own[k]))
		}
	}
	u := make([]float32, len(own))
	for k, x := range own {
		u[k] = float32(float64(x) + sum[k])
	}
	return u
}

// squaredDistance returns ‖a − b‖².
func squaredDistance(a, b []float32) float64 {
	var sum float64
	for k, x := range a {
		d := float64(x) - float64(b[k])
		sum += d * d
	}
	return sum
}

// Train runs steps of rate η/(1 + η·c) with c = λ/α. For sgd such a step is the implicit one, stable for any c:
//
//	w − η/(1+ηc)·(g + c·(w − u)) = (w − η·g + η·c·u) / (1 + η·c)
//
// Adam's steps are never longer than η, and stay as they are.
func (m *FedAMP) Train(ctx context.Context, w *Worker, d AMPDownload, c *[]float32, data *Data, _ rng.Stream) ([]float32, Report, error) {
	near := m.Lambda / float64(d.Alpha)
	w.Exec.Feed("anchor", d.U)
	w.Exec.Set("mu", float32(near))
	steps := m.Descent
	if steps.Optimizer == "sgd" {
		steps.LR /= 1 + steps.LR*near
	}
	p := slices.Clone(d.U)
	rep, err := steps.descend(ctx, w, p, w.forgetful(0), data)
	copy(*c, p)
	return p, rep, err
}

func (m *FedAMP) Aggregate(s *AMPServer, ups []Upload[[]float32]) {
	if n := ups[len(ups)-1].Client + 1; n > len(s.W) {
		s.W = append(s.W, make([][]float32, n-len(s.W))...)
	}
	for _, u := range ups {
		s.W[u.Client] = slices.Clone(u.Msg)
	}
	s.Round++
}

func (m *FedAMP) Personal(_ AMPServer, c []float32, _ *datasets.Examples) Predictor { return Point(c) }
func (m *FedAMP) Global(AMPServer) Predictor                                        { return nil }
func (m *FedAMP) TrainsAll() bool                                                   { return false }
