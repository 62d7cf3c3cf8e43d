package algorithms

import (
	"fmt"
	"math"

	"fedbayes/priors"
)

// Vitals are two numbers that say how the global model fares, round by round. One is NaN where the method has nothing that
// it could be of.
type Vitals struct {
	Norm  float64 // ‖·‖ of the model's weights, or of their means; of several networks, that of the least
	Sigma float64 // mean over the weights of their standard deviation
}

// A monitored method is one that Global does not say the vitals of, as it predicts with something else than one network.
type monitored[S any] interface {
	Vitals(s S) Vitals
}

// A mortal method is one whose server can take all weights to 0 step by step. A network of ReLUs has no gradient there, so it
// stays; a run is ended before that.
type mortal interface {
	// Remedy says what may help, as "a smaller --lr".
	Remedy() string
}

// Vitals returns those of the server's state: the method's own, or else those of the weights that its global model has.
func (e erased[S, C, D, U]) Vitals(s any) Vitals {
	if own, ok := any(e.m).(monitored[S]); ok {
		return own.Vitals(*s.(*S))
	}
	switch g := e.Global(s).(type) {
	case Point:
		return Vitals{Norm: norm(g), Sigma: math.NaN()}
	case Perceptron:
		return Vitals{Norm: norm(g.W), Sigma: math.NaN()}
	case Bayes:
		return Vitals{Norm: norm(g.Mu), Sigma: meanSigma(priors.Gaussian(g))}
	}
	return Vitals{math.NaN(), math.NaN()}
}

// Remedy says what may help against weights that go to 0; "" of a method that they do not end.
func (e erased[S, C, D, U]) Remedy() string {
	if own, ok := any(e.m).(mortal); ok {
		return own.Remedy()
	}
	return ""
}

// norm returns ‖w‖, summed in float64.
func norm(w []float32) float64 {
	var squares float64
	for _, x := range w {
		squares += float64(x) * float64(x)
	}
	return math.Sqrt(squares)
}

// meanSigma returns the mean of σ = log(1+e^ρ) over the weights.
func meanSigma(g priors.Gaussian) float64 {
	var sum float64
	for _, rho := range g.Rho {
		sum += priors.Sigma(rho)
	}
	return sum / float64(len(g.Rho))
}

// Collapsed says that the global model's weights are next to nothing.
type Collapsed struct {
	Norm, Start float64 // ‖·‖ now and before the first round
	Remedy      string
}

func (e *Collapsed) Error() string {
	return fmt.Sprintf("the global model has died: the norm of its weights is %.3g, and was %.3g at the start (%s may help)", e.Norm, e.Start, e.Remedy)
}
