package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// replaceFile writes a file under another name and renames it, so that nobody sees half of it.
func replaceFile(path string, write func(io.Writer) error) error {
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	temporary := path + ".tmp"
	err := os.WriteFile(temporary, text.Bytes(), 0o644)
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, forget(temporary))
	}
	return nil
}

// forget removes a file that may be there.
func forget(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// checkFile returns an error if the value of a flag cannot be the name of a file with one of these extensions.
func checkFile(flag, path string, extensions ...string) (extension string, err error) {
	for _, e := range extensions {
		if len(path) > len(e)+1 && path[len(path)-len(e)-1:] == "."+e {
			extension = e
		}
	}
	if extension == "" {
		return "", usagef("--%s %q: want a name that ends with .%s", flag, path, strings.Join(extensions, " or ."))
	}
	if path[0] == '-' {
		return "", usagef("--%s %q: want a file (write ./%s for one of that name)", flag, path, path)
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, os.ErrNotExist) {
		return "", usagef("--%s %s: there is no folder %s", flag, path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "", usagef("--%s %s: want a file, this is a folder", flag, path)
	}
	return extension, nil
}
