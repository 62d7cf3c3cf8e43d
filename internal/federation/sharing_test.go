package federation

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"fedbayes/algorithms"
	"fedbayes/internal/kernels"
	"fedbayes/internal/rng"
)

// TestStatesShareNothing looks for memory that two owners hold: a client that wrote to its state would change another's.
// A download may be the server's own memory, which Train leaves alone (see spy); an upload is its client's last.
func TestStatesShareNothing(t *testing.T) {
	test := func(t *testing.T, m algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.PerRound = 2, 6
		s, _, _ := play(t, cfg, m, toys(mixed...))
		owner := map[unsafe.Pointer]string{}
		own := func(who string, v any) {
			for _, p := range memory(nil, reflect.ValueOf(v)) {
				if other, taken := owner[p]; taken {
					t.Errorf("%s and %s share memory", other, who)
				}
				owner[p] = who
			}
		}
		own("server", s.server)
		for i, c := range s.clients {
			own(fmt.Sprint("client ", i), c)
		}
		for round, ups := range s.ups {
			for _, u := range ups {
				own(fmt.Sprintf("the upload of client %d in round %d", u.Client, round+1), u.Msg)
			}
		}
	}
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) { test(t, make()) })
	t.Run("pfedbayes/closed-form", func(t *testing.T) {
		test(t, method(t, "pfedbayes", "", map[string]any{"server": "closed-form"}))
	})
}

// memory appends the addresses of the slices in v that hold anything.
func memory(p []unsafe.Pointer, v reflect.Value) []unsafe.Pointer {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			p = memory(p, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			p = memory(p, v.Field(i))
		}
	case reflect.Slice:
		if v.Len() > 0 {
			p = append(p, v.UnsafePointer())
		}
		for i := range v.Len() {
			p = memory(p, v.Index(i))
		}
	}
	return p
}

// TestRelabelledClients gives the uploads other ids, and so another order: each client must be sent what it was sent before,
// and a server that sends the same to all must come out the same.
func TestRelabelledClients(t *testing.T) {
	eachMethod(t, func(t *testing.T, _ string, make func() algorithms.Algorithm) {
		cfg := config()
		cfg.Rounds, cfg.PerRound = 1, 6
		s, _, _ := play(t, cfg, make(), toys(mixed...))
		m := make()
		server := m.Server(algorithms.Task{Net: network(t), Batch: batch, Examples: mixed}, kernels.New(cfg.ISA), rng.Stream{Seed: cfg.Seed})
		ups := slices.Clone(s.ups[0])
		slices.Reverse(ups)
		ups[0], ups[2] = ups[2], ups[0]
		was, sent := []int{}, map[string]bool{}
		for i := range ups {
			was = append(was, ups[i].Client)
			ups[i].Client = i
		}
		m.Aggregate(server, ups)
		for i, old := range was {
			got, want := spell(m.Download(server, i)), spell(s.Download(s.server, old))
			if got != want {
				t.Errorf("client %d, which was %d: %s", i, old, difference(got, want))
			}
			sent[want] = true
		}
		if len(sent) > 1 {
			return // it keeps clients apart
		}
		if got, want := spell(server), spell(s.server); got != want {
			t.Error(difference(got, want))
		}
	})
}
