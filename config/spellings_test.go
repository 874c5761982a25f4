package config

import (
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A line is what runs: the type, the program or address, and what belongs to it.
func describe(s Server) string {
	parts := []string{string(s.Type), s.Command, strings.Join(s.Args, " "), s.URL}
	for _, key := range sortedKeys(s.Env) {
		parts = append(parts, key+"="+s.Env[key])
	}
	for _, key := range sortedKeys(s.Headers) {
		parts = append(parts, key+": "+s.Headers[key])
	}
	return strings.Join(parts, "|")
}

// The blocks have the forms that READMEs of servers show for one program each.
func TestPastedBlockOfAnyProgramRuns(t *testing.T) {
	const local, remote = "stdio|npx|-y pkg|", "http|||https://h.example/mcp"
	for name, c := range map[string]struct {
		file, block, want string
		notices           int
	}{
		"Claude Desktop":       {block: `{"mcpServers":{"x":{"command":"npx","args":["-y","pkg"],"env":{"K":"v"}}}}`, want: local + "|K=v"},
		"Claude Code":          {block: `{"mcpServers":{"x":{"type":"stdio","command":"npx","args":["-y","pkg"],"env":{}}}}`, want: local},
		"Cursor":               {block: `{"mcpServers":{"x":{"url":"https://h.example/mcp","headers":{"Authorization":"Bearer ${env:T}"}}}}`, want: remote + "|Authorization: Bearer ${env:T}"},
		"Cursor, one line":     {block: `{"mcpServers":{"x":{"command":"npx -y pkg"}}}`, want: local, notices: 1},
		"VS Code":              {block: `{"inputs":[{"type":"promptString","id":"api key","description":"Key","password":true}],"servers":{"x":{"type":"stdio","command":"npx","args":["-y","pkg"],"env":{"K":"${input:api key}"}}}}`, want: local + "|K=${secret:api_key}", notices: 1},
		"VS Code, settings":    {block: `{"mcp":{"inputs":[],"servers":{"x":{"command":"npx","args":["-y","pkg"]}}}}`, want: local, notices: 1},
		"Zed":                  {block: `{"context_servers":{"x":{"command":"npx","args":["-y","pkg"],"env":{}}}}`, want: local, notices: 1},
		"Zed, earlier":         {block: `{"context_servers":{"x":{"command":{"path":"npx","args":["-y","pkg"],"env":null},"settings":{}}}}`, want: local, notices: 3},
		"opencode's entry":     {block: `{"mcpServers":{"x":{"type":"local","command":["npx","-y","pkg"],"environment":{"K":"v"},"enabled":true}}}`, want: local + "|K=v", notices: 1},
		"Windsurf":             {block: `{"mcpServers":{"x":{"serverUrl":"https://h.example/mcp","headers":{"A":"b"}}}}`, want: remote + "|A: b", notices: 1},
		"Copilot":              {block: `{"mcpServers":{"x":{"type":"local","command":"npx","args":["-y","pkg"],"tools":["*"]}}}`, want: local, notices: 1},
		"Copilot, upper case":  {block: `{"mcpServers":{"x":{"type":"HTTP","url":"https://h.example/mcp","tools":["*"]}}}`, want: remote, notices: 1},
		"Gemini CLI":           {block: `{"mcpServers":{"x":{"httpUrl":"https://h.example/mcp","timeout":5000,"trust":false}}}`, want: remote},
		"Cline":                {block: `{"mcpServers":{"x":{"command":"npx","args":["-y","pkg"],"disabled":false,"autoApprove":[]}}}`, want: local, notices: 1},
		"Cline, http":          {block: `{"mcpServers":{"x":{"transport":{"type":"streamableHttp","url":"https://h.example/mcp"}}}}`, want: remote, notices: 1},
		"LibreChat":            {file: "c.yaml", block: "mcpServers:\n  x:\n    type: streamable-http\n    url: https://h.example/mcp\n    timeout: 60000\n", want: remote},
		"Goose's entry":        {file: "c.yaml", block: "mcpServers:\n  x:\n    cmd: npx\n    args: [-y, pkg]\n    envs: {K: v}\n    type: stdio\n", want: local + "|K=v", notices: 1},
		"Continue":             {file: "c.yaml", block: "mcpServers:\n  - name: x\n    command: npx\n    args: [\"-y\", pkg]\n", want: local},
		"uvx":                  {block: `{"mcpServers":{"x":{"command":"uvx","args":["--from","git+https://g.example/x","srv"]}}}`, want: "stdio|uvx|--from git+https://g.example/x srv|"},
		"docker run":           {block: `{"mcpServers":{"x":{"command":"docker","args":["run","-i","--rm","-e","K","img"],"env":{"K":"v"}}}}`, want: "stdio|docker|run -i --rm -e K img||K=v"},
		"bunx":                 {block: `{"mcpServers":{"x":{"command":["bunx","pkg"],"env":["K=v"],"cwd":null}}}`, want: "stdio|bunx|pkg||K=v", notices: 1},
		"mcp-remote":           {block: `{"mcpServers":{"x":{"command":"npx","args":["mcp-remote","https://h.example/sse"]}}}`, want: "stdio|npx|mcp-remote https://h.example/sse|"},
		"headers of an SDK":    {block: `{"mcpServers":{"x":{"type":"sse","url":"https://h.example/sse","requestInit":{"headers":{"A":"b"}},"eventSourceInit":{"headers":{"a":"c","D":"e"}}}}}`, want: "sse|||https://h.example/sse|A: b|D: e", notices: 1},
		"http-stream":          {block: `{"mcpServers":{"x":{"type":"http-stream","url":"https://h.example/mcp"}}}`, want: remote, notices: 1},
		"opencode":             {block: `{"$schema":"https://opencode.ai/config.json","mcp":{"x":{"type":"local","command":["npx","-y","pkg"],"environment":{"K":"v"},"enabled":true}}}`, want: local + "|K=v", notices: 2},
		"opencode, remote":     {block: `{"mcp":{"debug":true,"x":{"type":"remote","url":"https://h.example/mcp","headers":{"A":"b"}}}}`, want: remote + "|A: b", notices: 1},
		"Goose":                {file: "c.yaml", block: "extensions:\n  developer: {type: builtin, enabled: true, name: developer}\n  x:\n    type: stdio\n    cmd: npx\n    args: [-y, pkg]\n    envs: {K: v}\n    enabled: true\n    timeout: 300\n    available_tools: []\n", want: local + "|K=v", notices: 2},
		"Codex":                {block: `{"mcp_servers":{"x":{"url":"https://h.example/mcp","bearer_token_env_var":"T","env_http_headers":{"X":"XV"},"startup_timeout_sec":20,"tool_timeout_sec":1.5}}}`, want: remote + "|Authorization: Bearer ${T}|X: ${XV}", notices: 2},
		"Continue, apiKey":     {file: "c.yaml", block: "mcpServers:\n  - name: x\n    url: https://h.example/mcp\n    apiKey: ${T}\n", want: remote + "|Authorization: Bearer ${T}", notices: 1},
		"isActive of LobeChat": {block: `{"mcpServers":{"x":{"isActive":true,"type":"Streamable HTTP","baseUrl":"https://h.example/mcp"}}}`, want: remote, notices: 1},
	} {
		t.Run(name, func(t *testing.T) {
			if c.file == "" {
				c.file = "c.jsonc"
			}
			got, problems := Parse(c.file, []byte(c.block))
			require.Truef(t, got != nil && len(got.Servers) == 1 && !got.Servers[0].Disabled, "does not run: %v", problems)
			assert.Empty(t, cmp.Diff(c.want, describe(got.Servers[0])))
			assert.Truef(t, len(problems) == c.notices && !HasErrors(problems), "%d notices, want %d: %v", len(problems), c.notices, problems)
			for _, p := range problems {
				assert.Truef(t, p.Line >= 1, "no place: %v", p)
			}
		})
	}
}

func TestOneNoticeSaysHowAServerIsWrittenHere(t *testing.T) {
	_, problems := Parse("c.jsonc", []byte("{\"mcpServers\":{\n\"x\":{\"type\":\"HTTP\",\n\"serverUrl\":\"http://127.0.0.1:9/mcp\",\"requestInit\":{\"headers\":{\"A\":\"secret-b\"}}}}}"))
	const want = "c.jsonc:3:1: warning: server 'x' is written as for another program (to tidy it, write 'url' for 'serverUrl'; write 'headers' for 'requestInit.headers'; write \"http\" as 'type')"
	assert.True(t, len(problems) == 1 && problems[0].String() == want && problems[0].Server == "x", problems)
}

// A spelling of another program never adds what ours leaves out, or loses what it limits.
func TestOtherSpellingsKeepLimitsAndOwnKeys(t *testing.T) {
	c := parse(t, `{"mcpServers":{
		"both": {"command":"a","excludeTools":["x"],"disabledTools":["y"]},
		"some": {"command":"a","tools":["read"]},
		"own": {"url":"http://127.0.0.1:1/own","serverUrl":"http://127.0.0.1:1/other","headers":{"A":"own"},"http_headers":{"a":"other"}},
		"off": {"command":"a","isActive":false},
		"args": {"command":["a","b"],"args":["c"]},
		"words": {"command":"my program --x"},
		"shell": {"command":"npx -y pkg | tee log"},
		"null": {"command":"a","args":null,"env":null,"headers":null,"timeout":null},
		"none": {"command":"a","tools":[]},
		"ws": {"type":"ws","url":"http://127.0.0.1:1"},
		"literal": {"command":"a","args":["$${input:x}"]},
	}}`)
	get := func(id string) Server { s, _ := c.Server(id); return s }
	f := get("both").Filter
	assert.Truef(t, f.HiddenBy("x") != "" && f.HiddenBy("y") != "", "an excluded tool is offered: %+v", f)
	f = get("some").Filter
	assert.Truef(t, f.HiddenBy("read") == "" && f.HiddenBy("write") != "", "a tool that is not in the list is offered: %+v", f)
	for id, want := range map[string]string{
		"own": "http|||http://127.0.0.1:1/own|A: own", "args": "stdio|a|b c|", "words": "stdio|my program --x||", "shell": "stdio|npx -y pkg | tee log||", "null": "stdio|a||", "literal": "stdio|a|$${input:x}|",
	} {
		assert.Equal(t, want, describe(get(id)), id)
	}
	assert.True(t, get("off").Disabled, "a server that is not active runs")
	assert.Len(t, c.Servers, 9)
}

func TestServersOutsideOfMCPServersAreAnError(t *testing.T) {
	for _, src := range []string{`{"x":{"command":"a"}}`, `{"x":{"serverUrl":"http://127.0.0.1:1/mcp"}}`} {
		c, problems := Parse("c.jsonc", []byte(src))
		if c == nil || len(c.Servers) != 0 || len(problems) != 1 || problems[0].Warning || problems[0].Server != "x" || !strings.Contains(problems[0].Suggestion, "mcpServers") {
			t.Errorf("%s: %v", src, problems)
		}
	}
	// One that lies beside the servers may be off on purpose.
	if c := parse(t, `{"mcpServers":{"a":{"command":"a"}},"x":{"command":"a"}}`); len(c.Servers) != 1 || HasErrors(c.Problems) {
		t.Errorf("%v", c.Problems)
	}
}

func TestTransportsAreKnownInAnySpelling(t *testing.T) {
	for kind, want := range map[string]core.Transport{"HTTP": core.HTTP, "Streamable HTTP": core.HTTP, "http_stream": core.HTTP, "SSE": core.SSE, "http+sse": core.SSE, "STDIO": core.Stdio, "ws": "", "": ""} {
		got, ok := TransportOf(kind)
		assert.Truef(t, got == want && ok == (want != ""), "%q is %q", kind, got)
	}
}

// A server that another program limits, or whose settings are not read, never runs without them.
func TestLimitsOfOtherProgramsAreReadOrNamed(t *testing.T) {
	for entry, want := range map[string]string{
		`"includeTools":[]`: "", `"ExcludeTools":["write"]`: "", `"exclude_tools":["write"]`: "", `"Disabled-Tools":["write"]`: "", `"Tools":{"write":{"Enabled":false}}`: "", `"Exclude_Tools":["write"],"disabledTools":[]`: "",
		`"tools":{"*":{"enabled":false}}`: "'excludeTools'", `"deny_tools":["write"]`: "'excludeTools'",
		`"excludeTool":["write"]`: "'excludeTools'", `"excludeTools":[],"ExcludeTools":["write"]`: "remove", `"enabled":true,"isActive":"no"`: "remove", `"includeTools":["write"],"enabled_tools":["read"]`: "includeTools", `"Sandbox_Enabled":true`: "'sandbox'",
		`"tools":{"write":{"approval_mode":"prompt"}}`: "'approval'", `"tools":{"write":{"aproval":"ask"}}`: "'approval'", `"tools":{"write":{"disabled":true}}`: "'enabled'",
		`"enabled_tools":[]`: "", `"enabled_tools":["read"]`: "", `"disabled_tools":["write"]`: "", `"available_tools":["read"]`: "",
		`"enabled_tools":["r*"]`: "includeTools", `"allowedTools":"read"`: "includeTools", `"envFile":".env"`: "'env'", `"sandboxEnabled":true`: "'sandbox'",
		`"url":"http://127.0.0.1:1","headersHelper":"x"`: "'headers'", `"default_tools_approval_mode":"prompt"`: "'approval'", `"env_http_headers":{"X":1}`: "'headers'",
	} {
		c, problems := Parse("c.jsonc", []byte(`{"mcpServers":{"x":{"command":"a",`+entry+`}}}`))
		switch {
		case want == "" && (len(c.Servers) != 1 || c.Servers[0].Filter.HiddenBy("write") == ""):
			t.Errorf("%s: the tool is offered: %v", entry, problems)
		case want != "" && (c == nil || len(c.Servers) != 0 || !HasErrors(problems) || !strings.Contains(problems[len(problems)-1].Suggestion, want)):
			t.Errorf("%s: %v", entry, problems)
		}
	}
	for _, entry := range []string{`"Disabled":true`, `"enabled":true,"isActive":false`, `"is_active":false,"enabled":true`} {
		c, problems := Parse("c.jsonc", []byte(`{"mcpServers":{"x":{"command":"a",`+entry+`}}}`))
		assert.Truef(t, len(c.Servers) == 1 && c.Servers[0].Disabled && len(problems) == 1, "%s: %v", entry, problems)
	}
	for _, entry := range []string{`"envFile":""`, `"sandboxEnabled":false`, `"requiresApproval":[]`} {
		c, problems := Parse("c.jsonc", []byte(`{"mcpServers":{"x":{"command":"a",`+entry+`}}}`))
		assert.Lenf(t, c.Servers, 1, "%s: %v", entry, problems)
	}
}

func TestTimeLimitsInSecondsAreConverted(t *testing.T) {
	c := parse(t, `{"extensions":{"goose":{"type":"stdio","cmd":"a","timeout":300}},"mcpServers":{"codex":{"command":"a","startup_timeout_sec":20,"tool_timeout_sec":1.5}}}`)
	for id, want := range map[string]time.Duration{"goose": 300 * time.Second, "codex": 1500 * time.Millisecond} {
		s, _ := c.Server(id)
		assert.Equal(t, want, s.RequestTimeout, id)
	}
	s, _ := c.Server("codex")
	assert.Equal(t, 20*time.Second, s.StartupTimeout)
}
