package plots

import "fmt"

// Unfit says that what was asked for cannot be drawn of these runs. Other errors are of the data themselves.
type Unfit struct{ why string }

func (u *Unfit) Error() string { return u.why }

func unfit(format string, args ...any) error { return &Unfit{fmt.Sprintf(format, args...)} }
