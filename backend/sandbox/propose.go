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
// what it was seen to open. Paths in home begin with "~/". What is read is proposed file by file,
// because it lies in private folders; what is written is proposed by folder, because programs
// create files there.
func Propose(r Rules, home string, seen []Opened) (read, write []string) {
	home = resolved(home)
	for _, o := range seen {
		switch {
		case o.Written && !r.MayWrite(o.Path):
			path := o.Path
			if dir := filepath.Dir(path); r.MayRead(path) && dir != "/" && !contains(dir, home) && !isListed(home, path) {
				path = dir
			}
			write = append(write, path)
		case !o.Written && !r.MayRead(o.Path):
			read = append(read, o.Path)
		}
	}
	return shortened(outermost(read), home), shortened(outermost(write), home)
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
		if rest, ok := strings.CutPrefix(path, home+"/"); ok {
			paths[i] = "~/" + rest
		}
	}
	return paths
}
