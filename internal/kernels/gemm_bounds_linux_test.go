package kernels

import (
	"math/rand/v2"
	"os"
	"runtime/debug"
	"syscall"
	"testing"
	"unsafe"
)

// fence returns memory for n elements that ends, or begins, where a page begins, or ends, that faults on every access.
func fence(t *testing.T, n int, atEnd bool) []float32 {
	t.Helper()
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	all, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(all); err != nil {
			t.Error(err)
		}
	})
	for _, p := range [][]byte{all[:page], all[page+size:]} {
		if err := syscall.Mprotect(p, syscall.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	begin := page
	if atEnd {
		begin += size - 4*n
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&all[begin])), n)
}

// A read outside an operand leaves no trace in the result where the kernel masks it off, so here it faults.
func TestGemmBounds(t *testing.T) {
	const most = 64
	for _, atEnd := range []bool{false, true} {
		a, b, dst := fence(t, most*(deep+most), atEnd), fence(t, (deep+most)*most, atEnd), fence(t, most*most, atEnd)
		// part keeps the side that lies at the fence.
		part := func(x []float32, n int) []float32 {
			if atEnd {
				return x[len(x)-n:]
			}
			return x[:n]
		}
		forEachISA(t, func(t *testing.T, c *CPU) {
			r := rand.New(rand.NewPCG(15, 16))
			for _, op := range []string{"NN", "TN", "NT"} {
				for range 300 {
					g := gemmCase{op, 1 + r.IntN(most), 1 + r.IntN(most), 1 + r.IntN(most), 0}
					if r.IntN(3) == 0 {
						g.k += deep
					}
					x := gemmArgs{a: part(a, g.m*g.k), b: part(b, g.k*g.n), dst: part(dst, g.m*g.n), lda: g.k, ldb: g.n, ldd: g.n}
					if op == "TN" {
						x.lda = g.m
					}
					if op == "NT" {
						x.ldb = g.k
					}
					func() {
						defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
						defer func() {
							if err := recover(); err != nil {
								t.Fatalf("%v: %v", g, err)
							}
						}()
						g.run(c, x)
					}()
				}
			}
		})
	}
}
