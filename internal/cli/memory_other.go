//go:build !linux

package cli

// memory would return the bytes of memory that there are for this process; 0 says that they are not known.
func memory() uint64 { return 0 }
