package clientconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	configuration "github.com/drawbridge-mcp/drawbridge/config"

	"github.com/goccy/go-yaml"
	"github.com/pelletier/go-toml/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clientFile returns a file of a client with these servers, and its path in the home; "" if the client has
// no file on Linux. Servers that the format cannot hold are left out.
func clientFile(t *testing.T, client Client, servers map[string]any) (path, text string) {
	t.Helper()
	for _, candidate := range client.Candidates["linux"] {
		if candidate.Role == "primary" {
			path = strings.NewReplacer("{HOME}/", "", "{XDG_CONFIG_HOME}", ".config", "{XDG_DATA_HOME}", ".local/share", "{VSCODE_USER}", ".config/Code/User").Replace(candidate.Path)
		}
	}
	var container any = servers
	if client.ContainerKind == "list" {
		var list []any
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			if entry, ok := servers[name].(map[string]any); ok {
				entry = maps.Clone(entry)
				entry["name"] = name
				list = append(list, entry)
			}
		}
		container = list
	}
	for _, key := range slices.Backward(client.KeyPath) {
		container = map[string]any{key: container}
	}
	marshal := json.Marshal
	switch client.Format {
	case TOML:
		marshal = toml.Marshal
	case YAML:
		marshal = func(v any) ([]byte, error) { return yaml.Marshal(v) }
	}
	b, err := marshal(container)
	require.NoError(t, err)
	return path, string(b)
}

// sample returns a value of a key that has an effect.
func sample(client, key string) any {
	switch knownKeys().meaning(client, key) {
	case "startup", "timeout":
		return 7
	case "enabled":
		return false
	case "disabled":
		return true
	case "include", "includeSome", "exclude":
		return []any{"some_tool"}
	case "auth", "oauth":
		switch looseKey(key) {
		case "scopes", "oauthscopes":
			return []any{"read"}
		case "oauthcallbackport":
			return 8080
		case "oauthclientid", "oauthclientsecret":
			return "abc"
		}
		return map[string]any{"clientId": "abc"}
	case "approval":
		return "prompt"
	case "tools":
		return []any{"some_tool"}
	}
	switch key {
	case "args", "env_vars", "env_keys":
		return []any{"A"}
	case "env", "envs", "environment", "headers", "http_headers", "env_http_headers":
		return map[string]any{"A": "b"}
	case "requestOptions", "requestInit":
		return map[string]any{"headers": map[string]any{"A": "b"}}
	case "url", "httpUrl", "serverUrl", "uri", "baseUrl":
		return "https://example.com/" + key
	}
	return "some text"
}

// TestEveryKeyOfEveryClientIsAccountedFor imports a file with all keys of a client. Each of them changes the
// result, is named in a note, or is known to be harmless.
func TestEveryKeyOfEveryClientIsAccountedFor(t *testing.T) {
	silent := []string{"harmless", "process", "kind"}
	for id, row := range knownKeys().Clients {
		t.Run(id, func(t *testing.T) {
			client, err := ByID(id)
			require.NoError(t, err)
			require.NotEmpty(t, row.Source)
			convert := func(entry map[string]any) (string, []string) {
				b := entryConverter{client: client, home: "/home/ana"}
				e, err := b.convert(cloneJSON(t, entry))
				require.NoError(t, err)
				raw, err := json.Marshal(e)
				require.NoError(t, err)
				return string(raw), b.notes
			}
			for _, base := range []map[string]any{{"command": "x"}, {"httpUrl": "https://example.com/mcp"}} {
				all := maps.Clone(base)
				before, _ := convert(base)
				for _, key := range row.Keys {
					meaning := knownKeys().meaning(id, key)
					assert.NotEmptyf(t, meaning, "%q has no meaning", key)
					if base[key] != nil || slices.Contains(silent, meaning) || strings.HasPrefix(key, "api_key_") || base["command"] == nil && slices.Contains(commandKeys, key) {
						continue
					}
					one := maps.Clone(base)
					one[key] = sample(id, key)
					all[key] = one[key]
					after, notes := convert(one)
					if named := slices.ContainsFunc(notes, func(n string) bool { return strings.Contains(n, `"`+key) }); after == before && !named && !slices.Contains(commandKeys, key) {
						t.Errorf("%q is lost: %s %q", key, after, notes)
					}
				}
				c, home, _ := newMover(t)
				if path, text := clientFile(t, client, map[string]any{"all": all}); path != "" {
					write(t, filepath.Join(home, path), text)
					if found, err := c.Servers(Choice{Client: id}); err != nil || len(found) != 1 || found[0].SkipReason != "" {
						t.Errorf("a file with all keys: %v %+v", err, found)
					}
				}
			}
		})
	}
}

