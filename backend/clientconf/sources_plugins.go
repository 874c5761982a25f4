package clientconf

import (
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// plugin is an installed plugin of a client.
type plugin struct {
	id, dir string
	data    string // its folder for files of its own; "" if it is not known
	off     func(server string) bool
	// values are what the user has entered for the plugin, and settings keys for the entries of its servers.
	values, settings map[string]any
}

// addPlugins adds the servers of the installed plugins of a client. m is the decoded file that lists them.
func (s System) addPlugins(found *foundServers, client Client, m map[string]any, path string) {
	var rules []toolRules
	if client.ID == "claude-code-plugins" {
		owner, _ := ByID("claude-code")
		rules = rulesOutside(s, owner, path, nil, "")
	}
	for _, one := range s.installedPlugins(client, m, path) {
		off, _, _ := strings.Cut(one.id, "@")
		servers := one.servers()
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			entry := servers[name]
			notes := []string{"It runs in the folder of the plugin, which the client replaces when it updates the plugin"}
			if object, isObject := entry.(map[string]any); isObject && one.off != nil && one.off(name) {
				object["disabled"] = true
				notes = append(notes, "The server is disabled, because the client has it switched off")
			} else {
				notes = append(notes, "To keep the client from starting it as well, "+strings.ReplaceAll(client.SwitchOff, "{plugin}", one.id))
			}
			object, _ := entry.(map[string]any)
			if object["command"] == nil {
				notes = notes[1:]
			}
			if settings, _ := one.settings[name].(map[string]any); object != nil {
				maps.Copy(object, settings)
				notes = append(notes, limitByName(object, client, rules, "plugin_"+off+"_"+name)...)
			}
			found.add(name, off, entry, notes...)
		}
	}
}

// limitByName applies the rules about the tools of a server to its entry. name is what they call it.
func limitByName(entry map[string]any, client Client, rules []toolRules, name string) (notes []string) {
	b, e := entryConverter{client: client, rules: rules, name: name}, &configEntry{Command: firstString(entry, "command"), Args: stringList(entry["args"]), URL: firstString(entry, "url")}
	b.limitByRules(e)
	if len(e.ExcludeTools) > 0 {
		denied := []any{}
		for _, tool := range e.ExcludeTools {
			denied = append(denied, tool)
		}
		entry["excluded_tools"] = denied
	}
	if e.Approval != "" {
		entry["default_tools_approval_mode"] = e.Approval
	}
	if len(e.Tools) > 0 {
		asked := map[string]any{}
		for tool, settings := range e.Tools {
			asked[tool] = settings.Approval
		}
		entry["toolPermissions"] = asked
	}
	if b.off || b.disabled {
		entry["disabled"] = true
	}
	return b.notes
}

