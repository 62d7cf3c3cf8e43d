package graph_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "fedbayes/graph"
	"fedbayes/graph/graphtest"
	"fedbayes/internal/kernels"
)

// variances64 returns log(1+e^ρ)².
func variances64(rho []float64) []float64 {
	v := make([]float64, len(rho))
	for i, r := range rho {
		v[i] = softplus(r) * softplus(r)
	}
	return v
}

func squares64(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = v * v
	}
	return y
}

// perturb64 returns m + √(v + 10⁻¹²)⊙ε, rectified if relu.
func perturb64(m, v, noise []float64, relu bool) []float64 {
	y := make([]float64, len(m))
	for i := range m {
		y[i] = m[i] + math.Sqrt(v[i]+1e-12)*noise[i]
		if relu {
			y[i] = math.Max(y[i], 0)
		}
	}
	return y
}

// TestLocalDense checks a dense layer whose outputs are drawn, with gradients to its input, to the means and to ρ.
func TestLocalDense(t *testing.T) {
	for _, size := range [][4]int{{1, 1, 2, 0}, {1, 7, 3, 0}, {3, 17, 2, 0}, {7, 5, 10, 0}, {7, 5, 10, 4}, {17, 33, 10, 0}} {
		for _, relu := range []bool{false, true} {
			batch, in, out, rows := size[0], size[1], size[2], size[3]
			t.Run(fmt.Sprintf("%dx%dx%d/rows=%d/relu=%v", batch, in, out, rows, relu), func(t *testing.T) {
				r := rand.New(rand.NewPCG(31, 32))
				n, live := in*out+out, batch
				if rows > 0 {
					live = rows
				}
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						flat, q := b.Param("x", batch*in), b.Gaussian("q", n)
						x, v := Slice(flat, 0, batch, in), q.Variance()
						mean := Dense(x, Slice(q.Mu, 0, in, out), Slice(q.Mu, in*out, out), false)
						spread := Dense(Square(x), Slice(v, 0, in, out), Slice(v, in*out, out), false)
						y := Perturb(mean, spread, b.Input("noise", batch, out), relu)
						b.Minimize("loss", CrossEntropy(y, b.Input("y", batch)), flat, q.Mu, q.Rho)
					},
					Params: map[string][]float32{"x": normals(r, batch*in, 0, 1), "q.mu": normals(r, n, 0, 1), "q.rho": normals(r, n, -1, 1)},
					Data:   map[string][]float32{"y": labels(r, batch, out), "noise": normals(r, batch*out, 0, 1)},
					Rows:   rows,
					Loss: func(v map[string][]float64) float64 {
						mu, s := v["q.mu"], variances64(v["q.rho"])
						mean := dense64(v["x"], mu[:in*out], mu[in*out:], live, in, out, false)
						spread := dense64(squares64(v["x"]), s[:in*out], s[in*out:], live, in, out, false)
						return crossEntropy64(perturb64(mean, spread, v["noise"], relu), v["y"], live, out)
					},
				})
			})
		}
	}
}

// TestLocalConv is the same for convolutions, with a pooling after the draw.
func TestLocalConv(t *testing.T) {
	const batch, side, in, out = 3, 4, 2, 5
	const nw, n, classes = 9 * in * out, 9*in*out + out, side / 2 * side / 2 * out
	win, half := Window{3, 3, 1, Same}, Window{2, 2, 2, Valid}
	for _, rows := range []int{0, 2} {
		for _, relu := range []bool{false, true} {
			t.Run(fmt.Sprintf("rows=%d/relu=%v", rows, relu), func(t *testing.T) {
				r := rand.New(rand.NewPCG(33, 34))
				live := batch
				if rows > 0 {
					live = rows
				}
				graphtest.Check(t, graphtest.Case{
					Build: func(b *Builder) {
						x, q := b.Param("x", batch*side*side*in), b.Gaussian("q", n)
						images, v := Reshape(x, batch, side, side, in), q.Variance()
						mean := Conv2D(images, Slice(q.Mu, 0, 3, 3, in, out), Slice(q.Mu, nw, out), win, false)
						spread := Conv2D(Square(images), Slice(v, 0, 3, 3, in, out), Slice(v, nw, out), win, false)
						y := MaxPool2D(Perturb(mean, spread, b.Input("noise", batch, side, side, out), relu), half)
						b.Minimize("loss", CrossEntropy(Reshape(y, batch, classes), b.Input("y", batch)), x, q.Mu, q.Rho)
					},
					Params: map[string][]float32{
						"x": normals(r, batch*side*side*in, 0, 1), "q.mu": normals(r, n, 0, 1), "q.rho": normals(r, n, -1, 1),
					},
					Data: map[string][]float32{"y": labels(r, batch, classes), "noise": normals(r, batch*side*side*out, 0, 1)},
					Rows: rows,
					Loss: func(v map[string][]float64) float64 {
						mu, s := v["q.mu"], variances64(v["q.rho"])
						mean := conv64(v["x"], mu[:nw], mu[nw:], live, side, side, in, out, win, false)
						spread := conv64(squares64(v["x"]), s[:nw], s[nw:], live, side, side, in, out, win, false)
						y := pool64(perturb64(mean, spread, v["noise"], relu), live, side, side, out, half)
						return crossEntropy64(y, v["y"], live, classes)
					},
				})
			})
		}
	}
}

