// Package tensorboard writes event files, which TensorBoard shows as curves: a folder is a run, and a number that changes
// from step to step, under a tag as accuracy/pm, is a curve in the group accuracy.
//
//	w, err := tensorboard.Create("logs/mine", false)
//	err = w.Write(10, []tensorboard.Scalar{{Tag: "accuracy/pm", Value: 0.93}})
//	err = w.Close()
//
// A file is a sequence of records, each with its length and checksums (tensorflow/core/lib/io/record_writer.h), and a record
// an Event (tensorflow/core/util/event.proto). A step is one record and one write, so that a file which was left at any
// instant can be read. A run that goes on from an earlier step gets a file of its own, and the others lose what they have
// from this step on. TensorBoard reads files in the order of their names, and where a second SessionLog START comes it drops
// what it has seen from that step on, so one that is open meanwhile shows no step twice either.
package tensorboard

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// prefix begins the name of an event file; the time follows, in seconds.
const prefix = "events.out.tfevents."

// A Scalar is a number at a step. It is stored as a float32.
type Scalar struct {
	Tag   string
	Value float64
}

// A Writer appends to an event file.
type Writer struct {
	f    *os.File
	size int64
}

// Check returns an error if dir cannot be the folder of a new run, or holds event files that are not to be replaced.
func Check(dir string, replace bool) error {
	_, err := replaced(dir, replace)
	return err
}

// replaced returns the event files that a new run would replace.
func replaced(dir string, replace bool) ([]string, error) {
	old, err := files(dir)
	if len(old) > 0 && !replace {
		err = fmt.Errorf("%s already holds event files: name another folder, or replace them with --force", dir)
	}
	return old, err
}

// Create begins a run in a folder, which is made if it is not there. Event files that it holds are removed if they are to be
// replaced, and else an error.
func Create(dir string, replace bool) (*Writer, error) {
	old, err := replaced(dir, replace)
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			return nil, err
		}
	}
	return begin(dir, old, 0)
}

// Resume goes on at a step with the run that a folder holds, if it does: what there is from this step on is removed.
func Resume(dir string, step int) (*Writer, error) {
	old, err := files(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		if n := before(text, step); n < len(text) {
			if err := os.Truncate(path, int64(n)); err != nil {
				return nil, err
			}
		}
	}
	return begin(dir, old, step)
}

// files returns the names of the event files in a folder, in their order; none if there is no folder.
func files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// begin makes a file for what comes from a step on, whose name is after those of the old ones, be they removed or not.
func begin(dir string, old []string, step int) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	now := time.Now()
	at := now.Unix()
	if len(old) > 0 {
		var last int64
		_, _ = fmt.Sscanf(old[len(old)-1], prefix+"%d", &last) // one of another program may have another name
		at = max(at, last+1)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s%010d", prefix, at))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	w := &Writer{f: f}
	if err := w.append(version(now), start(now, step)); err != nil {
		err = errors.Join(err, f.Close(), os.Remove(path))
		_ = os.Remove(dir) // unless there is something else in it
		return nil, err
	}
	return w, nil
}

// Write appends the numbers of a step.
func (w *Writer) Write(step int, scalars []Scalar) error {
	return w.append(summary(time.Now(), step, scalars))
}

// Sync makes what was written last through a power cut.
func (w *Writer) Sync() error { return w.f.Sync() }

// Close closes the file.
func (w *Writer) Close() error { return w.f.Close() }

// append writes events at once. If that fails, as on a full disk, the file is cut back to what it was.
func (w *Writer) append(events ...[]byte) error {
	text := records(events...)
	if _, err := w.f.Write(text); err != nil {
		return errors.Join(err, w.f.Truncate(w.size))
	}
	w.size += int64(len(text))
	return nil
}

// version is the Event that a file begins with.
func version(at time.Time) []byte {
	e := protowire.AppendTag(event(at, 0), 3, protowire.BytesType)
	return protowire.AppendString(e, "brain.Event:2")
}

// start is an Event that says that what follows is from a step on.
func start(at time.Time, step int) []byte {
	log := protowire.AppendTag(nil, 1, protowire.VarintType)
	log = protowire.AppendVarint(log, 1) // SessionLog.START
	e := protowire.AppendTag(event(at, step), 7, protowire.BytesType)
	return protowire.AppendBytes(e, log)
}

// summary is an Event with the numbers of a step.
func summary(at time.Time, step int, scalars []Scalar) []byte {
	var all []byte
	for _, s := range scalars {
		value := protowire.AppendTag(nil, 1, protowire.BytesType)
		value = protowire.AppendString(value, s.Tag)
		value = protowire.AppendTag(value, 2, protowire.Fixed32Type)
		value = protowire.AppendFixed32(value, math.Float32bits(float32(s.Value)))
		all = protowire.AppendTag(all, 1, protowire.BytesType)
		all = protowire.AppendBytes(all, value)
	}
	e := protowire.AppendTag(event(at, step), 5, protowire.BytesType)
	return protowire.AppendBytes(e, all)
}

// event begins an Event: the time in seconds, and the step, which is left out where it is 0.
func event(at time.Time, step int) []byte {
	e := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
	e = protowire.AppendFixed64(e, math.Float64bits(float64(at.UnixMicro())/1e6))
	if step == 0 {
		return e
	}
	e = protowire.AppendTag(e, 2, protowire.VarintType)
	return protowire.AppendVarint(e, uint64(step))
}

// records frames events: length, its checksum, the event, its checksum.
func records(events ...[]byte) []byte {
	var text []byte
	for _, data := range events {
		length := binary.LittleEndian.AppendUint64(nil, uint64(len(data)))
		text = append(text, length...)
		text = binary.LittleEndian.AppendUint32(text, checksum(length))
		text = append(text, data...)
		text = binary.LittleEndian.AppendUint32(text, checksum(data))
	}
	return text
}

// before returns how many bytes of an event file come before the first event of a step or a later one, and before what is no
// whole record, as a power cut leaves it.
func before(text []byte, step int) int {
	at := 0
	for {
		data, size := record(text[at:])
		if size == 0 || stepOf(data) >= uint64(step) {
			return at
		}
		at += size
	}
}

// record returns the data of the first record of a text and the record's size, 0 if there is no whole one.
func record(text []byte) (data []byte, size int) {
	const head, tail = 12, 4
	if len(text) < head+tail || binary.LittleEndian.Uint32(text[8:]) != checksum(text[:8]) {
		return nil, 0
	}
	n := binary.LittleEndian.Uint64(text)
	if n > uint64(len(text)-head-tail) {
		return nil, 0
	}
	data, rest := text[head:head+n], text[head+n:]
	if binary.LittleEndian.Uint32(rest) != checksum(data) {
		return nil, 0
	}
	return data, head + len(data) + tail
}

// stepOf returns the step of an Event, 0 if it has none.
func stepOf(event []byte) uint64 {
	for len(event) > 0 {
		num, typ, n := protowire.ConsumeTag(event)
		if n < 0 {
			return 0
		}
		if num == 2 && typ == protowire.VarintType {
			step, _ := protowire.ConsumeVarint(event[n:])
			return step
		}
		m := protowire.ConsumeFieldValue(num, typ, event[n:])
		if m < 0 {
			return 0
		}
		event = event[n+m:]
	}
	return 0
}

// checksum is CRC-32C, rotated and shifted so that the checksum of a text with checksums in it is no special one.
func checksum(text []byte) uint32 {
	c := crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
