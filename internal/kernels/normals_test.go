package kernels

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

var testKey, testCtr = [2]uint32{0x12345678, 0x9abcdef0}, [4]uint32{5, 77, 0xffffffff, 0x80000001}

// TestPhilox has the known answers of Random123, file kat_vectors.
func TestPhilox(t *testing.T) {
	tests := []struct {
		ctr  [4]uint32
		key  [2]uint32
		want [4]uint32
	}{
		{[4]uint32{}, [2]uint32{}, [4]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[4]uint32{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, [2]uint32{0xffffffff, 0xffffffff},
			[4]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[4]uint32{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, [2]uint32{0xa4093822, 0x299f31d0},
			[4]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	}
	for _, tt := range tests {
		if got := Philox(tt.ctr, tt.key); got != tt.want {
			t.Errorf("Philox(%x, %x) = %x, want %x", tt.ctr, tt.key, got, tt.want)
		}
	}
}

// boxMuller64 is the transform in float64, of the u that float32 makes of a word.
func boxMuller64(a, b uint32) (sin, cos float64) {
	u := float64(float32(a>>1)*0x1p-31 + 0x1p-32)
	s, c := math.Sincos(2 * math.Pi * float64(b) / (1 << 32))
	r := math.Sqrt(-2 * math.Log(u))
	return r * s, r * c
}

// TestNormals compares normals of every place with the transform of Philox's words.
func TestNormals(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		const n = 1 << 20
		z := make([]float32, n)
		c.Normals(z, testKey, testCtr)
		for i := range n / 4 {
			ctr := testCtr
			ctr[0] += uint32(i)
			w := Philox(ctr, testKey)
			var want [4]float64
			want[0], want[1] = boxMuller64(w[0], w[1])
			want[2], want[3] = boxMuller64(w[2], w[3])
			for q, v := range want {
				at := i/lanes*group + q*lanes + i%lanes
				if got := float64(z[at]); !(math.Abs(got-v) <= 5e-7*(0.3+math.Abs(v))) {
					t.Fatalf("words %#x: normal %d, at %d, = %v, want %v", w, q, at, got, v)
				}
			}
		}
	})
}

func TestBoxMullerExtremes(t *testing.T) {
	words := []uint32{0, 1, 2, 3, 1<<29 - 1, 1 << 29, 1<<29 + 1, 1 << 30, 3 << 29, 1 << 31, 5 << 29, 3 << 30, 7<<29 - 1, 7 << 29, 0xfffffffe, 0xffffffff}
	for _, a := range words {
		for _, b := range words {
			sin, cos := boxMuller(a, b)
			wantSin, wantCos := boxMuller64(a, b)
			if math.Abs(float64(sin)-wantSin) > 2e-6 || math.Abs(float64(cos)-wantCos) > 2e-6 {
				t.Errorf("words %#x, %#x: %v, %v, want %v, %v", a, b, sin, cos, wantSin, wantCos)
			}
		}
	}
}

func TestNormalsPrefix(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		long := make([]float32, 2*chunk+100)
		c.Normals(long, testKey, testCtr)
		lengths := []int{chunk - 1, chunk, chunk + 1, 2*chunk + 1}
		for n := range 200 {
			lengths = append(lengths, n)
		}
		for _, n := range lengths {
			for offset := range 4 {
				buf := make([]float32, n+8)
				z := buf[offset : offset+n : offset+n]
				c.Normals(z, testKey, testCtr)
				if !slices.Equal(z, long[:n]) {
					t.Fatalf("%d normals at offset %d differ from the first of a long slice", n, offset)
				}
				if buf[offset+n] != 0 || offset > 0 && buf[offset-1] != 0 {
					t.Fatalf("%d normals: written outside of the slice", n)
				}
			}
		}
		// A group on starts 16 positions on.
		ctr := testCtr
		ctr[0] += lanes
		z := make([]float32, 500)
		c.Normals(z, testKey, ctr)
		if !slices.Equal(z, long[group:group+500]) {
			t.Error("normals from position 16 are not those from place 64")
		}
	})
}

