package datasets

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPermuteLabels: the first group keeps the labels, every other one permutes them, and no two agree on a label. Who
// has which images does not depend on it.
func TestPermuteLabels(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, cfg := drawConfig(t)
		plain, _, err := Partition(d, cfg)
		if err != nil || d.Classes < 2 || cfg.Clients < 2 {
			t.Skip("nothing to permute")
		}
		cfg.PermuteLabels = rapid.IntRange(2, min(d.Classes, cfg.Clients)).Draw(t, "groups")
		splits, _, err := Partition(d, cfg)
		if err != nil {
			t.Fatal(err)
		}
		clients := Clients(d, splits)
		for i, s := range splits {
			own := s
			own.Group, own.LabelOf = 0, nil
			if !reflect.DeepEqual(own, plain[i]) {
				t.Fatalf("client %d: %v, without permutation %v", i, own, plain[i])
			}
			if s.Group != i%cfg.PermuteLabels || clients[i].Group != s.Group {
				t.Fatalf("client %d is of group %d", i, s.Group)
			}
			all := slices.Sorted(slices.Values(s.LabelOf))
			for class := range d.Classes {
				if all[class] != class || s.Group == 0 && s.LabelOf[class] != class {
					t.Fatalf("group %d: labels %v", s.Group, s.LabelOf)
				}
				for g := range s.Group {
					if splits[g].LabelOf[class] == s.LabelOf[class] {
						t.Fatalf("groups %d and %d agree on class %d: %v, %v", g, s.Group, class, splits[g].LabelOf, s.LabelOf)
					}
				}
			}
			seen := map[int]bool{}
			for _, part := range []struct {
				indices []int
				of      Examples
			}{{s.Train, clients[i].Train}, {s.Test, clients[i].Test}, {s.Val, clients[i].Val}} {
				for k, image := range part.indices {
					label := s.LabelOf[d.Labels[image]]
					if seen[label] = true; int(part.of.Y[k]) != label {
						t.Fatalf("client %d: an image of class %d has label %v, want %d", i, d.Labels[image], part.of.Y[k], label)
					}
				}
			}
			if labels := clients[i].Labels; !slices.IsSorted(labels) || len(labels) != len(seen) || !seen[labels[0]] {
				t.Fatalf("client %d: labels %v, has %v", i, labels, seen)
			}
		}
	})
}

func TestPermuteLabelsBySeed(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(5) {
		splits, _, err := Partition(toy(20, 20, 20, 20, 20, 20, 20), PartitionConfig{Kind: "iid", Clients: 3, Seed: seed, PermuteLabels: 2})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(splits[2].LabelOf, splits[0].LabelOf) {
			t.Error("clients of one group label otherwise")
		}
		seen[fmt.Sprint(splits[1].LabelOf)] = true
	}
	if len(seen) < 4 {
		t.Errorf("%d permutations of five seeds", len(seen))
	}
}

func TestPermuteLabelsErrors(t *testing.T) {
	for _, groups := range []int{-1, 1, 4} {
		for _, cfg := range []PartitionConfig{{Kind: "iid", Clients: 3}, {Kind: "iid", Clients: 9}} {
			cfg.PermuteLabels = groups
			_, _, err := Partition(toy(20, 20, 20), cfg)
			if want := fmt.Sprintf("datasets: toy: --permute-labels %d: want 2 to 3", groups); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		}
	}
}
