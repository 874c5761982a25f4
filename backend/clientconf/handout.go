package clientconf

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// Handout is what the user needs to connect a client by hand.
type Handout struct {
	Text   string `json:"text"`   // to paste into the client's file or settings
	Format Format `json:"format"` // of Text
	Path   string `json:"path"`   // of the file; "" where the client has settings instead
	// Link opens the client, which then asks the user; "" where it knows no such link.
	// It never holds a token.
	Link string `json:"link"`
	// Bundle is the file name of an extension that can be had; "" where the client takes none.
	Bundle string   `json:"bundle"`
	Steps  []string `json:"steps"`
}

// links makes a client's install link of an entry: where it leads, and how the client
// wants the entry.
var links = map[string]func(name string, entry json.RawMessage) string{
	"vscode": func(n string, e json.RawMessage) string { return "vscode:mcp/install?" + escaped(withName(n, e)) },
	"vscode-insiders": func(n string, e json.RawMessage) string {
		return "vscode-insiders:mcp/install?" + escaped(withName(n, e))
	},
	"visual-studio": func(n string, e json.RawMessage) string { return "vsweb+mcp:/install?" + escaped(withName(n, e)) },
	"raycast":       func(n string, e json.RawMessage) string { return "raycast://mcp/install?" + escaped(withName(n, e)) },
	"cursor": func(n string, e json.RawMessage) string {
		return "cursor://anysphere.cursor-deeplink/mcp/install?name=" + escaped(n) + "&config=" + escaped(base64.StdEncoding.EncodeToString(e))
	},
	"lm-studio": func(n string, e json.RawMessage) string {
		return "lmstudio://add_mcp?name=" + escaped(n) + "&config=" + escaped(base64.StdEncoding.EncodeToString(e))
	},
	"cherry-studio": func(n string, e json.RawMessage) string {
		return "cherrystudio://mcp/install?servers=" + escaped(base64.StdEncoding.EncodeToString([]byte(`{"mcpServers":{`+jsonString(n)+`:`+string(e)+`}}`)))
	},
}

// escaped is s as it stands in a query; a space is %20, as custom schemes want it.
func escaped(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// withName puts the name into the entry.
func withName(name string, entry json.RawMessage) string {
	text := strings.TrimSpace(string(entry))
	if text = strings.TrimPrefix(text, "{"); strings.TrimSpace(text) == "}" {
		return `{"name":` + jsonString(name) + "}"
	}
	return `{"name":` + jsonString(name) + "," + text
}

// HasLink reports whether the client can be connected by a link.
func HasLink(client Client) bool { return links[client.ID] != nil }

// HasBundle reports whether the client takes an extension.
func HasBundle(client Client) bool { return client.ID == "claude-desktop" }

// Handout makes what the user needs to connect a client by hand. A link is made for
// the shim alone: an address would need its token in the link, where histories and logs
// would keep it.
func (c *Connector) Handout(choice Choice) (Handout, error) {
	client, err := ByID(choice.Client)
	if err != nil {
		return Handout{}, err
	}
	text, err := c.Snippet(choice)
	if err != nil {
		return Handout{}, err
	}
	h := Handout{Text: text, Format: client.Format, Steps: []string{}}
	if p, err := c.open(choice); err == nil {
		h.Path = p.Path
	}
	single := Single{Name: EntryName}
	if len(choice.Servers) == 1 {
		single = choice.Servers[0]
	}
	if link := links[client.ID]; link != nil && !choice.HTTP && choice.Project == "" && len(choice.Servers) < 2 {
		var compact strings.Builder
		entry := c.shimEntry(client, single)
		var v any
		if err := json.Unmarshal(entry, &v); err == nil {
			e := json.NewEncoder(&compact)
			e.SetEscapeHTML(false)
			if e.Encode(v) == nil {
				entry = json.RawMessage(strings.TrimSpace(compact.String()))
			}
		}
		h.Link = link(single.Name, entry)
		h.Steps = append(h.Steps, "Open the link: "+client.Name+" shows what it would add, and asks.")
	}
	if HasBundle(client) && choice.Project == "" {
		h.Bundle = BundleName
		h.Steps = append(h.Steps, "Or open the extension "+BundleName+" with "+client.Name+" (Settings, Extensions, Install).")
	}
	where := h.Path
	if where == "" {
		where = "the settings of " + client.Name
	}
	h.Steps = append(h.Steps, "Or add the text to "+where+".")
	if client.Reload != "" {
		h.Steps = append(h.Steps, "For it to be seen: "+strings.TrimSuffix(client.Reload, ".")+".")
	}
	return h, nil
}
