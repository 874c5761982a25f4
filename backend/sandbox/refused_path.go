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

// WithAllow returns the refusal with what to allow, under the rules r of the program, which
// reported it and may have made it up.
func (one Refusal) WithAllow(r Rules, home string) Refusal {
	target := resolved(one.Path)
	for filepath.IsAbs(target) && target != filepath.Dir(target) { // rules are for existing files only
		if _, err := os.Lstat(target); err == nil {
			break
		}
		target = filepath.Dir(target)
	}
	if one.Remark = r.WhyNotOffered(home, target, !one.Unreadable); one.Remark == "" {
		one.Allow = target
	}
	return one
}

// WhyNotOffered returns why only an edit of the configuration may allow path, as the end of a
// sentence about it, or "".
func (r Rules) WhyNotOffered(home, path string, write bool) string {
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
