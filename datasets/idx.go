package datasets

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// maxIDX bounds the data of one file, so that a short file that unpacks without end fails early. 1 GiB is twenty times
// the largest file there is to read.
const maxIDX = 1 << 30

// An element is the type code of the values of an IDX file: unsigned bytes, or whole numbers of several, the highest first.
type element byte

const (
	idxBytes element = 0x08
	idxInt16 element = 0x0b
	idxInt32 element = 0x0c
)

func (e element) width() int {
	switch e {
	case idxInt16:
		return 2
	case idxInt32:
		return 4
	}
	return 1
}

func (e element) String() string {
	switch e {
	case idxInt16:
		return "int16"
	case idxInt32:
		return "int32"
	}
	return "bytes"
}

// An idx is an array with its extents, as the IDX format stores it:
//
//	0, 0, type, rank, then rank big-endian uint32 extents, then the data in row-major order
type idx struct {
	extents []int
	data    []uint8
	of      element
}

// at returns element i.
func (a idx) at(i int) int {
	switch a.of {
	case idxInt16:
		return int(int16(binary.BigEndian.Uint16(a.data[2*i:])))
	case idxInt32:
		return int(int32(binary.BigEndian.Uint32(a.data[4*i:])))
	}
	return int(a.data[i])
}

// readIDX reads a file of bytes with this rank, gzipped or not; locate says under which name. Errors begin with it.
func readIDX(fsys fs.FS, name string, rank int) (idx, error) {
	return readIDXOf(fsys, name, idxBytes, rank)
}

// readIDXOf reads a file of such elements.
func readIDXOf(fsys fs.FS, name string, of element, rank int) (idx, error) {
	spelling, err := locate(fsys, name)
	if err != nil {
		return idx{}, err
	}
	f, err := fsys.Open(spelling)
	if err != nil {
		return idx{}, err
	}
	defer f.Close()
	a, err := parseIDX(f, of, rank)
	if err != nil {
		return idx{}, fmt.Errorf("%s: %w", spelling, err)
	}
	return a, nil
}

// parseIDX reads an array of such elements with this rank to the end of r. What it allocates grows with what r gives, not
// with what the header claims.
func parseIDX(r io.Reader, of element, rank int) (idx, error) {
	r, err := unzipped(r)
	if err != nil {
		return idx{}, err
	}
	var head [4]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		return idx{}, fmt.Errorf("header ends after %d of 4 bytes: %w", n, whole(err))
	}
	if head[0] != 0 || head[1] != 0 {
		return idx{}, fmt.Errorf("not an IDX file: begins with bytes %d %d, want 0 0", head[0], head[1])
	}
	if element(head[2]) != of {
		return idx{}, fmt.Errorf("element type 0x%02x, want 0x%02x (%v)", head[2], byte(of), of)
	}
	if int(head[3]) != rank {
		return idx{}, fmt.Errorf("%d dimensions, want %d (images and labels mixed up?)", head[3], rank)
	}
	extents, total := make([]int, rank), int64(of.width())
	for i := range extents {
		var extent [4]byte
		if _, err := io.ReadFull(r, extent[:]); err != nil {
			return idx{}, fmt.Errorf("header ends before extent %d of %d: %w", i+1, rank, whole(err))
		}
		n := int64(binary.BigEndian.Uint32(extent[:]))
		if n == 0 {
			return idx{}, fmt.Errorf("extent %d of %d is 0: no data", i+1, rank)
		}
		if total*n > maxIDX { // at most 2³⁰·2³², so it cannot overflow
			return idx{}, fmt.Errorf("header claims more than %d bytes of data", maxIDX)
		}
		extents[i] = int(n)
		total *= n
	}
	// One byte more than wanted, so that the end of the file is seen and with it gzip's checksum.
	data, err := io.ReadAll(io.LimitReader(r, total+1))
	switch {
	case err != nil:
		return idx{}, fmt.Errorf("after %d of %d bytes of data: %w", len(data), total, whole(err))
	case int64(len(data)) < total:
		return idx{}, fmt.Errorf("%d bytes of data, want %d for %v (truncated download?)", len(data), total, extents)
	case int64(len(data)) > total:
		return idx{}, fmt.Errorf("more than the %d bytes of data that its header gives for %v", total, extents)
	}
	return idx{extents, data, of}, nil
}

// unzipped returns a buffered reader of what r holds, gzipped or not.
func unzipped(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	// The first bytes tell, not the name: browsers unpack on the fly and leave the name, mirrors do the opposite.
	if magic, _ := buffered.Peek(2); !bytes.Equal(magic, gzipMagic()) {
		return buffered, nil
	}
	z, err := gzip.NewReader(buffered)
	if err != nil {
		return nil, fmt.Errorf("gzip header: %w", whole(err))
	}
	z.Multistream(false)
	return &members{z, buffered}, nil
}

// members reads a gzip file, which is one compressed part or several. Package gzip would do it alone, but takes whatever
// follows for one more part, and misnames it.
type members struct {
	z *gzip.Reader
	r *bufio.Reader // of z, which reads no byte too many
}

// Read implements [io.Reader].
func (m *members) Read(p []byte) (int, error) {
	n, err := m.z.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	switch next, _ := m.r.Peek(2); {
	case len(next) == 0:
		return n, io.EOF
	case !bytes.Equal(next, gzipMagic()):
		return n, errors.New("bytes that are not gzip follow the gzipped data")
	}
	if err := m.z.Reset(m.r); err != nil {
		return n, fmt.Errorf("gzip header: %w", err)
	}
	m.z.Multistream(false)
	return n, nil
}

// gzipMagic is how gzipped data begin.
func gzipMagic() []byte { return []byte{0x1f, 0x8b} }

// whole adds what usually lies behind an early end.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w (truncated download?)", err)
	}
	return err
}
