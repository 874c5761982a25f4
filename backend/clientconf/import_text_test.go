package clientconf

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestPastedTextsAreRead has the texts of READMEs, for the web UI and the command line.
func TestPastedTextsAreRead(t *testing.T) {
	base64Of := base64.StdEncoding.EncodeToString
	for what, c := range map[string]struct{ text, want string }{
		"a URL":                                {"https://mcp.linear.app/sse", `linear={"url":"https://mcp.linear.app/sse"}`},
		"a command line":                       {`npx -y @modelcontextprotocol/server-filesystem "/home/me/My Files"`, `filesystem={"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","/home/me/My Files"]}`},
		"variables before the command":         {"$ API_KEY=abc uvx mcp-server-fetch@1.2", `fetch={"command":"uvx","args":["mcp-server-fetch@1.2"],"env":{"API_KEY":"abc"}}`},
		"env before the command":               {"env X=1 cmd /c npx -y foo", `foo={"command":"cmd","args":["/c","npx","-y","foo"],"env":{"X":"1"}}`},
		"an add command":                       {"claude mcp add -s user db -e URL=postgres://x -- npx -y db-mcp \\\n  --read-only", `db={"command":"npx","args":["-y","db-mcp","--read-only"],"env":{"URL":"postgres://x"}}`},
		"an add command with a header":         {`claude mcp add --transport http gh https://api.x.io/mcp --header "Authorization: Bearer ${T}"`, `gh={"url":"https://api.x.io/mcp","headers":{"Authorization":"Bearer ${T}"}}`},
		"an add command with --url":            {"codex mcp add --transport=sse gh --url https://api.x.io/sse", `gh={"type":"sse","url":"https://api.x.io/sse"}`},
		"a block within text":                  {"Add this:\n```json\n{\n // here\n \"mcpServers\": {\"files\": {\"command\": \"npx\", \"args\": [\"a\",],},}}\n```\nThen restart.", `files={"command":"npx","args":["a"]}`},
		"a block within text, not fenced":      {"Add this: {\"mcpServers\": {\"files\": {\"command\": \"npx\"}}} and restart.", `files={"command":"npx"}`},
		"members without braces":               {"\"time\": {\n  \"command\": \"uvx\", \"args\": [\"mcp-server-time\"]\n},", `time={"command":"uvx","args":["mcp-server-time"]}`},
		"an entry without a name":              {`{"command":"uvx","args":["mcp-server-git"]}`, `git={"command":"uvx","args":["mcp-server-git"]}`},
		"an entry with a name":                 {`{"name":"my files","command":"x"}`, `my-files={"command":"x"}`},
		"the keys of another client":           {`{"mcp":{"x":{"type":"local","command":["bun","x","my-mcp"],"environment":{"A":"b"}}}}`, `x={"command":"bun","args":["x","my-mcp"],"env":{"A":"b"}}`},
		"--add-mcp":                            {`code --add-mcp '{"name":"play","command":"npx","args":["@playwright/mcp@latest"]}'`, `play={"command":"npx","args":["@playwright/mcp@latest"]}`},
		"a YAML block":                         {"mcpServers:\n  foo:\n    command: npx\n    args:\n      - -y\n      - 1.10\n    env:\n      PORT: 8080\n", `foo={"command":"npx","args":["-y","1.10"],"env":{"PORT":"8080"}}`},
		"a YAML list":                          {"```yaml\n# servers\nmcpServers:\n  - name: bar\n    command: uvx\n    args: [mcp-bar]\n```", `bar={"command":"uvx","args":["mcp-bar"]}`},
		"a link of Cursor":                     {"cursor://anysphere.cursor-deeplink/mcp/install?name=my%20files&config=" + base64Of([]byte(`{"command":"npx","args":["-y","é>?"]}`)), `my-files={"command":"npx","args":["-y","é>?"]}`},
		"a link with a whole command line":     {"[![Add](https://cursor.com/a.svg)](https://cursor.com/en/install-mcp?name=files&config=" + base64Of([]byte(`{"command":"npx -y files-mcp","env":{"A":"b"}}`)) + ")", `files={"command":"npx","args":["-y","files-mcp"],"env":{"A":"b"}}`},
		"a link of VS Code":                    {"vscode:mcp/install?" + url.PathEscape(`{"name":"play","command":"npx","args":["@playwright/mcp@latest"]}`), `play={"command":"npx","args":["@playwright/mcp@latest"]}`},
		"a page that opens a link":             {"https://insiders.vscode.dev/redirect/mcp/install?name=gh&config=" + url.QueryEscape(`{"type":"http","url":"https://api.x.io/mcp"}`), `gh={"type":"http","url":"https://api.x.io/mcp"}`},
		"a page with a link in its address":    {"https://vscode.dev/redirect?url=" + url.QueryEscape("vscode:mcp/install?"+url.PathEscape(`{"name":"play","command":"npx"}`)), `play={"command":"npx"}`},
		"a command after an installation":      {"# it's first\n$ npm install -g foo\n$ foo --stdio\n", `foo={"command":"foo","args":["--stdio"]}`},
		"an installation on the same line":     {"pip install foo && foo serve", `foo={"command":"foo","args":["serve"]}`},
		"options on their own lines":           {"npx -y foo\r\n  --dir \"a\nb\"\r\n  --port 1", `foo={"command":"npx","args":["-y","foo","--dir","a\nb","--port","1"]}`},
		"several servers":                      {`{"servers":{"a":{"command":"x"},"b":{"url":"https://b"},"c":3}}`, `a={"command":"x"} b={"type":"http","url":"https://b"}`},
		"several lines":                        {"claude mcp add b -- npx a\nclaude mcp add a https://b.io/mcp", `b={"command":"npx","args":["a"]} a={"url":"https://b.io/mcp"}`},
		"disabled servers":                     {`{"a":{"command":"x","disabled":true},"b":{"command":"x","disabled":false}}`, `a={"command":"x","disabled":true} b={"command":"x"}`},
		"a large number":                       {`{"a":{"command":"x","requestTimeoutMs":86400000}}`, `a={"command":"x","requestTimeoutMs":86400000}`},
		"a server of an unknown type":          {`{"mcpServers":{"a":{"command":"x","type":"ws"}}}`, `a: its type "ws" is not supported`},
		"our own entry":                        {"drawbridge stdio", `drawbridge: it connects to Drawbridge itself`},
		"a container that is its own entry":    {`{"x":{"type":"docker","container":"pg","command":"tool"}}`, `x={"command":"tool","container":"pg","type":"docker"}`},
		"a name that our format does not have": {`{"mcpServers":{"@acme/my files":{"command":"x"}}}`, `acme-my-files={"command":"x"}`},
	} {
		all, err := ReadPasted(c.text)
		var got []string
		for _, i := range all {
			if i.SkipReason != "" {
				got = append(got, i.Name+": "+i.SkipReason)
			} else {
				got = append(got, i.Name+"="+string(i.Entry))
			}
		}
		assert.Equalf(t, c.want, strings.Join(got, " "), "%s: %v", what, err)
	}
}

