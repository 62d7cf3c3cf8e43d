//go:build amd64 && !purego

package kernels

import "golang.org/x/sys/cpu"

func native() []ISA {
	var all []ISA
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, AVX2)
		if cpu.X86.HasAVX512F {
			all = append(all, AVX512)
		}
	}
	return all
}

// Features returns the CPU features that Best relies on, for the record of a run.
func Features() []string {
	switch Best() {
	case AVX2:
		return []string{"avx2", "fma"}
	case AVX512:
		return []string{"avx2", "fma", "avx512f"}
	}
	return nil
}
