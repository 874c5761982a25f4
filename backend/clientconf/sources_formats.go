package clientconf

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// decode reads the file of p, which may be that of a source.
func (s System) decode(p *Plan) error {
	found := foundServers{map[string]any{}, map[string][]string{}}
	var err error
	switch isText := strings.HasSuffix(p.target, ".json") || strings.HasSuffix(p.target, ".yaml"); {
	case p.Client.Format == Database && !isText:
		err = found.addDatabase(p.Client.ID, p.target)
		if errors.Is(err, store.ErrInUse) {
			err = &core.Error{Code: core.CodeUnavailable, Message: "cannot read " + p.Path, Cause: err, Hint: "Close " + p.Client.Name + ", then try again."}
		} else if err != nil {
			err = fmt.Errorf("cannot read %s: %w", p.Path, err)
		}
	case p.Client.ID == "cursor-plugins":
		s.addPlugins(&found, p.Client, nil, p.target)
	default:
		if p.Client.Format == Database {
			p.Client.Format = YAML // which JSON is as well
		}
		if err = p.decode(); err == nil && (p.file == nil || !s.addFrom(&found, p)) {
			return nil
		}
	}
	if err != nil && strings.Contains(p.Client.Candidates[s.GOOS][0].Path, "*") { // the other files can be read
		found.add(filepath.Base(p.target), "", err)
		err = nil
	}
	p.file, p.root, p.notes = nil, map[string]any{"mcpServers": found.entries}, found.notes
	return err
}

// addFrom adds the servers of the decoded file of a source. ok is false if it is in the form of those of clients.
func (s System) addFrom(found *foundServers, p *Plan) (ok bool) {
	switch p.Client.ID {
	case "mcpproxy":
		simplifyProxy(p.root)
		return false
	case "1mcp":
		applyDefaults(p.root)
		return false
	case "toolport":
		applyProfile(p.root)
		return false
	case "mcphub":
		simplifyHub(p.root)
		return false
	case "toolhive", "docker-mcp-toolkit":
		if found.addExported(p.root) == 0 {
			found.add(filepath.Base(p.target), "", errNoServer)
		}
	case "claude-desktop-extensions":
		found.addExtension(p.root, filepath.Dir(p.target), p.Client, s.GOOS)
	case "claude-code-plugins", "codex-plugins", "vscode-plugins", "agent-plugins":
		s.addPlugins(found, p.Client, p.root, p.target)
	default:
		return false
	}
	return true
}

// foundServers are the servers of a source: an entry, or the error why there is none, by unique names, and the
// notes about them.
type foundServers struct {
	entries map[string]any
	notes   map[string][]string
}

// add adds a server. from is where it is from, for a second one with the same name.
func (f *foundServers) add(name, from string, entry any, notes ...string) {
	unique := f.free(name, from)
	f.entries[unique], f.notes[unique] = entry, notes
}

// free returns the name that add gives a server.
func (f *foundServers) free(name, from string) string {
	name = cmp.Or(name, from, "unnamed")
	if f.entries[name] != nil && from != "" {
		name += "-" + from
	}
	unique := name
	for n := 2; f.entries[unique] != nil; n++ {
		unique = name + "-" + strconv.Itoa(n)
	}
	return unique
}

// askedSecret is the kind of the references to secrets that cannot come along. It is random, so that no file
// of a source can refer to the secrets that are stored here.
var askedSecret = sync.OnceValue(func() string { return "secret-" + rand.Text() })

// askFor returns a reference to a secret to ask for, with a name that secrets can have.
func askFor(name string) string {
	return "${" + askedSecret() + ":" + cmp.Or(strings.Trim(invalidNameChars().ReplaceAllString(name, "-"), ".-_"), "secret") + "}"
}

var secretReference = osutil.LazyRegexp(`(\$?)\$\{secret:([^{}:]+)`)

