package clientconf

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// ManualSetup is what the user needs to connect a client by hand.
type ManualSetup struct {
	Text   string `json:"text"`   // text to paste into the client's file or settings
	Format Format `json:"format"` // format of Text
	Path   string `json:"path"`   // path of the file; "" if the client has settings instead
	// Link is an install link that opens the client, which asks the user for confirmation; ""
	// if the client supports none. It never contains a token.
	Link string `json:"link"`
	// Bundle is the file name of the extension; "" if the client installs none.
	Bundle string   `json:"bundle"`
	Steps  []string `json:"steps"`
}

// installLinks maps a client to a function that returns the install link for an entry in the format
// of that client.
var installLinks = map[string]func(name string, entry json.RawMessage) string{
	"vscode": func(n string, e json.RawMessage) string {
		return "vscode:mcp/install?" + queryEscape(prependName(n, e))
	},
	"vscode-insiders": func(n string, e json.RawMessage) string {
		return "vscode-insiders:mcp/install?" + queryEscape(prependName(n, e))
	},
	"visual-studio": func(n string, e json.RawMessage) string {
		return "vsweb+mcp:/install?" + queryEscape(prependName(n, e))
	},
	"raycast": func(n string, e json.RawMessage) string {
		return "raycast://mcp/install?" + queryEscape(prependName(n, e))
	},
	"cursor": func(n string, e json.RawMessage) string {
		return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + queryEscape(n) + "&config=" + queryEscape(base64.StdEncoding.EncodeToString(e))
	},
	"lm-studio": func(n string, e json.RawMessage) string {
		return "lmstudio://add_mcp?name=" + queryEscape(n) + "&config=" + queryEscape(base64.StdEncoding.EncodeToString(e))
	},
	"cherry-studio": func(n string, e json.RawMessage) string {
		return "cherrystudio://mcp/install?servers=" + queryEscape(base64.StdEncoding.EncodeToString([]byte(`{"mcpServers":{`+core.QuoteJSON(n)+`:`+string(e)+`}}`)))
	},
}

// queryEscape returns s escaped for a query, with a space as %20, as custom schemes require.
func queryEscape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// prependName returns the entry with its name as the first member.
func prependName(name string, entry json.RawMessage) string {
	text := strings.TrimSpace(string(entry))
	if text = strings.TrimPrefix(text, "{"); strings.TrimSpace(text) == "}" {
		return `{"name":` + core.QuoteJSON(name) + "}"
	}
	return `{"name":` + core.QuoteJSON(name) + "," + text
}

// HasLink reports whether the client can be connected by an install link.
func HasLink(client Client) bool { return installLinks[client.ID] != nil }

// HasBundle reports whether the client installs MCP bundles.
func HasBundle(client Client) bool { return client.ID == "claude-desktop" }

// ManualSetup returns what the user needs to connect a client by hand. It makes links for the
// shim only: with a URL, the link would contain the token, and links end up in histories and
// logs.
func (c *Connector) ManualSetup(choice Choice) (ManualSetup, error) {
	client, err := ByID(choice.Client)
	if err != nil {
		return ManualSetup{}, err
	}
	p, err := c.openPlan(choice)
	if err == nil && p.Path != "" {
		p.before, _, _ = readFile(p.target) // a file that cannot be read is treated as empty
	} else {
		p = &Plan{Client: client}
	}
	if p.edits, err = c.buildEdits(client, choice, ""); err != nil {
		return ManualSetup{}, err
	}
	manual := p.snippet()
	h := ManualSetup{Text: manual.text, Format: client.Format, Path: p.Path, Steps: []string{}}
	single := ServerEntry{Name: EntryName}
	if len(choice.Servers) == 1 {
		single = choice.Servers[0]
	}
	if link := installLinks[client.ID]; link != nil && !choice.HTTP && choice.Project == "" && len(choice.Servers) < 2 {
		entry := c.shimEntry(client, single)
		var v any
		if err := json.Unmarshal(entry, &v); err == nil {
			if compact, err := core.EncodeJSON(v); err == nil {
				entry = compact
			}
		}
		h.Link = link(single.Name, entry)
		h.Steps = append(h.Steps, "Open the link: "+client.Name+" shows what it would add, and asks for confirmation.")
	}
	if HasBundle(client) && choice.Project == "" {
		h.Bundle = BundleName
		h.Steps = append(h.Steps, "Or install the extension "+BundleName+" with "+client.Name+" (Settings, Extensions, Install).")
	}
	where := h.Path
	if where == "" {
		where = "the settings of " + client.Name
	}
	h.Steps = append(h.Steps, "Or add the text to "+where+manual.place+".")
	if hint := client.ApplyHint(); hint != "" {
		h.Steps = append(h.Steps, hint)
	}
	return h, nil
}
