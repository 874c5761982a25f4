package main

import (
	"bytes"
	"fmt"
	"strings"

	"drawbridge/backend/clientconf"
)

const clientsHead = mark + `# Supported clients

One section for each client that Drawbridge can connect by itself: ` + "`drawbridge clients connect ID`" + `, or *Clients* in the page. How connecting
works, and how it is taken back, stands in [Clients](clients.md). A client that is not here works as well: let it start
` + "`drawbridge stdio --client NAME`" + `, or give it the address and a token (see [Getting started](getting-started.md)).

The last column of the table says how we know where a client keeps its servers: measured on the real program, read in its
source, from its documentation, from others' tables, or not verified.

`

var grades = map[string]string{"M": "measured", "S": "source", "D": "documentation", "T": "told by others", "L": "not verified"}

// clients is the list of what can be connected, and where.
func clients() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(clientsHead)
	b.WriteString("| client | id | kind | connects by | known from |\n|---|---|---|---|---|\n")
	for _, c := range clientconf.Known() {
		ways := "a program"
		if len(c.HTTP) > 0 && string(c.HTTP) != "null" {
			ways += " or an address"
		}
		fmt.Fprintf(&b, "| [%s](#%s) | `%s` | %s | %s | %s |\n", cell(c.Name), anchor(c.ID), c.ID, cell(c.Kind), ways, grades[c.Confidence])
	}
	for _, c := range clientconf.Known() {
		fmt.Fprintf(&b, "\n## %s\n\n%s: `drawbridge clients connect %s`. %s\n\n", c.ID, cell(c.Name), c.ID, sentence(cell(c.Reload)))
		b.WriteString("| system | file (" + string(c.Format) + ", below `" + strings.Join(c.KeyPath, ".") + "`) |\n|---|---|\n")
		for _, system := range []string{"linux", "darwin", "windows"} {
			var places []string
			for _, p := range c.Candidates[system] {
				if p.Role != "legacy" {
					places = append(places, "`"+p.Path+"`")
				}
			}
			if len(places) > 0 {
				fmt.Fprintf(&b, "| %s | %s |\n", map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}[system], strings.Join(places, ", "))
			}
		}
		if c.Project != "" {
			fmt.Fprintf(&b, "| a project | `%s` |\n", c.Project)
		}
		var notes []string
		if c.Rewrites {
			notes = append(notes, "It writes its whole file back from memory: quit it before you connect.")
		}
		if c.MaxTools > 0 {
			notes = append(notes, fmt.Sprintf("It offers its model at most %d tools.", c.MaxTools))
		}
		if c.Synced {
			notes = append(notes, "Its file is carried to your other machines, so no token is written into it.")
		}
		if len(notes) > 0 {
			fmt.Fprintf(&b, "\n%s\n", strings.Join(notes, " "))
		}
	}
	return b.Bytes(), nil
}
