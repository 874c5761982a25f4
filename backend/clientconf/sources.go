package clientconf

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"
)

//go:embed sources.json
var sourcesJSON []byte

// Sources returns where servers can be imported from besides clients: other gateways, and the extensions
// and plugins of clients. Drawbridge never writes their files. Those without Candidates have no file that
// can be read; they are known only so that clients no longer start them.
var Sources = sync.OnceValue(func() []Client {
	var all []Client
	if err := json.Unmarshal(sourcesJSON, &all); err != nil {
		panic(err) // the table is embedded, and a test parses it
	}
	return all
})

// Gateway is how the entries of clients for another gateway are recognized.
type Gateway struct {
	// Programs are names of programs or packages, or the first words of a command.
	Programs []string `json:"programs"`
	URL      string   `json:"url"`
	// Listen is the key of the gateway's own file with its address, in place of that in URL.
	Listen string `json:"listen"`
}

// sourceByID is ByID for the sources as well.
func sourceByID(id string) (Client, error) {
	for _, c := range Sources() {
		if c.ID == id {
			return c, nil
		}
	}
	return ByID(id)
}

// FindSource is Find for the sources that have a file as well.
func FindSource(text string) (Client, error) {
	for _, c := range Sources() {
		if len(c.Candidates) > 0 && (strings.EqualFold(c.ID, text) || strings.EqualFold(c.Name, text)) {
			return c, nil
		}
	}
	return Find(text)
}

// presentSources returns the sources that have a file.
func (s System) presentSources() (all []Status) {
	for _, source := range Sources() {
		if loc, ok := s.locate(source); ok && loc.exists {
			all = append(all, Status{Client: source, Key: source.ID, Path: loc.path, Detected: true, State: NotConnected})
		}
	}
	return all
}

// gatewayOf returns the gateway that an entry of a client starts or connects to.
func (s System) gatewayOf(entry map[string]any) (Client, bool) {
	words, _ := textList(firstMember(entry, commandKeys...))
	args, _ := textList(entry["args"])
	if words = append(words, args...); len(words) == 1 {
		words = config.SplitCommand(words[0])
	}
	address := firstString(entry, addressKeys...)
	for _, word := range words { // of a bridge such as mcp-remote
		if strings.HasPrefix(word, "http://") && address == "" {
			address = word
		}
	}
	for _, c := range Sources() {
		if c.Gateway == nil {
			continue
		}
		for _, program := range c.Gateway.Programs {
			if startsGateway(words, program) {
				return c, true
			}
		}
		if c.Gateway.URL != "" && address != "" && sameLoopback(address, s.gatewayURL(c)) {
			return c, true
		}
	}
	return Client{}, false
}

// startsGateway reports whether a command is that of a gateway: its first words, or a program or a package
// among the first words before its own arguments.
func startsGateway(words []string, program string) bool {
	if named := strings.Fields(program); len(named) > 1 {
		return len(words) >= len(named) && programName(words[0]) == named[0] && slices.Equal(words[1:len(named)], named[1:])
	}
	for n, word := range words {
		if n > 0 && strings.HasPrefix(word, "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "@"), "@") // without a version
		if strings.HasPrefix(word, "@") {
			name = "@" + name
		}
		if name == program || n == 0 && programName(word) == program {
			return true
		}
		if n > 0 { // only the package that npx or another launcher runs
			return false
		}
	}
	return false
}

// gatewayURL returns the URL of a gateway, with the address of its own file.
func (s System) gatewayURL(c Client) string {
	loc, ok := s.locate(c)
	if !ok || !loc.exists || c.Gateway.Listen == "" {
		return c.Gateway.URL
	}
	src, _, err := readFile(loc.path)
	if err != nil {
		return c.Gateway.URL
	}
	m, _ := decodeFile(src, c)
	_, port, err := net.SplitHostPort(firstString(m, c.Gateway.Listen))
	if err != nil {
		return c.Gateway.URL
	}
	return "http://127.0.0.1:" + port + "/mcp"
}

// sameLoopback reports whether two URLs have the same port of this machine, and paths of MCP.
func sameLoopback(text, gateway string) bool {
	a, err := url.Parse(text)
	b, invalid := url.Parse(gateway)
	if err != nil || invalid != nil || a.Port() != b.Port() {
		return false
	}
	path := strings.Trim(a.Path, "/")
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, a.Hostname()) && slices.Contains([]string{"", "mcp", "sse"}, strings.SplitN(path, "/", 2)[0])
}

