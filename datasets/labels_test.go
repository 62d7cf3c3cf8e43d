package datasets

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestAssign(t *testing.T) {
	for _, test := range []struct {
		assign        string
		classes, k, n int
		want          [][]int
	}{
		{"sliding", 10, 5, 3, [][]int{{0, 1, 2, 3, 4}, {1, 2, 3, 4, 5}, {2, 3, 4, 5, 6}}},
		{"sliding", 4, 3, 4, [][]int{{0, 1, 2}, {1, 2, 3}, {0, 2, 3}, {0, 1, 3}}},
		{"blocks", 10, 5, 4, [][]int{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}, {0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}},
		{"blocks", 10, 3, 4, [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 1, 9}}},
		{"pairs", 3, 3, 2, [][]int{{0, 1, 2}, {0, 1, 2}}},
		{"pairs", 1, 1, 2, [][]int{{0}, {0}}},
	} {
		got, err := assign(test.classes, PartitionConfig{Assign: test.assign, LabelsPerClient: test.k, Clients: test.n})
		if err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s, %d of %d labels: got %v, %v, want %v", test.assign, test.k, test.classes, got, err, test.want)
		}
	}
}

func TestAssignProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(1, 12).Draw(t, "classes")
		cfg := PartitionConfig{
			Assign:          rapid.SampledFrom([]string{"pairs", "sliding", "blocks"}).Draw(t, "assign"),
			LabelsPerClient: rapid.IntRange(1, classes).Draw(t, "k"),
			Clients:         rapid.IntRange(1, 25).Draw(t, "clients"),
			Seed:            rapid.Uint64().Draw(t, "seed"),
		}
		labels, err := assign(classes, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for u, l := range labels {
			if len(l) != cfg.LabelsPerClient || !slices.IsSorted(l) || len(slices.Compact(slices.Clone(l))) != len(l) ||
				l[0] < 0 || l[len(l)-1] >= classes {
				t.Fatalf("client %d holds %v, want %d different labels below %d, ascending", u, l, cfg.LabelsPerClient, classes)
			}
		}
		h := holders(classes, labels)
		if cfg.Assign != "sliding" && slices.Max(h)-slices.Min(h) > 1 {
			t.Fatalf("labels are held by %v clients: not balanced", h)
		}
		if cfg.Clients%classes == 0 && slices.Max(h) != slices.Min(h) {
			t.Fatalf("labels are held by %v clients: not balanced", h)
		}
		// Half of an even number of labels: the two of a pair share all of them.
		if cfg.Assign == "pairs" && 2*cfg.LabelsPerClient == classes {
			for u := 0; u+1 < cfg.Clients; u += 2 {
				both := slices.Concat(labels[u], labels[u+1])
				slices.Sort(both)
				if len(slices.Compact(both)) != classes {
					t.Fatalf("clients %d and %d hold %v and %v", u, u+1, labels[u], labels[u+1])
				}
			}
		}
		// Fewer clients hold what they would hold among more: errors count on it when they name a feasible number.
		more := cfg
		more.Clients += 5
		if longer, err := assign(classes, more); err != nil || !reflect.DeepEqual(longer[:cfg.Clients], labels) {
			t.Fatalf("with more clients: %v, %v, want it to begin with %v", longer, err, labels)
		}
	})
}

func TestPairsAreRandom(t *testing.T) {
	sets := map[string]int{}
	for seed := range uint64(200) {
		labels, err := assign(4, PartitionConfig{Assign: "pairs", LabelsPerClient: 2, Clients: 4, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range labels {
			sets[fmt.Sprint(l)]++
		}
	}
	// 800 sets of 6 kinds: 133 each, standard deviation below 15 (a pair's two are dependent).
	for set, n := range sets {
		if n < 75 || n > 195 {
			t.Errorf("labels %s drawn %d times of 800, want about 133", set, n)
		}
	}
	if len(sets) != 6 {
		t.Errorf("%d label sets, want 6", len(sets))
	}
}

// countsOf returns how many of the images are of each class.
func countsOf(d *Dataset, indices []int) []int {
	counts := make([]int, d.Classes)
	for _, i := range indices {
		counts[d.Labels[i]]++
	}
	return counts
}

func TestLabelsGiveExactCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(1, 10).Draw(t, "classes")
		cfg := PartitionConfig{
			Kind:            "labels",
			Assign:          rapid.SampledFrom([]string{"pairs", "sliding", "blocks"}).Draw(t, "assign"),
			LabelsPerClient: rapid.IntRange(1, classes).Draw(t, "k"),
			Clients:         rapid.IntRange(1, 9).Draw(t, "clients"),
			TrainPerClass:   rapid.IntRange(1, 5).Draw(t, "train"),
			TestPerClass:    rapid.IntRange(1, 5).Draw(t, "test"),
			Seed:            rapid.Uint64().Draw(t, "seed"),
		}
		counts := make([]int, classes)
		for c := range counts {
			counts[c] = cfg.Clients*(cfg.TrainPerClass+cfg.TestPerClass) + c
		}
		d := toy(counts...)
		splits, notes, err := Partition(d, cfg)
		if err != nil || len(notes) != 0 {
			t.Fatalf("error %v, notes %q", err, notes)
		}
		for i, s := range splits {
			if len(s.Labels) != cfg.LabelsPerClient {
				t.Fatalf("client %d holds %v, want %d labels", i, s.Labels, cfg.LabelsPerClient)
			}
			train, test := countsOf(d, s.Train), countsOf(d, s.Test)
			for c := range classes {
				wantTrain, wantTest := 0, 0
				if slices.Contains(s.Labels, c) {
					wantTrain, wantTest = cfg.TrainPerClass, cfg.TestPerClass
				}
				if train[c] != wantTrain || test[c] != wantTest {
					t.Fatalf("client %d, class %d: %d + %d images, want %d + %d", i, c, train[c], test[c], wantTrain, wantTest)
				}
			}
		}
	})
}

