package datasets

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// This file is about text: the lines of each character of a play, of which windows are examples. The class of a window is what
// stands after it.

// alphabet are the characters that a text may have, in the order of their numbers: the 86 of Shakespeare's works in TensorFlow
// Federated, which Corinzia et al. 2019 took their data from.
const alphabet = "\n\r !\"#$%&'()*,-./0123456789:;?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]_abcdefghijklmnopqrstuvwxyz"

// Windows of a text.
const (
	window       = 80 // characters, as in McMahan et al. 2017
	windowStride = 20 // from the beginning of one to that of the next

	// how many a cut between training and test leaves out, so that no character is read, or foretold, on both sides
	windowGap = window / windowStride
)

func shakespeare() Entry {
	return Entry{
		Name:     "shakespeare",
		About:    "which character comes after 80 others, in the lines of 1,339 roles in Shakespeare's 37 plays",
		Origin:   "William Shakespeare, in the Moby text; by role as in McMahan et al., Communication-Efficient Learning of Deep Networks from Decentralized Data, AISTATS 2017",
		License:  "public domain",
		Classes:  len(alphabet),
		Shape:    []int{window},
		Text:     true,
		Defaults: Defaults{Clients: 100, PerRound: 10, Batch: 10, Model: "lstm", Partition: "natural", TestPerClient: 0.2},
		Files:    []string{"shakespeare-by-character.jsonl"},
		Format: []string{
			"shakespeare-by-character.jsonl: a line for each role, {\"client\": \"HAMLET_HORATIO\", \"speeches\": [\"Friends to this ground.\", …]}, in the",
			"order in which they are spoken; plain or .gz; keys besides are passed over",
			fmt.Sprintf("a role's speeches are one text, a line break between two; windows of %d characters begin every %d, and the class of one is", window, windowStride),
			"the character after it. The 86 characters are those of TensorFlow Federated's Shakespeare, numbered by their codes",
			"it is the task of LEAF (Caldas et al. 2018), with a stride; not that of papers which foretell each of 80 characters of a chunk",
		},
		load: loadPlays,
	}
}

func loadPlays(fsys fs.FS, e Entry) (*Dataset, error) {
	spelling, err := locate(fsys, e.Files[0])
	if err != nil {
		return nil, err
	}
	f, err := fsys.Open(spelling)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	d, err := readPlays(f, e)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", spelling, err)
	}
	return d, nil
}

// A role is a line of the file.
type role struct {
	Client   string   `json:"client"`
	Speeches []string `json:"speeches"`
}

// maxRole bounds a line: Hamlet's has 64,000 bytes.
const maxRole = 1 << 24

// readPlays reads roles and cuts their texts into windows. What it allocates grows with what r gives.
func readPlays(r io.Reader, e Entry) (*Dataset, error) {
	r, err := unzipped(r)
	if err != nil {
		return nil, err
	}
	d := e.dataset(nil, nil)
	d.Gap = windowGap
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRole)
	known := map[string]int{} // in which line
	n := 0
	for lines.Scan() {
		n++
		var who role
		if err := json.Unmarshal(lines.Bytes(), &who); err != nil {
			return nil, fmt.Errorf("line %d: %w: want {\"client\": …, \"speeches\": […]}", n, err)
		}
		switch {
		case who.Client == "":
			return nil, fmt.Errorf("line %d: no client", n)
		case known[who.Client] > 0:
			return nil, fmt.Errorf("line %d: client %q is in line %d already", n, who.Client, known[who.Client])
		}
		known[who.Client] = n
		text, err := characters(strings.Join(who.Speeches, "\n"))
		if err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", n, who.Client, err)
		}
		d.read(text, len(d.Owners))
		d.Owners = append(d.Owners, who.Client)
	}
	if err := lines.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, fmt.Errorf("line %d: more than %d bytes", n+1, maxRole)
		}
		return nil, whole(err)
	}
	if d.Len() == 0 {
		return nil, fmt.Errorf("no text of more than %d characters", window)
	}
	return d, nil
}

// characters returns the numbers of the characters of a text.
func characters(text string) ([]uint8, error) {
	numbers := make([]uint8, 0, len(text))
	for _, c := range text {
		k := strings.IndexRune(alphabet, c)
		if k < 0 {
			return nil, fmt.Errorf("character %q, want one of %q", c, alphabet)
		}
		numbers = append(numbers, uint8(k))
	}
	return numbers, nil
}

// read makes windows of the text of an owner, in its order.
func (d *Dataset) read(text []uint8, owner int) {
	for at := 0; at+window < len(text); at += windowStride {
		for _, c := range text[at : at+window] {
			d.Values = append(d.Values, float32(c))
		}
		d.Labels = append(d.Labels, text[at+window])
		d.Owner = append(d.Owner, owner)
	}
}