// removeGateways adds the removal of the entries for other gateways to a plan, because a client with both
// would have each tool twice. Undoing the connection restores them.
func (s System) removeGateways(p *Plan) error {
	if p.choice.Project != "" || !p.existed {
		return nil
	}
	file, err := p.parse(p.before)
	if err != nil {
		return p.refusal(err)
	}
	m, err := file.decode()
	if err != nil {
		return p.refusal(err)
	}
	entries, _ := valueAt(m, p.Client.KeyPath).(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		entry, _ := entries[name].(map[string]any)
		gateway, ok := s.gatewayOf(entry)
		e := edit{path: p.Client.KeyPath, name: name}
		if !ok || slices.ContainsFunc(p.edits, e.hasPathOf) {
			continue
		}
		p.edits, p.gateways = append(p.edits, e), append(p.gateways, e)
		text := fmt.Sprintf("The entry %s, which starts %s, is removed.", core.QuoteJSON(name), gateway.Name)
		if len(gateway.Candidates) > 0 {
			text += " Import its servers with: drawbridge clients import " + gateway.ID + "."
		}
		p.Warnings = append(p.Warnings, text)
	}
	return nil
}

// unpack returns the content of a file of a source in the form of those of clients. dir is the folder of
// the file.
func (c Client) unpack(m map[string]any, dir string) map[string]any {
	switch c.ID {
	case "toolport":
		return withActiveProfile(m)
	case "claude-desktop-extensions":
		return extensionServers(m, dir)
	case "claude-code-plugins":
		if !isInstalledPlugin(dir) {
			return map[string]any{}
		}
		if _, ok := m["mcpServers"]; !ok { // a plugin may list them directly
			m = map[string]any{"mcpServers": m}
		}
		return replaceText(m, "${CLAUDE_PLUGIN_ROOT}", filepath.ToSlash(dir)).(map[string]any)
	}
	return m
}

// isInstalledPlugin reports whether the version of a plugin in dir is the installed one: the cache of Claude
// Code also keeps earlier ones.
func isInstalledPlugin(dir string) bool {
	src, _, err := readFile(filepath.Join(dir, "../../../../installed_plugins.json"))
	var list struct {
		Plugins map[string][]struct{ InstallPath string }
	}
	if err != nil || json.Unmarshal(src, &list) != nil {
		return false
	}
	for _, versions := range list.Plugins {
		for _, one := range versions {
			if realPath(one.InstallPath) == realPath(dir) {
				return true
			}
		}
	}
	return false
}

// withActiveProfile switches off the servers of Toolport that its active profile does not contain.
func withActiveProfile(m map[string]any) map[string]any {
	profiles, _ := m["profiles"].([]any)
	servers, _ := m["servers"].([]any)
	for _, p := range profiles {
		profile, _ := p.(map[string]any)
		if profile["id"] != m["activeProfileId"] {
			continue
		}
		enabled := stringList(profile["enabledServerIds"])
		for _, s := range servers {
			if server, ok := s.(map[string]any); ok && !slices.Contains(enabled, firstString(server, "id")) {
				server["disabled"] = true
			}
		}
	}
	return m
}

// extensionServers returns the server of an unpacked extension (.mcpb). What the user has entered for it is
// encrypted by Claude Desktop.
func extensionServers(m map[string]any, dir string) map[string]any {
	server, _ := m["server"].(map[string]any)
	entry, _ := server["mcp_config"].(map[string]any)
	name := firstString(m, "name")
	if name == "" || entry == nil {
		return map[string]any{}
	}
	asked, _ := m["user_config"].(map[string]any)
	v := replaceText(entry, "${__dirname}", filepath.ToSlash(dir))
	for key, raw := range asked {
		field, _ := raw.(map[string]any)
		value, isText := field["default"].(string)
		if !isText || field["sensitive"] == true {
			value = "${secret:" + core.Slug(name) + "." + key + "}"
		}
		v = replaceText(v, "${user_config."+key+"}", value)
	}
	return map[string]any{"mcpServers": map[string]any{name: v}}
}