// askForSecrets adds a note for each secret of the servers of a source, which could not come along.
func (c *Connector) askForSecrets(client Client, all []ImportedServer) {
	if !client.isSource() {
		return
	}
	own := ""
	if o, err := c.openConfig(); c.config != "" && err == nil {
		own = string(o.after)
	}
	isUsed := func(name string) bool {
		return strings.Contains(own, "${secret:"+name+"}") || strings.Contains(own, "${secret:"+name+":")
	}
	for n := range all {
		i := &all[n]
		if i.Exists {
			continue
		}
		// A secret of another server stays with it.
		rename := func(reference string) string {
			found := secretReference().FindStringSubmatch(reference)
			if found[1] != "" || !isUsed(found[2]) {
				return reference
			}
			base := core.Slug(i.Label) + "." + strings.TrimPrefix(found[2], core.Slug(i.Name)+".")
			name := base
			for n := 2; isUsed(name); n++ {
				name = base + "-" + strconv.Itoa(n)
			}
			return "${secret:" + name
		}
		if names := secretReference().FindAllStringSubmatch(string(i.literal), -1); slices.ContainsFunc(names, func(found []string) bool { return isUsed(found[2]) }) {
			i.Entry = []byte(secretReference().ReplaceAllStringFunc(string(i.Entry), rename))
			i.literal = []byte(secretReference().ReplaceAllStringFunc(string(i.literal), rename))
		}
		for _, found := range secretReference().FindAllStringSubmatch(string(i.literal), -1) {
			note := fmt.Sprintf("%s keeps %s in its keyring: store the value with drawbridge secret set %s", client.Name, found[2], found[2])
			if c.vault != nil {
				if _, err := c.vault.Get(context.Background(), found[2]); err == nil {
					note = fmt.Sprintf("It uses the secret %s, which is stored here", found[2])
				}
			}
			if found[1] == "" && !slices.Contains(i.Notes, note) {
				i.Notes = append(i.Notes, note)
			}
		}
	}
}

// simplifyHub replaces the settings of the tools in a file of MCPHub, and removes what is about its own users
// and processes.
func simplifyHub(m map[string]any) {
	servers, _ := m["mcpServers"].(map[string]any)
	for _, v := range servers {
		server, ok := v.(map[string]any)
		if !ok {
			continue
		}
		tools, _ := server["tools"].(map[string]any)
		var denied []any
		for _, name := range slices.Sorted(maps.Keys(tools)) {
			if settings, _ := tools[name].(map[string]any); settings["enabled"] == false {
				denied = append(denied, name)
			}
		}
		server["timeout"] = cmp.Or(server["timeout"], valueAt(server, []string{"options", "timeout"}))
		for _, kind := range []string{"prompts", "resources"} {
			listed, _ := server[kind].(map[string]any)
			for name := range listed {
				if valueAt(listed, []string{name, "enabled"}) == false {
					server[kind+"."+name+".enabled"] = false
				}
			}
			delete(server, kind)
		}
		if login, ok := server["oauth"].(map[string]any); ok {
			for _, key := range []string{"accessToken", "refreshToken", "expiresAt", "tokenType", "pendingAuthorization"} {
				delete(login, key)
			}
		}
		for _, key := range []string{"tools", "owner", "visibility", "startOnDemand", "idleTimeoutMs", "keepAliveInterval", "enableKeepAlive", "options"} {
			delete(server, key)
		}
		if len(denied) > 0 {
			server["excludeTools"] = denied
		}
	}
}

// applyProfile applies to the servers of Toolport what is beside them: the switches and tools of the active
// profile, and what its gateway asks or denies.
func applyProfile(m map[string]any) {
	profiles, _ := m["profiles"].([]any)
	servers, _ := m["servers"].([]any)
	isActive := func(v any) bool {
		profile, _ := v.(map[string]any)
		return firstString(profile, "id") == firstString(m, "activeProfileId")
	}
	active := slices.IndexFunc(profiles, isActive)
	var slugs []string
	for _, s := range servers {
		server, ok := s.(map[string]any)
		if !ok {
			continue
		}
		id, slug := firstString(server, "id"), core.Slug(firstString(server, "name"))
		if slug = cmp.Or(slug, "server"); slices.Contains(slugs, slug) {
			slug += "-" + strconv.Itoa(len(slugs)-1)
		}
		slugs = append(slugs, slug)
		if listed, isList := server["env"].([]any); isList {
			env := map[string]any{}
			for _, v := range listed {
				one, _ := v.(map[string]any)
				if key := firstString(one, "key"); one["secret"] == true {
					env[key] = askFor(slug + "." + key) // it is in the keyring
				} else if key != "" {
					env[key] = one["value"]
				}
			}
			server["env"] = env
		}
		var scopes []any
		for n, p := range profiles {
			profile, _ := p.(map[string]any)
			if n != active && active >= 0 {
				continue
			}
			if scope := valueAt(profile, []string{"toolScope", id}); scope != nil {
				scopes = append(scopes, scope)
			}
			if n == active && !slices.Contains(stringList(profile["enabledServerIds"]), id) {
				server["disabled"] = true
			}
		}
		if len(scopes) == 1 {
			server["includeTools"] = scopes[0]
		} else if len(scopes) > 1 {
			server["toolScope"] = scopes
		}
		if slices.Contains([]any{m["humanApproval"], m["teamForcedHumanApproval"], m["confirmDestructive"]}, any(true)) {
			server["default_tools_approval_mode"] = "ask"
		}
		leaveOut(server, map[string]any{"toolOverrides": valueAt(m, []string{"toolOverrides", id})}, "", "")
		leaveOut(server, m, "", "version servers profiles activeProfileId humanApproval teamForcedHumanApproval confirmDestructive toolOverrides")
	}
}

