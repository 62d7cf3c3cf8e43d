package datasets

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"slices"
	"strconv"
	"unicode/utf8"
)

// This file reads examples that somebody brings along, which are to be as those of a data set are.

// Images reads the images of a file, which is told by its content:
//
//	IDX   bytes [N, height, width] or [N, height, width, channels], gzipped or not
//	PNG   one image of the size of e's: colours become grey where e is grey, and the other way round; what is transparent
//	      lies on black
//	CSV   a row an image, after a line of names if there is one: its values from 0 to 255, row-major and channels last, with
//	      its label in front if there is one more of them
//
// The examples of a data set that has no images are read from a CSV alone: their values, as they are, and the label in front
// or, where a line of names says so, in the column label; a column client is passed over.
//
// An error begins with the file's path. Where a file has no labels, labelled is false and Labels are 0.
func (e Entry) Images(path string) (d *Dataset, labelled bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %s", path, reason(err))
	}
	defer func() { _ = f.Close() }()
	if d, labelled, err = e.images(f); err != nil {
		return nil, false, fmt.Errorf("%s: %s", path, reason(err))
	}
	d.Source = path
	return d, labelled, nil
}

// The files of a folder that Labelled reads.
const (
	imagesFile = "images.idx"
	labelsFile = "labels.idx"
)

// Labelled reads images with labels: of the IDX files images.idx and labels.idx, gzipped or not, of a folder, or of a CSV as
// [Entry.Images] has it. A label is the number of a class, or in a CSV its name.
func (e Entry) Labelled(path string) (*Dataset, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() && e.Noun() == "image" {
		d, err := readImages(os.DirFS(path), e, imagesFile, labelsFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		d.Source = path
		return d, nil
	}
	d, labelled, err := e.Images(path)
	if err == nil && !labelled {
		want := fmt.Sprintf("a CSV with label and %d values a row", size(e.Shape))
		if e.Noun() == "image" {
			want += fmt.Sprintf(", or a folder with %s and %s", imagesFile, labelsFile)
		}
		err = fmt.Errorf("%s: it has no labels: want %s", path, want)
	}
	return d, err
}

// images reads the images of a file.
func (e Entry) images(r io.Reader) (d *Dataset, labelled bool, err error) {
	buffered := unmarked(r)
	head, err := buffered.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	var pixels, labels []uint8
	var values []float32
	isPNG, isIDX := bytes.HasPrefix(head, []byte("\x89PNG")), bytes.HasPrefix(head, []byte{0, 0}) || bytes.HasPrefix(head, gzipMagic())
	switch {
	case (isPNG || isIDX) && e.Noun() != "image":
		err = fmt.Errorf("%s has no images: want a CSV with %d values a row", e.Name, size(e.Shape))
	case isPNG:
		pixels, err = e.png(buffered)
	case isIDX:
		pixels, err = e.idx(buffered)
	case len(head) == 0:
		err = errors.New("the file is empty")
	case bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]):
		err = errors.New("neither an IDX file, nor a PNG, nor a CSV")
	case e.Noun() == "image":
		labels, err = e.csv(buffered, "a whole number from 0 to 255", func(cell string) bool {
			v, err := strconv.ParseUint(cell, 10, 8)
			pixels = append(pixels, uint8(v))
			return err == nil
		})
	default:
		wanted := "a finite number"
		if e.Text {
			wanted = fmt.Sprintf("a whole number from 0 to %d", e.Classes-1)
		}
		labels, err = e.csv(buffered, wanted, func(cell string) bool {
			v, ok := finite(cell)
			values = append(values, v)
			return ok && (!e.Text || v >= 0 && v < float32(e.Classes) && v == float32(int(v)))
		})
	}
	if err != nil {
		return nil, false, err
	}
	if labelled = labels != nil; !labelled {
		labels = make([]uint8, max(len(pixels), len(values))/size(e.Shape))
	}
	d = e.dataset(pixels, labels)
	d.Values = values
	return d, labelled, nil
}

