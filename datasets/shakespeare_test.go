package datasets

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// play returns a file of roles with texts of the lengths given, in two speeches where they are long enough.
func play(lengths ...int) string {
	var b strings.Builder
	for k, n := range lengths {
		text := strings.Repeat("To be, or not to be", n)[:n]
		speeches := []string{text}
		if n > 10 {
			speeches = []string{text[:5], text[6:]}
		}
		fmt.Fprintf(&b, "{\"client\": \"R%d\", \"play\": \"P\", \"speeches\": [%s]}\n", k, `"`+strings.Join(speeches, `", "`)+`"`)
	}
	return b.String()
}

func TestAlphabet(t *testing.T) {
	const theirs = "dhlptx@DHLPTX $(,048cgkoswCGKOSW[_#'/37;?bfjnrvzBFJNRVZ\"&*.26:\naeimquyAEIMQUY]!%)-159\r"
	codes := []byte(theirs)
	slices.Sort(codes)
	if alphabet != string(codes) {
		t.Errorf("alphabet %q, want %q", alphabet, codes)
	}
}

// TestPlays checks windows against the texts: what they see, what comes after, and whose they are.
func TestPlays(t *testing.T) {
	for name, file := range map[string][]byte{
		"shakespeare-by-character.jsonl": []byte(play(81, 80, 0, 141)), "shakespeare-by-character.jsonl.gz": gzipped(t, []byte(play(81, 80, 0, 141))),
	} {
		d, err := loadPlays(fstest.MapFS{name: {Data: file}}, shakespeare())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.Equal(d.Owner, []int{0, 3, 3, 3, 3}) || !slices.Equal(d.Owners, []string{"R0", "R1", "R2", "R3"}) || d.Noun() != "example" {
			t.Errorf("%s: owners %v of %v", name, d.Owner, d.Owners)
		}
		text := []byte(strings.Repeat("To be, or not to be", 141)[:141])
		text[5] = '\n' // between the speeches
		for i, at := range []int{0, 0, 20, 40, 60} {
			var got []byte
			for _, v := range d.Values[i*d.Dim() : (i+1)*d.Dim()] {
				got = append(got, alphabet[int(v)])
			}
			if string(got) != string(text[at:at+80]) || alphabet[d.Labels[i]] != text[at+80] {
				t.Errorf("%s: example %d is %q, then %q; want %q, then %q", name, i, got, alphabet[d.Labels[i]], text[at:at+80], text[at+80])
			}
		}
	}
}

func TestPlaysErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "no text of more than 80 characters",
		play(80, 3):                       "no text of more than 80 characters",
		"{":                               `line 1: unexpected end of JSON input: want {"client": …, "speeches": […]}`,
		play(99) + "\n":                   `line 2: unexpected end of JSON input: want {"client": …, "speeches": […]}`,
		`{"client": 1}`:                   `line 1: json: cannot unmarshal number into Go struct field role.client of type string: want {"client": …, "speeches": […]}`,
		`{"speeches": []}`:                "line 1: no client",
		play(99) + play(99):               `line 2: client "R0" is in line 1 already`,
		`{"client":"A","speeches":["é"]}`: `line 1: "A": character 'é', want one of ` + fmt.Sprintf("%q", alphabet),
	} {
		fsys := fstest.MapFS{"shakespeare-by-character.jsonl": {Data: []byte(text)}}
		if _, err := loadPlays(fsys, shakespeare()); err == nil || err.Error() != "shakespeare-by-character.jsonl: "+want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestPlaysAreCutInTime: no character of a training window is one of a test or a validation window, and those come later.
func TestPlaysAreCutInTime(t *testing.T) {
	d, err := readPlays(strings.NewReader(play(2000, 380, 360, 1000, 50)), shakespeare())
	if err != nil {
		t.Fatal(err)
	}
	first := make([]int, len(d.Owners)) // window of each owner
	for i := range d.Len() {
		if i == 0 || d.Owner[i] != d.Owner[i-1] {
			first[d.Owner[i]] = i
		}
	}
	for _, fraction := range []float64{0, 0.3} {
		splits, notes, err := Partition(d, PartitionConfig{Kind: "natural", Clients: 3, MinSamples: 11, TestPerClient: 0.2, ValFraction: fraction, Seed: 1})
		if err != nil || len(notes) != 1 || notes[0] != "clients with fewer than 15 examples are left out: 2 of the data's 5" {
			t.Fatalf("%v, notes %q", err, notes)
		}
		for k, owner := range []int{0, 1, 3} {
			s := splits[k]
			last := -1 // character
			for _, part := range [][]int{s.Train, s.Val, s.Test} {
				if part == nil {
					continue
				}
				slices.Sort(part)
				from := (part[0] - first[owner]) * windowStride
				if from <= last {
					t.Errorf("%s: a part begins at character %d, where the one before it ends at %d", s.Owner, from, last)
				}
				last = (part[len(part)-1]-first[owner])*windowStride + window
			}
			if s.Owner != d.Owners[owner] || fraction > 0 && s.Val == nil {
				t.Errorf("client %d is %s, with %d, %d and %d windows", k, s.Owner, len(s.Train), len(s.Val), len(s.Test))
			}
		}
	}
	for _, kind := range []string{"iid", "labels", "permuted", "dirichlet"} {
		if _, _, err := Partition(d, PartitionConfig{Kind: kind, Clients: 3}); err == nil || !strings.Contains(err.Error(), "want --partition natural") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestTinyRoles: the least that a role can have to take part is a window to train on and one for the test.
func TestTinyRoles(t *testing.T) {
	for windows, want := range map[int][2]int{5: {1, 0}, 6: {1, 1}, 7: {2, 1}} {
		d, err := readPlays(strings.NewReader(play(61+20*windows)), shakespeare())
		if err != nil || d.Len() != windows {
			t.Fatalf("%v, %d windows, want %d", err, d.Len(), windows)
		}
		splits, _, err := Partition(d, PartitionConfig{Kind: "natural", Clients: 1, TestPerClient: 0.2, ValFraction: 0.5})
		if err != nil || len(splits[0].Train) != want[0] || len(splits[0].Test) != want[1] || splits[0].Val != nil {
			t.Errorf("%d windows: %v, %+v", windows, err, splits)
		}
	}
	d, err := readPlays(strings.NewReader(play(61+20*4)), shakespeare())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Partition(d, PartitionConfig{Kind: "natural", Clients: 1}); err == nil {
		t.Error("a role of 4 windows takes part")
	}
}

// TestFullShakespeare holds the file against what it is said to have.
func TestFullShakespeare(t *testing.T) {
	d, err := Load("shakespeare", fullData(t, "shakespeare"))
	if err != nil {
		t.Fatal(err)
	}
	of := make([]int, len(d.Owners))
	for _, o := range d.Owner {
		of[o]++
	}
	if len(d.Owners) != 1339 || d.Len() != 211515 || slices.Max(of) != 3064 || d.Owners[slices.Index(of, 3064)] != "HAMLET_HAMLET" {
		t.Errorf("%d windows of %d roles, %d at most", d.Len(), len(d.Owners), slices.Max(of))
	}
	e := shakespeare()
	splits, _, err := Partition(d, PartitionConfig{Kind: e.Defaults.Partition, Clients: e.Defaults.Clients, TestPerClient: e.Defaults.TestPerClient, MinSamples: 10})
	if err != nil {
		t.Fatal(err)
	}
	if s := StatsOf(d, splits); s.SharedByClients != 0 || s.TrainedAndTest != 0 {
		t.Errorf("%d shared, %d trained on and tested", s.SharedByClients, s.TrainedAndTest)
	}
}

func FuzzReadPlays(f *testing.F) {
	for _, text := range []string{"", play(81), play(200, 3, 90), "{}", `{"client":"A","speeches":["é"]}`, "\x1f\x8b", play(99) + "{"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := readPlays(strings.NewReader(string(text)), shakespeare())
		if err != nil {
			if d != nil || strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("%v with the error %q", d, err)
			}
			return
		}
		n := d.Len()
		if n == 0 || len(d.Values) != n*window || len(d.Owner) != n || d.Owner[n-1] >= len(d.Owners) || slices.Max(d.Values) >= float32(d.Classes) {
			t.Fatalf("%d examples of %d values, of %d owners", n, len(d.Values), len(d.Owners))
		}
	})
}