var keyringReference = osutil.LazyRegexp(`\$\{keyring:([^{}]*)\}`)

// simplifyProxy writes the servers of MCPProxy as clients do, and applies what is beside them.
func simplifyProxy(m map[string]any) {
	servers, _ := m["mcpServers"].([]any)
	variables, _ := valueAt(m, []string{"environment", "custom_vars"}).(map[string]any)
	for n, v := range servers {
		server, ok := v.(map[string]any)
		if !ok {
			continue
		}
		server, _ = mapTexts(server, func(text string) string {
			return keyringReference().ReplaceAllStringFunc(text, func(one string) string { return askFor(keyringReference().FindStringSubmatch(one)[1]) })
		}).(map[string]any)
		servers[n] = server
		withDefaults(server, map[string]any{"env": variables})
		if kind := firstString(server, "protocol"); kind != "auto" {
			server["type"] = kind
		}
		if server["enabled"] == nil {
			server["enabled"] = false
		}
		// A program runs in a container, unless it is excepted.
		isolation, _ := server["isolation"].(map[string]any)
		if delete(server, "isolation"); isolation["enabled"] == true {
			server["isolation"] = isolation
		} else if isolation["enabled"] == nil && valueAt(m, []string{"docker_isolation", "enabled"}) == true && server["command"] != nil {
			server["docker_isolation"] = true
		}
	}
}

// applyDefaults applies the defaults of 1MCP to its servers, and adds its templates as what they are.
func applyDefaults(m map[string]any) {
	servers, _ := m["mcpServers"].(map[string]any)
	defaults, _ := m["serverDefaults"].(map[string]any)
	for _, v := range servers {
		if server, ok := v.(map[string]any); ok {
			withDefaults(server, defaults)
		}
	}
	templates, _ := m["mcpTemplates"].(map[string]any)
	for name := range templates {
		if servers != nil && servers[name] == nil {
			servers[name] = errors.New("it is a template, which depends on the project")
		}
	}
}

// withDefaults adds the members that an entry does not have. Variables are for programs, and headers for others.
func withDefaults(entry, defaults map[string]any) {
	for key, value := range defaults {
		if isProgram := entry["command"] != nil; isBlank(value) || key == "env" && !isProgram || key == "headers" && isProgram {
			continue
		}
		shared, _ := value.(map[string]any)
		switch own := entry[key].(type) {
		case nil:
			entry[key] = value
		case map[string]any:
			all := map[string]any{}
			maps.Copy(all, shared)
			maps.Copy(all, own)
			entry[key] = all
		case []any: // NAME=VALUE
			for _, name := range slices.Sorted(maps.Keys(shared)) {
				if !slices.ContainsFunc(stringList(own), func(text string) bool { return strings.HasPrefix(text, name+"=") }) {
					own = append(own, name+"="+fmt.Sprint(shared[name]))
				}
			}
			entry[key] = own
		}
	}
}

