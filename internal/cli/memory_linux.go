package cli

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// memory returns the bytes of memory that there are for this process, 0 if they are not known: those of the machine, or
// fewer where its container has a limit.
func memory() uint64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit) //nolint:unconvert // 32 bits on some machines
	text, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if err != nil {
		return total
	}
	limit, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64) // or "max"
	if err != nil {
		return total
	}
	return min(total, limit)
}
