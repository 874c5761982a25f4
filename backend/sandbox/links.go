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

// linkReader reads symbolic links, each path once: most paths of a program share their first folders.
type linkReader map[string]readLink

type readLink struct {
	to  string
	err error
}

func (l linkReader) readlink(path string) (string, error) {
	one, ok := l[path]
	if !ok {
		one.to, one.err = os.Readlink(path)
		l[path] = one
	}
	return one.to, one.err
}

// resolve returns path without symbolic links as far as it exists, and the links that lead to it.
func (l linkReader) resolve(path string) (target string, through []string) {
	if !filepath.IsAbs(path) || filepath.Separator != '/' {
		return filepath.Clean(path), nil
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
	return target, through
}

func (l linkReader) resolved(path string) string {
	target, _ := l.resolve(path)
	return target
}

func (l linkReader) resolvedAll(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = l.resolved(path)
	}
	return out
}

// withTargets returns paths and where those that are symbolic links lead to.
func (l linkReader) withTargets(paths []string) []string {
	all := slices.Concat(paths, l.resolvedAll(paths))
	slices.Sort(all)
	return slices.Compact(all)
}

func resolved(path string) string { return linkReader{}.resolved(path) }

// entryOf returns the path of an entry of a folder, or of one below it. Unlike filepath.Join, it expects clean paths.
func entryOf(folder, name string) string {
	if folder == "/" {
		return folder + name
	}
	return folder + "/" + name
}
