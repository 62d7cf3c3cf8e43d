package datasets

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestValidation compares a partition with one without: test parts are the same, and each training part is divided in two,
// label by label.
func TestValidation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, cfg := drawConfig(t)
		whole, _, err := Partition(d, cfg)
		if err != nil {
			return
		}
		cfg.ValFraction = rapid.SampledFrom([]float64{0.01, 0.2, 0.5, 0.99}).Draw(t, "fraction")
		splits, _, err := Partition(d, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range splits {
			if !slices.Equal(s.Test, whole[i].Test) || !slices.Equal(s.Labels, whole[i].Labels) {
				t.Fatalf("client %d: other test images or labels than without", i)
			}
			back := slices.Concat(s.Train, s.Val)
			slices.Sort(back)
			if !slices.Equal(back, slices.Sorted(slices.Values(whole[i].Train))) {
				t.Fatalf("client %d: training and validation are not the training images without", i)
			}
			train, val := d.countsOf(s.Train), d.countsOf(s.Val)
			for c, n := range d.countsOf(whole[i].Train) {
				want := min(int(math.Round(cfg.ValFraction*float64(n))), max(0, n-1))
				if val[c] != want || train[c] != n-want {
					t.Fatalf("client %d: of %d images of class %d, %d to train and %d to validate", i, n, c, train[c], val[c])
				}
			}
		}
	})
}

// TestValidationIsDrawn: other images with another seed or client, the same with a larger fraction and more.
func TestValidationIsDrawn(t *testing.T) {
	d := toy(200, 200)
	part := func(seed uint64, fraction float64) []Split {
		splits, _, err := Partition(d, PartitionConfig{Kind: "iid", Clients: 2, Seed: seed, ValFraction: fraction})
		if err != nil {
			t.Fatal(err)
		}
		return splits
	}
	places := func(s Split) (at []int) { // of the validation images among the client's
		whole := slices.Concat(s.Train, s.Val)
		slices.Sort(whole)
		for _, image := range s.Val {
			at = append(at, slices.Index(whole, image))
		}
		return at
	}
	a, b := part(1, 0.2), part(2, 0.2)
	if reflect.DeepEqual(places(a[0]), places(a[1])) || reflect.DeepEqual(places(a[0]), places(b[0])) {
		t.Error("the same places of the list for another client, or another seed")
	}
	more := part(1, 0.4)
	for _, image := range a[0].Val {
		if !slices.Contains(more[0].Val, image) {
			t.Errorf("image %d is validated on with a fifth, and not with two", image)
		}
	}
	// A position must not decide: of a sorted list the first fifth would.
	if at := places(a[0]); slices.Max(at)-slices.Min(at) < 75 {
		t.Errorf("validation images stand together, at %v", at)
	}
}

func TestStats(t *testing.T) {
	d := toy(3, 3, 3) // labels 0 1 2 0 1 2 …
	for _, test := range []struct {
		name   string
		splits []Split
		want   Stats
	}{
		{
			"right", []Split{{Train: []int{0, 1}, Val: []int{3}, Test: []int{4, 2}}, {Train: []int{5}, Test: []int{8}}},
			Stats{
				Train: [][]int{{1, 1, 0}, {0, 0, 1}}, Val: [][]int{{1, 0, 0}, {0, 0, 0}}, Test: [][]int{{0, 1, 1}, {0, 0, 1}},
				Unseen: []int{1, 0}, Unused: 2,
			},
		},
		{
			"leaks", []Split{{Train: []int{0, 1}, Test: []int{1}}, {Train: []int{2}, Val: []int{4}, Test: []int{0, 4}}},
			Stats{
				Train: [][]int{{1, 1, 0}, {0, 0, 1}}, Val: [][]int{{0, 0, 0}, {0, 1, 0}}, Test: [][]int{{0, 1, 0}, {1, 1, 0}},
				SharedByClients: 1, TrainedAndTest: 3, Unseen: []int{0, 2}, Unused: 5,
			},
		},
	} {
		got := StatsOf(d, test.splits)
		if fmt.Sprint(got) != fmt.Sprint(test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	s := StatsOf(d, []Split{{Train: []int{0, 1}, Test: []int{4, 2}}, {Train: []int{5}, Test: []int{6, 8}}, {Train: []int{3}}})
	if s.UnseenShare() != 0.5 || s.ClientUnseenShare(0) != 0.5 || s.ClientUnseenShare(2) != 0 {
		t.Errorf("unseen: %v of all, %v of client 0, %v of client 2", s.UnseenShare(), s.ClientUnseenShare(0), s.ClientUnseenShare(2))
	}
}

// TestNoOverlaps: what Partition returns has none, of any kind.
func TestNoOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, cfg := drawConfig(t)
		cfg.ValFraction = rapid.SampledFrom([]float64{0, 0.3}).Draw(t, "fraction")
		splits, _, err := Partition(d, cfg)
		if err != nil {
			return
		}
		if s := StatsOf(d, splits); s.SharedByClients != 0 || s.TrainedAndTest != 0 {
			t.Fatalf("%d images of two clients, %d of training and test", s.SharedByClients, s.TrainedAndTest)
		}
	})
}
