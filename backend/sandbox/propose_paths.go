package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Opened is a file or folder that a program was seen to open.
type Opened struct {
	Path    string
	Written bool
}

// maxProposed limits the proposed paths of each kind.
const maxProposed = 100

// Propose returns the paths that must be added to the default rules r so that the program may open
// what it was seen to open. Paths in home begin with "~/". What is written is proposed by folder,
// because programs create files there. What is private, and folders that contain private files or
// the home directory, are never proposed, but returned in withheld.
func Propose(r Rules, home string, seen []Opened) (read, write, withheld []string) {
	home = resolved(home)
	tooWide := func(path string) bool {
		return contains(path, home) || slices.ContainsFunc(r.Private, func(one string) bool { return contains(path, one) })
	}
	for _, o := range seen {
		path := o.Path
		switch {
		case r.MayWrite(path) || !o.Written && r.MayRead(path):
		case tooWide(path) || slices.ContainsFunc(r.Private, func(one string) bool { return contains(one, path) }):
			withheld = append(withheld, path)
		case o.Written:
			if dir := filepath.Dir(path); r.MayRead(path) && !tooWide(dir) && !isListed(home, path) {
				path = dir
			}
			write = append(write, path)
		default:
			read = append(read, path)
		}
	}
	slices.Sort(withheld)
	withheld = slices.Compact(withheld)
	return shortened(outermost(read), home), shortened(outermost(write), home), shortened(withheld[:min(len(withheld), maxProposed)], home)
}

// isListed reports whether path is one of the files and folders from which programs are started, or
// lies in one.
func isListed(home, path string) bool {
	return slices.ContainsFunc(startsPrograms, func(one string) bool { return contains(filepath.Join(home, one), path) })
}

// outermost returns paths without those that lie in another one, sorted, at most maxProposed.
func outermost(paths []string) (list []string) {
	slices.Sort(paths)
	for _, path := range paths {
		if !slices.ContainsFunc(list, func(dir string) bool { return contains(dir, path) }) {
			list = append(list, path)
		}
	}
	return list[:min(len(list), maxProposed)]
}

func shortened(paths []string, home string) []string {
	for i, path := range paths {
		if path == home {
			paths[i] = "~"
		} else if rest, ok := strings.CutPrefix(path, home+"/"); ok {
			paths[i] = "~/" + rest
		}
	}
	return paths
}
