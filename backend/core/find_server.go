package core

import "strings"

// ServerIdentity is the id of a server and the label that is shown to the user.
type ServerIdentity struct{ ID, Label string }

// FindServer returns the id of the server that text refers to: the one with exactly this id, else
// the only one with exactly this label, else the only one whose id or label equals text
// case-insensitively. It returns "" if there is none, and an error that lists the ids if there are
// several.
func FindServer(servers []ServerIdentity, text string) (string, error) {
	tests := []func(ServerIdentity) bool{
		func(s ServerIdentity) bool { return s.ID == text },
		func(s ServerIdentity) bool { return s.Label == text },
		func(s ServerIdentity) bool { return strings.EqualFold(s.ID, text) || strings.EqualFold(s.Label, text) },
	}
	for _, fits := range tests {
		var found []string
		for _, s := range servers {
			if fits(s) {
				found = append(found, s.ID)
			}
		}
		if len(found) > 1 {
			return "", &Error{Code: CodeValidation, Message: "several servers have this name", Hint: "Use an id: " + strings.Join(found, ", ") + "."}
		}
		if len(found) == 1 {
			return found[0], nil
		}
	}
	return "", nil
}
