package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
			missing := absent(os.DirFS(dir), e.Files)
			if len(missing) == 0 {
				return dir, nil
			}
			if len(missing) < len(e.Files) {
				dir += " (lacks " + strings.Join(missing, ", ") + ")"
			}
			looked = append(looked, dir)
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

// absent returns those of the files that fsys does not hold under any spelling.
func absent(fsys fs.FS, files []string) []string {
	return slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		_, err := locate(fsys, name)
		return err == nil
	})
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
