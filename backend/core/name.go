package core

import "strings"

// ServerName is a server's id and the name that the configuration and every screen show.
type ServerName struct{ ID, Label string }

// FindServer returns the id of the server that text names: the one with exactly this id,
// else the only one with exactly this name, else the only one whose id or name is text
// without regard to case. When several servers fit equally well it returns an error that
// lists their ids, and "" when none does.
func FindServer(servers []ServerName, text string) (string, error) {
	tests := []func(ServerName) bool{
		func(s ServerName) bool { return s.ID == text },
		func(s ServerName) bool { return s.Label == text },
		func(s ServerName) bool { return strings.EqualFold(s.ID, text) || strings.EqualFold(s.Label, text) },
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
