package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// EnvDir is the environment variable that names a folder of data sets.
const EnvDir = "FEDBAYES_DATA"

// Load reads the data set of this name.
//
// An embedded one needs no file, and dataDir is not looked at. Others are looked for in dataDir, or, if that is empty,
// in $FEDBAYES_DATA, in the folder fedbayes of the user's cache, and in /usr/share/datasets; in each of them first in
// the sub-folder of the data set's name. Files may be gzipped.
func Load(name, dataDir string) (*Dataset, error) {
	e, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	where, err := Find(name, dataDir)
	if err != nil {
		return nil, err
	}
	fsys := fs.FS(embedded)
	if !e.Embedded() {
		fsys = os.DirFS(where)
	}
	d, err := e.load(fsys, e)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %s: %w", name, where, err)
	}
	d.Source = where
	return d, nil
}

// Find returns where Load would read the data set from: "embedded", or a folder. The files are not read.
func Find(name, dataDir string) (string, error) {
	e, err := Lookup(name)
	if err != nil {
		return "", err
	}
	if e.Embedded() {
		return "embedded", nil
	}
	var looked []string
	for _, root := range roots(dataDir) {
		for _, dir := range []string{filepath.Join(root, name), root} {
			lack := lacks(dir, e.Files)
			if lack == "" {
				return dir, nil
			}
			looked = append(looked, dir+" ("+lack+")")
		}
	}
	return "", fmt.Errorf("datasets: %s: not found in %s: put %s there, plain or .gz, or name their folder with --data-dir",
		name, strings.Join(looked, ", "), strings.Join(e.Files, ", "))
}

// roots returns the folders to search, first to last.
func roots(dataDir string) []string {
	if dataDir != "" {
		return []string{dataDir}
	}
	var dirs []string
	if dir := os.Getenv(EnvDir); dir != "" {
		dirs = append(dirs, dir)
	}
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "fedbayes"))
	}
	return append(dirs, filepath.FromSlash("/usr/share/datasets"))
}

// lacks says why the files cannot be read from dir, "" if nothing speaks against it.
func lacks(dir string, files []string) string {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such folder"
	case err != nil:
		return reason(err)
	case !info.IsDir():
		return "not a folder"
	}
	var missing []string
	for _, name := range files {
		_, err := locate(os.DirFS(dir), name)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		} else if err != nil {
			return reason(err)
		}
	}
	switch len(missing) {
	case 0:
		return ""
	case len(files):
		return "not there"
	default:
		return "without " + strings.Join(missing, ", ")
	}
}

// reason is an error without the path that it repeats.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// locate returns the spelling under which fsys holds a file: the wild has "train-images-idx3-ubyte" and
// "train-images.idx3-ubyte", plain and gzipped. The first that exists is taken.
func locate(fsys fs.FS, name string) (string, error) {
	dotted := strings.Replace(name, "-idx", ".idx", 1)
	for _, spelling := range []string{name, dotted, name + ".gz", dotted + ".gz"} {
		info, err := fs.Stat(fsys, spelling)
		if err == nil && info.Mode().IsRegular() {
			return spelling, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}
