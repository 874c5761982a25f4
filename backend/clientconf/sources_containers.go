package clientconf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// addContainer adds a server that runs in a container, in the format of our configuration. Its texts are literal,
// except for the secrets to ask for.
func (f *foundServers) addContainer(name, from string, image, env, entry map[string]any, notes ...string) {
	entry["type"], entry["docker"] = "docker", image
	if len(env) > 0 {
		entry["env"] = env
	}
	f.add(name, from, literalTexts(entry), notes...)
}

func literalTexts(v any) any {
	switch v := v.(type) {
	case string:
		return (&entryConverter{}).convertText(v)
	case []string:
		list := make([]any, len(v))
		for n, item := range v {
			list[n] = literalTexts(item)
		}
		return list
	case map[string]any:
		for key, item := range v {
			v[key] = literalTexts(item)
		}
	}
	return v
}

// addExported adds the servers of a file that another gateway has exported: a profile of Docker's MCP Toolkit,
// or the settings of a server of ToolHive. It returns how many there are: none in other files.
func (f *foundServers) addExported(m map[string]any) int {
	list, _ := m["servers"].([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		if firstString(one, "type", "image", "source") == "" || firstString(m, "id", "version") == "" && m["version"] == nil {
			return 0
		}
	}
	if len(list) > 0 {
		f.addProfile(list, firstString(m, "name"))
	} else if firstString(m, "schema_version") != "" && firstString(m, "image", "remote_url") != "" && firstString(m, "name") != "" {
		f.addWorkload(m)
	}
	return len(f.entries)
}

// What is read of a server in a profile of Docker's MCP Toolkit, and of one of ToolHive, or changes nothing.
const (
	profileKeys = "name type image command volumes secrets env disableNetwork remote sseEndpoint user policy title description icon tags " +
		"metadata tools prompts resources config readme toolsUrl registryUrl source upstream ref license dateAdded longLived"
	workloadKeys = "schema_version name image remote_url base_name container_name group transport host port target_port target_host " +
		"cmd_args env_vars secrets volumes permission_profile permission_profile_name_or_path isolate_network tools_filter " +
		"authz_config authz_config_path remote_auth_config header_forward middleware_configs ignore_config container_labels debug proxy_mode"
	// workloadSteps handle calls in ToolHive without a limit, or with one that is read elsewhere.
	workloadSteps = "auth mcp-parser telemetry audit tool-filter tool-call-filter recovery header-forward usagemetrics"
)

// leaveOut puts the members of from that are not read into an entry, whose conversion names each in a note, and
// disables the server for those that limit or protect it.
func leaveOut(entry, from map[string]any, prefix, read string) {
	for key, value := range from {
		if !slices.Contains(strings.Fields(read), key) && !isBlank(value) && value != false {
			entry[prefix+key] = value
		}
	}
}

// addProfile adds the servers of a profile of Docker's MCP Toolkit.
func (f *foundServers) addProfile(list []any, profile string) {
	for _, item := range list {
		one, _ := item.(map[string]any)
		snapshot, _ := one["snapshot"].(map[string]any)
		server, _ := snapshot["server"].(map[string]any)
		name := cmp.Or(firstString(server, "name"), firstString(one, "image", "source", "endpoint"))
		if server == nil || firstString(server, "type") == "poci" {
			f.add(name, profile, errors.New("its profile does not say how to run it"))
			continue
		}
		values := profileValues{name: name, config: one["config"], secrets: map[string]string{}}
		secrets, _ := server["secrets"].([]any)
		for _, item := range secrets {
			secret, _ := item.(map[string]any)
			values.secrets[firstString(secret, "env")] = askFor(firstString(secret, "name"))
		}
		entry := map[string]any{}
		remote, _ := server["remote"].(map[string]any)
		leaveOut(entry, one, "", "type image source endpoint secrets tools config snapshot policy catalog_ref")
		leaveOut(entry, server, "snapshot.server.", profileKeys)
		leaveOut(entry, remote, "snapshot.server.remote.", "url transport_type headers")
		for _, of := range []map[string]any{one, server} {
			if valueAt(of, []string{"policy", "allowed"}) == false {
				entry["policy"] = of["policy"]
			}
		}
		if tools, isList := one["tools"].([]any); isList && len(tools) == 0 {
			entry["excludeTools"] = []any{"*"}
		} else if isList {
			entry["includeTools"] = tools
		}
		if firstString(remote, "url")+firstString(server, "sseEndpoint") != "" {
			entry["url"] = cmp.Or(firstString(remote, "url"), firstString(server, "sseEndpoint"))
			if firstString(remote, "url") == "" || firstString(remote, "transport_type") == "sse" {
				entry["type"] = "sse"
			}
			headers, _ := remote["headers"].(map[string]any)
			for key, value := range headers {
				headers[key] = values.variables(fmt.Sprint(value))
			}
			entry["headers"] = headers
			f.add(name, profile, entry)
			continue
		}
		image := map[string]any{"image": cmp.Or(firstString(one, "image"), firstString(server, "image"))}
		if mounts := values.list(server["volumes"]); len(mounts) > 0 {
			image["mounts"] = mounts
		}
		if user := values.text(firstString(server, "user")); user != "" {
			image["user"] = user
		}
		if server["disableNetwork"] == true {
			image["network"] = "none"
		}
		if args := values.list(server["command"]); len(args) > 0 {
			entry["args"] = args
		}
		env, notes := values.environment(server["env"]), []string(nil)
		if len(values.unknown) > 0 {
			entry["disabled"] = true
			notes = []string{"The server is disabled, because these settings cannot be copied: " + strings.Join(values.unknown, ", ")}
		}
		f.addContainer(name, profile, image, env, entry, notes...)
	}
}

// profileValues are the values for the settings of a server in a profile.
type profileValues struct {
	name    string
	config  any
	secrets map[string]string // references, by variable
	unknown []string          // settings that cannot be copied
}

var profileSetting = osutil.LazyRegexp(`\{\{([^{}]*)\}\}`)

// expand returns the texts that an expression of a profile stands for, such as {{server.paths|volume|into}}.
func (v *profileValues) expand(text string) []string {
	found := profileSetting().FindStringSubmatch(text)
	if found == nil || found[0] != text {
		return []string{profileSetting().ReplaceAllStringFunc(text, func(one string) string { return strings.Join(v.expand(one), " ") })}
	}
	parts := strings.Split(found[1], "|")
	path := strings.TrimPrefix(strings.TrimSpace(parts[0]), v.name+".")
	config, _ := v.config.(map[string]any)
	list, isList := valueAt(config, strings.Split(path, ".")).([]any)
	if one := valueAt(config, strings.Split(path, ".")); !isList && one != nil && one != "" {
		list = []any{one}
	}
	for _, filter := range parts[1:] {
		fallback, isOr := strings.CutPrefix(strings.TrimSpace(filter), "or:")
		switch filter = strings.TrimSpace(filter); {
		case isOr && len(list) == 0:
			list = []any{fallback}
		case filter == "first" && len(list) > 1:
			list = list[:1]
		case filter == "volume" || filter == "volume-target":
			for n, item := range list {
				from, to, mapped := strings.Cut(fmt.Sprint(item), ":")
				if !mapped {
					to = from
				}
				if list[n] = from + ":" + to; filter == "volume-target" {
					list[n], _, _ = strings.Cut(to, ":")
				}
			}
		case !isOr && filter != "into" && filter != "first":
			v.unknown = append(v.unknown, path)
		}
	}
	var all []string
	for _, item := range list {
		if _, isObject := item.(map[string]any); isObject {
			v.unknown = append(v.unknown, path)
		}
		all = append(all, fmt.Sprint(item))
	}
	return all
}

func (v *profileValues) text(text string) string { return strings.Join(v.expand(text), " ") }

// list returns the texts of a list of expressions, without those that have no value.
func (v *profileValues) list(expressions any) []string {
	var all []string
	for _, text := range stringList(expressions) {
		all = append(all, v.expand(text)...)
	}
	return slices.DeleteFunc(all, func(text string) bool { return text == "" })
}

// variables replaces the variables of secrets.
func (v *profileValues) variables(text string) string {
	return os.Expand(text, func(name string) string {
		return cmp.Or(v.secrets[name], "${"+name+"}")
	})
}

func (v *profileValues) environment(listed any) map[string]any {
	env := map[string]any{}
	for name, reference := range v.secrets {
		env[name] = reference
	}
	list, _ := listed.([]any)
	for _, item := range list {
		one, _ := item.(map[string]any)
		value := ""
		if one["value"] != nil {
			value = fmt.Sprint(one["value"])
		}
		if value = v.variables(value); strings.Contains(value, "{{") {
			value = v.text(value)
		}
		if name := firstString(one, "name"); name != "" && value != "" {
			env[name] = value
		}
	}
	return env
}

// addWorkload adds a server of ToolHive.
func (f *foundServers) addWorkload(m map[string]any) {
	entry, notes := map[string]any{}, []string(nil)
	disable := func(why string) {
		entry["disabled"], notes = true, append(notes, "The server is disabled, because "+why)
	}
	if !isBlank(m["authz_config"]) || firstString(m, "authz_config_path") != "" {
		disable("ToolHive authorizes its calls, which is not copied")
	}
	leaveOut(entry, m, "", workloadKeys)
	steps, _ := m["middleware_configs"].([]any)
	for _, item := range steps {
		step, _ := item.(map[string]any)
		if kind := firstString(step, "type"); !slices.Contains(strings.Fields(workloadSteps), kind) {
			disable("its calls go through " + quote(kind) + " of ToolHive, which is not copied")
		}
	}
	if tools := stringList(m["tools_filter"]); len(tools) > 0 {
		entry["includeTools"] = m["tools_filter"]
	}
	if remote := firstString(m, "remote_url"); remote != "" {
		entry["url"] = remote
		addRemoteWorkload(m, entry)
		f.add(firstString(m, "name"), "", entry, notes...)
		return
	}
	env, _ := m["env_vars"].(map[string]any)
	env = maps.Clone(env)
	for _, text := range stringList(m["secrets"]) { // NAME,target=VARIABLE
		if name, variable, found := strings.Cut(text, ",target="); found {
			if env == nil {
				env = map[string]any{}
			}
			env[variable] = askFor(name)
		}
	}
	image, mounts := map[string]any{"image": firstString(m, "image")}, stringList(m["volumes"])
	profile, _ := m["permission_profile"].(map[string]any)
	for _, kind := range []string{"write", "read"} {
		for _, path := range stringList(profile[kind]) {
			if !strings.Contains(path, ":") {
				path += ":" + path // the same one in the container
			}
			if kind == "read" {
				path += ":ro"
			}
			mounts = append(mounts, path)
		}
	}
	if slices.Sort(mounts); len(mounts) > 0 {
		image["mounts"] = slices.Compact(mounts)
		leaveOut(entry, map[string]any{"ignore_config": m["ignore_config"]}, "", "")
	}
	network, _ := profile["network"].(map[string]any)
	leaveOut(entry, profile, "permission_profile.", "name read write network")
	leaveOut(entry, network, "permission_profile.network.", "outbound")
	outbound, _ := network["outbound"].(map[string]any)
	if m["isolate_network"] == true && outbound["insecure_allow_all"] != true {
		if image["network"] = "none"; !isBlank(outbound["allow_host"]) || !isBlank(outbound["allow_port"]) {
			delete(image, "network")
			disable("ToolHive limits where it connects to, which is not copied")
		}
	}
	if args := stringList(m["cmd_args"]); len(args) > 0 {
		entry["args"] = args
	}
	if firstString(m, "transport") != "stdio" {
		disable("it listens on a port inside its container, which Drawbridge cannot reach")
	}
	f.addContainer(firstString(m, "name"), "", image, env, entry, notes...)
}

// addRemoteWorkload adds the headers and the sign-in of a remote server of ToolHive to its entry.
func addRemoteWorkload(m, entry map[string]any) {
	headers, oauth := map[string]any{}, map[string]any{}
	forwarded, _ := m["header_forward"].(map[string]any)
	plain, _ := forwarded["add_plaintext_headers"].(map[string]any)
	maps.Copy(headers, plain)
	stored, _ := forwarded["add_headers_from_secret"].(map[string]any)
	for header, name := range stored {
		headers[header] = askFor(fmt.Sprint(name))
	}
	auth, _ := m["remote_auth_config"].(map[string]any)
	leaveOut(entry, forwarded, "header_forward.", "add_plaintext_headers add_headers_from_secret")
	leaveOut(entry, auth, "remote_auth_config.", "client_id client_secret scopes issuer callback_port bearer_token use_pkce skip_browser timeout")
	for theirs, ours := range map[string]string{"client_id": "clientId", "scopes": "scopes", "issuer": "issuer", "callback_port": "callbackPort"} {
		if !isBlank(auth[theirs]) {
			oauth[ours] = auth[theirs]
		}
	}
	secret := func(key string) string { // NAME,target=PLACE, or the value itself
		if name, _, isStored := strings.Cut(firstString(auth, key), ",target="); isStored {
			return askFor(name)
		}
		return firstString(auth, key)
	}
	if text := secret("client_secret"); text != "" {
		oauth["clientSecret"] = text
	}
	if text := secret("bearer_token"); text != "" {
		headers["Authorization"] = "Bearer " + text
	}
	entry["headers"], entry["oauth"] = headers, oauth
}
