package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
)

const clientsHead = mark + `# Supported clients

` + "`drawbridge clients connect ID`" + ` or the *Clients* page connects a client; [Clients](clients.md) describes how that works and how to undo it. Other clients
can start ` + "`drawbridge stdio --client NAME`" + `, or use the URL with a token (see [Getting started](getting-started.md)).

Each section names the files of a client and where this is from: tested with the program, its source, its documentation, third parties, or not verified. Unless a section says otherwise, the file is JSON with the servers under ` + "`mcpServers`" + `, the client can connect by stdio or HTTP, and it must be
restarted afterwards. Clients that must be quit before connecting overwrite their file. The entry is written to the first file that exists; servers are imported and moved from all of them.

` + "`~`" + ` is your home folder (on Windows ` + "`%UserProfile%`" + `), ` + "`*`" + ` any name; a path that begins with a variable applies if the variable is set (on Windows
` + "`%NAME%`" + `). ` + "`XDG_CONFIG_HOME`" + ` and ` + "`XDG_DATA_HOME`" + ` replace ` + "`~/.config`" + ` and ` + "`~/.local/share`" + `.
`

var grades = map[string]string{"M": "tested", "S": "source", "D": "documentation", "T": "third party", "L": "not verified"}

var formats = map[string]string{"json": "JSON", "jsonc": "JSON with comments", "json5": "JSON5", "yaml": "YAML", "toml": "TOML"}

func projectFiles(c clientconf.Client) string {
	files := []string{"`" + c.ProjectFile + "`"}
	for _, cand := range c.Candidates["project"] {
		files = append(files, "`"+cand.Path+"`")
	}
	return strings.Join(files, ", ")
}

// clients generates the list of the supported clients and their configuration files.
func clients() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(clientsHead)
	for _, c := range clientconf.Known() {
		rows := configFileRows(c)
		if c.ProjectFile != "" {
			rows = append(rows, configFileRow{"a project", projectFiles(c)})
		}
		ways := ", stdio only"
		if len(c.HTTP) > 0 && string(c.HTTP) != "null" {
			ways = ""
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s: %s%s, %s.", c.ID, escapeCell(c.Name), escapeCell(c.Kind), ways, grades[c.Confidence])
		if len(rows) == 0 {
			b.WriteString(" It has no configuration file that Drawbridge can edit; the command prints the steps.\n")
		} else {
			if place := formats[string(c.Format)] + ", under `" + strings.Join(c.KeyPath, ".") + "`"; place != "JSON, under `mcpServers`" {
				b.WriteString(" " + place + ":")
			}
			b.WriteString("\n\n")
		}
		for _, row := range rows {
			fmt.Fprintf(&b, "- %s: %s\n", strings.ReplaceAll(row.systems, "Linux, macOS, Windows", "all"), row.files)
		}
		var notes []string
		if reload := strings.TrimSuffix(c.Reload, " (assumed, not tested)"); reload != "" && reload != "restart the client" {
			reload = strings.TrimSuffix(strings.Replace(reload, "; the client reloads the file automatically", "", 1), " and restarts the server")
			notes = append(notes, "After connecting: "+escapeCell(reload)+".")
		}
		if c.Rewrites {
			notes = append(notes, "Quit it before connecting.")
		}
		if c.MaxTools > 0 {
			notes = append(notes, fmt.Sprintf("Its model gets at most %d tools.", c.MaxTools))
		}
		if c.Limits.Source != "" {
			notes = append(notes, strings.ToUpper(c.Limits.Source[:1])+c.Limits.Source[1:]+".")
		}
		if c.Synced {
			notes = append(notes, "Its file is synchronized, so no access token is written to it.")
		}
		if len(notes) > 0 {
			fmt.Fprintf(&b, "\n%s\n", strings.Join(notes, " "))
		}
	}
	costs, err := toolCosts()
	b.WriteString(costs)
	return b.Bytes(), err
}

// configFileRow is where a client stores its servers on some operating systems.
type configFileRow struct{ systems, files string }

// configFileRows returns the configuration files of a client, with one row for systems that have
// the same files.
func configFileRows(c clientconf.Client) (rows []configFileRow) {
	for _, system := range []struct{ id, name string }{{"linux", "Linux"}, {"darwin", "macOS"}, {"windows", "Windows"}} {
		var files, plain []string
		for _, p := range c.Candidates[system.id] {
			if p.Role != "legacy" {
				files = append(files, "`"+readable(p.Path, system.id)+"`")
				plain = append(plain, "`"+readable(p.Path, "linux")+"`")
			}
		}
		text := strings.Join(files, ", ")
		if same := strings.Join(plain, ", "); len(rows) == 1 && rows[0].files == same {
			text = same // the notation of Windows is described once
		}
		switch last := len(rows) - 1; {
		case text == "":
		case last >= 0 && rows[last].files == text:
			rows[last].systems += ", " + system.name
		default:
			rows = append(rows, configFileRow{system.name, text})
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
