package kernels

import "slices"

// An ISA is an instruction set that the kernels are written for.
type ISA uint8

// The instruction sets, slowest first. Generic is plain Go and the reference for the others.
const (
	Generic ISA = iota
	AVX2        // AVX2 and FMA
	AVX512      // AVX-512 F alone
)

// String returns the name of i in lower case, as run records and benchmarks write it.
func (i ISA) String() string {
	switch i {
	case Generic:
		return "generic"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return "unknown"
}

// Available returns the instruction sets that this machine can run, slowest first; Generic is always among them.
//
// GODEBUG=cpu.avx512f=off or cpu.avx2=off hides one that the machine has. With the build tag purego, and on other
// architectures than amd64, Generic is the only one.
func Available() []ISA { return append([]ISA{Generic}, native()...) }

// Best returns the fastest of Available.
func Best() ISA {
	all := Available()
	return all[len(all)-1]
}

// A CPU runs the kernels with one instruction set. It holds the scratch memory that they need, so each goroutine has
// a CPU of its own; once the scratch has grown to the largest call, no kernel allocates.
//
// Kernels panic on slices whose lengths do not fit. Results do not depend on how slices are aligned.
type CPU struct {
	isa  ISA
	pack []float32 // packed panels of a GEMM's right operand
}

// New returns a CPU that runs on isa. It panics if isa is not in Available.
func New(isa ISA) *CPU {
	if !slices.Contains(Available(), isa) {
		panic("kernels: New: this machine or build cannot run " + isa.String())
	}
	return &CPU{isa: isa}
}
