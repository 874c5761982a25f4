package sandbox

import (
	"os"
	"path/filepath"
	"slices"
)

// Refusal is an access that a sandbox refused, as the program reported it.
type Refusal struct {
	Path string `json:"path"`
	// Unreadable is set if reading is refused, too, so that either may have been tried.
	Unreadable bool   `json:"unreadable" doc:"Whether reading is also denied, so the server may have tried to read or to write"`
	Allow      string `json:"allow" doc:"What to add to the sandbox to allow it: the path, or its folder if the file does not exist; empty if only an edit of the configuration allows it, as remark says"`
	Remark     string `json:"remark,omitempty" doc:"Why there is nothing to allow"`
}

// WithAllow returns the refusal with what to allow, under the rules r of the program, which reported it
// and may have made it up.
func (one Refusal) WithAllow(r Rules, home string) Refusal {
	target := resolved(one.Path)
	for filepath.IsAbs(target) && target != filepath.Dir(target) { // rules are for existing files only
		if _, err := os.Lstat(target); err == nil {
			break
		}
		target = filepath.Dir(target)
	}
	if one.Remark = r.NotOffered(home, target, !one.Unreadable); one.Remark == "" {
		one.Allow = target
	}
	return one
}

// NotOffered returns why only an edit of the configuration may allow path, as the end of a sentence about
// it, or "".
func (r Rules) NotOffered(home, path string, write bool) string {
	path = resolved(path)
	related := func(list []string) bool {
		return slices.ContainsFunc(list, func(one string) bool { return contains(path, one) || contains(one, path) })
	}
	switch {
	case related(r.Private):
		return "is private or contains private files"
	case contains(path, resolved(home)):
		return "contains the home directory"
	case write && related(r.StartsPrograms):
		return "contains files that start programs outside the sandbox"
	}
	return ""
}

// PrivatePath returns the private path that is or contains path, or "".
func (r Rules) PrivatePath(path string) string {
	if i := slices.IndexFunc(r.Private, func(one string) bool { return contains(one, path) }); i >= 0 {
		return r.Private[i]
	}
	return ""
}

// Access is what rules allow and refuse, for display: at most maxProposed paths of each kind. Paths in the home directory begin with "~/".
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
