package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
)

const clientsHead = mark + `# Supported clients

One section for each client that Drawbridge can connect by itself: ` + "`drawbridge clients connect ID`" + `, or *Clients* in the page. How connecting
works, and how it is taken back, stands in [Clients](clients.md). A client that is not here works as well: let it start
` + "`drawbridge stdio --client NAME`" + `, or give it the address and a token (see [Getting started](getting-started.md)).

The last column of the table says how we know where a client keeps its servers: measured on the real program, read in its
source, from its documentation, from others' tables, or not verified.

In the names of files ` + "`~`" + ` is your home folder, ` + "`~/.config`" + ` and ` + "`~/.local/share`" + ` are what ` + "`XDG_CONFIG_HOME`" + ` and ` + "`XDG_DATA_HOME`" + ` name
where these are set, ` + "`*`" + ` is any name, and a name that begins with a variable counts where that is set. Of several files the one
that is there is used.

`

var grades = map[string]string{"M": "measured", "S": "source", "D": "documentation", "T": "told by others", "L": "not verified"}

// clients generates the list of the supported clients and their configuration files.
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
		fmt.Fprintf(&b, "\n## %s\n\n%s: `drawbridge clients connect %s`", c.ID, cell(c.Name), c.ID)
		if c.Reload != "" {
			b.WriteString(". For it to see the change: " + cell(strings.TrimSuffix(c.Reload, ".")))
		}
		b.WriteString(".\n\n| system | file (" + string(c.Format) + ", below `" + strings.Join(c.KeyPath, ".") + "`) |\n|---|---|\n")
		for _, row := range places(c) {
			fmt.Fprintf(&b, "| %s | %s |\n", row.systems, row.files)
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

// row is where a client stores its servers on some operating systems.
type row struct{ systems, files string }

// places returns the configuration files of a client, with one row for systems that have the same
// files.
func places(c clientconf.Client) (rows []row) {
	for _, system := range []struct{ id, name string }{{"linux", "Linux"}, {"darwin", "macOS"}, {"windows", "Windows"}} {
		var files []string
		for _, p := range c.Candidates[system.id] {
			if p.Role != "legacy" {
				files = append(files, "`"+readable(p.Path, system.id)+"`")
			}
		}
		text := strings.Join(files, ", ")
		switch last := len(rows) - 1; {
		case text == "":
		case last >= 0 && rows[last].files == text:
			rows[last].systems += ", " + system.name
		default:
			rows = append(rows, row{system.name, text})
		}
	}
	return rows
}

var variable = regexp.MustCompile(`\{env:([A-Z_]+)\}`)

// readable returns a path in the notation of the operating system.
func readable(path, system string) string {
	home, env, code := "~", "$$$1", "~/.config/Code/User"
	switch system {
	case "darwin":
		code = "~/Library/Application Support/Code/User"
	case "windows":
		home, env, code = "%UserProfile%", "%$1%", "%AppData%/Code/User"
	}
	path = variable.ReplaceAllString(path, env)
	path = strings.NewReplacer(
		"{HOME}", home, "{XDG_CONFIG_HOME}", home+"/.config", "{XDG_DATA_HOME}", home+"/.local/share", "{APPSUPPORT}", "~/Library/Application Support",
		"{APPDATA}", "%AppData%", "{LOCALAPPDATA}", "%LocalAppData%", "{VSCODE_USER}", code,
	).Replace(path)
	if system == "windows" {
		path = strings.ReplaceAll(path, "/", `\`)
	}
	return path
}
