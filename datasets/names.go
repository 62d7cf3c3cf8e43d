package datasets

import (
	"slices"
	"strconv"
)

// ClassName is what a class is called, as its publishers do; its number where that is all the name it has.
func (e Entry) ClassName(class int) string {
	if class < 0 || class >= len(e.Names) {
		return strconv.Itoa(class)
	}
	return e.Names[class]
}

// class returns the class that a text names, by its number or its name.
func (e Entry) class(text string) (class int, ok bool) {
	if class = slices.IndexFunc(upTo(e.Classes), func(c int) bool { return e.ClassName(c) == text }); class >= 0 {
		return class, true
	}
	class, err := strconv.Atoi(text)
	return class, err == nil && class >= 0 && class < e.Classes
}

// upTo returns 0 … n−1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}
