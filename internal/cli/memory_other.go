//go:build !linux

package cli

// memory returns the bytes of memory of this machine, 0 if they are not known.
func memory() uint64 { return 0 }
