package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"fedbayes/algorithms"
)

// A setting is the value of a key in a file of settings.
type setting struct {
	name  string
	value any
	at    string // file and line
}

// errSeen ends the decoding of a value that was seen.
var errSeen = errors.New("seen")

// UnmarshalTOML implements [toml.Unmarshaler]. Package toml tells in its errors alone where a key stands, so there always
// is one.
func (s *setting) UnmarshalTOML(v any) error {
	s.value = v
	return errSeen
}

// readSettings reads the keys of a TOML file in their order.
func readSettings(path string) ([]setting, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("--config %w", err)
	}
	var values map[string]toml.Primitive
	meta, err := toml.Decode(string(text), &values)
	var wrong toml.ParseError
	if errors.As(err, &wrong) {
		return nil, usagef("%s:%d: %s", path, wrong.Position.Line, wrong.Message)
	}
	if err != nil {
		return nil, usagef("%s: %w", path, err)
	}
	var all []setting
	for _, key := range meta.Keys() {
		at := values[key[0]]
		for _, part := range key[1:] { // of a table, which no setting is
			var table map[string]toml.Primitive
			if err := meta.PrimitiveDecode(at, &table); err != nil {
				break
			}
			at = table[part]
		}
		s := setting{name: key.String()}
		if errors.As(meta.PrimitiveDecode(at, &s), &wrong) {
			s.at = fmt.Sprintf("%s:%d", path, wrong.Position.Line)
		}
		all = append(all, s)
	}
	return all, nil
}

// merge gives the flags that are not on the command line what a file says. A key whose flag is there gives way, and so does
// one that a flag there excludes.
func (ts texts) merge(file []setting) error {
	var params []algorithms.Param
	options := map[string]option{}
	for _, o := range defaults().options() {
		params = append(params, o.Param)
		options[o.Name] = o
	}
	for _, f := range methodFlags() {
		params = append(params, f.Param)
	}
	given := ts.givenNames()
	for _, s := range file {
		value, err := s.text(params)
		if err != nil {
			return err
		}
		gives := slices.Contains(given, s.name)
		for _, pair := range exclusive() {
			gives = gives || s.name == pair[0] && slices.Contains(given, pair[1]) || s.name == pair[1] && slices.Contains(given, pair[0])
		}
		if slices.Contains(given, "partition") && !options[s.name].in(ts["partition"].value) {
			gives = true
		}
		if !gives {
			ts[s.name] = &text{given: 1, value: value, at: s.at}
		}
	}
	return nil
}

// text returns the value as the text of its flag, which says the same of it, be it within bounds or not.
func (s setting) text(params []algorithms.Param) (string, error) {
	if s.name == "seeds" {
		return s.list()
	}
	p, ok := find(params, s.name)
	if !ok || s.name == "resume" {
		names := []string{"seeds"}
		for _, p := range params {
			names = append(names, p.Name)
		}
		hint := " (fedbayes train --help lists them, without --)"
		if near := nearest(s.name, names); near != "" && near != s.name {
			hint = fmt.Sprintf(" (did you mean %s?)", near)
		}
		return "", usagef("%s: %s: no such setting%s", s.at, s.name, hint)
	}
	want := p.Allowed()
	switch v := s.value.(type) {
	case bool:
		if _, ok := p.Value.(*bool); ok {
			return strconv.FormatBool(v), nil
		}
	case int64:
		switch p.Value.(type) {
		case *int, *float64:
			return strconv.FormatInt(v, 10), nil
		}
	case float64:
		if _, ok := p.Value.(*float64); ok {
			return strconv.FormatFloat(v, 'g', -1, 64), nil
		}
	case string:
		if _, ok := p.Value.(*string); ok {
			return v, nil
		}
		if _, ok := p.Value.(*bool); !ok {
			want += ", without quotes"
		}
	}
	if _, ok := p.Value.(*string); ok {
		want = "a text in quotes"
	}
	return "", usagef("%s: %s = %s: want %s", s.at, s.name, s, want)
}

// list returns the value of seeds, an array, as its flag has it.
func (s setting) list() (string, error) {
	items, ok := s.value.([]any)
	var texts []string
	for _, item := range items {
		n, whole := item.(int64)
		ok = ok && whole
		texts = append(texts, strconv.FormatInt(n, 10))
	}
	if !ok {
		return "", usagef("%s: %s = %s: want whole numbers in brackets, as [1, 2, 3]", s.at, s.name, s)
	}
	return strings.Join(texts, ","), nil
}

// String is the value as a file has it.
func (s setting) String() string {
	switch v := s.value.(type) {
	case string:
		return strconv.Quote(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case map[string]any:
		return "a table"
	case []map[string]any:
		return "tables"
	case []any:
		return "an array"
	}
	return fmt.Sprint(s.value)
}

// located puts the place of a flag that a file gave before an error about it. Such an error begins with the flag.
func (ts texts) located(err error) error {
	var usage usageError
	if !errors.As(err, &usage) {
		return err
	}
	flag, ok := strings.CutPrefix(err.Error(), "--")
	if !ok {
		return err
	}
	name := flag[:max(0, strings.IndexAny(flag, " :"))]
	if t := ts[name]; t != nil && t.at != "" {
		return usagef("%s: %s", t.at, flag)
	}
	return err
}