func TestNormalsSameBits(t *testing.T) {
	all := Available()
	if len(all) < 3 {
		t.Skip("fewer than two vector instruction sets")
	}
	want := make([]float32, 1<<20)
	New(all[1]).Normals(want, testKey, testCtr)
	for _, isa := range all[2:] {
		z := make([]float32, len(want))
		New(isa).Normals(z, testKey, testCtr)
		if !slices.Equal(z, want) {
			t.Errorf("%s differs from %s", isa, all[1])
		}
	}
}

// TestNormalsDistribution looks at moments, tails and the dependence of neighbours. Limits are five standard errors.
func TestNormalsDistribution(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		const n = 1 << 21
		z := make([]float32, n)
		c.Normals(z, [2]uint32{2024, 0}, [4]uint32{})
		limit := func(name string, got, want, deviation float64) {
			t.Helper()
			if !(math.Abs(got-want) <= 5*deviation/math.Sqrt(n)) {
				t.Errorf("%s = %.5f, want %.5f ± %.5f", name, got, want, 5*deviation/math.Sqrt(n))
			}
		}
		mean := func(f func(i int) float64) float64 {
			s := 0.0
			for i := range n {
				s += f(i)
			}
			return s / n
		}
		// E z^2k is 1·3·5·…·(2k−1).
		for k, moment := range []float64{1: 0, 2: 1, 3: 0, 4: 3, 5: 0, 6: 15} {
			if k == 0 {
				continue
			}
			square := []float64{1: 1, 2: 3, 3: 15, 4: 105, 5: 945, 6: 10395}[k]
			limit(fmt.Sprintf("E z^%d", k), mean(func(i int) float64 { return math.Pow(float64(z[i]), float64(k)) }), moment,
				math.Sqrt(square-moment*moment))
		}
		for _, x := range []float64{-4, -3, -2, -1, -0.1, 0, 0.1, 1, 2, 3, 4} {
			p := math.Erfc(-x/math.Sqrt2) / 2
			limit(fmt.Sprintf("P(z < %v)", x), mean(func(i int) float64 {
				if float64(z[i]) < x {
					return 1
				}
				return 0
			}), p, math.Sqrt(p*(1-p)))
		}
		for _, lag := range []int{1, 2, 8, 15, 16, 17, 32, 48, 64, 128, chunk} {
			next := func(i int) float64 { return float64(z[(i+lag)%n]) }
			limit(fmt.Sprintf("correlation at %d", lag), mean(func(i int) float64 { return float64(z[i]) * next(i) }), 0, 1)
			limit(fmt.Sprintf("correlation of squares at %d", lag), mean(func(i int) float64 {
				return (float64(z[i])*float64(z[i]) - 1) * (next(i)*next(i) - 1)
			}), 0, 2)
		}
		if top := max(slices.Max(z), -slices.Min(z)); top < 4.5 || top > 6.67 {
			t.Errorf("largest of %d is %v", n, top)
		}
	})
}

// TestNormalsAddresses sees that each word of key and counter matters.
func TestNormalsAddresses(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		seen := map[[2]float32]bool{}
		for k := range 7 {
			key, ctr := testKey, testCtr
			switch {
			case k < 2:
				key[k]++
			case k < 6:
				ctr[k-2]++
			}
			var z [2]float32
			c.Normals(z[:], key, ctr)
			seen[z] = true
		}
		if len(seen) != 7 {
			t.Errorf("%d different streams, want 7", len(seen))
		}
	})
}

func TestNormalsEnd(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		ctr := [4]uint32{0xffffffff - 31}
		z := make([]float32, 129)
		c.Normals(z[:128], testKey, ctr) // the last 32 positions
		for _, f := range []func(){
			func() { c.Normals(z, testKey, ctr) },
			func() { c.Normals(z[:1], testKey, [4]uint32{0xffffffff - 14}) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("no panic beyond the last position")
					}
				}()
				f()
			}()
		}
	})
}

func TestNormalsAllocations(t *testing.T) {
	forEachISA(t, func(t *testing.T, c *CPU) {
		z := make([]float32, 1000)
		if n := testing.AllocsPerRun(10, func() { c.Normals(z, testKey, testCtr) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func BenchmarkNormals(b *testing.B) {
	z := make([]float32, benchLen)
	benchElem(b, benchLen, func(c *CPU) { c.Normals(z, testKey, testCtr) })
}
