package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProfileNeedsExistingServers checks that servers are accepted by their display name and that
// unknown ones are rejected.
func TestProfileNeedsExistingServers(t *testing.T) {
	f := newFakeDaemon(t)
	f.Answer("GET /api/v1/servers/my%20files", `{"id":"my-files","label":"my files"}`)
	f.NotFound("GET /api/v1/servers/{id}", `{"code":"not_found","detail":"there is no such server"}`)
	said := make(chan string, 2)
	hear := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said <- string(body)
		io.WriteString(w, `{}`)
	}
	f.Answer("GET /api/v1/tools", `{"items":[{"tool":"write"}]}`)
	f.Answer("GET /api/v1/connections", `{"items":[{"id":"cursor"}]}`)
	f.Answer("GET /api/v1/clients", `{"items":[{"token":"mine","name":"Mine"}]}`)
	f.Mux.HandleFunc("PUT /api/v1/profiles/{name}", hear)
	f.Mux.HandleFunc("PUT /api/v1/client-views/{token}", hear)
	got := f.Run(false, "profiles", "set", "work", "nosuch")
	assert.Truef(t, got.Code == 1 && strings.Contains(got.Err, `there is no server named "nosuch"`), "%+v", got)
	got = f.Run(false, "profiles", "set", "work", "my files:read,wr*,write")
	require.Truef(t, got.Code == 0 && got.Err == "warning: my files has no tool named \"read\"\n", "%+v", got)
	one := <-said
	assert.Equal(t, `{"entry":{"servers":{"my-files":{"includeTools":["read","wr*","write"]}}}}`, one)
	for client, known := range map[string]bool{"cursor": true, "mine": true, "nope": false} {
		if got := f.Run(false, "profiles", "use", client, "office"); got.Code != 0 || known == strings.Contains(got.Err, "no client is named \"nope\"") {
			t.Fatalf("%s: %+v", client, got)
		}
		if one := <-said; one != `{"profile":"office"}` {
			t.Error(one)
		}
	}
	for args, want := range map[string]string{"": `{"profile":"","toolMode":""}`, "--mode auto": `{"toolMode":"auto"}`, "--single-copy": `{"singleCopy":true}`, "--max-result-tokens 0": `{"maxResultTokens":0}`} {
		require.Equal(t, 0, f.Run(false, append([]string{"profiles", "use", "cursor"}, strings.Fields(args)...)...).Code, args)
		if one := <-said; one != want {
			t.Errorf("%s sends %s, want %s", args, one, want)
		}
	}
	assert.Equal(t, 2, f.Run(false, "profiles", "use", "cursor", "office", "--profile", "work").Code)
}

// Each list is a table with a header, and on a terminal of 80 columns its names are whole.
func TestListsAreTables(t *testing.T) {
	f := newFakeDaemon(t)
	f.Answer("GET /api/v1/profiles", `{"items":[{"name":"office","address":"/p/office/mcp","toolMode":"search","tools":16,"tokens":{"all":900,"search":270},"servers":["files","a-server-with-a-name-that-is-long"],"clients":[]}]}`)
	f.Answer("GET /api/v1/directory", `{"items":[{"name":"io.github.modelcontextprotocol/server-sequential-thinking","description":"Lets a model think in steps that it can revise."}]}`)
	f.Answer("GET /api/v1/explain", `{"server":"files","tool":"read","checks":[{"name":"timeout","result":"pass","detail":"The call times out after 30s without a response or progress.","key":"policy.timeout"}]}`)
	f.Answer("/api/v1/servers/files/sandbox", `{"server":"files","mode":"on","applies":true,"protections":[{"name":"Truncating files","requires":"Linux 6.2"}]}`)
	for args, want := range map[string]string{
		"profiles":            "1 profile\nProfile  Address        Listed  Tools  Tokens  Clients  Servers\noffice   /p/office/mcp  search     16    ~270  -        files,\n",
		"add --search steps":  "1 server\nName                                                       Description\nio.github.modelcontextprotocol/server-sequential-thinking  Lets a model think in\n",
		"explain files read":  "Check    Result  Why\ntimeout  pass    The call times out after 30s without a response or progress.\n                 (policy.timeout)\n",
		"sandbox files":       "This system can restrict      Requires\nTruncating files          no  Linux 6.2\n",
		"sandbox files --off": "",
	} {
		got := runMain(t.Context(), f.Data, func(e *Options) {
			e.Terminal = func() bool { return true }
			e.Getenv = func(name string) string { return map[string]string{"COLUMNS": "80"}[name] }
		}, strings.Fields(args)...)
		if got.Code != 0 || !strings.Contains(got.Out, want) || want == "" && strings.Contains(got.Out, "Requires") {
			t.Errorf("%s:\n%s%s", args, got.Out, got.Err)
		}
	}
}
