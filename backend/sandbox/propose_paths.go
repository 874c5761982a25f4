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

// Proposal is what must be added to default rules. Paths in the home directory begin with "~/".
type Proposal struct {
	Read, Write []string
	// Private is what was opened but is private, or contains private files or the home directory,
	// and Programs what was written and starts programs. Neither is proposed.
	Private, Programs []string
}

// Propose returns what must be added to the default rules r so that the program may open what it
// was seen to open. What is written is proposed by folder, because programs create files there; for
// a folder that the rules do not cover because it was created since, that is the outermost one.
func Propose(r Rules, home string, seen []Opened) (p Proposal) {
	home = resolved(home)
	tooWide := func(path string) bool {
		return contains(path, home) || slices.ContainsFunc(slices.Concat(r.Private, r.StartsPrograms), func(one string) bool { return contains(path, one) })
	}
	within := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return contains(one, path) || contains(path, one) })
	}
	for _, o := range seen {
		path := o.Path
		switch {
		case r.MayWrite(path) || !o.Written && r.MayRead(path):
		case contains(path, home) || within(r.Private, path):
			p.Private = append(p.Private, path)
		case o.Written && within(r.StartsPrograms, path):
			p.Programs = append(p.Programs, path)
		case o.Written:
			dir := filepath.Dir(path)
			if tooWide(dir) {
				dir = path
			}
			for !r.MayRead(dir) && !tooWide(filepath.Dir(dir)) {
				dir = filepath.Dir(dir)
			}
			p.Write = append(p.Write, dir)
		default:
			p.Read = append(p.Read, path)
		}
	}
	p.Read, p.Write = shortened(outermost(p.Read), home), shortened(outermost(p.Write), home)
	p.Private, p.Programs = shortened(distinct(p.Private), home), shortened(distinct(p.Programs), home)
	return p
}

// distinct returns paths sorted and each once, at most maxProposed.
func distinct(paths []string) []string {
	paths = sortUnique(paths)
	return paths[:min(len(paths), maxProposed)]
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
