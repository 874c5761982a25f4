package clientconf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

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
		if login, ok := server["oauth"].(map[string]any); ok && login["pkce_enabled"] == true { // as it always is here
			delete(login, "pkce_enabled")
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
