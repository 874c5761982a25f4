package sandbox

import (
	"os"
	"slices"
	"strings"
)

// maxAccessPaths limits the paths of each kind in an Access.
const maxAccessPaths = 100

// Access is what rules allow and refuse, for display: at most maxAccessPaths paths of each kind. Paths
// in the home directory begin with "~/".
type Access struct {
	Write      []string `json:"write" nullable:"false" doc:"Files and folders that it may write, other than devices"`
	Unreadable []string `json:"unreadable" nullable:"false" doc:"Existing files and folders that it may not read"`
}

// Access returns what the rules mean for the files that exist now.
func (r Rules) Access(home string) Access {
	isDevice := func(path string) bool { return contains("/dev", path) }
	unreadable := slices.DeleteFunc(slices.Clone(r.Private), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil || r.MayRead(path)
	})
	list := func(paths []string) []string {
		return append([]string{}, shortened(outermost(paths), resolved(home))...)
	}
	return Access{Write: list(slices.DeleteFunc(slices.Clone(r.Write), isDevice)), Unreadable: list(unreadable)}
}

// outermost returns paths without those that lie in another one, sorted, at most maxAccessPaths.
func outermost(paths []string) (list []string) {
	slices.Sort(paths)
	for _, path := range paths {
		if !slices.ContainsFunc(list, func(dir string) bool { return contains(dir, path) }) {
			list = append(list, path)
		}
	}
	return list[:min(len(list), maxAccessPaths)]
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
