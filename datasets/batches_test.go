package datasets

import (
	"slices"
	"testing"

	"fedbayes/internal/rng"
)

// numbered returns n examples of 3 values; example i has label i and values i, i+½, -i.
func numbered(n int) *Examples {
	e := &Examples{Dim: 3}
	for i := range n {
		v := float32(i)
		e.X = append(e.X, v, v+0.5, -v)
		e.Y = append(e.Y, v)
	}
	return e
}

// next returns the labels of the next batch and checks that their rows came along.
func next(t testing.TB, b *Batches) []float32 {
	t.Helper()
	x, y := make([]float32, b.Size*3), make([]float32, b.Size)
	rows := b.Next(x, y)
	for r, v := range y[:rows] {
		if !slices.Equal(x[3*r:3*r+3], []float32{v, v + 0.5, -v}) {
			t.Fatalf("row %d has label %v and values %v", r, v, x[3*r:3*r+3])
		}
	}
	return y[:rows]
}

func TestBatchesVisitEveryExampleOnceAnEpoch(t *testing.T) {
	const size = 4
	for _, n := range []int{1, 3, size - 1, size, size + 1, 2 * size, 2*size + 3} {
		b := Batches{Of: numbered(n), Size: size, Stream: rng.Stream{Seed: 7, Client: 2}}
		for epoch := range 5 {
			var seen []float32
			for i := range b.PerEpoch() {
				if b.Epoch != epoch {
					t.Fatalf("%d examples: batch %d in epoch %d, want %d", n, i, b.Epoch, epoch)
				}
				batch := next(t, &b)
				if want := min(size, n-i*size); len(batch) != want {
					t.Errorf("%d examples: batch %d has %d rows, want %d", n, i, len(batch), want)
				}
				seen = append(seen, batch...)
			}
			if b.Epoch != epoch+1 || b.Pos != 0 {
				t.Errorf("%d examples: after epoch %d at %d, %d", n, epoch, b.Epoch, b.Pos)
			}
			slices.Sort(seen)
			if !slices.Equal(seen, numbered(n).Y) {
				t.Errorf("%d examples: epoch %d visits %v", n, epoch, seen)
			}
		}
	}
}

// run returns the labels of so many batches.
func run(t testing.TB, b *Batches, batches int) (labels []float32) {
	for range batches {
		labels = append(labels, next(t, b)...)
	}
	return labels
}

func TestBatchesResume(t *testing.T) {
	const total = 12
	e, stream := numbered(10), rng.Stream{Seed: 7, Client: 2}
	unbroken := run(t, &Batches{Of: e, Size: 4, Stream: stream}, total)
	for stop := range total {
		first := Batches{Of: e, Size: 4, Stream: stream}
		got := run(t, &first, stop)
		second := Batches{Of: e, Size: 4, Stream: stream, Epoch: first.Epoch, Pos: first.Pos}
		got = append(got, run(t, &second, total-stop)...)
		if !slices.Equal(got, unbroken) {
			t.Errorf("stopped after %d batches: got %v, want %v", stop, got, unbroken)
		}
	}
}

// A worker may serve several clients with one Batches: the order of one must not leak into another's.
func TestBatchesReuse(t *testing.T) {
	stream := rng.Stream{Seed: 7}
	shared := Batches{Size: 4}
	for _, c := range []struct{ client, n int }{{0, 10}, {1, 10}, {2, 6}, {2, 12}} {
		own := Batches{Of: numbered(c.n), Size: 4, Stream: stream.At(0, c.client)}
		shared.Of, shared.Stream, shared.Epoch, shared.Pos = own.Of, own.Stream, 0, 0
		// Less than an epoch, so that the next client starts in the same one.
		if got, want := run(t, &shared, 1), run(t, &own, 1); !slices.Equal(got, want) {
			t.Errorf("client %d: got %v, want %v", c.client, got, want)
		}
	}
}

func TestBatchesOrderDependsOn(t *testing.T) {
	order := func(s rng.Stream, epoch int) []float32 {
		return run(t, &Batches{Of: numbered(30), Size: 30, Stream: s, Epoch: epoch}, 1)
	}
	base := order(rng.Stream{Seed: 1, Client: 1}, 0)
	if slices.IsSorted(base) {
		t.Error("not shuffled")
	}
	for name, other := range map[string][]float32{
		"seed":   order(rng.Stream{Seed: 2, Client: 1}, 0),
		"client": order(rng.Stream{Seed: 1, Client: 2}, 0),
		"epoch":  order(rng.Stream{Seed: 1, Client: 1}, 1),
	} {
		if slices.Equal(base, other) {
			t.Errorf("another %s gives the same order", name)
		}
	}
	for name, same := range map[string][]float32{
		"purpose": order(rng.Stream{Seed: 1, Client: 1, Purpose: rng.Noise}, 0),
		"round":   order(rng.Stream{Seed: 1, Client: 1, Round: 9}, 0),
	} {
		if !slices.Equal(base, same) {
			t.Errorf("another %s gives another order", name)
		}
	}
}

func TestBatchesPanics(t *testing.T) {
	x, y := make([]float32, 6), make([]float32, 2)
	for name, call := range map[string]func(){
		"no examples": func() { (&Batches{Of: numbered(0), Size: 2}).Next(x, y) },
		"no size":     func() { (&Batches{Of: numbered(3)}).Next(x, y) },
		"short x":     func() { (&Batches{Of: numbered(3), Size: 2}).Next(x[:5], y) },
		"short y":     func() { (&Batches{Of: numbered(3), Size: 2}).Next(x, y[:1]) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestBatchesAllocations(t *testing.T) {
	b := Batches{Of: numbered(1000), Size: 1}
	x, y := make([]float32, 3), make([]float32, 1)
	b.Next(x, y)
	if got := testing.AllocsPerRun(500, func() { b.Next(x, y) }); got != 0 {
		t.Errorf("%v allocations a batch, want 0", got)
	}
}

func BenchmarkBatches(b *testing.B) {
	e := &Examples{X: make([]float32, 1000*784), Y: make([]float32, 1000), Dim: 784}
	batches := Batches{Of: e, Size: 100}
	x, y := make([]float32, 100*784), make([]float32, 100)
	b.ReportAllocs()
	for b.Loop() {
		batches.Next(x, y)
	}
}
