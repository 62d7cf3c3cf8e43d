package datasets

import (
	"bufio"
	"bytes"
	"cmp"
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

// This file reads images that somebody brings along, which are to be as those of a data set are.

// Images reads the images of a file, which is told by its content:
//
//	IDX   bytes [N, height, width] or [N, height, width, channels], gzipped or not
//	PNG   one image of the size of e's: colours become grey where e is grey, and the other way round; what is transparent
//	      lies on black
//	CSV   a row an image, after a line of names if there is one: its values from 0 to 255, row-major and channels last, with
//	      its label in front if there is one more of them
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
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		d, err := readImages(os.DirFS(path), e, imagesFile, labelsFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		d.Source = path
		return d, nil
	}
	d, labelled, err := e.Images(path)
	if err == nil && !labelled {
		err = fmt.Errorf("%s: it has no labels: want a CSV with label and %d values a row, or a folder with %s and %s",
			path, size(e.Shape), imagesFile, labelsFile)
	}
	return d, err
}

// images reads the images of a file.
func (e Entry) images(r io.Reader) (d *Dataset, labelled bool, err error) {
	buffered := bufio.NewReader(r)
	head, err := buffered.Peek(8)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	var pixels, labels []uint8
	switch {
	case bytes.HasPrefix(head, []byte("\x89PNG")):
		pixels, err = e.png(buffered)
	case bytes.HasPrefix(head, []byte{0, 0}), bytes.HasPrefix(head, gzipMagic()):
		pixels, err = e.idx(buffered)
	case len(head) == 0:
		err = errors.New("the file is empty")
	case bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]):
		err = errors.New("neither an IDX file, nor a PNG, nor a CSV")
	default:
		pixels, labels, err = e.csv(buffered)
	}
	if err != nil {
		return nil, false, err
	}
	if labelled = labels != nil; !labelled {
		labels = make([]uint8, len(pixels)/size(e.Shape))
	}
	return e.dataset(pixels, labels), labelled, nil
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

func (e Entry) csv(r io.Reader) (pixels, labels []uint8, err error) {
	dim := size(e.Shape)
	rows := csv.NewReader(r)
	rows.FieldsPerRecord = -1 // ours to say
	rows.ReuseRecord = true
	columns := 0
	for first := true; ; first = false {
		cells, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		line, _ := rows.FieldPos(0)
		switch columns = cmp.Or(columns, len(cells)); {
		case columns != dim && columns != 1+dim:
			return nil, nil, fmt.Errorf("line %d: %d values, want %d, or %d with a label in front", line, len(cells), dim, 1+dim)
		case len(cells) != columns:
			return nil, nil, fmt.Errorf("line %d: %d values, want %d as in line 1", line, len(cells), columns)
		case first && names(cells):
			continue
		}
		if columns == 1+dim {
			class, ok := e.class(cells[0])
			if !ok {
				return nil, nil, fmt.Errorf("line %d: label %q, want 0 to %d", line, cells[0], e.Classes-1)
			}
			labels, cells = append(labels, uint8(class)), cells[1:]
		}
		for i, cell := range cells {
			v, err := strconv.ParseUint(cell, 10, 8)
			if err != nil {
				return nil, nil, fmt.Errorf("line %d: value %d of the image is %q, want a whole number from 0 to 255", line, 1+i, cell)
			}
			pixels = append(pixels, uint8(v))
		}
	}
	if len(pixels) == 0 {
		return nil, nil, errors.New("no image in it")
	}
	return pixels, labels, nil
}

// names reports whether the first line of a CSV names what follows.
func names(cells []string) bool {
	number := func(s string) bool {
		_, err := strconv.Atoi(s)
		return err == nil
	}
	return cells[0] == "label" || !slices.ContainsFunc(cells[1:], number)
}

// All copies all images out, normalised.
func (d *Dataset) All() Examples { return d.Examples(upTo(d.Len())) }