func TestCommandsAreNamedAfterTheirPackage(t *testing.T) {
	for line, want := range map[string]string{
		"docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server stdio": "github",
		"docker run -i --rm ghcr.io/github/github-mcp-server:latest":                                "github",
		"docker run -i --rm -v /home/me/data:/projects mcp/filesystem /projects":                    "filesystem",
		"docker run -i --rm mcp/time":                             "time",
		"npx -y @playwright/mcp@latest":                           "playwright",
		"npx foo-server":                                          "foo",
		"npx -y my_mcp":                                           "my",
		"npx -y @upstash/context7-mcp":                            "context7",
		"npx -y @modelcontextprotocol/server-everything":          "everything",
		"python -m mcp_server_time":                               "time",
		"uvx --from git+https://github.com/a/serena serena start": "serena",
		"node /srv/weather/build/weather.js":                      "weather",
		`C:\tools\npx.cmd -y db-mcp`:                              "db",
		"foo serve":                                               "foo",
		"npx mcp":                                                 "mcp",
		"npx":                                                     "npx",
	} {
		assert.Equal(t, want, CommandName(strings.Fields(line)), line)
	}
}

func TestTextsWithoutServersAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "  ", "Hello there, world", `{"mcpServers": {`, "{}", "[]", `{"a":1}`, "claude mcp add x", "claude mcp add", "hello world this is not a thing", "use the server foo",
		"npm install -g foo", "cd foo && npx bar", "npx foo\nThen restart the client.", "services:\n  db:\n    image: postgres", "foo: [", "see: here", "env",
		"cursor://x", "cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=%%", "zed://x/y",
	} {
		all, err := ReadPasted(text)
		assert.Truef(t, err != nil && len(all) <= 0, "%q: %v, %+v", text, err, all)
	}
	for text, want := range map[string]bool{"zed://x/y": true, " vscode:mcp/install?x ": true, "https://example.com/mcp": false, "npx a://b": false} {
		assert.Equalf(t, want, IsApplicationLink(text), "%q", text)
	}
}

