package datasets

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// A mirror is a server of files that does as a test tells it to.
type mirror struct {
	*httptest.Server
	files map[string][]byte

	mu    sync.Mutex
	asked []string // path and range of each request

	cut      int  // bytes after which each answer breaks off, 0 for none
	ranges   bool // whether it knows parts of a file
	status   int  // of every answer, if not 0
	silent   bool // after cut bytes, rather than breaking off
	chunked  bool // so that the length is not known before
	released chan struct{}
}

func serve(t *testing.T, files map[string][]byte) *mirror {
	t.Helper()
	m := &mirror{files: files, ranges: true, released: make(chan struct{})}
	m.Server = httptest.NewServer(m)
	t.Cleanup(func() { close(m.released); m.Close() })
	return m
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked = append(m.asked, strings.TrimSpace(filepath.Base(r.URL.Path)+" "+r.Header.Get("Range")))
	m.mu.Unlock()
	if m.status != 0 {
		w.WriteHeader(m.status)
		return
	}
	data, ok := m.files[filepath.Base(r.URL.Path)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	var from int
	if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil || !m.ranges {
		from = 0
	}
	if from > 0 && from >= len(data) {
		w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
		return
	}
	rest := data[from:]
	if !m.chunked {
		w.Header().Set("Content-Length", fmt.Sprint(len(rest)))
	}
	if from > 0 {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(data)-1, len(data)))
		w.WriteHeader(http.StatusPartialContent)
	}
	if m.cut > 0 && m.cut < len(rest) {
		_, _ = w.Write(rest[:m.cut])
		_ = http.NewResponseController(w).Flush()
		if m.silent {
			<-m.released
		}
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(rest)
}

// noise returns the bytes of a file, images.gz, and what is published of it.
func noise(n int) ([]byte, Published) {
	data := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	sum := sha256.Sum256(data)
	return data, Published{Name: "images.gz", Size: int64(n), SHA256: hex.EncodeToString(sum[:])}
}

func fetcher() *Fetcher {
	return &Fetcher{Client: &http.Client{Transport: &http.Transport{}}, Idle: 10 * time.Second}
}

// fetched runs a fetch of one file into a folder, from these servers in turn.
func fetched(f *Fetcher, file Published, dir string, from ...*mirror) error {
	for _, m := range from {
		file.From = append(file.From, m.URL+"/"+file.Name)
	}
	_, err := f.Fetch(context.Background(), Entry{Name: "toy", Published: []Published{file}}, dir)
	return err
}

// wantFile fails unless the folder holds the whole file and nothing else.
func wantFile(t *testing.T, dir, name string, data []byte) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "toy"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "toy", name))
	if err != nil || !bytes.Equal(got, data) || len(entries) != 1 {
		t.Errorf("%d bytes of %d (%v) in a folder of %d", len(got), len(data), err, len(entries))
	}
}

// size is more than a server sends before its handler has written all.
const fileSize = 300_000

