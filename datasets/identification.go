package datasets

import (
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"strings"
)

// A mark tells a published file by how its data begin: it is the FNV-1a of the first 20 labels, or of the first 3,136
// pixels, which are four images of MNIST. Data sets with files of the same names have other marks.
type mark uint64

const (
	markedLabels = 20
	markedPixels = 3136
)

// marked returns how many values of a file with so many dimensions its mark is made of.
func marked(rank int) int {
	if rank == 1 {
		return markedLabels
	}
	return markedPixels
}

// markOf returns the mark of data with so many dimensions.
func markOf(data []uint8, rank int) mark {
	h := fnv.New64a()
	_, _ = h.Write(data[:min(len(data), marked(rank))]) // never fails
	return mark(h.Sum64())
}

// peek returns the mark of an IDX file; ok is false if it cannot be read, which its reader will say better.
func peek(fsys fs.FS, name string) (m mark, ok bool) {
	spelling, err := locate(fsys, name)
	if err != nil {
		return 0, false
	}
	f, err := fsys.Open(spelling)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	r, err := unzipped(f)
	if err != nil {
		return 0, false
	}
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || head[0] != 0 || head[1] != 0 || element(head[2]) != idxBytes {
		return 0, false
	}
	rank := int(head[3])
	if _, err := io.CopyN(io.Discard, r, int64(4*rank)); err != nil {
		return 0, false
	}
	data, err := io.ReadAll(io.LimitReader(r, int64(marked(rank))))
	return markOf(data, rank), err == nil
}

// foreign says which files in a folder of e are those of another data set, or have the name of another file of e; "" if
// none is. all are the data sets that there are.
func foreign(fsys fs.FS, e Entry, all []Entry) string {
	if e.marks == nil {
		return ""
	}
	var wrong []string
	from := map[string]int{} // files that are another's, under their right names, by that data set
	for i, name := range e.Files {
		m, ok := peek(fsys, name)
		if !ok {
			continue
		}
		for _, other := range all {
			for j, published := range other.marks {
				if m != published || other.Name == e.Name && i == j {
					continue
				}
				wrong = append(wrong, fmt.Sprintf("%s is %s of %s", name, other.Files[j], other.Name))
				if i == j {
					from[other.Name]++
				}
			}
		}
	}
	for name, n := range from {
		if n == len(e.Files) {
			return "the files there are those of " + name
		}
	}
	return strings.Join(wrong, ", ")
}

// unknown returns a note if some files of e, which begin with these marks, are not the published ones.
func unknown(e Entry, marks []mark) []string {
	var names []string
	for i, m := range marks {
		if m != e.marks[i] {
			names = append(names, e.Files[i])
		}
	}
	switch len(names) {
	case 0:
		return nil
	case len(marks):
		return []string{fmt.Sprintf("these are not the published files of %s: its results are not comparable", e.Name)}
	}
	return []string{fmt.Sprintf("%s: not the published files of %s: its results are not comparable", strings.Join(names, ", "), e.Name)}
}
