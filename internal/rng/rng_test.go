package rng

import (
	"math"
	"slices"
	"testing"

	"fedbayes/internal/kernels"
)

// neighbours returns addresses that differ from s in one coordinate each, by a little and by the highest bit.
func neighbours(s Stream) map[string]Stream {
	n := map[string]Stream{}
	add := func(name string, change func(*Stream)) {
		c := s
		change(&c)
		n[name] = c
	}
	add("seed", func(s *Stream) { s.Seed++ })
	add("upper half of the seed", func(s *Stream) { s.Seed ^= 1 << 63 })
	add("purpose", func(s *Stream) { s.Purpose ^= 1 })
	add("round", func(s *Stream) { s.Round++ })
	add("late round", func(s *Stream) { s.Round ^= 1 << 31 })
	add("client", func(s *Stream) { s.Client++ })
	add("high client", func(s *Stream) { s.Client ^= MaxClients / 2 })
	return n
}

var somewhere = Stream{Seed: 0x0123_4567_89ab_cdef, Purpose: Noise, Round: 17, Client: 5}

// TestEveryCoordinateCounts compares all values: streams that overlapped, shifted, would share some.
func TestEveryCoordinateCounts(t *testing.T) {
	draw := func(s Stream, step int) (words []uint64, normals []float32) {
		r := s.Rand()
		for range 64 {
			words = append(words, r.Uint64())
		}
		normals = make([]float32, 64)
		s.Normals(kernels.New(kernels.Best()), normals, step)
		return words, normals
	}
	words, normals := draw(somewhere, 3)
	for name, s := range neighbours(somewhere) {
		w, n := draw(s, 3)
		if shared(words, w) > 0 {
			t.Errorf("%s: the generator gives words of the neighbour", name)
		}
		// Of 2²⁴ values or so, two may meet by chance.
		if shared(normals, n) > 1 {
			t.Errorf("%s: %d normals are those of the neighbour", name, shared(normals, n))
		}
	}
	if _, n := draw(somewhere, 4); shared(normals, n) > 1 {
		t.Error("step: the normals are those of the neighbour")
	}
}

// shared counts the values of a that are in b.
func shared[T comparable](a, b []T) (n int) {
	for _, v := range a {
		if slices.Contains(b, v) {
			n++
		}
	}
	return n
}

// TestLayout pins the counter, which is part of a run's identity: another layout would be another run for each seed.
func TestLayout(t *testing.T) {
	s := Stream{Seed: 0x1111_2222_3333_4444, Purpose: Eval, Round: 7, Client: 0xabcde}
	key := [2]uint32{0x3333_4444, 0x1111_2222}
	ctr := [4]uint32{0, 9, 7, 5<<24 | 0xabcde}

	r := s.Rand() // at step 0
	for block := range uint32(3) {
		w := kernels.Philox([4]uint32{block, 0, ctr[2], ctr[3]}, key)
		for half := range 2 {
			want := uint64(w[2*half]) | uint64(w[2*half+1])<<32
			if got := r.Uint64(); got != want {
				t.Errorf("block %d: word %d is %#x, want %#x", block, half, got, want)
			}
		}
	}

	cpu := kernels.New(kernels.Best())
	got, want := make([]float32, 130), make([]float32, 130)
	s.Normals(cpu, got, 9)
	cpu.Normals(want, key, ctr)
	if !slices.Equal(got, want) {
		t.Errorf("normals %v…, want those of counter %v", got[:4], ctr)
	}
}

func TestPurposesKeepTheirValues(t *testing.T) {
	for want, p := range []Purpose{Partition, Init, Sample, Batch, Noise, Eval, Match, Foreign, Fate} {
		if int(p) != want {
			t.Errorf("purpose %d, want %d: runs of one seed would change", p, want)
		}
	}
}

// TestRandIsReproducible draws from two generators of one address in turn, and from one that was held up.
func TestRandIsReproducible(t *testing.T) {
	a, b := somewhere.Rand(), somewhere.Rand()
	var words []uint64
	for range 101 {
		words = append(words, a.Uint64())
		somewhere.At(1, 1).Rand().Uint64()
	}
	for i, want := range words {
		if got := b.Uint64(); got != want {
			t.Fatalf("word %d is %#x, want %#x", i, got, want)
		}
	}
	if !slices.Equal(somewhere.Rand().Perm(20), somewhere.Rand().Perm(20)) {
		t.Error("two permutations of one address")
	}
}

// TestNormalsAreStandard checks the moments over steps and clients, where an address that overlaps would show in none of
// the draws alone.
func TestNormalsAreStandard(t *testing.T) {
	cpu := kernels.New(kernels.Best())
	const clients, steps, n = 20, 20, 500
	var sum, square, lag float64
	previous := make([]float32, n)
	x := make([]float32, n)
	for client := range clients {
		for step := range steps {
			somewhere.At(1, client).Normals(cpu, x, step)
			for i, v := range x {
				sum += float64(v)
				square += float64(v) * float64(v)
				lag += float64(v) * float64(previous[i])
			}
			copy(previous, x)
		}
	}
	// Means of total draws: standard deviations 1, √2 and 1 over √total. Five of them.
	total := float64(clients * steps * n)
	for name, v := range map[string]float64{"mean": sum / total, "variance − 1": (square/total - 1) / math.Sqrt2, "correlation of steps": lag / total} {
		if math.Abs(v) > 5/math.Sqrt(total) {
			t.Errorf("%s of %v draws: %v", name, total, v)
		}
	}
}

// TestGatesOpen counts the gates that are open, of all, of next to all, of some and of none.
func TestGatesOpen(t *testing.T) {
	cpu, gates := kernels.New(kernels.Best()), make([]float32, 1<<20)
	for step, p := range []float64{1, 0.9999, 0.999, 0.9, 0.5, 0.01, 0} {
		somewhere.Gates(cpu, gates, p, step)
		var open, pairs float64 // and open ones whose neighbour is open
		for i, g := range gates {
			if g > 0 {
				open++
				if gates[(i+1)%len(gates)] > 0 {
					pairs++
				}
			}
		}
		n := float64(len(gates))
		for what, got := range map[string][2]float64{"gates": {open, p}, "pairs": {pairs, p * p}} {
			if got, q := got[0], got[1]; math.Abs(got-n*q) > 5*math.Sqrt(3*n*q*(1-q)) { // pairs overlap: up to 3 times the variance
				t.Errorf("p = %v: %v of %v %s are open, want about %v", p, got, n, what, n*q)
			}
		}
	}
}

func TestForAndAtLeaveTheRest(t *testing.T) {
	s := somewhere
	if got, want := s.For(Init), (Stream{s.Seed, Init, s.Round, s.Client}); got != want {
		t.Errorf("For: %+v, want %+v", got, want)
	}
	if got, want := s.At(1, 2), (Stream{s.Seed, s.Purpose, 1, 2}); got != want {
		t.Errorf("At: %+v, want %+v", got, want)
	}
	if s != somewhere {
		t.Errorf("the stream itself became %+v", s)
	}
}

func TestClientOutOfRange(t *testing.T) {
	for _, client := range []int{-1, MaxClients} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("client %d: no panic, and its numbers are those of another address", client)
				}
			}()
			Stream{Client: client}.Rand()
		}()
	}
}