func (s System) installedPlugins(client Client, m map[string]any, path string) (all []plugin) {
	folder := filepath.Dir(path)
	switch client.ID {
	case "claude-code-plugins":
		settings := readObject(filepath.Join(folder, "../settings.json"))
		listed, _ := m["plugins"].(map[string]any)
		for _, id := range slices.Sorted(maps.Keys(listed)) {
			off := valueAt(settings, []string{"enabledPlugins", id}) == false
			versions, _ := listed[id].([]any)
			var seen []string
			for _, v := range versions {
				version, _ := v.(map[string]any)
				if dir := firstString(version, "installPath"); dir != "" && !slices.Contains(seen, dir) {
					seen = append(seen, dir)
					values, _ := valueAt(settings, []string{"pluginConfigs", id, "options"}).(map[string]any)
					all = append(all, plugin{id: id, dir: dir, data: filepath.Join(folder, "data", pathSafe(id)), off: func(string) bool { return off }, values: values})
				}
			}
		}
	case "codex-plugins":
		listed, _ := m["plugins"].(map[string]any)
		for _, id := range slices.Sorted(maps.Keys(listed)) {
			settings, _ := listed[id].(map[string]any)
			name, market, _ := strings.Cut(id, "@")
			if dir := activeVersion(filepath.Join(folder, "plugins", "cache", market, name)); dir != "" && filepath.IsLocal(market) && filepath.IsLocal(name) {
				servers, _ := settings["mcp_servers"].(map[string]any)
				all = append(all, plugin{id: id, dir: dir, data: filepath.Join(folder, "plugins", "data", name+"-"+market), settings: servers, off: func(server string) bool {
					return settings["enabled"] == false || valueAt(servers, []string{server, "enabled"}) == false
				}})
			}
		}
	case "vscode-plugins":
		off := s.switchedOffInVSCode(strings.Contains(path, "insiders"))
		listed, _ := m["installed"].([]any)
		for _, v := range listed {
			one, _ := v.(map[string]any)
			uri := firstString(one, "pluginUri")
			if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
				dir := u.Path
				if len(dir) > 2 && dir[2] == ':' { // /C:/folder
					dir = dir[1:]
				}
				name := firstString(one, "name")
				if name == "" {
					name = filepath.Base(dir)
				}
				all = append(all, plugin{id: name, dir: filepath.FromSlash(dir), off: func(string) bool { return slices.Contains(off, uri) }})
			}
		}
	case "cursor-plugins": // the path is that of one plugin; the cache may keep earlier versions
		if strings.Contains(filepath.ToSlash(path), "/plugins/cache/") && newest(folder) != path {
			return nil
		} else if strings.Contains(filepath.ToSlash(path), "/plugins/cache/") {
			return []plugin{{id: filepath.Base(folder), dir: path}}
		}
		return []plugin{{id: filepath.Base(path), dir: path}}
	default:
		return []plugin{{id: filepath.Base(folder), dir: folder}}
	}
	return all
}

// pathSafe returns the name of the folder that Claude Code gives a plugin.
func pathSafe(id string) string { return nameChars().ReplaceAllString(id, "-") }

// activeVersion returns the folder of the version of a plugin that Codex starts: one from a local folder, or the
// newest, as it removes the others.
func activeVersion(folder string) string {
	if local := filepath.Join(folder, "local"); exists(local) {
		return local
	}
	return newest(folder)
}

// newest returns the folder in folder that was modified last.
func newest(folder string) (dir string) {
	entries, _ := os.ReadDir(folder)
	var latest int64
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(folder, e.Name())); err == nil && info.IsDir() && info.ModTime().UnixNano() > latest {
			latest, dir = info.ModTime().UnixNano(), filepath.Join(folder, e.Name())
		}
	}
	return dir
}

// switchedOffInVSCode returns the URIs of the plugins that are switched off. They are in its database, which
// may be locked: then none.
func (s System) switchedOffInVSCode(insiders bool) (uris []string) {
	family := "Code"
	if insiders {
		family = "Code - Insiders"
	}
	rows, _ := store.ReadForeign(filepath.Join(s.appConfigDir(), family, "User/globalStorage/state.vscdb"), `SELECT value FROM ItemTable WHERE key = 'agentPlugins.enablement'`)
	for _, row := range rows {
		if blob, ok := row["value"].([]byte); ok {
			row["value"] = string(blob)
		}
		list, _ := jsonOf(row["value"]).([]any)
		for _, v := range list {
			if pair, _ := v.([]any); len(pair) == 2 && pair[1] == false {
				uri, _ := pair[0].(string)
				uris = append(uris, uri)
			}
		}
	}
	return uris
}

// readObject returns the object in a file of JSON, which may have comments; nil if there is none.
func readObject(path string) map[string]any {
	src, _, err := readFile(path)
	if err != nil {
		return nil
	}
	m, _ := decodeFile(src, Client{Format: JSONC})
	return m
}

// manifests are where a plugin describes itself, by client.
var manifests = []string{"plugin.json", ".claude-plugin/plugin.json", ".codex-plugin/plugin.json", ".cursor-plugin/plugin.json", ".plugin/plugin.json", ".github/plugin/plugin.json"}

const agentPluginSchema = "https://agent-plugins.org/schemas/"

