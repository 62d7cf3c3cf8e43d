// Package rng gives random numbers by address: the same address gives the same numbers, in any order and on any worker.
//
// An address is seed, purpose, round, client and step. Nobody holds a generator: a run that is spread over more workers
// draws what it would have drawn anyway. The numbers are those of Philox4x32-10 with the seed as its key:
//
//	counter word 0   position within the stream, in blocks of four words
//	counter word 1   step
//	counter word 2   round
//	counter word 3   purpose (upper 8 bits) and client (lower 24 bits)
package rng

import (
	"math"
	"math/rand/v2"

	"fedbayes/internal/kernels"
)

// A Purpose separates the streams of one seed.
type Purpose uint8

// The purposes. Their values are part of a run's identity: add at the end, reorder nothing.
const (
	Partition Purpose = iota // dealing examples to clients
	Init                     // initial weights
	Sample                   // which clients take part in a round
	Batch                    // the order of a client's examples; the round is its epoch
	Noise                    // weight noise of training
	Eval                     // weight draws of an evaluation
	Match                    // the order in which a server revisits its clients
	Foreign                  // which examples of others a client's model is shown
	Fate                     // which clients drop out of a round, or are slow in it
)

// MaxClients bounds the client coordinate of an address.
const MaxClients = 1 << 24

// A Stream is an address. It is a value: deriving one never changes another.
type Stream struct {
	Seed          uint64
	Purpose       Purpose
	Round, Client int
}

// For returns the stream of purpose p at the same round and client.
func (s Stream) For(p Purpose) Stream { s.Purpose = p; return s }

// At returns the stream of a round and a client.
func (s Stream) At(round, client int) Stream { s.Round, s.Client = round, client; return s }

func (s Stream) key() [2]uint32 { return [2]uint32{uint32(s.Seed), uint32(s.Seed >> 32)} }

func (s Stream) counter(step int) [4]uint32 {
	if s.Client < 0 || s.Client >= MaxClients {
		panic("rng: client out of range")
	}
	return [4]uint32{0, uint32(step), uint32(s.Round), uint32(s.Purpose)<<24 | uint32(s.Client)}
}

// Normals fills dst with the independent N(0, 1) draws of a step.
func (s Stream) Normals(cpu *kernels.CPU, dst []float32, step int) {
	cpu.Normals(dst, s.key(), s.counter(step))
}

// Gates fills dst with numbers of a step that are independent and positive with probability p: draws of N(a, 1) with Φ(a) = p,
// as the kernels have nothing faster than normals. With p = 1 they are infinite.
func (s Stream) Gates(cpu *kernels.CPU, dst []float32, p float64, step int) {
	s.Normals(cpu, dst, step)
	a := float32(math.Sqrt2 * math.Erfinv(2*p-1))
	for i := range dst {
		dst[i] += a
	}
}

// Rand returns a generator that starts at the stream's address, for permutations and the like.
func (s Stream) Rand() *rand.Rand { return rand.New(&source{key: s.key(), ctr: s.counter(0)}) }

// source walks the blocks of one address; it gives two 64-bit words a block.
type source struct {
	key  [2]uint32
	ctr  [4]uint32
	next uint64
	left bool
}

func (s *source) Uint64() uint64 {
	if s.left {
		s.left = false
		return s.next
	}
	w := kernels.Philox(s.ctr, s.key)
	s.ctr[0]++
	s.next, s.left = uint64(w[2])|uint64(w[3])<<32, true
	return uint64(w[0]) | uint64(w[1])<<32
}
