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
	return toy(counts...), PartitionConfig{
		Kind:            rapid.SampledFrom([]string{"labels", "iid", "dirichlet"}).Draw(t, "kind"),
		Clients:         rapid.IntRange(1, 12).Draw(t, "clients"),
		Seed:            rapid.Uint64().Draw(t, "seed"),
		Assign:          rapid.SampledFrom([]string{"pairs", "sliding", "blocks"}).Draw(t, "assign"),
		LabelsPerClient: rapid.IntRange(1, len(counts)).Draw(t, "labels"),
		TrainPerClass:   rapid.IntRange(1, 8).Draw(t, "train"),
		TestPerClass:    rapid.IntRange(1, 8).Draw(t, "test"),
		Alpha:           rapid.SampledFrom([]float64{1e-6, 1e-3, 0.1, 0.5, 1, 100, 1e6}).Draw(t, "alpha"),
		MinSamples:      rapid.IntRange(1, 5).Draw(t, "min"),
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
			if len(s.Train) == 0 || (len(s.Test) == 0 && (cfg.Kind != "dirichlet" || len(s.Train) > 1)) {
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
			if n > 1 || (n == 0 && cfg.Kind != "labels") {
				t.Fatalf("image %d is given out %d times", j, n)
			}
		}
	})
	if !t.Failed() && feasible < 20 {
		t.Errorf("only %d feasible partitions drawn: the test tests nothing", feasible)
	}
}

func TestPartitionDependsOnSeed(t *testing.T) {
	d := toy(50, 50, 50, 50)
	for _, kind := range []string{"labels", "iid", "dirichlet"} {
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

func TestPartitionErrors(t *testing.T) {
	labels := PartitionConfig{Kind: "labels", Clients: 4, Assign: "sliding", LabelsPerClient: 2, TrainPerClass: 5, TestPerClass: 5}
	iid := PartitionConfig{Kind: "iid", Clients: 4}
	mixed := PartitionConfig{Kind: "dirichlet", Clients: 4, Alpha: 0.5, MinSamples: 1}
	with := func(cfg PartitionConfig, change func(*PartitionConfig)) PartitionConfig { change(&cfg); return cfg }
	for _, test := range []struct {
		cfg  PartitionConfig
		want string
	}{
		{with(labels, func(c *PartitionConfig) { c.Kind = "lables" }), `no partition "lables": want labels, iid or dirichlet`},
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
			"iid: 40 images for 21 clients: each wants one to train on and one to test: lower --clients to 20"},

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

func TestTestShare(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 8: 2, 9: 2, 10: 3, 100: 25} {
		if got := testShare(n); got != want {
			t.Errorf("testShare(%d) = %d, want %d", n, got, want)
		}
	}
}