func TestFetch(t *testing.T) {
	data, file := noise(fileSize)
	spoiled := bytes.Clone(data)
	spoiled[fileSize/2] ^= 1
	for _, test := range []struct {
		name  string
		first func(m *mirror) // what ails the first server
		asked []string        // of the first
		other []string        // of the second, which is well
	}{
		{"well", func(*mirror) {}, []string{"images.gz"}, nil},
		{"well, of unknown length", func(m *mirror) { m.chunked = true }, []string{"images.gz"}, nil},
		{"breaks off", func(m *mirror) { m.cut = 100_000 }, []string{"images.gz", "images.gz bytes=100000-", "images.gz bytes=200000-"}, nil},
		{"breaks off, knows no parts", func(m *mirror) { m.cut, m.ranges = 100_000, false }, []string{"images.gz", "images.gz bytes=100000-"}, []string{"images.gz bytes=100000-"}},
		{"corrupt", func(m *mirror) { m.files = map[string][]byte{file.Name: spoiled} }, []string{"images.gz"}, []string{"images.gz"}},
		{"corrupt and breaks off", func(m *mirror) { m.files, m.cut = map[string][]byte{file.Name: spoiled}, 200_000 },
			[]string{"images.gz", "images.gz bytes=200000-", "images.gz", "images.gz bytes=200000-"}, []string{"images.gz"}},
		{"500", func(m *mirror) { m.status = 500 }, []string{"images.gz"}, []string{"images.gz"}},
		{"404", func(m *mirror) { m.files = nil }, []string{"images.gz"}, []string{"images.gz"}},
		{"says sorry", func(m *mirror) { m.files = map[string][]byte{file.Name: []byte("sorry")} }, []string{"images.gz"}, []string{"images.gz"}},
		{"says sorry, of unknown length", func(m *mirror) {
			m.files, m.chunked = map[string][]byte{file.Name: []byte("sorry")}, true
		}, nil, nil},
		{"too long", func(m *mirror) { m.files, m.chunked = map[string][]byte{file.Name: append(bytes.Clone(data), 1)}, true }, []string{"images.gz"}, []string{"images.gz"}},
		{"closed", func(m *mirror) { m.Close() }, nil, []string{"images.gz"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			good := map[string][]byte{file.Name: data}
			first, second := serve(t, good), serve(t, good)
			test.first(first)
			dir := t.TempDir()
			if err := fetched(fetcher(), file, dir, first, second); err != nil {
				t.Fatal(err)
			}
			wantFile(t, dir, file.Name, data)
			if test.asked == nil && test.other == nil {
				return
			}
			if !reflect.DeepEqual(first.asked, test.asked) || !reflect.DeepEqual(second.asked, test.other) {
				t.Errorf("asked the first for %q, the second for %q, want %q and %q", first.asked, second.asked, test.asked, test.other)
			}
		})
	}
}

// TestFetchGoesOn: what has come of a file that no address had whole is where the next call begins.
func TestFetchGoesOn(t *testing.T) {
	data, file := noise(fileSize)
	m := serve(t, map[string][]byte{file.Name: data})
	m.cut, m.ranges = 120_000, false
	dir := t.TempDir()
	err := fetched(fetcher(), file, dir, m)
	want := "datasets: toy: " + filepath.Join(dir, "toy") + ": images.gz: " + m.URL + "/images.gz: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "after 120000 of 300000 bytes") ||
		!strings.HasSuffix(err.Error(), "; 120000 of 300000 bytes have come, once more goes on from there") {
		t.Errorf("%v, want %s…", err, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "toy", file.Name)); !os.IsNotExist(err) {
		t.Errorf("there is a file of that name (%v), and it cannot be whole", err)
	}
	m.cut, m.ranges, m.asked = 0, true, nil
	var seen []int64
	f := fetcher()
	f.Watch = func(_ Published, at int64) { seen = append(seen, at) }
	if err := fetched(f, file, dir, m); err != nil {
		t.Fatal(err)
	}
	wantFile(t, dir, file.Name, data)
	if want := []string{"images.gz bytes=120000-"}; !reflect.DeepEqual(m.asked, want) {
		t.Errorf("asked for %q, want %q", m.asked, want)
	}
	if seen[0] <= 120_000 || seen[len(seen)-1] != fileSize {
		t.Errorf("told of %d … %d bytes, want more than 120000 … %d", seen[0], seen[len(seen)-1], fileSize)
	}

	// What is there is not asked for again.
	m.asked = nil
	if err := fetched(fetcher(), file, dir, m); err != nil || len(m.asked) > 0 {
		t.Errorf("once more: %v, asked for %q", err, m.asked)
	}
}

// TestFetchFromTheStart: an old part that does not belong to the file is not blamed on a server.
func TestFetchFromTheStart(t *testing.T) {
	data, file := noise(fileSize)
	for name, part := range map[string][]byte{
		"other bytes": make([]byte, 1000), "as many, but other": make([]byte, fileSize), "more": make([]byte, fileSize+1), "none": {},
	} {
		m := serve(t, map[string][]byte{file.Name: data})
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "toy"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "toy", file.Name+".part"), part, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := fetched(fetcher(), file, dir, m); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		wantFile(t, dir, file.Name, data)
	}
}