// addDatabase adds the servers in the database of a gateway.
func (f *foundServers) addDatabase(source, path string) error {
	switch source {
	case "docker-mcp-toolkit":
		rows, err := store.ReadForeign(path, `SELECT name, servers FROM working_set ORDER BY id`)
		for _, row := range rows {
			list, _ := jsonOf(row["servers"]).([]any)
			f.addProfile(list, firstString(row, "name"))
		}
		return err
	case "mcpmux":
		rows, err := store.ReadForeign(path, `SELECT i.*, s.name AS space FROM installed_servers i LEFT JOIN spaces s ON s.id = i.space_id ORDER BY s.sort_order, i.server_id`)
		for _, row := range rows {
			f.addInstalled(row)
		}
		return err
	}
	files := []string{path} // of MCP Router, whose workspaces may have databases of their own
	workspaces, _ := store.ReadForeign(path, `SELECT localConfig FROM workspaces WHERE type = 'local' ORDER BY id`)
	for _, row := range workspaces {
		settings, _ := jsonOf(row["localConfig"]).(map[string]any)
		if own := filepath.FromSlash(firstString(settings, "databasePath")); filepath.IsLocal(own) {
			if own = filepath.Join(filepath.Dir(path), own); own != path && exists(own) {
				files = append(files, own)
			}
		}
	}
	for _, file := range files {
		rows, err := store.ReadForeign(file, `SELECT * FROM servers ORDER BY name`)
		switch {
		case err != nil && len(workspaces) == 0:
			return err
		case err != nil && file != path: // the others can be read
			f.add(filepath.Base(file), "", fmt.Errorf("cannot read the workspace in %s: %w", file, err))
		}
		for _, row := range rows {
			f.addRouted(row, strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "MCP Router"))
		}
	}
	return nil
}

// jsonOf decodes the JSON in a column.
func jsonOf(column any) (v any) {
	text, _ := column.(string)
	if core.DecodeJSON([]byte(text), &v) != nil {
		return nil
	}
	return v
}

// addRouted adds a server of MCP Router.
func (f *foundServers) addRouted(row map[string]any, workspace string) {
	name := firstString(row, "name")
	slug := core.Slug(f.free(name, workspace))
	entry := map[string]any{"disabled": row["disabled"] == int64(1)}
	env, _ := jsonOf(row["env"]).(map[string]any)
	inputs, _ := jsonOf(row["input_params"]).(map[string]any)
	if kind := firstString(row, "server_type"); strings.HasPrefix(kind, "remote") {
		if entry["url"], entry["type"] = row["remote_url"], "sse"; kind == "remote-streamable" {
			entry["type"] = "http"
		}
		if token := firstString(row, "bearer_token"); token != "" {
			entry["headers"] = map[string]any{"Authorization": "Bearer " + token}
		}
	} else {
		args, isList := jsonOf(row["args"]).([]any)
		for n, arg := range args {
			text, _ := arg.(string)
			key, isInput := strings.CutSuffix(strings.TrimPrefix(strings.TrimPrefix(text, "${"), "user_config."), "}")
			input, _ := inputs[key].(map[string]any)
			switch {
			case !isInput || !strings.HasPrefix(text, "${"):
			case firstString(env, key) != "":
				args[n] = env[key]
			case input["default"] != nil:
				args[n] = fmt.Sprint(input["default"])
			case input != nil:
				args[n] = askFor("input." + slug + "." + key)
			}
		}
		if entry["command"], entry["env"] = row["command"], env; isList {
			entry["args"] = args
		} else if text, _ := row["args"].(string); text != "" {
			entry["args"] = map[string]any{} // named as what it is: no list of texts
		}
	}
	allowed, _ := jsonOf(row["tool_permissions"]).(map[string]any)
	var denied []any
	for _, tool := range slices.Sorted(maps.Keys(allowed)) {
		if allowed[tool] == false {
			denied = append(denied, tool)
		}
	}
	entry["excludeTools"] = denied
	f.add(name, workspace, entry)
}

