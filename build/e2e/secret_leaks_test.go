//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// planted are secrets by the way in which they get into the program. Those of the first group must
// be found by their value, because nothing around them suggests a secret.
var planted = map[string]string{
	// configuration
	"env, literal":             "cnry01-plain-env-value",
	"env, by variable":         `cnry02"quoted\and/slashed`,
	"env, inherited":           "cnry03-inherited-value",
	"argument of a server":     "cnry04-argument-value",
	"option of a server":       "cnry05-option-value",
	"header":                   "cnry06-header-value",
	"authorization header":     "cnry07-bearer-value",
	"user of a url":            "cnry08-userinfo-value",
	"query of a url":           "cnry09-query-value",
	"what a pattern describes": "cust-99310010",
	// in calls
	"key of arguments":      "cnry11-key-value",
	"json in a text":        "cnry12-nested-value",
	"header in a text":      "cnry13-header-text",
	"query in a text":       "cnry14-query-text",
	"password in a url":     "cnry15-password-text",
	"line of an .env":       "cnry16-env-line",
	"token of GitHub":       "ghp_cnry17A1b2C3d4E5f6G7h8I9j0",
	"key of OpenAI":         "sk-proj-cnry18A1b2C3d4E5f6G7h8",
	"web token":             "eyJhbGciOiJIUzI1NiJ9.eyJjbnJ5MTkiOiJ4eHh4eHgifQ.cnry19signature",
	"private key":           "cnry20MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj",
	"token of a connection": "", // created below
}

