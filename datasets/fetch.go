package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// A Fetcher downloads data sets into the folders in which [Load] looks for them.
type Fetcher struct {
	Client *http.Client
	Idle   time.Duration                  // that a server may be silent
	Watch  func(file Published, at int64) // told how many bytes of a file have come, if not nil
}

// NewFetcher returns one that gives up a server that is silent for half a minute.
func NewFetcher() *Fetcher {
	const idle = 30 * time.Second
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: idle}).DialContext,
		TLSHandshakeTimeout: idle,
	}
	return &Fetcher{Client: &http.Client{Transport: transport}, Idle: idle}
}

func (f *Fetcher) watch(file Published, at int64) {
	if f.Watch != nil {
		f.Watch(file, at)
	}
}

// Fetch downloads what is missing of a data set, and returns the folder with its files: the first in which [Load] would look
// for them, which is the sub-folder of the data set's name in dataDir, in $FEDBAYES_DATA or in the user's cache.
//
// A file is tried from one address after the other until it has come whole, with the published checksum. Where none is left
// the error says what was wrong with each; what has come stays, and the next call goes on from there. A file of that name
// with other contents is never replaced.
func (f *Fetcher) Fetch(ctx context.Context, e Entry, dataDir string) (dir string, err error) {
	dir = filepath.Join(roots(dataDir)[0], e.Name)
	defer func() {
		if err != nil {
			err = fmt.Errorf("datasets: %s: %s: %w", e.Name, dir, err)
		}
	}()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return dir, errors.New(reason(err))
	}
	for _, file := range e.Published {
		d := &download{Published: file, Fetcher: f, dir: dir}
		switch sum, err := checksum(d.path()); {
		case err == nil && sum == file.SHA256:
			f.watch(file, file.Size)
			continue
		case err == nil:
			return dir, fmt.Errorf("%s is there, and is not the published file (sha256 %.12s…, want %.12s…): move it away", file.Name, sum, file.SHA256)
		case !errors.Is(err, fs.ErrNotExist):
			return dir, err
		}
		if err := d.run(ctx); err != nil {
			return dir, err
		}
	}
	return dir, nil
}
