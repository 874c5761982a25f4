package config

import (
	"fmt"
	"strings"
)

// Position is a place in a file. Lines and columns count from 1, columns in characters; a zero
// Line means that the position is unknown.
type Position struct {
	File   string
	Line   int
	Column int
}

func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.File == "":
		return fmt.Sprintf("%d:%d", p.Line, p.Column)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problem is one error or warning about a configuration file. It never contains a value that may
// be secret.
type Problem struct {
	File       string `json:"file"`
	Line       int    `json:"line"`
	Column     int    `json:"column"`
	Key        string `json:"key"`        // path of the key: "mcpServers.files.command"
	Message    string `json:"message"`    // missing 'command' in stdio server 'files'
	Suggestion string `json:"suggestion"` // what to do, or ""
	Warning    bool   `json:"warning"`    // nothing was left out because of it
	Server     string `json:"server"`     // label of the server that was left out or is concerned, or ""
}

// String is "file:line:column: message (suggestion)".
func (p Problem) String() string {
	var b strings.Builder
	if at := (Position{p.File, p.Line, p.Column}).String(); at != "" {
		b.WriteString(at)
		b.WriteString(": ")
	}
	if p.Warning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.Message)
	if p.Suggestion != "" {
		fmt.Fprintf(&b, " (%s)", p.Suggestion)
	}
	return b.String()
}

// Error makes a Problem an error.
func (p Problem) Error() string { return p.String() }

// HasErrors reports whether one of problems is not a warning.
func HasErrors(problems []Problem) bool {
	for _, p := range problems {
		if !p.Warning {
			return true
		}
	}
	return false
}

// Problems is the error of a refused configuration.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, 0, len(p))
	for _, one := range p {
		if !one.Warning {
			lines = append(lines, one.String())
		}
	}
	return strings.Join(lines, "\n")
}
