package datasets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Published file is one that a data set can be downloaded as.
type Published struct {
	Name   string
	Size   int64    // in bytes
	SHA256 string   // in hex
	From   []string // addresses, in the order in which they are tried
}

// A download is one file on its way into a folder. What has come of it stands beside it under another name until it is
// whole, so that the name belongs to the published file or to none, and so that a later call goes on where this one ended.
type download struct {
	Published
	*Fetcher
	dir string
}

// incomplete ends the name of a file that is not whole.
const incomplete = ".part"

func (d *download) path() string { return filepath.Join(d.dir, d.Name) }
func (d *download) part() string { return d.path() + incomplete }

// errForeign says that what an address has is not the published file, so that there is nothing to go on with.
var errForeign = errors.New("not the published file")

// run downloads the file. An address that fails is left for the next one, which goes on with what has come.
func (d *download) run(ctx context.Context) error {
	var failures []string
	for _, address := range d.From {
		err := d.from(ctx, address)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var local *fs.PathError
		if errors.As(err, &local) { // as a full disk: no address helps
			return err
		}
		failures = append(failures, fmt.Sprintf("%s: %v", address, err))
	}
	stay := ""
	if n := d.arrived(); n > 0 {
		stay = fmt.Sprintf("; %d of %d bytes have come, once more goes on from there", n, d.Size)
	}
	return fmt.Errorf("%s: %s%s", d.Name, strings.Join(failures, "; "), stay)
}

// from downloads the file from one address: again as long as connections break and each brings some bytes, and once from
// the start where what had come before is to blame.
func (d *download) from(ctx context.Context, address string) error {
	restarted := false
	for {
		before := d.arrived()
		err := d.attempt(ctx, address, before)
		switch {
		case err == nil || ctx.Err() != nil:
			return err
		case errors.Is(err, errForeign):
			if gone := os.Remove(d.part()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
				return gone
			}
			if before == 0 || restarted {
				return err
			}
			restarted = true
		case d.arrived() <= before:
			return err
		}
	}
}

// arrived returns how many bytes have come.
func (d *download) arrived() int64 {
	info, err := os.Stat(d.part())
	if err != nil {
		return 0
	}
	return info.Size()
}

// attempt asks an address once for what follows the first bytes of the file, checks the whole and gives it its name.
func (d *download) attempt(ctx context.Context, address string, have int64) error {
	if have < d.Size {
		if err := d.rest(ctx, address, have); err != nil {
			return err
		}
	}
	sum, err := checksum(d.part())
	if err != nil {
		return err
	}
	if sum != d.SHA256 {
		return fmt.Errorf("%w: sha256 %.12s…, want %.12s…", errForeign, sum, d.SHA256)
	}
	return os.Rename(d.part(), d.path())
}

// rest appends what an address has after the first bytes.
func (d *download) rest(ctx context.Context, address string, have int64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A server that says nothing any more is left, one that is slow is not: there is no limit to the whole.
	idle := time.AfterFunc(d.Idle, func() { cancel(fmt.Errorf("nothing came for %v", d.Idle)) })
	defer idle.Stop()
	body, have, err := d.ask(ctx, address, have)
	if err != nil {
		return told(ctx, err)
	}
	defer func() { _ = body.Close() }()
	f, err := os.OpenFile(d.part(), os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	err = f.Truncate(have)
	if err == nil {
		_, err = f.Seek(have, io.SeekStart)
	}
	if err == nil {
		// One byte more than there should be, to see that there are more.
		err = d.copy(f, io.LimitReader(body, d.Size-have+1), have, func() { idle.Reset(d.Idle) })
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return told(ctx, err)
}

// told returns why a context was cancelled, if it was, in place of an error that says no more than that it was.
func told(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// ask sends the request. The answer can be the whole file where only the rest was asked for: from is where it begins.
func (d *download) ask(ctx context.Context, address string, have int64) (body io.ReadCloser, from int64, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, 0, err
	}
	// As it is stored: a transport that unpacks on the way would give other bytes than those that were published.
	req.Header.Set("Accept-Encoding", "identity")
	if have > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", have))
	}
	res, err := d.Client.Do(req)
	if err != nil {
		return nil, 0, withoutAddress(err)
	}
	begins := fmt.Sprintf("bytes %d-", have)
	switch {
	case res.StatusCode == http.StatusOK:
		from = 0
	case res.StatusCode == http.StatusPartialContent && strings.HasPrefix(res.Header.Get("Content-Range"), begins):
		from = have
	case res.StatusCode == http.StatusPartialContent, res.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		_ = res.Body.Close()
		return nil, 0, fmt.Errorf("%w: it has no byte %d", errForeign, have)
	default:
		_ = res.Body.Close()
		return nil, 0, errors.New(res.Status)
	}
	// A page that says sorry, for one; it must not be taken for the beginning of the file.
	if n := res.ContentLength; n >= 0 && from+n != d.Size {
		_ = res.Body.Close()
		return nil, 0, fmt.Errorf("%w: %d bytes, want %d", errForeign, from+n, d.Size)
	}
	return res.Body, from, nil
}

// copy copies a body to the end and tells the watcher and alive of each part of it.
func (d *download) copy(f io.Writer, body io.Reader, have int64, alive func()) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			alive()
			if _, err := f.Write(buf[:n]); err != nil {
				return err
			}
			have += int64(n)
			d.watch(d.Published, min(have, d.Size))
		}
		switch {
		case have > d.Size:
			return fmt.Errorf("%w: more than %d bytes", errForeign, d.Size)
		case errors.Is(err, io.EOF) && have < d.Size:
			return fmt.Errorf("it ended after %d of %d bytes", have, d.Size)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("after %d of %d bytes: %w", have, d.Size, err)
		}
	}
}

// withoutAddress is an error of a request without the address, which stands before it already.
func withoutAddress(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// checksum returns the SHA-256 of a file in hex.
func checksum(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