// addInstalled adds a server of McpMux. What the user has entered for it is encrypted.
func (f *foundServers) addInstalled(row map[string]any) {
	definition, _ := jsonOf(row["cached_definition"]).(map[string]any)
	entry, _ := definition["transport"].(map[string]any)
	name, space := cmp.Or(firstString(row, "server_name"), firstString(row, "server_id")), firstString(row, "space")
	slug := core.Slug(f.free(name, space))
	if entry == nil {
		f.add(name, space, errors.New("its definition is not in the database of McpMux"))
		return
	}
	metadata, _ := entry["metadata"].(map[string]any)
	inputs, _ := metadata["inputs"].([]any)
	delete(entry, "metadata")
	env, isProgram := entry["env"].(map[string]any)
	if isProgram = isProgram || entry["command"] != nil; isProgram && env == nil {
		env = map[string]any{}
	}
	for _, one := range inputs {
		input, _ := one.(map[string]any)
		id, value := firstString(input, "id"), ""
		if value = firstString(input, "default"); value == "" {
			value = askFor("input." + slug + "." + id)
		}
		reference := "${input:" + id + "}"
		isUsed := strings.Contains(fmt.Sprint(entry), reference)
		entry = replaceText(entry, reference, value).(map[string]any)
		if env, _ = entry["env"].(map[string]any); isProgram && env == nil {
			env = map[string]any{}
		}
		if isProgram && (input["required"] == true || input["default"] != nil) && !isUsed { // McpMux passes all inputs as variables, too
			env[id] = value
		}
		entry["env"] = env
	}
	overrides, _ := jsonOf(row["env_overrides"]).(map[string]any)
	headers, _ := jsonOf(row["extra_headers"]).(map[string]any)
	args, _ := entry["args"].([]any)
	further, _ := jsonOf(row["args_append"]).([]any)
	if isProgram {
		maps.Copy(env, overrides)
		entry["env"], entry["args"] = env, append(args, further...)
	} else if own, _ := entry["headers"].(map[string]any); len(headers) > 0 {
		all := maps.Clone(headers)
		for key, value := range own {
			if _, isSet := all[key]; !isSet {
				all[key] = value
			}
		}
		entry["headers"] = all
	}
	entry["disabled"] = row["enabled"] != int64(1)
	f.add(name, space, entry)
}

// addExtension adds the server of an unpacked extension (.mcpb). What the user has entered for it is encrypted
// by Claude Desktop.
func (f *foundServers) addExtension(m map[string]any, dir string, client Client, system string) {
	server, _ := m["server"].(map[string]any)
	entry, _ := server["mcp_config"].(map[string]any)
	name := firstString(m, "name")
	if name == "" || entry == nil {
		f.add(filepath.Base(dir), "", errNoServer)
		return
	}
	platforms, _ := entry["platform_overrides"].(map[string]any)
	own, _ := platforms[strings.Replace(system, "windows", "win32", 1)].(map[string]any)
	maps.Copy(entry, own)
	delete(entry, "platform_overrides")
	asked, _ := m["user_config"].(map[string]any)
	entry = askForFields(replaceText(entry, "${__dirname}", filepath.ToSlash(dir)), asked, "extension."+core.Slug(f.free(name, ""))+".").(map[string]any)
	settings, _, err := readFile(filepath.Join(dir, "../../Claude Extensions Settings", filepath.Base(dir)+".json"))
	var state struct{ IsEnabled *bool }
	notes := []string{"To keep the client from starting it as well, " + client.SwitchOff}
	if err == nil && json.Unmarshal(settings, &state) == nil && state.IsEnabled != nil && !*state.IsEnabled {
		entry["disabled"], notes = true, []string{"The server is disabled, because the client has it switched off"}
	}
	f.add(name, "", entry, notes...)
}

// askForFields replaces the references to what a user enters.
func askForFields(v any, asked map[string]any, prefix string) any {
	for key, raw := range asked {
		field, _ := raw.(map[string]any)
		value, isText := field["default"].(string)
		if !isText || field["sensitive"] == true {
			value = askFor(prefix + key)
		}
		v = replaceText(v, "${user_config."+key+"}", value)
	}
	return v
}

// replaceText replaces old in all texts of a value.
func replaceText(v any, old, with string) any {
	return mapTexts(v, func(text string) string { return strings.ReplaceAll(text, old, with) })
}

// mapTexts returns a copy of a value with all its texts changed.
func mapTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case []any:
		list := make([]any, len(v))
		for n, item := range v {
			list[n] = mapTexts(item, change)
		}
		return list
	case map[string]any:
		m := map[string]any{}
		for key, item := range v {
			m[key] = mapTexts(item, change)
		}
		return m
	}
	return v
}
