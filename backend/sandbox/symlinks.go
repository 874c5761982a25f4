package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxLinks is how many symbolic links of one path the kernel follows.
const maxLinks = 40

// linkReader reads symbolic links, each path once, and lists folders, each once. It is used for one
// start of a server. With a readlink for each path, the rules for a home directory with 34 entries
// take 2.4 ms instead of 1.3 ms.
type linkReader struct {
	links        map[string]readLink
	folders      map[string]*folder
	withoutLinks map[string]bool // clean paths of folders to which no symbolic link leads
	// preferListing is set while it is asked for many paths in few folders, most of which do not
	// exist: it then lists a folder instead of asking for each entry.
	preferListing bool
}

type readLink struct {
	to  string
	err error
}

// folder is what a linkReader knows of a folder.
type folder struct {
	lookups int // for entries
	listed  bool
	entries []os.DirEntry // by name
	err     error         // of listing it
}

// minLookupsToList is the number of entries from which listing a folder is faster than asking for
// each.
const minLookupsToList = 4

func newLinkReader() *linkReader {
	return &linkReader{links: map[string]readLink{}, folders: map[string]*folder{}, withoutLinks: map[string]bool{}}
}

func (l *linkReader) readlink(path string) (string, error) {
	one, ok := l.links[path]
	if !ok {
		one.to, one.err = l.readNewLink(path)
		l.links[path] = one
	}
	return one.to, one.err
}

func (l *linkReader) readNewLink(path string) (string, error) {
	slash := strings.LastIndexByte(path, '/')
	parent, name := path[:max(slash, 1)], path[slash+1:]
	if errors.Is(l.links[parent].err, fs.ErrNotExist) {
		return "", fs.ErrNotExist
	}
	f := l.folder(parent)
	if f.lookups++; l.preferListing && f.lookups >= minLookupsToList {
		f.list(parent)
	}
	if f.listed && f.err == nil {
		i, exists := slices.BinarySearchFunc(f.entries, name, func(e os.DirEntry, name string) int { return strings.Compare(e.Name(), name) })
		switch {
		case !exists:
			return "", fs.ErrNotExist
		case f.entries[i].Type()&os.ModeSymlink == 0:
			return "", errNoLink
		}
	}
	return os.Readlink(path)
}

var errNoLink = errors.New("not a symbolic link")

func (l *linkReader) folder(path string) *folder {
	f := l.folders[path]
	if f == nil {
		f = &folder{}
		l.folders[path] = f
	}
	return f
}

func (f *folder) list(path string) {
	if !f.listed {
		f.listed = true
		f.entries, f.err = os.ReadDir(path)
	}
}

// resolve returns path without symbolic links as far as it exists, and the links that lead to it.
func (l *linkReader) resolve(path string) (target string, through []string) {
	if !filepath.IsAbs(path) || filepath.Separator != '/' {
		return filepath.Clean(path), nil
	}
	slash := strings.LastIndexByte(path, '/')
	if name := path[slash+1:]; l.withoutLinks[path[:slash]] && name != "" && name != "." && name != ".." {
		if _, err := l.readlink(path); err != nil {
			return path, nil
		}
	}
	target = "/"
	missing := false                        // target does not exist, and so nothing below it
	isStart := path == filepath.Clean(path) // target is the beginning of path
	for name, rest := "", path; rest != ""; {
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			target, missing = filepath.Dir(target), false
			continue
		}
		at := strings.TrimSuffix(path[:max(0, len(path)-len(rest))], "/") // without a copy
		if !isStart {
			at = entryOf(target, name)
		}
		if missing || len(through) == maxLinks {
			target = at
			continue
		}
		to, err := l.readlink(at)
		if err != nil {
			target, missing = at, errors.Is(err, fs.ErrNotExist)
			continue
		}
		through, isStart = append(through, at), false
		if filepath.IsAbs(to) {
			target = "/"
		}
		rest = to + "/" + rest
	}
	if through == nil && isStart {
		l.withoutLinks[path[:slash]] = true
	}
	return target, through
}

func (l *linkReader) resolved(path string) string {
	target, _ := l.resolve(path)
	return target
}

func (l *linkReader) resolvedAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = l.resolved(path)
	}
	return out
}

// withTargets returns paths and where those that are symbolic links lead to.
func (l *linkReader) withTargets(paths []string) []string {
	all := slices.Clone(paths)
	for _, path := range paths {
		if target := l.resolved(path); target != path {
			all = append(all, target)
		}
	}
	return sortUnique(all)
}

// sortUnique sorts paths in place, and returns each once.
func sortUnique(paths []string) []string {
	slices.Sort(paths)
	return slices.Compact(paths)
}

func resolved(path string) string { return newLinkReader().resolved(path) }

// entryOf returns the path of an entry of a folder, or of one below it. Unlike filepath.Join, it
// expects clean paths.
func entryOf(folder, name string) string {
	if folder == "/" {
		return folder + name
	}
	return folder + "/" + name
}
