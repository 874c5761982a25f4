package sandbox

import (
	"os"
	"path/filepath"
)

// Refusal is an access that a sandbox refused, as the program reported it.
type Refusal struct {
	Path string `json:"path"`
	// Unreadable is set if reading is refused, too, so that either may have been tried.
	Unreadable bool   `json:"unreadable" doc:"Whether reading is refused, too, so that either may have been tried"`
	Allow      string `json:"allow" doc:"What to add to the sandbox to allow it: the path, or its folder if the file does not exist; empty if that would be the home directory or contain it"`
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
	if !contains(target, resolved(home)) {
		r.Allow = target
	}
	return r
}
