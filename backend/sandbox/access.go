package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Access is what rules allow and refuse, for display. Paths in the home directory begin with "~/".
type Access struct {
	Write      []string `json:"write" nullable:"false" doc:"Files and folders that it may write, other than devices"`
	Unreadable []string `json:"unreadable" nullable:"false" doc:"Existing files and folders that it may not read"`
}

// Access returns what the rules mean for the files that exist now. Those in named, such as the arguments
// of the program, come first.
func (r Rules) Access(home string, named []string) Access {
	var folders []string
	for _, one := range named {
		if filepath.IsAbs(one) {
			folders = append(folders, resolved(one))
		}
	}
	first := func(path string) int {
		if slices.ContainsFunc(folders, func(one string) bool { return contains(one, path) }) {
			return 0
		}
		return 1
	}
	isDevice := func(path string) bool { return contains("/dev", path) }
	unreadable := slices.DeleteFunc(slices.Clone(r.Private), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil || r.MayRead(path)
	})
	list := func(paths []string) []string {
		paths = outermost(paths)
		slices.SortStableFunc(paths, func(a, b string) int { return first(a) - first(b) })
		return append([]string{}, shortened(paths, resolved(home))...)
	}
	return Access{Write: list(slices.DeleteFunc(slices.Clone(r.Write), isDevice)), Unreadable: list(unreadable)}
}

// outermost returns paths without those that lie in another one, sorted.
func outermost(paths []string) (list []string) {
	slices.Sort(paths)
	for _, path := range paths {
		if !slices.ContainsFunc(list, func(dir string) bool { return contains(dir, path) }) {
			list = append(list, path)
		}
	}
	return list
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