// replaceText replaces old in all texts of a value.
func replaceText(v any, old, with string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, old, with)
	case []any:
		list := make([]any, len(v))
		for n, item := range v {
			list[n] = replaceText(item, old, with)
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for key, item := range v {
			m[key] = replaceText(item, old, with)
		}
		return m
	}
	return v
}

// exported returns the servers of a file that another gateway has exported: a profile of Docker's MCP
// Toolkit, or the settings of a server of ToolHive. The entries are in the format of our configuration. ok
// is false for other files.
func exported(m map[string]any) (servers map[string]any, ok bool) {
	servers = map[string]any{}
	if list, isList := m["servers"].([]any); isList {
		for _, item := range list {
			one, _ := item.(map[string]any)
			snapshot, _ := one["snapshot"].(map[string]any)
			server, _ := snapshot["server"].(map[string]any)
			if server == nil || firstString(one, "type", "image", "source") == "" {
				return nil, false
			}
			name, entry := firstString(server, "name"), map[string]any{}
			if remote, isRemote := server["remote"].(map[string]any); isRemote {
				entry["url"], entry["headers"] = firstString(remote, "url"), remote["headers"]
			} else {
				image := map[string]any{"image": firstString(one, "image")}
				if image["image"] == "" {
					image["image"] = firstString(server, "image")
				}
				if mounts := stringList(server["volumes"]); len(mounts) > 0 {
					image["mounts"] = mounts
				}
				entry["type"], entry["docker"] = "docker", image
				if args := stringList(server["command"]); len(args) > 0 {
					entry["args"] = args
				}
				entry["env"] = namedValues(server["env"], server["secrets"])
			}
			if tools := stringList(one["tools"]); len(tools) > 0 {
				entry["includeTools"] = tools
			}
			servers[name] = entry
		}
		return servers, len(servers) > 0
	}
	if firstString(m, "schema_version") == "" || firstString(m, "image", "remote_url") == "" || firstString(m, "name") == "" {
		return nil, false
	}
	entry := map[string]any{}
	if remote := firstString(m, "remote_url"); remote != "" {
		entry["url"] = remote
	} else {
		env, _ := m["env_vars"].(map[string]any)
		values := map[string]any{}
		maps.Copy(values, env)
		for _, text := range stringList(m["secrets"]) { // NAME,target=VARIABLE
			if name, variable, found := strings.Cut(text, ",target="); found {
				values[variable] = "${secret:" + name + "}"
			}
		}
		image := map[string]any{"image": firstString(m, "image")}
		if mounts := stringList(m["volumes"]); len(mounts) > 0 {
			image["mounts"] = mounts
		}
		entry["type"], entry["docker"], entry["env"] = "docker", image, values
		if args := stringList(m["cmd_args"]); len(args) > 0 {
			entry["args"] = args
		}
		if firstString(m, "transport") != "stdio" { // its port is inside the container
			entry["disabled"] = true
		}
	}
	if tools := stringList(m["tools_filter"]); len(tools) > 0 {
		entry["includeTools"] = tools
	}
	servers[firstString(m, "name")] = entry
	return servers, true
}

// namedValues returns environment variables that are listed as {name, value}, and those of secrets, which
// are listed as {name, env}.
func namedValues(env, secrets any) map[string]any {
	values := map[string]any{}
	list, _ := env.([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		if name := firstString(one, "name"); name != "" {
			values[name] = fmt.Sprint(one["value"])
		}
	}
	list, _ = secrets.([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		if name := firstString(one, "env"); name != "" {
			values[name] = "${secret:" + firstString(one, "name") + "}"
		}
	}
	return values
}
