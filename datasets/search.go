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
// the sub-folder of the data set's name. Files may be gzipped, and those of CIFAR-10 in the archive that they are
// published in, or in the folder that it unpacks to.
func Load(name, dataDir string) (*Dataset, error) {
	e, err := Lookup(name)
	if err != nil {
		return nil, err
	}
	where, packed, err := e.find(dataDir)
	if err != nil {
		return nil, err
	}
	d, err := e.read(where, packed)
	if err == nil && e.Base != "" {
		var base *Dataset
		if base, err = Load(e.Base, dataDir); err != nil {
			return nil, err
		}
		d, err = d.written(base, e)
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %s: %w", name, where, err)
	}
	d.Source = where
	return d, nil
}

// read reads the data set from where find has found it.
func (e Entry) read(where string, packed bool) (*Dataset, error) {
	switch {
	case e.Embedded():
		return e.load(embedded, e)
	case !packed:
		return e.load(os.DirFS(where), e)
	}
	f, err := os.Open(where)
	if err != nil {
		return nil, errors.New(reason(err))
	}
	defer func() { _ = f.Close() }()
	return e.unpack(f, e)
}

// Find returns where Load would read the data set from: "embedded", a folder, or an archive. Of the files only the
// beginnings are read, to tell data sets apart that use the same names.
func Find(name, dataDir string) (string, error) {
	e, err := Lookup(name)
	if err != nil {
		return "", err
	}
	where, _, err := e.find(dataDir)
	return where, err
}

// Resolve returns the data set of this name or, if its files are not found, its sample that is part of the program, and
// a note that says so. Where a folder was named, by dataDir or $FEDBAYES_DATA, nothing stands in for what it lacks.
func Resolve(name, dataDir string) (Entry, []string, error) {
	e, err := Lookup(name)
	if err != nil || e.Sample == "" || dataDir != "" || os.Getenv(EnvDir) != "" {
		return e, nil, err
	}
	_, _, missing := e.find("")
	if missing == nil {
		return e, nil, nil
	}
	sample, err := Lookup(e.Sample)
	if err != nil {
		return Entry{}, nil, err
	}
	note := fmt.Sprintf("%s is not on this machine (name its folder with --data-dir): %s, which is part of the program, stands in", name, e.Sample)
	return sample, []string{note}, nil
}

// find returns where the data set is, and whether that is its archive.
func (e Entry) find(dataDir string) (where string, packed bool, err error) {
	if e.Embedded() {
		return "embedded", false, nil
	}
	var looked []string
	for _, root := range roots(dataDir) {
		for _, dir := range []string{filepath.Join(root, e.Name), root} {
			where, packed, lack := e.in(dir)
			if lack == "" {
				return where, packed, e.based(dataDir)
			}
			looked = append(looked, dir+" ("+lack+")")
		}
	}
	get := e.Get
	if get == "" {
		get = "put " + strings.Join(e.Files, ", ") + " there, plain or .gz"
	}
	more := "or name their folder with --data-dir; fedbayes datasets fetch %s downloads them"
	switch {
	case e.Open():
		more = "or name the file with --data-dir; fedbayes datasets %s tells what is in it"
	case e.Published == nil:
		more = "or name their folder with --data-dir; fedbayes datasets %s tells what they are"
	}
	return "", false, fmt.Errorf("datasets: %s: not found in %s: %s, "+more, e.Name, strings.Join(looked, ", "), get, e.Name)
}

// based returns an error if the data set is of the images of another, and that is not there.
func (e Entry) based(dataDir string) error {
	if e.Base == "" {
		return nil
	}
	if _, err := Find(e.Base, dataDir); err != nil {
		return fmt.Errorf("datasets: %s: it is of the images of %s: %w", e.Name, e.Base, err)
	}
	return nil
}

// in looks for the data set in one folder: its files, the folder that holds them when the archive is unpacked, the
// archive. An open data set can be a file itself. lack says why it is not there.
func (e Entry) in(dir string) (where string, packed bool, lack string) {
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() && e.Open() {
		return dir, true, ""
	}
	lack = lacks(dir, e.Files)
	if lack == "" {
		lack = foreign(os.DirFS(dir), e, All())
		return dir, false, lack
	}
	if e.Archive == "" || lack == noFolder {
		return "", false, lack
	}
	unpacked := filepath.Join(dir, e.Folder)
	inside := lacks(unpacked, e.Files)
	if inside == "" {
		return unpacked, false, ""
	}
	if lacks(dir, []string{e.Archive}) == "" {
		return filepath.Join(dir, e.Archive), true, ""
	}
	if e.Folder != "" && inside != noFolder {
		lack = e.Folder + " " + inside
	}
	return "", false, lack
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

const noFolder = "no such folder"

// lacks says why the files cannot be read from dir, "" if nothing speaks against it.
func lacks(dir string, files []string) string {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return noFolder
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
