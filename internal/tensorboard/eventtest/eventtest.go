// Package eventtest reads event files for tests, by the format alone: it knows nothing of the package that writes them.
package eventtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// An Event is one of a file.
type Event struct {
	Time    float64 // in seconds
	Step    int
	Version string
	Start   bool               // of a session
	Values  map[string]float32 // by tag
}

// Read returns the events of a folder, in the order of its files, and the files' names. It fails unless each has whole records
// and begins with a version.
func Read(t testing.TB, dir string) (names []string, all []Event) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "events.out.tfevents.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		events, rest, err := Parse(text)
		if err != nil || len(rest) > 0 || len(events) == 0 || events[0].Version != "brain.Event:2" {
			t.Errorf("%s: %v (%v) and %d bytes, want whole records and the version first", path, events, err, len(rest))
		}
		names, all = append(names, filepath.Base(path)), append(all, events...)
	}
	return names, all
}

// Steps are those of events that have numbers.
func Steps(events []Event) (all []int) {
	for _, e := range events {
		if len(e.Values) > 0 {
			all = append(all, e.Step)
		}
	}
	return all
}

// Parse reads whole records; rest is what is left after them.
func Parse(text []byte) (events []Event, rest []byte, err error) {
	for len(text) >= 16 {
		n := int(binary.LittleEndian.Uint64(text))
		if got, want := binary.LittleEndian.Uint32(text[8:]), checksum(text[:8]); got != want {
			return events, text, fmt.Errorf("checksum of a length %x, want %x", got, want)
		}
		if len(text) < 16+n {
			return events, text, nil
		}
		data := text[12 : 12+n]
		if got, want := binary.LittleEndian.Uint32(text[12+n:]), checksum(data); got != want {
			return events, text, fmt.Errorf("checksum of a record %x, want %x", got, want)
		}
		e, err := event(data)
		if err != nil {
			return events, text, err
		}
		events, text = append(events, e), text[16+n:]
	}
	return events, text, nil
}

// checksum is CRC-32C bit by bit, and masked.
func checksum(text []byte) uint32 {
	c := ^uint32(0)
	for _, b := range text {
		c ^= uint32(b)
		for range 8 {
			c = c>>1 ^ 0x82f63b78&-(c&1)
		}
	}
	c = ^c
	return (c>>15 | c<<17) + 0xa282ead8
}

// event reads an Event of tensorflow/core/util/event.proto.
func event(data []byte) (Event, error) {
	e := Event{Values: map[string]float32{}}
	err := fields(data, func(num protowire.Number, v uint64, text []byte) error {
		switch num {
		case 1:
			e.Time = math.Float64frombits(v)
		case 2:
			e.Step = int(v)
		case 3:
			e.Version = string(text)
		case 5:
			return e.summary(text)
		case 7:
			e.Start = string(text) == "\x08\x01"
		default:
			return fmt.Errorf("field %d", num)
		}
		return nil
	})
	return e, err
}

// summary reads a Summary of tensorflow/core/framework/summary.proto.
func (e *Event) summary(data []byte) error {
	return fields(data, func(_ protowire.Number, _ uint64, value []byte) error {
		var tag string
		return fields(value, func(num protowire.Number, v uint64, text []byte) error {
			if num == 1 {
				tag = string(text)
				return nil
			}
			if _, ok := e.Values[tag]; ok || num != 2 {
				return fmt.Errorf("%q: field %d, and the tag was there: %t", tag, num, ok)
			}
			e.Values[tag] = math.Float32frombits(uint32(v))
			return nil
		})
	})
}

// fields calls see for each field of a message, with the number or the bytes that it has.
func fields(message []byte, see func(num protowire.Number, v uint64, text []byte) error) error {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var v uint64
		var text []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(message)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(message)
			v = uint64(bits)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		default:
			return fmt.Errorf("field %d has type %d", num, typ)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := see(num, v, text); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}
