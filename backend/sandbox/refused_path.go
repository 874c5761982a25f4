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
	Unreadable bool   `json:"unreadable" doc:"Whether reading is refused, too, so that either may have been tried"`
	Allow      string `json:"allow" doc:"What to add to the sandbox to allow it: the path, or its folder if the file does not exist; empty if that would be a folder that contains the home directory or private files"`
}

// WithAllow returns the refusal with what to allow.
func (r Refusal) WithAllow(home string) Refusal {
	target := resolved(r.Path)
	if _, err := os.Lstat(target); err != nil { // rules are for existing files only
		target = filepath.Dir(target)
		if _, err := os.Lstat(target); err != nil {
			return r
		}
	}
	home = resolved(home)
	if !contains(target, home) && !slices.ContainsFunc(privateInHome, func(path string) bool {
		return target != filepath.Join(home, path) && contains(target, filepath.Join(home, path))
	}) {
		r.Allow = target
	}
	return r
}