// servers returns the servers of a plugin: those that its manifest contains, or those in its files.
func (p plugin) servers() map[string]any {
	manifest, isPortable := map[string]any{}, false
	for _, path := range manifests {
		m := readObject(filepath.Join(p.dir, path))
		if isPortable = strings.HasPrefix(firstString(m, "$schema"), agentPluginSchema); isPortable {
			manifest = m
			break
		}
		for key, value := range m {
			if manifest[key] == nil {
				manifest[key] = value
			}
		}
	}
	files, servers := stringList(manifest["mcpServers"]), map[string]any{}
	inline, isInline := manifest["mcpServers"].(map[string]any)
	switch {
	case isPortable:
		files = []string{"mcp.json"}
	case isInline:
		servers = inline
	case len(files) == 0:
		files = []string{".mcp.json", "mcp.json"}
	}
	for _, file := range files {
		path := filepath.Join(p.dir, filepath.FromSlash(file))
		inside, err := filepath.Rel(realPath(p.dir), realPath(path))
		if err != nil || !filepath.IsLocal(inside) {
			continue // a link, or a path, out of the plugin
		}
		m := readObject(path)
		switch extension := filepath.Ext(file); {
		case extension == ".mcpb" || extension == ".dxt":
			servers[file] = errors.New("it is a bundle: install it as an extension, or add its server")
			continue
		case m == nil && exists(path):
			servers[file] = errors.New("the file of the plugin cannot be read")
			continue
		}
		inputs, _ := m["inputs"].([]any)
		for _, v := range inputs { // of VS Code
			input, _ := v.(map[string]any)
			id, value := firstString(input, "id"), firstString(input, "default")
			if value == "" || input["password"] == true {
				value = askFor("plugin." + core.Slug(p.id) + "." + id)
			}
			m = replaceText(m, "${input:"+id+"}", value).(map[string]any)
		}
		listed, isListed := m["mcpServers"].(map[string]any)
		if !isListed { // they may be listed directly
			listed = m
		}
		for name, entry := range listed {
			if servers[name] == nil && name != "$schema" {
				servers[name] = entry
			}
		}
	}
	asked, _ := manifest["userConfig"].(map[string]any)
	for name, entry := range servers {
		if object, isObject := entry.(map[string]any); isObject {
			servers[name] = p.resolve(object, asked, isPortable)
		}
	}
	return servers
}

// resolve returns an entry with the paths of the plugin.
func (p plugin) resolve(entry, asked map[string]any, isPortable bool) any {
	root, data := filepath.ToSlash(p.dir), filepath.ToSlash(p.data)
	if data == "" {
		data = root
	}
	v := any(entry)
	for _, name := range []string{"CLAUDE_PLUGIN_", "CURSOR_PLUGIN_", "PLUGIN_"} {
		v = replaceText(replaceText(v, "${"+name+"ROOT}", root), "${"+name+"DATA}", data)
	}
	entry = fillIn(v, fieldValues(asked, p.values, "plugin."+core.Slug(p.id)+".")).(map[string]any)
	if entry["command"] == nil {
		return entry
	}
	for _, path := range []string{firstString(entry, "command"), firstString(entry, "cwd")} {
		if path = filepath.FromSlash(path); strings.Contains(path, "..") && !filepath.IsAbs(path) && !filepath.IsLocal(path) {
			return errors.New("its program or folder is not in the plugin")
		}
	}
	if command, isText := entry["command"].(string); isText && strings.HasPrefix(command, ".") {
		entry["command"] = root + "/" + strings.TrimPrefix(command, "./")
	}
	switch cwd := firstString(entry, "cwd"); {
	case cwd == "" && isPortable:
		entry["cwd"] = root
	case cwd != "" && !filepath.IsAbs(filepath.FromSlash(cwd)) && !strings.HasPrefix(cwd, "$"):
		entry["cwd"] = root + "/" + strings.TrimPrefix(cwd, "./")
	}
	if isPortable {
		env, _ := entry["env"].(map[string]any)
		all := map[string]any{"PLUGIN_ROOT": root, "PLUGIN_DATA": data}
		maps.Copy(all, env)
		entry["env"] = all
	}
	return entry
}