func (e Entry) idx(r io.Reader) ([]uint8, error) {
	a, err := parseIDX(r, idxBytes, 1+len(e.Shape))
	if err != nil {
		return nil, err
	}
	if !slices.Equal(a.extents[1:], e.Shape) {
		return nil, fmt.Errorf("images of %v, want %v", a.extents[1:], e.Shape)
	}
	return a.data, nil
}

func (e Entry) png(r io.Reader) ([]uint8, error) {
	var read bytes.Buffer
	head, err := png.DecodeConfig(io.TeeReader(r, &read)) // before there is memory for all of it
	if err != nil {
		return nil, err
	}
	height, width := e.Shape[0], e.Shape[1]
	if head.Width != width || head.Height != height {
		return nil, fmt.Errorf("%d × %d pixels (width × height), want %d × %d as in %s", head.Width, head.Height, width, height, e.Name)
	}
	img, err := png.Decode(io.MultiReader(&read, r))
	if err != nil {
		return nil, err
	}
	return e.pixels(img), nil
}

// pixels returns the values of an image.
func (e Entry) pixels(img image.Image) []uint8 {
	var pixels []uint8
	grey := len(e.Shape) < 3
	at := img.Bounds().Min
	for y := range e.Shape[0] {
		for x := range e.Shape[1] {
			c := img.At(at.X+x, at.Y+y)
			if grey {
				pixels = append(pixels, color.GrayModel.Convert(c).(color.Gray).Y)
				continue
			}
			red, green, blue, _ := c.RGBA()
			pixels = append(pixels, uint8(red>>8), uint8(green>>8), uint8(blue>>8))
		}
	}
	return pixels
}

// csv reads rows of values, of which take says whether it could take one; wanted is what it takes.
func (e Entry) csv(r io.Reader, wanted string, take func(cell string) bool) (labels []uint8, err error) {
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1 // ours to say
	rows.TrimLeadingSpace = true
	rows.ReuseRecord = true
	var in columns
	n := 0
	for first := true; ; first = false {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := rows.FieldPos(0)
		if first {
			if in, err = e.columns(cells); err != nil {
				return nil, fmt.Errorf("line %d: %w", line, err)
			}
			if in.named {
				continue
			}
		}
		if len(cells) != in.all {
			return nil, fmt.Errorf("line %d: %d values, want %d as in line 1", line, len(cells), in.all)
		}
		value := 0
		for i, cell := range cells {
			switch i {
			case in.client:
			case in.label:
				class, ok := e.class(cell)
				if !ok {
					return nil, fmt.Errorf("line %d: label %q, want 0 to %d", line, cell, e.Classes-1)
				}
				labels = append(labels, uint8(class))
			default:
				if value++; !take(cell) {
					return nil, fmt.Errorf("line %d: value %d of the %s is %q, want %s", line, value, e.Noun(), cell, wanted)
				}
			}
		}
		n++
	}
	if n == 0 {
		return nil, fmt.Errorf("no %s in it", e.Noun())
	}
	return labels, nil
}

// columns are those of a CSV. Label and client are −1 where it has no such.
type columns struct {
	all, label, client int
	named              bool // by the first line
}

// columns tells those of a CSV by its first line.
func (e Entry) columns(cells []string) (columns, error) {
	c := columns{all: len(cells), label: -1, client: -1, named: names(cells)}
	dim := size(e.Shape)
	if c.named {
		c.label, c.client = slices.Index(cells, "label"), slices.Index(cells, "client")
	}
	if c.label < 0 && c.client < 0 && c.all == 1+dim {
		c.label = 0
	}
	values := c.all
	for _, i := range []int{c.label, c.client} {
		if i >= 0 {
			values--
		}
	}
	if values != dim {
		return c, fmt.Errorf("%d values, want %d, or %d with a label in front", c.all, dim, 1+dim)
	}
	return c, nil
}

// names reports whether the first line of a CSV names what follows.
func names(cells []string) bool {
	number := func(s string) bool {
		_, err := strconv.ParseFloat(s, 64)
		return err == nil
	}
	values := cells[min(1, len(cells)-1):] // the first can be a label
	return slices.Contains(cells, "label") || !slices.ContainsFunc(values, number)
}

// All copies all examples out, normalised.
func (d *Dataset) All() Examples { return d.Examples(upTo(d.Len())) }
