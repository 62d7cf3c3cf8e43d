package gp

import (
	"fmt"
	"testing"

	"fedbayes/internal/kernels"
)

// The sizes of a client of MNIST in the small regime: 5 labels of 50 images, 100 features.
const benchWidth, benchClasses = 100, 5

func BenchmarkLoss(b *testing.B) {
	for _, n := range []int{250, 500} {
		z, y := clusters(source(1), n, benchWidth, benchClasses, 0.8)
		dz := make([]float64, len(z))
		for _, m := range []string{"variational", "gibbs", "one-vs-rest"} {
			b.Run(fmt.Sprintf("%s/%d", m, n), func(b *testing.B) {
				for b.Loop() {
					models[m].Loss(dz, z, y, n/2, benchWidth)
				}
			})
		}
	}
}

func BenchmarkFit(b *testing.B) {
	for _, n := range []int{250, 500, 1000} {
		z, y := clusters(source(1), n, benchWidth, benchClasses, 0.8)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				models["variational"].Fit(z, y, benchWidth)
			}
		})
	}
}

// BenchmarkLogProbs predicts 128 examples.
func BenchmarkLogProbs(b *testing.B) {
	for _, n := range []int{250, 500, 1000} {
		z, y := clusters(source(1), n, benchWidth, benchClasses, 0.8)
		c := models["variational"].Fit(z, y, benchWidth)
		cpu, test, dst := kernels.New(kernels.Best()), narrow(z[:128*benchWidth]), make([]float32, 128*10)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				c.LogProbs(cpu, dst, test, 10)
			}
		})
	}
}
