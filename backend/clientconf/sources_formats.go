package clientconf

import (
	"cmp"
	"context"
	"crypto/rand"
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
		s.addExtension(found, p.root, filepath.Dir(p.target), p.Client)
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
			note := fmt.Sprintf("The secret %s cannot be copied from %s: store the value with drawbridge secret set %s", found[2], client.Name, found[2])
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
		limits, failed := store.ReadForeign(path, `SELECT DISTINCT f.space_id, f.server_id FROM feature_set_members m JOIN server_features f ON f.id = m.member_id`)
		if failed != nil { // whose servers they limit is not known
			limits, _ = store.ReadForeign(path, `SELECT NULL AS space_id, NULL AS server_id FROM feature_set_members LIMIT 1`)
		}
		for _, row := range rows {
			row["limited"] = slices.ContainsFunc(limits, func(l map[string]any) bool {
				return l["server_id"] == nil || l["server_id"] == row["server_id"] && l["space_id"] == row["space_id"]
			})
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
	var notes []string
	if row["limited"] == true {
		entry["disabled"], notes = true, []string{"The server is disabled, because feature sets of McpMux limit it, which are not copied"}
	}
	f.add(name, space, entry, notes...)
}

// addExtension adds the server of an unpacked extension (.mcpb). Secrets that the user has entered for it are
// encrypted by Claude Desktop.
func (s System) addExtension(f *foundServers, m map[string]any, dir string, client Client) {
	server, _ := m["server"].(map[string]any)
	entry, _ := server["mcp_config"].(map[string]any)
	name := firstString(m, "name")
	if name == "" || entry == nil {
		f.add(filepath.Base(dir), "", errNoServer)
		return
	}
	platforms, _ := entry["platform_overrides"].(map[string]any)
	own, _ := platforms[strings.Replace(s.GOOS, "windows", "win32", 1)].(map[string]any)
	maps.Copy(entry, own)
	delete(entry, "platform_overrides")
	asked, _ := m["user_config"].(map[string]any)
	state := readObject(filepath.Join(dir, "../../Claude Extensions Settings", filepath.Base(dir)+".json"))
	entered, _ := state["userConfig"].(map[string]any)
	values := fieldValues(asked, entered, "extension."+core.Slug(f.free(name, ""))+".")
	for key, raw := range asked {
		field, _ := raw.(map[string]any)
		if field["default"] == nil && entered[key] == nil && field["required"] != true && field["sensitive"] != true {
			values[key] = nil
		}
	}
	separator, home := "/", filepath.ToSlash(s.Home)
	if s.GOOS == "windows" {
		separator = `\`
	}
	folders := strings.NewReplacer("${__dirname}", filepath.ToSlash(dir), "${/}", separator, "${pathSeparator}", separator, "${HOME}", home,
		"${DOCUMENTS}", home+"/Documents", "${DESKTOP}", home+"/Desktop", "${DOWNLOADS}", home+"/Downloads")
	entry = mapTexts(fillIn(entry, values), folders.Replace).(map[string]any)
	notes := []string{"To keep the client from starting it as well, " + client.SwitchOff}
	if state["isEnabled"] == false {
		entry["disabled"], notes = true, []string{"The server is disabled, because the client has it switched off"}
	}
	f.add(name, "", entry, notes...)
}

// fieldValues returns the values of fields that a user enters: what was entered, or the defaults. Secrets, and
// those without a value, are asked for.
func fieldValues(asked, entered map[string]any, prefix string) map[string][]string {
	values := map[string][]string{}
	set := func(key string, value any) {
		if list, isList := value.([]any); isList {
			values[key] = stringList(list)
		} else if value != nil {
			values[key] = []string{fmt.Sprint(value)}
		}
	}
	for key, raw := range asked {
		field, _ := raw.(map[string]any)
		set(key, field["default"])
		if set(key, entered[key]); values[key] == nil || field["sensitive"] == true {
			values[key] = []string{askFor(prefix + key)}
		}
	}
	return values
}

var fieldReference = osutil.LazyRegexp(`\$\{user_config\.([^{}]+)\}`)

// fillIn replaces the references to fields. One with several values becomes several items of a list.
func fillIn(v any, values map[string][]string) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, item := range v {
			m[key] = fillIn(item, values)
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			text, _ := item.(string)
			found := fieldReference().FindStringSubmatch(text)
			if found == nil || found[0] != text {
				list = append(list, fillIn(item, values))
				continue
			}
			if several, known := values[found[1]]; known {
				for _, one := range several {
					list = append(list, one)
				}
			} else {
				list = append(list, text)
			}
		}
		return list
	case string:
		return fieldReference().ReplaceAllStringFunc(v, func(one string) string {
			if several, known := values[fieldReference().FindStringSubmatch(one)[1]]; known {
				return strings.Join(several, ",")
			}
			return one
		})
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