// The test searches the database and its write-ahead log, logs, exports, API responses and the
// process list, while the daemon runs and afterwards.
func TestPlantedSecretsAppearNowhere(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler()) // an HTTP server that is no MCP server
	defer away.Close()
	host := strings.TrimPrefix(away.URL, "http://")
	d := start(t, object{
		"history": object{"redact": []string{`cust-\d+`}},
		"mcpServers": object{
			"demo": object{
				"command": "sh", "args": []string{"-c", `echo "starting with $PLAIN_KEY and $TEXT" >&2; exec ` + binary + ` demo-server`},
				"env":   object{"PLAIN_API_KEY": planted["env, literal"], "PLAIN_KEY": planted["env, literal"], "TEXT": "${DB_PASSWORD}"},
				"debug": true, "inheritEnv": []string{"SERVICE_TOKEN"},
			},
			"broken": object{"command": "false", "args": []string{"--token=${CLI_TOKEN}", "--password", "${CLI_VALUE}"}, "start": "manual"},
			"remote": object{"url": "http://me:" + planted["user of a url"] + "@" + host + "/mcp?api_key=" + planted["query of a url"],
				"headers": object{"X-Api-Key": planted["header"], "Authorization": "Bearer " + planted["authorization header"]}},
		},
	}, "DB_PASSWORD="+planted["env, by variable"], "SERVICE_TOKEN="+planted["env, inherited"],
		"CLI_TOKEN="+planted["argument of a server"], "CLI_VALUE="+planted["option of a server"])
	secrets := map[string]string{}
	for what, value := range planted {
		secrets[what] = value
	}
	token := d.token("cursor")
	secrets["token of a connection"] = token
	d.running("demo")

	known := []string{}
	for _, what := range []string{"env, literal", "env, by variable", "env, inherited", "argument of a server", "option of a server", "header", "authorization header", "user of a url", "query of a url", "what a pattern describes"} {
		known = append(known, "<"+secrets[what]+">")
	}
	said := object{
		"text": strings.Join(known, " ") + " Authorization: Bearer " + secrets["header in a text"] + "\nGET https://x.org/?access_token=" + secrets["query in a text"] +
			"\npostgres://me:" + secrets["password in a url"] + "@db/x\nAPI_KEY=" + secrets["line of an .env"] + "\n" + secrets["token of GitHub"] + " " + secrets["key of OpenAI"] +
			" " + secrets["web token"] + "\n-----BEGIN PRIVATE KEY-----\n" + secrets["private key"] + "\n-----END PRIVATE KEY-----\n" + token +
			` {"client_secret": "` + secrets["json in a text"] + `"}`,
	}
	args, err := json.Marshal(object{"server": "demo", "tool": "echo", "arguments": said})
	require.NoError(t, err)
	code, answer := d.do("POST", "/api/v1/call", bytes.NewReader(args))
	require.Equal(t, 200, code, "the call, whose answer has to be as it is, gave")
	require.Contains(t, answer, "cnry01", "the call, whose answer has to be as it is, gave")
	said["password"] = secrets["key of arguments"] // which the tool rejects
	args, _ = json.Marshal(object{"server": "demo", "tool": "echo", "arguments": said})
	d.do("POST", "/api/v1/call", bytes.NewReader(args))
	// A name that does not exist, and one that is a secret itself.
	c := &rawClient{t: t, url: d.url + "/s/demo/mcp", token: token}
	c.initialize()
	c.post("tools/call", "x", `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"`+secrets["env, literal"]+`","arguments":{}}}`)
	c.post("resources/read", "x", `{"jsonrpc":"2.0","id":8,"method":"resources/read","params":{"uri":"https://me:`+secrets["password in a url"]+`@x.org/`+secrets["header"]+`"}}`)
	d.do("POST", "/api/v1/servers/remote/restart", strings.NewReader(""))
	d.do("POST", "/api/v1/servers/broken/start", strings.NewReader(""))

	looked := 0
	look := func(where, text string) {
		t.Helper()
		looked++
		for what, value := range secrets {
			inJSON, _ := json.Marshal(value)
			assert.NotContainsf(t, text, value, "%s holds the secret of %s", where, what)
			assert.NotContainsf(t, text, strings.Trim(string(inJSON), `"`), "%s holds the secret of %s", where, what)
		}
	}
	rows := d.calls()
	eventually.TrueWithin(t, patience, "fewer than three calls are recorded", func() bool {
		rows = d.calls()
		return len(rows) >= 3
	})
	for _, row := range rows {
		_, text := d.do("GET", "/api/v1/calls/"+row.ID, nil)
		look("call "+row.Tool, text)
	}
	_, text := d.do("GET", "/api/v1/calls?q=cnry11", nil)
	assert.NotContains(t, text, `"id"`, "the search knows a secret")
	for _, path := range []string{"calls?limit=200", "export", "export?format=csv", "status", "servers", "servers/demo", "servers/demo/debug", "servers/remote", "servers/broken",
		"frames?server=demo", "facets", "usage", "sessions", "clients", "history", "tools"} {
		code, text := d.do("GET", "/api/v1/"+path, nil)
		assert.Equalf(t, 200, code, "GET %s", path)
		look("GET "+path, text)
	}
	_, text = d.do("GET", "/api/v1/frames?server=demo&limit=500", nil)
	assert.Contains(t, text, "tools/call", "the timeline of a server with debug has no call")
	if out, err := exec.Command("ps", "-eo", "args").Output(); err != nil {
		t.Error(err)
	} else {
		text := string(out)
		for _, what := range []string{"argument of a server", "option of a server"} { // only while that server runs, and then as configured
			text = strings.ReplaceAll(text, secrets[what], "")
		}
		look("the process list", text)
	}
	look("what the daemon prints", d.log.String())
	eventually.Complete(t, limit(20*time.Second), func() string { // while there is a write-ahead log
		if info, err := os.Stat(filepath.Join(d.data, "history.db-wal")); err == nil && info.Size() > 0 {
			return ""
		}
		return "there is no log of changes"
	})
	folder := func(when string) {
		err := filepath.WalkDir(d.data, func(path string, e fs.DirEntry, err error) error {
			name, _ := filepath.Rel(d.data, path)
			switch {
			case err != nil || !e.Type().IsRegular():
				return nil
			case name == "tokens.json", strings.HasPrefix(filepath.Base(name), "config"), strings.Contains(name, "last-good"):
				return nil // written there on purpose, as private as the configuration
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return nil // deleted meanwhile
			}
			look(when+" "+name, string(data))
			return nil
		})
		assert.NoError(t, err)
	}
	folder("while it runs,")
	d.stop()
	folder("afterwards,")
	t.Logf("looked at %d places", looked)
}