func cloneJSON(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	m, err := decodeObject(b)
	require.NoError(t, err)
	return m
}

func TestLimitsOfClientsAreImported(t *testing.T) {
	const program = `{"command":"x"`
	for _, c := range []struct{ name, client, entry, want, note string }{
		{"Codex lists", "codex", `{"command":"x","enabled_tools":["a","b"],"disabled_tools":["b"]}`, program + `,"includeTools":["a","b"],"excludeTools":["b"]}`, ""},
		{"Codex approval", "codex", `{"command":"x","default_tools_approval_mode":"prompt","tools":{"b":{"approval_mode":"approve"},"c":{"approval_mode":"prompt"}}}`, program + `,"tools":{"c":{"approval":"ask"}},"approval":"ask"}`, ""},
		{"Codex empty list", "codex", `{"command":"x","enabled_tools":[]}`, program + `,"excludeTools":["*"]}`, ""},
		{"Codex resource", "codex", `{"url":"https://x/mcp","scopes":["r"],"oauth_resource":"https://x/mcp"}`, `{"type":"http","url":"https://x/mcp","oauth":{"scopes":["r"]}}`, ""},
		{"Codex other resource", "codex", `{"url":"https://x/mcp","oauth_resource":"https://y"}`, `{"type":"http","url":"https://x/mcp","disabled":true}`, `"oauth_resource" is not copied`},
		{"Gemini", "gemini-cli", `{"command":"x","includeTools":["q"],"excludeTools":["d"],"trust":true}`, program + `,"includeTools":["q"],"excludeTools":["d"]}`, ""},
		{"Gemini pattern in exact list", "gemini-cli", `{"command":"x","includeTools":["read*"]}`, program + `,"disabled":true}`, `"includeTools" is not copied`},
		{"Gemini credentials", "gemini-cli", `{"httpUrl":"https://x/mcp","authProviderType":"google_credentials"}`, `{"type":"http","url":"https://x/mcp","disabled":true}`, `"authProviderType"`},
		{"Gemini discovery", "gemini-cli", `{"httpUrl":"https://x/mcp","authProviderType":"dynamic_discovery"}`, `{"type":"http","url":"https://x/mcp"}`, ""},
		{"Gemini sign-in", "gemini-cli", `{"httpUrl":"https://x/mcp","oauth":{"enabled":true,"clientId":"a","scopes":["r"],"tokenUrl":"https://t"}}`, `{"type":"http","url":"https://x/mcp","oauth":{"clientId":"a","enabled":true,"scopes":["r"]},"disabled":true}`, `"oauth.tokenUrl"`},
		{"Amp pattern", "amp", `{"command":"x","includeTools":["read*"]}`, program + `,"includeTools":["read*"]}`, ""},
		{"Amp pattern of another form", "amp", `{"command":"x","includeTools":["{a,b}_*"]}`, program + `,"disabled":true}`, `"includeTools"`},
		{"Kiro", "kiro", `{"command":"x","disabledTools":["d"],"autoApprove":["a"]}`, program + `,"excludeTools":["d"]}`, ""},
		{"Copilot all", "copilot-cli", `{"command":"x","tools":["*"]}`, program + `}`, ""},
		{"Copilot, what loads", "copilot-cli", `{"command":"x","deferTools":"auto","isDefaultServer":true}`, program + `}`, ""},
		{"Copilot none", "copilot-cli", `{"command":"x","tools":[]}`, program + `,"excludeTools":["*"]}`, ""},
		{"folder as a URL", "continue", `{"command":"x","cwd":"file:///tmp/a%20b"}`, program + `,"cwd":"/tmp/a b"}`, ""},
		{"Copilot some", "copilot-cli", `{"command":"x","tools":["a"],"excludeTools":["b"]}`, program + `,"includeTools":["a"],"excludeTools":["b"]}`, ""},
		{"Goose all", "goose", `{"cmd":"x","available_tools":[]}`, program + `}`, ""},
		{"Goose some", "goose", `{"cmd":"x","available_tools":["a"]}`, program + `,"includeTools":["a"]}`, ""},
		{"Crush", "crush", `{"type":"stdio","command":"x","enabled_tools":[],"disabled_tools":["d"]}`, program + `,"excludeTools":["d"]}`, ""},
		{"Claude tools", "claude-code", `{"type":"http","url":"https://x/mcp","tools":[{"name":"a","permission_policy":"always_ask"},{"name":"b","permission_policy":"always_deny"},{"name":"c","permission_policy":"always_allow"}]}`,
			`{"type":"http","url":"https://x/mcp","tools":{"a":{"approval":"ask"},"b":{"approval":"deny"}}}`, ""},
		{"Claude sign-in", "claude-code", `{"type":"http","url":"https://x/mcp","oauth":{"clientId":"a","callbackPort":8080,"scopes":"r w"}}`, `{"type":"http","url":"https://x/mcp","oauth":{"callbackPort":8080,"clientId":"a","scopes":["r","w"]}}`, ""},
		{"Claude helper", "claude-code", `{"type":"http","url":"https://x/mcp","headersHelper":"h"}`, `{"type":"http","url":"https://x/mcp","disabled":true}`, `"headersHelper" is not copied`},
		{"Cursor sign-in", "cursor", `{"url":"https://x/mcp","auth":{"CLIENT_ID":"a","CLIENT_SECRET":"b","scopes":["r"]}}`, `{"type":"http","url":"https://x/mcp","oauth":{"clientId":"a","clientSecret":"b","scopes":["r"]}}`, ""},
		{"opencode without sign-in", "opencode", `{"type":"remote","url":"https://x/mcp","oauth":false}`, `{"type":"http","url":"https://x/mcp","oauth":{"enabled":false}}`, ""},
		{"opencode timeouts", "opencode", `{"type":"local","command":["x"],"timeout":{"startup":5000,"request":7000}}`, program + `,"startupTimeoutMs":5000,"requestTimeoutMs":7000}`, ""},
		{"VS Code sandbox", "vscode", `{"command":"x","sandboxEnabled":true}`, program + `,"disabled":true}`, `"sandboxEnabled"`},
		{"VS Code no sandbox", "vscode", `{"command":"x","sandboxEnabled":false}`, program + `}`, ""},
		{"env as a list", "vscode", `{"command":"x","env":["A=1","B"]}`, program + `,"env":{"A":"1"},"inheritEnv":["B"]}`, ""},
		{"timeout as text", "gemini-cli", `{"command":"x","timeout":"60000"}`, program + `,"requestTimeoutMs":60000}`, ""},
		{"timeout as duration", "gemini-cli", `{"command":"x","timeout":"90s"}`, program + `,"requestTimeoutMs":90000}`, ""},
		{"timeout of ten days", "gemini-cli", `{"command":"x","timeout":864000000}`, program + `,"requestTimeoutMs":86400000}`, "becomes a day"},
		{"Hermes", "hermes", `{"command":"x","timeout":5,"trust":"untrusted","tools":{"include":["get_*"],"exclude":["d"]}}`, program + `,"includeTools":["get_*"],"excludeTools":["d"],"approval":"ask","requestTimeoutMs":5000}`, ""},
		{"Hermes resources", "hermes", `{"command":"x","tools":{"resources":false}}`, program + `,"disabled":true}`, `"tools.resources"`},
		{"Vibe", "mistral-vibe", `{"name":"a","transport":"http","url":"https://x/mcp","auth":{"type":"static","api_key_env":"K","api_key_header":"X-Key","api_key_format":"{token}"},"disabled_tools":["d"]}`, `{"type":"http","url":"https://x/mcp","headers":{"X-Key":"${K}"},"excludeTools":["d"]}`, ""},
		{"two lists", "codex", `{"command":"x","enabled_tools":["a","b"],"includeTools":["b","c"]}`, program + `,"includeTools":["b"]}`, ""},
		{"unknown key", "cursor", `{"command":"x","colour":"red"}`, program + `}`, `"colour" is not copied`},
		{"unknown key that may limit", "cursor", `{"command":"x","toolFilter":["a"]}`, program + `,"disabled":true}`, `"toolFilter" is not copied`},
		{"proxy", "cursor", `{"command":"x","proxy":{"enabled":true,"type":"socks5","host":"h"}}`, program + `,"disabled":true}`, `"proxy" is not copied, so the server is disabled: without it, the server would connect elsewhere`},
		{"proxy that is off", "cursor", `{"command":"x","proxy":{"enabled":false,"type":"socks5","host":"h"}}`, program + `}`, ""},
		{"proxy in another spelling", "windsurf", `{"serverUrl":"https://x/mcp","http_proxy":"http://h:1"}`, `{"type":"http","url":"https://x/mcp","disabled":true}`, `"http_proxy" is not copied, so the server is disabled`},
		{"unknown key of the network", "cursor", `{"command":"x","networkAccess":"none"}`, program + `,"disabled":true}`, `"networkAccess" is not copied, so the server is disabled`},
		{"Continue proxy", "continue", `{"type":"sse","url":"https://x/mcp","requestOptions":{"proxy":"http://h:1","verifySsl":true,"timeout":5}}`, `{"type":"sse","url":"https://x/mcp","disabled":true}`, `"requestOptions.proxy" is not copied, so the server is disabled`},
		{"Continue certificates", "continue", `{"url":"https://x/mcp","requestOptions":{"caBundlePath":"/ca"}}`, `{"type":"http","url":"https://x/mcp","disabled":true}`, `"requestOptions.caBundlePath" is not copied, so the server is disabled`},
		{"Continue without checks", "continue", `{"url":"https://x/mcp","requestOptions":{"verifySsl":false}}`, `{"type":"http","url":"https://x/mcp"}`, `"requestOptions.verifySsl" is not copied`},
		{"Tabnine redirects", "tabnine", `{"url":"https://x/mcp","requestInit":{"redirect":"error","cache":"no-store"}}`, `{"type":"http","url":"https://x/mcp","disabled":true}`, `"requestInit.redirect" is not copied, so the server is disabled`},
		{"Tabnine, as always", "tabnine", `{"url":"https://x/mcp","requestInit":{"redirect":"follow"}}`, `{"type":"http","url":"https://x/mcp"}`, ""},
		{"Kimi elsewhere", "kimi-code", `{"command":"x","executor":"runtime","runtime_id":"r"}`, program + `,"disabled":true}`, `"executor" is not copied, so the server is disabled`},
		{"Zed on other hosts", "zed", `{"command":"x","remote":true}`, program + `}`, `"remote" is not copied`},
		{"another spelling", "cursor", `{"command":"x","disabled-tools":["d"]}`, program + `,"excludeTools":["d"]}`, ""},
		{"list of another type", "cursor", `{"command":"x","disabledTools":{"d":true}}`, program + `,"disabled":true}`, `"disabledTools"`},
		{"URL beside a program", "cursor", `{"command":"x","url":"https://x/mcp"}`, program + `}`, `"url" is not copied`},
		{"URL with blanks", "cursor", `{"url":" https://x/mcp\n"}`, `{"type":"http","url":"https://x/mcp"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := ByID(c.client)
			require.NoError(t, err)
			var entry any
			require.NoError(t, json.Unmarshal([]byte(c.entry), &entry))
			connector, home, _ := newMover(t)
			path, text := clientFile(t, client, map[string]any{"a": entry})
			write(t, filepath.Join(home, path), text)
			all, err := connector.Servers(Choice{Client: c.client})
			require.NoError(t, err)
			require.Len(t, all, 1)
			if string(all[0].Entry) != c.want || !strings.Contains(strings.Join(all[0].Notes, "\n"), c.note) || c.note == "" && strings.Contains(strings.Join(all[0].Notes, "\n"), "not copied") {
				t.Fatalf("becomes\n%s\nwant\n%s\nnotes %q, skipped: %s", all[0].Entry, c.want, all[0].Notes, all[0].SkipReason)
			}
		})
	}
}

func TestServerThatTheClientSwitchedOffIsDisabled(t *testing.T) {
	for id, c := range map[string]struct{ file, text string }{
		"gemini-cli":  {".gemini/settings.json", `{"mcp":{"excluded":["off"]},"mcpServers":{"off":{"command":"x"},"on":{"command":"y"}}}`},
		"qwen-code":   {".qwen/settings.json", `{"mcp":{"allowed":["on"]},"mcpServers":{"off":{"command":"x"},"on":{"command":"y"}}}`},
		"Qwen Code":   {".qwen/settings.json", `{"mcp":{"excluded":["of*"]},"mcpServers":{"off":{"command":"x"},"on":{"command":"y"}}}`},
		"claude-code": {".claude.json", `{"projects":{"/p":{"disabledMcpServers":["off"],"mcpServers":{"off":{"command":"x"},"on":{"command":"y"}}}}}`},
	} {
		connector, home, _ := newMover(t)
		write(t, filepath.Join(home, c.file), c.text)
		all, err := connector.Servers(Choice{Client: strings.ReplaceAll(strings.ToLower(id), " ", "-")})
		require.NoError(t, err)
		for _, i := range all {
			assert.Equal(t, i.Name == "off", strings.Contains(string(i.Entry), `"disabled":true`), id)
		}
	}
}

// A server is never replaced by one with fewer limits.
func TestSameServerWithOtherLimitsIsImportedSeparately(t *testing.T) {
	c, home, config := newMover(t)
	write(t, config, `{"mcpServers": {"db": {"command": "x"}, "safe": {"command": "s", "excludeTools": ["drop"]}}}`)
	write(t, filepath.Join(home, ".gemini/settings.json"), `{"mcpServers": {"db": {"command": "x", "excludeTools": ["drop"]}, "safe": {"command": "s", "excludeTools": ["drop"]}}}`)
	write(t, filepath.Join(home, ".config/Code/User/mcp.json"), `{"servers": {"db": {"command": "x", "sandboxEnabled": true}}}`)
	for id, want := range map[string]map[string]string{"gemini-cli": {"db": "db-gemini-cli", "safe": "safe"}, "vscode": {"db": "db-vscode"}} {
		all, err := c.Servers(Choice{Client: id})
		require.NoError(t, err)
		for _, i := range all {
			assert.Equal(t, want[i.Name], i.Label, id)
			assert.Equal(t, i.Name == i.Label, i.Exists, id)
		}
	}
}

func TestEnvFileIsReadAtImport(t *testing.T) {
	c, vault, home, config := newImporter(t)
	write(t, filepath.Join(home, "vars.env"), "# mine\nexport DEBUG=1\nGITHUB_TOKEN=\"ghp_canary0123456789\" # secret\nPATH_LIKE='${HOME}/x'\nSET=file\n\n")
	write(t, filepath.Join(home, ".cursor/mcp.json"), `{"mcpServers": {
	  "good": {"command": "x", "envFile": "${userHome}/vars.env", "env": {"SET": "entry"}},
	  "gone": {"command": "x", "envFile": "/no/such/file"},
	  "open": {"command": "x", "envFile": "${workspaceFolder}/.env"},
	  "pipe": {"command": "x", "envFile": "/dev/zero"}
	}}`)
	plan, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	entries := map[string]ImportedServer{}
	for _, i := range plan.Servers {
		entries[i.Name] = i
	}
	got := string(entries["good"].Entry)
	assert.Equal(t, `{"command":"x","env":{"DEBUG":"1","GITHUB_TOKEN":"${secret:good.GITHUB_TOKEN}","PATH_LIKE":"$${HOME}/x","SET":"entry"}}`, got)
	for _, name := range []string{"gone", "open", "pipe"} {
		if got := entries[name]; !strings.Contains(string(got.Entry), `"disabled":true`) || !strings.Contains(strings.Join(got.Notes, ""), `"envFile" is not copied`) {
			t.Errorf("%s: %s %q", name, got.Entry, got.Notes)
		}
	}
	_, err = plan.Apply(t.Context())
	require.NoError(t, err)
	require.NotContains(t, content(t, config)+plan.Diff, "canary")
	require.Equal(t, "ghp_canary0123456789", vault.values["good.GITHUB_TOKEN"])
}

// malformed are entries that our configuration refuses, or that nothing can be made of.
func malformed() map[string]any {
	object := func(text string) any {
		var v any
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			panic(err)
		}
		return v
	}
	all := map[string]any{
		"ws": object(`{"type":"ws","url":"ws://127.0.0.1:9/mcp"}`), "no scheme": object(`{"url":"mcp.example.com/mcp"}`),
		"empty name of a variable": object(`{"command":"x","env":{"":"y"}}`), "variable with =": object(`{"command":"x","env":{"A=B":"y"}}`),
		"text": "x", "number": 5, "true": true, "list": []any{1, 2}, "empty": object(`{}`), "null command": object(`{"command":null}`),
		"number as command": object(`{"command":5}`), "object as command": object(`{"command":{"a":1}}`), "empty command": object(`{"command":""}`), "blank command": object(`{"command":"  "}`),
		"list with object as command": object(`{"command":["x",{"a":1}]}`), "args with object": object(`{"command":"x","args":[{"a":1}]}`), "args with null": object(`{"command":"x","args":[null]}`), "args with list": object(`{"command":"x","args":[["a"]]}`),
		"NUL in args": object(`{"command":"x","args":["a\u0000b"]}`), "NUL in env": object(`{"command":"x","env":{"A":"a\u0000b"}}`), "NUL in command": object(`{"command":"a\u0000b"}`), "NUL in cwd": object(`{"command":"x","cwd":"a\u0000b"}`),
		"header name": object(`{"url":"https://x/mcp","headers":{"a b":"c"}}`), "header value": object(`{"url":"https://x/mcp","headers":{"A":"b\nc"}}`),
		"number as url": object(`{"url":5}`), "list as url": object(`{"url":["https://x"]}`), "ftp": object(`{"url":"ftp://x/mcp"}`), "no host": object(`{"url":"http://"}`), "bad url": object(`{"url":"http://[::1"}`),
		"type of another kind": object(`{"type":"tcp","command":"x"}`), "port too large": object(`{"url":"https://x/mcp","oauth":{"clientId":"a","callbackPort":99999}}`), "secret without id": object(`{"url":"https://x/mcp","oauth":{"clientSecret":"abc"}}`),
		"huge timeout": object(`{"command":"x","timeout":1e300}`), "negative timeout": object(`{"command":"x","timeout":-5}`),
		"": object(`{"command":"x"}`), "---": object(`{"command":"x"}`), "日本語": object(`{"command":"x"}`), "good-": object(`{"command":"x"}`), "GOOD": object(`{"command":"x"}`),
		"a\nb\u0007\"quoted\"": object(`{"command":"x"}`), "with.dots/and spaces": object(`{"command":"x"}`), strings.Repeat("long", 500): object(`{"command":"x"}`),
		"huge": map[string]any{"command": "x", "args": slices.Repeat([]any{strings.Repeat("a", 100)}, 300)},
		"deep": map[string]any{"command": "x", "env": deep(60), "unknown": deep(60)},
	}
	many := map[string]any{"command": "x"}
	for n := range 300 {
		many[fmt.Sprint("key", n)] = n
	}
	all["many keys"] = many
	return all
}

func deep(levels int) any {
	var v any = "x"
	for range levels {
		v = map[string]any{"a": v}
	}
	return v
}

func TestOneBadEntryHarmsOnlyItself(t *testing.T) {
	bad := malformed()
	require.Truef(t, len(bad) >= 40, "only %d entries", len(bad))
	for _, id := range []string{"claude-code", "cursor", "vscode", "gemini-cli", "windsurf", "kiro", "copilot-cli", "zed", "opencode", "crush", "amp", "lm-studio", "codex", "grok-build", "mistral-vibe", "goose", "hermes"} {
		t.Run(id, func(t *testing.T) {
			client, err := ByID(id)
			require.NoError(t, err)
			good := map[string]any{"command": "good", "cmd": "good", "type": "stdio", "transport": "stdio"}
			for name, entry := range bad {
				if !slices.Contains([]string{"claude-code"}, id) {
					break // the others get all at once
				}
				if client.Format == TOML && strings.Contains(fmt.Sprint(entry), "<nil>") {
					continue // TOML has no null
				}
				assert.NoErrorf(t, importBeside(t, client, map[string]any{"good": good, name: entry}), "%.60q", name)
			}
			all := maps.Clone(bad)
			all["good"] = good
			if client.Format == YAML {
				delete(all, "a\nb\u0007\"quoted\"") // the encoder of the test cannot write it
			}
			if client.Format == TOML {
				maps.DeleteFunc(all, func(_ string, v any) bool { return strings.Contains(fmt.Sprint(v), "<nil>") })
			}
			assert.NoError(t, importBeside(t, client, all), "all at once")
		})
	}
}

// Rows that no encoder writes. A file that its client cannot read either is not among them.
func TestOddTextBesideAServerHarmsOnlyItself(t *testing.T) {
	const entry, dotted = "  a:\n    cmd: x\n    ", "[mcp_servers.a]\ncommand = \"x\"\n"
	for _, c := range []struct {
		client, file, before, after string
		odd                         []string
	}{
		{"codex", ".codex/config.toml", "", "\n[mcp_servers.good]\ncommand = \"good\"\n", []string{
			"[mcp_servers.a]\ncommand = 1979-05-27T07:32:00Z", dotted + "tool_timeout_sec = inf", dotted + "tool_timeout_sec = nan", dotted + "env = {A = 0xff, B = -inf}", dotted + "args = [1979-05-27, 07:32:00]",
			"[[mcp_servers.a]]\ncommand = \"x\"", "[mcp_servers]\na = 1979-05-27", "[mcp_servers.a.b.c]\ncommand = \"x\"", "[mcp_servers.\"\"]\ncommand = \"x\"", dotted + "http_headers = [\"a\"]"}},
		{"goose", ".config/goose/config.yaml", "extensions:\n  good:\n    type: stdio\n    cmd: good\n", "\n", []string{
			"  a: !!binary aGVsbG8=", "  a: !!set {x, y}", "  a: 2001-12-14", "  a: []", "  a:\n    - cmd: x", "  a:\n    cmd: !custom x", "  a:\n    cmd: |\n      x\n      y", "  ~:\n    cmd: x", "  5:\n    cmd: x", "  .inf:\n    cmd: x",
			entry + "timeout: .inf", entry + "timeout: .nan", entry + "args: [2001-12-14, ~, .inf]", entry + "envs: {1: 2, true: no, ~: x}", entry + "1: 2", entry + "available_tools: {a: b}"}},
		{"claude-code", ".claude.json", `{"mcpServers": {"good": {"command": "good"}, "a": `, "}}", []string{
			`{"command":"x","command":"y"}`, `{"command":"\ud800"}`, `{"command":"x","timeout":1e999}`, `{"command":"docker","args":["exec"]}`, `{"command":"docker","args":["exec","-e","","c","x"]}`, `{"command":"docker","args":["exec","--zz","c","x"]}`,
			`{"command":"x","tools":{"":{"enabled":false}}}`, `{"command":"x","tools":[[]]}`, `{"command":"x","disabledTools":{"a":true}}`, `{"url":"https://x","bearer_token_env_var":"A B"}`, `{"url":"https://x","env_http_headers":{"A B":"C"}}`, `{"command":"x","env_vars":["A=B",""]}`,
			`{"command":"${A:-${B}"}`, `{"url":"https://x:99999/mcp"}`, `{"url":"https://x/mcp","oauth":{"issuer":"not a url"}}`, `{"command":["x","\u0000"]}`, `{"transport":{"transport":{}}}`, `{"type":"replay","command":"x"}`}},
	} {
		for _, odd := range c.odd {
			connector, home, _ := newMover(t)
			write(t, filepath.Join(home, c.file), c.before+odd+c.after)
			isGood := func(i ImportedServer) bool { return i.Name == "good" }
			imported, err := connector.PlanImport(Choice{Client: c.client}, nil)
			assert.Truef(t, err == nil && slices.ContainsFunc(imported.Servers, isGood), "%s: %q: %v", c.client, odd, err)
			p, err := connector.PlanMove(Choice{Client: c.client}, nil, false)
			if err == nil {
				err = connector.Apply(t.Context(), p)
			}
			left, _ := connector.Servers(Choice{Client: c.client})
			assert.Truef(t, err == nil && !slices.ContainsFunc(left, isGood), "%s: %q is not moved: %v", c.client, odd, err)
		}
	}
}

func TestFileInFlowStyleIsImported(t *testing.T) {
	assert.Equal(t, `{"command":"x"}`, string(convertServer(t, "goose", ".config/goose/config.yaml", `{"extensions": {"a": {"type": "stdio", "cmd": "x"}}}`).Entry))
}

// importBeside imports and moves servers and returns an error unless the one named good comes.
func importBeside(t *testing.T, client Client, servers map[string]any) error {
	c, home, config := newMover(t)
	path, text := clientFile(t, client, servers)
	write(t, filepath.Join(home, path), text)
	plan, err := c.PlanImport(Choice{Client: client.ID}, nil)
	if err != nil {
		return err
	}
	for _, s := range plan.Skipped {
		if s.Reason == "" {
			return fmt.Errorf("%q is skipped without a reason", s.Name)
		}
	}
	if _, err := plan.Apply(t.Context()); err != nil {
		return err
	}
	at := slices.IndexFunc(plan.Servers, func(i ImportedServer) bool { return i.Name == "good" })
	if at < 0 {
		return fmt.Errorf("good is skipped: %+v", plan.Skipped)
	}
	after, err := os.ReadFile(config)
	if err != nil {
		return err
	}
	if _, problems := configuration.Parse(config, after); configuration.HasErrors(problems) {
		return fmt.Errorf("our configuration is invalid: %v", problems)
	}
	file, own, err := parseConfig(config, after)
	if err != nil {
		return err
	}
	_, entry, err := file.entry(own.KeyPath, plan.Servers[at].Label)
	if err == nil && !sameJSON(entry, json.RawMessage(`{"command":"good"}`)) {
		err = fmt.Errorf("good became %s", entry)
	}
	return err
}

// A deeply nested entry is refused before it is shown: with indentation, its text would be a thousand times longer.
func TestDeeplyNestedEntryIsSkippedWithTheReason(t *testing.T) {
	nested := `{"command":"x","metadata":` + strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000) + `}`
	c, home, _ := newMover(t)
	path := filepath.Join(home, ".cursor/mcp.json")
	write(t, path, "{\"mcpServers\": {\n\"deep\": "+nested+",\n\"good\": {\"command\": \"y\"}}}\n")
	imported, err := c.PlanImport(Choice{Client: "cursor"}, nil)
	require.NoError(t, err)
	assert.True(t, len(imported.Servers) == 1 && len(imported.Diff) < 5000)
	plan, err := c.PlanMove(Choice{Client: "cursor"}, nil, false)
	require.NoError(t, err)
	assert.Less(t, len(plan.Diff), 5000)
	require.Len(t, plan.Skipped, 1)
	assert.Contains(t, plan.Skipped[0].Reason, "nested deeper than 100 levels")
	require.NoError(t, c.Apply(t.Context(), plan))
	assert.Contains(t, content(t, path), nested)
	pasted, err := ReadPasted(`{"mcpServers":{"deep":` + nested + `}}`)
	require.NoError(t, err)
	assert.Contains(t, pasted[0].SkipReason, "nested deeper than 100 levels")
	assert.Equal(t, `{"command":"x"}`, string(pasted[0].Original()))
}