func TestLabelsUseWhatRemainsForTheTest(t *testing.T) {
	cfg := PartitionConfig{Kind: "labels", Assign: "sliding", Clients: 2, LabelsPerClient: 2, TrainPerClass: 5, TestPerClass: 20}
	for _, test := range []struct {
		counts   []int
		want     []int // test images of each class and client
		wantNote string
	}{
		{[]int{50, 50}, []int{20, 20}, ""},
		{[]int{50, 49}, []int{20, 19}, "5 training and 20 test images were asked for; the data leave 19 to 20 for the test"},
		{[]int{21, 12}, []int{5, 1}, "5 training and 20 test images were asked for; the data leave 1 to 5 for the test"},
		{[]int{30, 31}, []int{10, 10}, "5 training and 20 test images were asked for; the data leave 10 for the test"},
	} {
		d := toy(test.counts...)
		splits, notes, err := Partition(d, cfg)
		if err != nil {
			t.Errorf("%v: %v", test.counts, err)
			continue
		}
		for i, s := range splits {
			if got := countsOf(d, s.Test); !slices.Equal(got, test.want) {
				t.Errorf("%v: client %d tests on %v, want %v", test.counts, i, got, test.want)
			}
			if got := countsOf(d, s.Train); !slices.Equal(got, []int{5, 5}) {
				t.Errorf("%v: client %d trains on %v, want 5 of each", test.counts, i, got)
			}
		}
		if note := strings.Join(notes, "\n"); (note == "") != (test.wantNote == "") || !strings.Contains(note, test.wantNote) ||
			strings.Contains(note, "\n") {
			t.Errorf("%v: note %q, want %q", test.counts, note, test.wantNote)
		}
	}
}

// What an error recommends must work.
func TestLabelsErrorsNameTheLimit(t *testing.T) {
	recommended := 0
	rapid.Check(t, func(t *rapid.T) {
		d := toy(rapid.SliceOfN(rapid.IntRange(1, 40), 1, 6).Draw(t, "counts")...)
		cfg := PartitionConfig{
			Kind:            "labels",
			Assign:          rapid.SampledFrom([]string{"pairs", "sliding", "blocks"}).Draw(t, "assign"),
			Clients:         rapid.IntRange(1, d.Len()).Draw(t, "clients"),
			LabelsPerClient: rapid.IntRange(1, d.Classes).Draw(t, "k"),
			TrainPerClass:   rapid.IntRange(1, 50).Draw(t, "train"),
			TestPerClass:    rapid.IntRange(1, 50).Draw(t, "test"),
		}
		_, _, err := Partition(d, cfg)
		if err == nil {
			return
		}
		for flag, field := range map[string]*int{"--train-per-class to ": &cfg.TrainPerClass, "--clients to ": &cfg.Clients} {
			_, number, ok := strings.Cut(err.Error(), flag)
			if !ok {
				continue
			}
			recommended++
			before := *field
			if _, scanErr := fmt.Sscan(number, field); scanErr != nil {
				t.Fatalf("%v: %v", err, scanErr)
			}
			if _, _, still := Partition(d, cfg); still != nil {
				t.Fatalf("%v\nand then\n%v", err, still)
			}
			if *field++; *field <= before {
				if _, _, still := Partition(d, cfg); still == nil {
					t.Fatalf("%v\nbut %d does too", err, *field)
				}
			}
			*field = before
		}
	})
	if !t.Failed() && recommended < 20 {
		t.Errorf("only %d recommendations drawn: the test tests nothing", recommended)
	}
}

// The regimes of Zhang et al. must fit the data that they were made for.
func TestRegimesFit(t *testing.T) {
	full := toy(6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958) // MNIST's counts
	for _, e := range All() {
		d, clients, tooMany := full, 10, ""
		switch e.Name {
		case "mnist-sample":
			d, tooMany = toy(slices.Repeat([]int{1000}, 10)...), "lower --train-per-class to 199 or --clients to "
		case "fashion-mnist-sample":
			d, tooMany = toy(slices.Repeat([]int{400}, 10)...), "lower --train-per-class to 79"
		case "cifar10":
			d, clients = toy(slices.Repeat([]int{6000}, 10)...), 20
			if e.Defaults.Clients != clients {
				t.Errorf("%s: %d clients by default, want %d", e.Name, e.Defaults.Clients, clients)
			}
		}
		for _, r := range e.Regimes {
			for _, assign := range []string{"pairs", "sliding", "blocks"} {
				_, notes, err := Partition(d, PartitionConfig{Kind: "labels", Assign: assign, Clients: clients, LabelsPerClient: 5,
					TrainPerClass: r.Train, TestPerClass: r.Test})
				if e.Embedded() && r.Name != "small" {
					if err == nil || !strings.Contains(err.Error(), tooMany) {
						t.Errorf("%s, %s, %s: got %v, want it refused", e.Name, r.Name, assign, err)
					}
				} else if err != nil || len(notes) > 0 {
					t.Errorf("%s, %s, %s: error %v, notes %v", e.Name, r.Name, assign, err, notes)
				}
			}
		}
	}
}
