package plots

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// TestPartition: a panel a part, each with the numbers of its clients, the first on top, and none for a label that is not there.
func TestPartition(t *testing.T) {
	f, err := Partition("split", []Part{{"training images", [][]int{{11, 0}, {22, 33}}}, {"test images", [][]int{{0, 44}, {0, 0}}}})
	if err != nil {
		t.Fatal(err)
	}
	var svg bytes.Buffer
	if err := f.Write(&svg, "svg"); err != nil {
		t.Fatal(err)
	}
	at := func(text string) string { // the line of the picture
		for line := range strings.Lines(svg.String()) {
			if strings.Contains(line, ">"+text+"<") {
				return line
			}
		}
		t.Errorf("no %s in the picture", text)
		return ""
	}
	for _, text := range []string{"split", "training images", "test images", "22", "33", "44"} {
		at(text)
	}
	if strings.Count(svg.String(), ">–<") != 4 {
		t.Errorf("%d cells without an image, want 4", strings.Count(svg.String(), ">–<"))
	}
	if top, bottom := at("11"), at("22"); svg.Len() > 0 && strings.Index(svg.String(), top) < strings.Index(svg.String(), bottom) {
		t.Error("client 0 is drawn first, and so at the foot")
	}
	many := make([][]int, maxCells+1)
	for i := range many {
		many[i] = []int{1}
	}
	if _, err := Partition("", []Part{{"", many}}); !errors.As(err, new(*Unfit)) {
		t.Errorf("%v, want it not to fit", err)
	}
}