// TestFetchReplacesNothing: a file of the user's own is left alone.
func TestFetchReplacesNothing(t *testing.T) {
	data, file := noise(1000)
	m := serve(t, map[string][]byte{file.Name: data})
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "toy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "toy", file.Name), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := fetched(fetcher(), file, dir, m)
	if err == nil || !strings.Contains(err.Error(), "images.gz is there, and is not the published file") || len(m.asked) > 0 {
		t.Errorf("%v, asked for %q", err, m.asked)
	}
	wantFile(t, dir, file.Name, []byte("mine"))
}

// TestFetchLeavesTheSilent: a server that stops sending without closing is left for the next, which goes on.
func TestFetchLeavesTheSilent(t *testing.T) {
	data, file := noise(fileSize)
	good := map[string][]byte{file.Name: data}
	first, second := serve(t, good), serve(t, good)
	first.cut, first.silent = 100_000, true
	f := fetcher()
	f.Idle = 300 * time.Millisecond
	dir := t.TempDir()
	if err := fetched(f, file, dir, first, second); err != nil {
		t.Fatal(err)
	}
	wantFile(t, dir, file.Name, data)
	if len(second.asked) > 0 && second.asked[0] == "images.gz" {
		t.Errorf("the second was asked for the whole: %q", second.asked)
	}
}

func TestFetchCancelled(t *testing.T) {
	data, file := noise(fileSize)
	m := serve(t, map[string][]byte{file.Name: data})
	m.cut, m.silent = 100_000, true
	file.From = []string{m.URL + "/" + file.Name, m.URL + "/" + file.Name}
	ctx, cancel := context.WithCancel(context.Background())
	f := fetcher()
	f.Watch = func(Published, int64) { cancel() }
	dir := t.TempDir()
	_, err := f.Fetch(ctx, Entry{Name: "toy", Published: []Published{file}}, dir)
	if err == nil || !strings.HasSuffix(err.Error(), "context canceled") || len(m.asked) != 1 {
		t.Errorf("%v, asked for %q", err, m.asked)
	}
	if info, err := os.Stat(filepath.Join(dir, "toy", file.Name+".part")); err != nil || info.Size() == 0 {
		t.Errorf("nothing stays of what had come: %v", err)
	}
}

func TestFetchWhereNothingCanBe(t *testing.T) {
	data, file := noise(1000)
	m := serve(t, map[string][]byte{file.Name: data})
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fetched(fetcher(), file, dir, m); err == nil || strings.Count(err.Error(), dir) != 1 {
		t.Errorf("%v, want an error that names the folder once", err)
	}
}

// TestPublished: what is downloaded is what the search looks for, with two addresses and a checksum each, and the checksums
// are those of the files where these are at hand.
func TestPublished(t *testing.T) {
	for _, e := range All() {
		if (e.Embedded() || e.Format != nil) != (e.Published == nil) {
			t.Errorf("%s: %d files to download", e.Name, len(e.Published))
		}
		if e.Published == nil {
			continue
		}
		dir := t.TempDir()
		for _, p := range e.Published {
			if len(p.SHA256) != 64 || p.Size < 1 || len(p.From) < 2 {
				t.Errorf("%s: %+v", e.Name, p)
			}
			for _, address := range p.From {
				if !strings.HasPrefix(address, "http") || !strings.HasSuffix(address, "/"+p.Name) {
					t.Errorf("%s: address %s of %s", e.Name, address, p.Name)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, p.Name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if where, err := Find(e.Name, dir); err != nil {
			t.Errorf("%s: with all files in the folder: %s, %v", e.Name, where, err)
		}
	}
	for _, name := range []string{"mnist", "fashion-mnist"} {
		t.Run(name, func(t *testing.T) {
			dir, err := Find(name, fullData(t, name))
			if err != nil {
				t.Fatal(err)
			}
			e, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range e.Published {
				info, err := os.Stat(filepath.Join(dir, p.Name))
				if err != nil {
					t.Skip(err)
				}
				if sum, err := checksum(filepath.Join(dir, p.Name)); err != nil || sum != p.SHA256 || info.Size() != p.Size {
					t.Errorf("%s has %d bytes and sha256 %s (%v), want %d and %s", p.Name, info.Size(), sum, err, p.Size, p.SHA256)
				}
			}
		})
	}
}
