//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package results

import "os"

// lock would keep others from replacing a run that still goes on; here they may, and the run notices.
func lock(*os.File) bool { return true }