// TestLocalWithoutInput checks a unit whose inputs are all 0 and which has no bias: its gradients are finite.
func TestLocalWithoutInput(t *testing.T) {
	p, err := Build(func(b *Builder) {
		m, v := b.Param("m", 2), b.Param("v", 2)
		y := Perturb(Slice(m, 0, 1, 2), Slice(v, 0, 1, 2), b.Input("noise", 1, 2), false)
		b.Minimize("loss", CrossEntropy(y, b.Input("y", 1)), m, v)
	})
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewExecutor(kernels.New(kernels.Best()))
	e.Feed("m", []float32{1, 2})
	e.Feed("v", []float32{0, 0})
	e.Feed("noise", []float32{1, 0})
	e.Feed("y", []float32{0})
	e.Run(1)
	if g := e.Grad("v"); math.IsInf(float64(g[0]), 0) || math.IsNaN(float64(g[0])) || g[0] == 0 || g[1] != 0 {
		t.Errorf("gradients %v to variances of 0, want a finite one where there is noise", g)
	}
}

// TestLocalMoments draws outputs both ways: mean and variance of the local draws are those of draws of the weights.
func TestLocalMoments(t *testing.T) {
	const batch, in, out, draws = 3, 5, 2, 20000
	const n = in*out + out
	r := rand.New(rand.NewPCG(35, 36))
	p, err := Build(func(b *Builder) {
		x, q := b.Input("x", batch, in), b.Gaussian("q", n)
		w, v := q.Draw(b.Input("weight noise", n)), q.Variance()
		b.Output("weights", Dense(x, Slice(w, 0, in, out), Slice(w, in*out, out), false))
		mean := Dense(x, Slice(q.Mu, 0, in, out), Slice(q.Mu, in*out, out), false)
		spread := Dense(Square(x), Slice(v, 0, in, out), Slice(v, in*out, out), false)
		b.Output("local", Perturb(mean, spread, b.Input("noise", batch, out), false))
	})
	if err != nil {
		t.Fatal(err)
	}
	e := p.NewExecutor(kernels.New(kernels.Best()))
	e.Feed("x", normals(r, batch*in, 0, 1))
	e.Feed("q.mu", normals(r, n, 0, 1))
	e.Feed("q.rho", normals(r, n, -1, 0.5))
	var first, second [2][batch * out]float64
	for range draws {
		copy(e.Buffer("weight noise"), normals(r, n, 0, 1))
		copy(e.Buffer("noise"), normals(r, batch*out, 0, 1))
		e.Run(batch)
		for way, name := range []string{"weights", "local"} {
			for i, y := range e.Fetch(name) {
				first[way][i] += float64(y) / draws
				second[way][i] += float64(y) * float64(y) / draws
			}
		}
	}
	for i := range first[0] {
		v, w := second[0][i]-first[0][i]*first[0][i], second[1][i]-first[1][i]*first[1][i]
		// Five standard errors of a difference of two estimates.
		if d := first[0][i] - first[1][i]; math.Abs(d) > 5*math.Sqrt(2*v/draws) {
			t.Errorf("mean of output %d: %v from weights, %v from outputs", i, first[0][i], first[1][i])
		}
		if math.Abs(v-w) > 5*v*math.Sqrt(4.0/draws) {
			t.Errorf("variance of output %d: %v from weights, %v from outputs", i, v, w)
		}
	}
}
