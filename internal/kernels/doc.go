// Package kernels has the arithmetic that takes the time, on slices of float32: matrix products, convolutions and pooling
// with their gradients, elementwise functions, softmax and cross-entropy, draws from a Gaussian and its divergence, the
// optimizers' updates, random numbers.
//
// A kernel is a method of [CPU] that checks lengths once and hands the slices to one of its twins: plain Go in
// *_generic.go, which is the reference and all there is off amd64 and with the build tag purego, and assembly for AVX2
// and AVX-512, which the program in _gen writes (go generate). Some kernels are made of others and have no twins of their
// own: convolutions of the products in nest.go, softmax of [CPU.Exp]. The choice is New's argument and not a global
// variable: tests and benchmarks go over [Available] and so run every twin in one process.
//
//	cpu := kernels.New(kernels.Best())
//	cpu.GemmNN(rows, out, in, x, in, w, out, y, out) // y [rows, out] = x [rows, in] · w [in, out]
//	cpu.BiasReLU(y, b, rows, out, true)
package kernels
