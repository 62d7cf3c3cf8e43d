//go:build !amd64 || purego

package kernels

func native() []ISA { return nil }

// Features returns the CPU features that Best relies on, for the record of a run.
func Features() []string { return nil }