// The page reads a text at each pause while it is typed, so that any beginning of one must be read.
func TestEveryBeginningOfATypedTextIsRead(t *testing.T) {
	for _, text := range []string{
		"npx -y @playwright/mcp@latest", "docker run -i --rm -e KEY ghcr.io/a/b:1.2 stdio", "claude mcp add -e A=b x -- npx @scope/y@1", "uvx --from git+https://x/y z",
		"cmd /c npx @a/b", `{"mcpServers":{"a":{"command":"npx","args":["@a/b"]}}}`, "mcpServers:\n  a:\n    command: npx @a/b\n", "cursor://anysphere.cursor-deeplink/mcp/install?name=a&config=e30=",
		"npx @", "npx :", "npx @a/", "docker run :", "npx @@", "npx =", "@/", "env", "A=b npx @",
	} {
		for end := range len(text) + 1 {
			_, _ = ReadPasted(text[:end])
			if words := ShellWords(text[:end]); len(words) > 0 {
				_ = CommandName(words)
			}
		}
	}
}

// The time for a hostile text grows with its length, not with the square of it: eight times the text
// takes less than 32 times as long.
func TestPastedTextsTakeBoundedTime(t *testing.T) {
	var bomb strings.Builder
	bomb.WriteString("a: &a [x,x]\n")
	for i := range 24 {
		bomb.WriteString(strings.NewReplacer("M", string(rune('a'+i)), "N", string(rune('b'+i))).Replace("N: &N [*M,*M]\n"))
	}
	_, _ = ReadPasted(bomb.String()) // would take for ever
	took := func(text string) time.Duration {
		start := time.Now()
		_, _ = ReadPasted(text)
		return time.Since(start)
	}
	for _, piece := range []string{"{", "}", "\"", "[", "'", "\\", "claude mcp add ", "//", "/*", "\n", "#", " #", ",", "a:", "a: ", "u://mcp?url=", "```", "```\n", "&&", "a://mcp?config=", "vscode:mcp/install?", "{\"a\":", "-\n", "x=1 ", "env "} {
		for _, before := range []string{"", "npx ", "a: "} {
			n := maxPasted / len(piece)
			var small, large time.Duration
			linear := slices.ContainsFunc(make([]bool, 3), func(bool) bool { // a busy machine may stop one of them
				small, large = took(before+strings.Repeat(piece, n/8)), took(before+strings.Repeat(piece, n))
				return large <= 32*small+time.Second
			})
			assert.Truef(t, linear, "%q and %q: %v for an eighth, %v for all", before, piece, small, large)
		}
	}
}

func FuzzReadPasted(f *testing.F) {
	f.Add("claude mcp add a -- npx 'b' && {\"a\":{\"command\":\"x\"}} cursor://mcp?config=e30 a:\n")
	f.Fuzz(func(t *testing.T, text string) {
		if words := ShellWords(text); len(words) > 0 {
			_ = CommandName(words)
		}
		all, _ := ReadPasted(text)
		for _, i := range all {
			assert.Truef(t, !(i.SkipReason == "" && !json.Valid(i.Entry)) && i.Name != "", "%q: %+v", text, i)
		}
	})
}
