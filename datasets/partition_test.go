package datasets

import (
	"fmt"
	"hash/fnv"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// drawConfig draws a partition of any kind of a toy data set, feasible or not.
func drawConfig(t *rapid.T) (*Dataset, PartitionConfig) {
	counts := rapid.SliceOfN(rapid.IntRange(0, 60), 1, 12).Draw(t, "counts")
	counts[0]++ // not empty
	return withOwners(toy(counts...), rapid.IntRange(1, 12).Draw(t, "owners")), PartitionConfig{
		Kind:            rapid.SampledFrom([]string{"labels", "iid", "permuted", "natural", "dirichlet"}).Draw(t, "kind"),
		Clients:         rapid.IntRange(1, 12).Draw(t, "clients"),
		Seed:            rapid.Uint64().Draw(t, "seed"),
		Assign:          rapid.SampledFrom([]string{"pairs", "sliding", "blocks"}).Draw(t, "assign"),
		LabelsPerClient: rapid.IntRange(1, len(counts)).Draw(t, "labels"),
		TrainPerClass:   rapid.IntRange(1, 8).Draw(t, "train"),
		TestPerClass:    rapid.IntRange(1, 8).Draw(t, "test"),
		Alpha:           rapid.SampledFrom([]float64{1e-6, 1e-3, 0.1, 0.5, 1, 100, 1e6}).Draw(t, "alpha"),
		MinSamples:      rapid.IntRange(1, 5).Draw(t, "min"),
		TestPerClient:   rapid.SampledFrom([]float64{0, 0.2, 0.9, 1, 3}).Draw(t, "tests"),
		Order:           rapid.SampledFrom([]string{"", "shuffled", "published"}).Draw(t, "order"),
	}
}

func TestPartitionProperties(t *testing.T) {
	feasible := 0
	rapid.Check(t, func(t *rapid.T) {
		d, cfg := drawConfig(t)
		splits, notes, err := Partition(d, cfg)
		again, notesAgain, errAgain := Partition(d, cfg)
		if !reflect.DeepEqual(splits, again) || !slices.Equal(notes, notesAgain) || fmt.Sprint(err) != fmt.Sprint(errAgain) {
			t.Fatal("a second call gives another partition")
		}
		if err != nil {
			if splits != nil || !strings.HasPrefix(err.Error(), "datasets: toy: ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("error %q with %d splits", err, len(splits))
			}
			return
		}
		feasible++
		if len(splits) != cfg.Clients {
			t.Fatalf("%d splits, want %d", len(splits), cfg.Clients)
		}
		given := make([]int, d.Len())
		for i, s := range splits {
			classes := map[int]bool{}
			for _, j := range slices.Concat(s.Train, s.Test) {
				given[j]++
				classes[int(d.Labels[j])] = true
			}
			if len(s.Train) == 0 || (len(s.Test) == 0 && (cfg.Kind != "dirichlet" && cfg.Kind != "natural" || len(s.Train) > 1)) {
				t.Fatalf("client %d: %d + %d images", i, len(s.Train), len(s.Test))
			}
			if !slices.IsSorted(s.Labels) || len(s.Labels) != len(classes) {
				t.Fatalf("client %d: labels %v, holds %v", i, s.Labels, classes)
			}
			for _, c := range s.Labels {
				if !classes[c] {
					t.Fatalf("client %d: labels %v, holds %v", i, s.Labels, classes)
				}
			}
		}
		for j, n := range given {
			if n > 1 || (n == 0 && cfg.Kind != "labels" && cfg.Kind != "natural") {
				t.Fatalf("image %d is given out %d times", j, n)
			}
		}
	})
	if !t.Failed() && feasible < 20 {
		t.Errorf("only %d feasible partitions drawn: the test tests nothing", feasible)
	}
}

func TestPartitionDependsOnSeed(t *testing.T) {
	d := withOwners(toy(50, 50, 50, 50), 4)
	for _, kind := range []string{"labels", "iid", "permuted", "natural", "dirichlet"} {
		cfg := PartitionConfig{Kind: kind, Clients: 4, Assign: "pairs", LabelsPerClient: 2, TrainPerClass: 10, TestPerClass: 10,
			Alpha: 1, MinSamples: 1}
		seen := map[string]uint64{}
		for cfg.Seed = range 8 {
			splits, _, err := Partition(d, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if other, ok := seen[fmt.Sprint(splits)]; ok {
				t.Errorf("%s: seeds %d and %d give the same partition", kind, other, cfg.Seed)
			}
			seen[fmt.Sprint(splits)] = cfg.Seed
		}
	}
}

// A seed's partition is part of every result that names the seed. These sums were made by this code; they change only
// with a partition's definition, and then all recorded results need a new run.
func TestPartitionIdentity(t *testing.T) {
	d := loadSampleOf(t)
	for _, test := range []struct {
		cfg  PartitionConfig
		want uint64
	}{
		{PartitionConfig{Kind: "labels", Assign: "pairs", LabelsPerClient: 5, TrainPerClass: 50, TestPerClass: 150}, 0x4517c795158a0c54},
		{PartitionConfig{Kind: "labels", Assign: "pairs", LabelsPerClient: 3, TrainPerClass: 50, TestPerClass: 150}, 0x891a858a60c821c1},
		{PartitionConfig{Kind: "iid"}, 0x3117f0105b9962a7},
	} {
		test.cfg.Clients, test.cfg.Seed = 10, 1
		splits, _, err := Partition(d, test.cfg)
		if err != nil {
			t.Fatal(err)
		}
		type parts struct{ Labels, Train, Test []int } // as the sums were made, before there was a validation part
		var all []parts
		for _, s := range splits {
			all = append(all, parts{s.Labels, s.Train, s.Test})
		}
		h := fnv.New64a()
		fmt.Fprint(h, all)
		if got := h.Sum64(); got != test.want {
			t.Errorf("%s, %d labels: sum %#x, want %#x", test.cfg.Kind, test.cfg.LabelsPerClient, got, test.want)
		}
	}
}

// TestPermutationIdentity is the same of a permutation.
func TestPermutationIdentity(t *testing.T) {
	splits, _, err := Partition(toy(40), PartitionConfig{Kind: "permuted", Clients: 2, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{5, 0, 3, 1, 2, 4}, {2, 0, 5, 3, 1, 4}} {
		if got := splits[i].Order; !slices.Equal(got, want) {
			t.Errorf("client %d: %v, want %v", i, got, want)
		}
	}
}

func TestPartitionErrors(t *testing.T) {
	labels := PartitionConfig{Kind: "labels", Clients: 4, Assign: "sliding", LabelsPerClient: 2, TrainPerClass: 5, TestPerClass: 5}
	iid := PartitionConfig{Kind: "iid", Clients: 4}
	mixed := PartitionConfig{Kind: "dirichlet", Clients: 4, Alpha: 0.5, MinSamples: 1}
	with := func(cfg PartitionConfig, change func(*PartitionConfig)) PartitionConfig { change(&cfg); return cfg }
	for _, test := range []struct {
		cfg  PartitionConfig
		want string
	}{
		{with(labels, func(c *PartitionConfig) { c.Kind = "lables" }), `no partition "lables": want labels, iid, permuted, natural or dirichlet`},
		{with(iid, func(c *PartitionConfig) { c.Clients = 0 }), "--clients 0: want 1 to 40, the number of images"},
		{with(mixed, func(c *PartitionConfig) { c.Clients = 41 }), "--clients 41: want 1 to 40, the number of images"},

		{with(labels, func(c *PartitionConfig) { c.Assign = "pair" }), `labels: no assignment "pair": want pairs, sliding or blocks`},
		{with(labels, func(c *PartitionConfig) { c.LabelsPerClient = 0 }), "labels: 0 labels per client: want 1 to 4"},
		{with(labels, func(c *PartitionConfig) { c.LabelsPerClient = 5 }), "labels: 5 labels per client: want 1 to 4"},
		{with(labels, func(c *PartitionConfig) { c.TrainPerClass = 0 }), "labels: --train-per-class 0: want at least 1"},
		{with(labels, func(c *PartitionConfig) { c.TestPerClass = -1 }), "labels: --test-per-class -1: want at least 1"},
		{with(labels, func(c *PartitionConfig) { c.Clients = 8 }),
			"labels: class 1 has 10 images, want 24: 5 to train on and at least 1 to test for each client that holds it (4): " +
				"lower --train-per-class to 1 or --clients to 1"},
		{with(labels, func(c *PartitionConfig) { c.Clients = 40 }), // 20 hold each class, of which there are 10 images
			": lower --clients to 1"},
		{with(labels, func(c *PartitionConfig) { c.TrainPerClass = 10; c.Clients = 2 }),
			"class 0 has 10 images, want 11: 10 to train on and at least 1 to test for each client that holds it (1): lower --train-per-class to 4"},

		{with(iid, func(c *PartitionConfig) { c.Clients = 21 }),
			"iid: 40 images for 21 clients: each wants at least 2, to train on and to test: lower --clients to 20"},

		{with(iid, func(c *PartitionConfig) { c.TestPerClient = 10 }),
			"iid: 40 images for 4 clients: each wants at least 11, to train on and to test: lower --clients to 3"},
		{with(iid, func(c *PartitionConfig) { c.Order = "random" }), `iid: no order "random": want shuffled or published`},
		{with(iid, func(c *PartitionConfig) { c.Kind, c.Order = "permuted", "published" }),
			"permuted: nothing tells which of its images were published for training: want --order shuffled"},
		{with(iid, func(c *PartitionConfig) { c.Kind = "natural" }), "natural: nothing says whose its images are: want another --partition"},

		{with(mixed, func(c *PartitionConfig) { c.TestPerClient = 20 }), "gives every client 21 examples (alpha 0.5, 4 clients); the best gave "},
		{with(mixed, func(c *PartitionConfig) { c.TestPerClient = 20 }), ": lower --test-per-client to "},
		{with(mixed, func(c *PartitionConfig) { c.Alpha = 0 }), "dirichlet: --alpha 0: want 1e-06 to 1e+06"},
		{with(mixed, func(c *PartitionConfig) { c.Alpha = -1 }), "dirichlet: --alpha -1: want 1e-06 to 1e+06"},
		{with(mixed, func(c *PartitionConfig) { c.Alpha = math.NaN() }), "dirichlet: --alpha NaN: want 1e-06 to 1e+06"},
		{with(mixed, func(c *PartitionConfig) { c.Alpha = math.Inf(1) }), "dirichlet: --alpha +Inf: want 1e-06 to 1e+06"},
		{with(mixed, func(c *PartitionConfig) { c.MinSamples = 0 }), "dirichlet: --min-samples 0: want at least 1"},
		{with(mixed, func(c *PartitionConfig) { c.MinSamples = 11 }),
			"dirichlet: no draw in 100 gives every client 11 examples (alpha 0.5, 4 clients); the best gave"},
	} {
		splits, _, err := Partition(toy(10, 10, 10, 10), test.cfg)
		if err == nil {
			t.Errorf("%+v: no error, want %q", test.cfg, test.want)
			continue
		}
		if !strings.HasPrefix(err.Error(), "datasets: toy: ") || !strings.Contains(err.Error(), test.want) || splits != nil {
			t.Errorf("%+v:\ngot  %q\nwant %q", test.cfg, err, test.want)
		}
	}
}

func TestCheckSplits(t *testing.T) {
	for _, test := range []struct {
		name   string
		splits []Split
		want   string
	}{
		{"right", []Split{{Train: []int{0, 1}, Test: []int{2}}, {Train: []int{4}}}, ""},
		{"train is test", []Split{{Train: []int{0, 1}, Test: []int{1}}},
			"image 1 is in client 0's train part and in client 0's test part"},
		{"validation is test", []Split{{Train: []int{0}, Val: []int{1}, Test: []int{1}}},
			"image 1 is in client 0's validation part and in client 0's test part"},
		{"twice in train", []Split{{Train: []int{0, 0}}}, "image 0 is in client 0's train part and in client 0's train part"},
		{"two clients", []Split{{Train: []int{0}, Test: []int{3}}, {Train: []int{3}}},
			"image 3 is in client 0's test part and in client 1's train part"},
		{"outside", []Split{{Train: []int{0}, Test: []int{5}}}, "client 0's test part has image 5, want 0 to 4"},
		{"negative", []Split{{Train: []int{-1}}}, "client 0's train part has image -1, want 0 to 4"},
		{"nothing to train on", []Split{{Train: []int{0}}, {Test: []int{1}}}, "client 1 has no training images"},
	} {
		err := checkSplits(5, test.splits)
		if (err == nil) != (test.want == "") || (err != nil && err.Error() != test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
}

func TestIID(t *testing.T) {
	d := toy(300, 300, 300)
	splits, _, err := Partition(d, PartitionConfig{Kind: "iid", Clients: 7, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range splits {
		n := len(s.Train) + len(s.Test)
		if n != 900/7 && n != 900/7+1 {
			t.Errorf("client %d has %d images, want %d or one more", i, n, 900/7)
		}
		if len(s.Test) != 32 {
			t.Errorf("client %d has %d of %d images for the test, want 32", i, len(s.Test), n)
		}
		if len(s.Labels) != 3 || slices.IsSorted(s.Train) {
			t.Errorf("client %d: labels %v; not shuffled", i, s.Labels)
		}
	}
}

// withOwners makes the examples of a data set those of n clients: the first is the first's, the next two are the second's,
// and so on, round and round.
func withOwners(d *Dataset, n int) *Dataset {
	for o := range n {
		d.Owners = append(d.Owners, fmt.Sprint("client ", o))
	}
	for len(d.Owner) < d.Len() {
		for o := range n {
			d.Owner = append(d.Owner, slices.Repeat([]int{o}, o+1)...)
		}
	}
	d.Owner = d.Owner[:d.Len()]
	return d
}

func TestNatural(t *testing.T) {
	d := withOwners(toy(15, 15, 15), 5) // 3, 6, 9, 12 and 15 examples
	splits, notes, err := Partition(d, PartitionConfig{Kind: "natural", Clients: 3, MinSamples: 6, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"clients with fewer than 6 images are left out: 1 of the data's 5"}; !slices.Equal(notes, want) {
		t.Errorf("notes %q, want %q", notes, want)
	}
	for i, s := range splits {
		who := i + 2 // those with the most
		for _, j := range slices.Concat(s.Train, s.Test) {
			if d.Owner[j] != who {
				t.Errorf("client %d has example %d of client %d of the data, want those of %d", i, j, d.Owner[j], who)
			}
		}
		n := 3 * (who + 1)
		if s.Owner != d.Owners[who] || len(s.Test) != (n+2)/4 || len(s.Train)+len(s.Test) != n {
			t.Errorf("client %d: %q with %d + %d, want %q with %d", i, s.Owner, len(s.Train), len(s.Test), d.Owners[who], n)
		}
	}
	if slices.IsSorted(splits[2].Train) {
		t.Error("the examples are split in their order")
	}
	// The split of a client does not depend on who else takes part.
	alone, _, err := Partition(d, PartitionConfig{Kind: "natural", Clients: 1, Seed: 1})
	if err != nil || !reflect.DeepEqual(alone[0], splits[2]) {
		t.Errorf("alone %v (%v), want %v", alone, err, splits[2])
	}
	for _, test := range []struct {
		cfg  PartitionConfig
		want string
	}{
		{PartitionConfig{Clients: 4, MinSamples: 7}, "--clients 4: 3 of the data's 5 have at least 7 images: lower --clients to 3, or lower --min-samples"},
		{PartitionConfig{Clients: 6}, "--clients 6: 5 of the data's 5 have at least 1 images: lower --clients to 5"},
		{PartitionConfig{Clients: 1, TestPerClient: 15}, "--clients 1: 0 of the data's 5 have at least 16 images: lower --test-per-client"},
	} {
		test.cfg.Kind = "natural"
		if _, _, err := Partition(d, test.cfg); err == nil || err.Error() != "datasets: toy: natural: "+test.want {
			t.Errorf("%+v:\ngot  %v\nwant %s", test.cfg, err, test.want)
		}
	}
}

func TestPublishedOrder(t *testing.T) {
	d := toy(70)
	d.Training = 60
	splits, _, err := Partition(d, PartitionConfig{Kind: "iid", Order: "published", Clients: 10})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range splits {
		if want := []int{6 * i, 6*i + 1, 6*i + 2, 6*i + 3, 6*i + 4, 6*i + 5}; !slices.Equal(s.Train, want) || !slices.Equal(s.Test, []int{60 + i}) {
			t.Errorf("client %d: %v and %v, want %v and %d", i, s.Train, s.Test, want, 60+i)
		}
	}
	if _, _, err := Partition(d, PartitionConfig{Kind: "iid", Order: "published", Clients: 11}); err == nil ||
		!strings.HasSuffix(err.Error(), "60 images to train on and 10 to test, for 11 clients: lower --clients to 10") {
		t.Errorf("11 clients: %v", err)
	}
}

// TestPermuted: a permuted client has the examples of the same client of iid, with the values of each in another order, one
// for all of its examples and unlike that of another client. Of a pixel of colours they stay together.
func TestPermuted(t *testing.T) {
	d := toy(40)
	d.Shape = []int{2, 3, 1}
	coloured := &Dataset{Name: "coloured", Shape: []int{2, 5, 3}, Classes: 1, Pixels: make([]uint8, 20*30), Labels: make([]uint8, 20)}
	for i := range coloured.Pixels {
		coloured.Pixels[i] = uint8(i)
	}
	for _, d := range []*Dataset{d, coloured} {
		cfg := PartitionConfig{Kind: "iid", Clients: 2, Seed: 3, ValFraction: 0.5}
		plain, _, err := Partition(d, cfg)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Kind = "permuted"
		splits, _, err := Partition(d, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(splits[0].Order, splits[1].Order) {
			t.Errorf("%s: both clients have the order %v", d.Name, splits[0].Order)
		}
		was, is := Clients(d, plain), Clients(d, splits)
		for c := range is {
			order := splits[c].Order
			if all := slices.Sorted(slices.Values(order)); !slices.Equal(all, upTo(d.Dim())) || slices.IsSorted(order) {
				t.Fatalf("%s: the order %v is no permutation", d.Name, order)
			}
			for j, from := range order {
				if from%d.Channels() != j%d.Channels() || from/d.Channels() != order[j-j%d.Channels()]/d.Channels() {
					t.Errorf("%s: the order %v takes a pixel apart", d.Name, order)
				}
			}
			for _, part := range [][2]Examples{{was[c].Train, is[c].Train}, {was[c].Val, is[c].Val}, {was[c].Test, is[c].Test}} {
				if part[0].Len() == 0 || !slices.Equal(part[0].Y, part[1].Y) {
					t.Fatalf("%s: client %d has labels %v, want %v", d.Name, c, part[1].Y, part[0].Y)
				}
				for i := range part[0].Len() {
					for j, from := range order {
						if got, want := part[1].X[i*d.Dim()+j], part[0].X[i*d.Dim()+from]; got != want {
							t.Fatalf("%s: client %d, example %d: value %d is %v, want %v", d.Name, c, i, j, got, want)
						}
					}
				}
			}
		}
	}
}

func TestTestsPerClient(t *testing.T) {
	for asked, want := range map[float64]map[int]int{
		0:    {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 8: 2, 9: 2, 10: 3, 100: 25},
		0.25: {0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 8: 2, 9: 2, 10: 3, 100: 25},
		0.2:  {1: 0, 2: 1, 3: 1, 7: 1, 8: 2, 111: 22},
		0.9:  {2: 1, 3: 2, 10: 9},
		100:  {1: 0, 101: 100, 700: 100},
	} {
		for n, want := range want {
			if got := (PartitionConfig{TestPerClient: asked}).tests(n); got != want {
				t.Errorf("%v of %d: %d, want %d", asked, n, got, want)
			}
		}
	}
}
