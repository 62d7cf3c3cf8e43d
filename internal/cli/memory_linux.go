package cli

import "syscall"

// memory returns the bytes of memory of this machine, 0 if they are not known.
func memory() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	return uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some machines
}
