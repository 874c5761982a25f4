//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func init() { roles["keyholder"] = keyholder }

// keyholder is an MCP server with one tool, which returns the user that its KEY belongs to.
func keyholder() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var r struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &r) != nil || r.ID == nil {
			continue
		}
		switch r.Method {
		case "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"keyholder","version":"1"}}}`+"\n", r.ID)
		case "tools/list":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"whoami","inputSchema":{"type":"object"}}]}}`+"\n", r.ID)
		case "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"I am %s"}]}}`+"\n", r.ID, strings.TrimSuffix(os.Getenv("KEY"), "-key"))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", r.ID)
		}
	}
}

// manyUsers is a remote server with its authorization server. Each authorization is for the user
// in the query of its URL, whom the tool of the server returns.
func manyUsers(t *testing.T) *httptest.Server {
	var mu sync.Mutex
	users := map[string]string{} // by code and by token
	issued := 0
	issue := func(kind, user string) string {
		issued++
		secret := fmt.Sprintf("%s-%d-of-an-authorization", kind, issued)
		users[secret] = user
		return secret
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(status int, doc any) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			json.NewEncoder(w).Encode(doc)
		}
		base := "http://" + r.Host
		mu.Lock()
		defer mu.Unlock()
		switch r.URL.Path {
		case "/.well-known/oauth-protected-resource/mcp":
			say(200, object{"resource": base + "/mcp", "authorization_servers": []string{base}})
		case "/.well-known/oauth-authorization-server":
			say(200, object{"issuer": base, "authorization_endpoint": base + "/authorize", "token_endpoint": base + "/token", "registration_endpoint": base + "/register",
				"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}})
		case "/register":
			say(201, object{"client_id": "drawbridge-1", "token_endpoint_auth_method": "none"})
		case "/authorize":
			q := r.URL.Query()
			http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {issue("code", q.Get("user"))}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
		case "/token":
			user, known := users[r.FormValue("code")]
			if !known {
				say(400, object{"error": "invalid_grant"})
				return
			}
			say(200, object{"access_token": issue("token", user), "token_type": "Bearer", "expires_in": 3600})
		case "/mcp":
			user, known := users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
			if !known {
				w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
				say(401, object{"error": "invalid_token"})
				return
			}
			answerAsServer(w, r, "whoami", "I am "+user)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// signInAs signs in to an account of a server as a user.
func (d *daemon) signInAs(account, user string) {
	d.t.Helper()
	var pending struct{ URL string }
	if err := json.Unmarshal([]byte(d.cli(0, "login", account, "--json")), &pending); err != nil {
		d.t.Fatal(err)
	}
	resp, err := http.Get(pending.URL + "&user=" + user)
	if err != nil {
		d.t.Fatal(err)
	}
	page, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(page), "is signed in to") {
		d.t.Fatalf("%s", page)
	}
}

// Two clients in three folders make 1,000 calls at once to a server with a sign-in and to a server
// with a key, which have three accounts each. The folder decides the account: by a profile for
// "work", by the account itself for "home", and otherwise it is the default account. Then accounts are
// edited, signed in and chosen on the page.
func TestEachCallReachesItsOwnAccount(t *testing.T) {
	t.Parallel()
	const total = 1000
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	accounts := []string{"default", "work", "home"}
	folder := map[string]string{}
	for _, account := range accounts {
		folder[account] = filepath.Join(base, account)
		require.NoError(t, os.Mkdir(folder[account], 0o700))
	}
	key := func(user string) object {
		return object{"env": object{"DRAWBRIDGE_E2E_ROLE": "keyholder", "KEY": user + "-key"}, "folders": []string{folder[user]}}
	}
	keys := testServerAs(t, "keyholder")
	keys["env"] = key("default")["env"]
	work := key("work")
	delete(work, "folders")
	keys["accounts"] = object{"work": work, "home": key("home")}
	d := start(t, object{
		"mcpServers": object{
			"web":  object{"url": manyUsers(t).URL + "/mcp", "accounts": object{"work": object{}, "home": object{"folders": []string{folder["home"]}}}},
			"keys": keys,
		},
		"profiles": object{"office": object{"folders": []string{folder["work"]}, "accounts": object{"web": "work", "keys": "work"}}},
	}, "DRAWBRIDGE_KEYRING=off")
	d.signInAs("web", "default")
	d.signInAs("web@work", "work")
	d.signInAs("web@home", "home")
	d.running("web", "keys")

	began := time.Now()
	var calls sync.WaitGroup
	body := func(i int, server, meta string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s__whoami","arguments":{}%s}}`, i, server, meta)
	}
	check := func(client, account, server, answer string) {
		assert.Containsf(t, answer, `"text":"I am `+account+`"`, "%s calls %s", client, server)
	}
	ann, bob := d.token("ann"), map[string]*lineClient{}
	for _, account := range accounts {
		bob[account] = d.shimIn(folder[account])
		bob[account].initialize(`{}`)
	}
	servers := []string{"web", "keys"}
	for lane := range 2 * len(accounts) {
		account := accounts[lane%len(accounts)]
		var mine []int // the calls of this lane
		for i := range total {
			if i%(2*len(accounts)) == lane {
				mine = append(mine, i)
			}
		}
		server := func(i int) string { return servers[i/len(accounts)/2%2] }
		if lane < len(accounts) { // ann: a modern client over HTTP, with the header of its folder
			c := &rawClient{t: t, url: d.url + "/mcp", token: ann, modern: true, folder: folder[account]}
			for half := range 2 {
				calls.Go(func() {
					for n, i := range mine {
						if n/2%2 == half {
							check("ann", account, server(i), c.post("tools/call", server(i)+"__whoami", body(i+1, server(i), ","+modernMeta)))
						}
					}
				})
			}
			continue
		}
		calls.Go(func() { // bob: a legacy client, by a shim that was started in the folder
			for len(mine) > 0 {
				batch := mine[:min(10, len(mine))]
				mine = mine[len(batch):]
				for _, i := range batch {
					bob[account].say(body(i+1, server(i), ""))
				}
				for range batch {
					answer := bob[account].next("response", func(m message) bool { return m.Method == "" && m.ID != nil })
					id, _ := strconv.Atoi(string(answer.ID))
					check("bob", account, server(id-1), answer.line)
				}
			}
		})
	}
	calls.Wait()
	took := time.Since(began)
	if t.Failed() {
		return
	}

	// The history states the same for each call.
	type key3 struct{ client, account, server string }
	var counts map[key3]int
	eventually.Complete(t, limit(10*time.Second), func() string {
		counts = map[key3]int{}
		code, text := d.do("GET", "/api/v1/export", nil)
		require.Equal(t, 200, code)
		n := 0
		for line := range strings.Lines(text) {
			var c struct {
				Account, Client, Server, Workspace, Method string
				Result                                     json.RawMessage
			}
			require.NoError(t, json.Unmarshal([]byte(line), &c))
			if c.Method != "tools/call" {
				continue
			}
			n++
			counts[key3{c.Client, c.Account, c.Server}]++
			assert.Truef(t, strings.Contains(string(c.Result), "I am "+c.Account) && c.Workspace == folder[c.Account], "recorded: %s", line)
		}
		if n != total {
			return fmt.Sprintf("%d calls are recorded", n)
		}
		return ""
	})
	for k, n := range counts {
		assert.Truef(t, n >= total/12-1 && n <= total/12+1, "%v: %d calls", k, n)
	}
	assert.Len(t, counts, 12)
	t.Logf("%d calls of 2 clients in 3 folders to 3 accounts of 2 servers: all reached their own account; %s, %.0f calls/s; %v",
		total, took.Round(time.Millisecond), total/took.Seconds(), counts)

	// A replay does not mix the accounts.
	cassette := filepath.Join(base, "keys.jsonl")
	if code, text := d.do("GET", "/api/v1/export?server=keys&format=cassette", nil); code != 400 || !strings.Contains(text, "several accounts of the server") || !strings.Contains(text, "--account") {
		t.Errorf("%d %s", code, tail(text))
	}
	d.cli(1, "replay", "export", "keys", cassette)
	d.cli(0, "replay", "export", "keys", cassette, "--account", "work")
	if recorded, err := os.ReadFile(cassette); err != nil || strings.Count(string(recorded), "I am ") < total/6-2 || strings.Count(string(recorded), "I am ") != strings.Count(string(recorded), "I am work") {
		t.Errorf("%v: %s", err, tail(string(recorded)))
	}

	// After a restart the sign-ins are known before the first call, and can be ended. Without its
	// sign-in an account fails, and does not use another one.
	d.stop()
	d.launch("DRAWBRIDGE_KEYRING=off")
	code, text := d.do("GET", "/api/v1/servers/web@work/login", nil)
	assert.Truef(t, code == 200 && strings.Contains(text, `"issuer":"http://`), "the sign-in after a restart: %d %s", code, text)
	d.cli(0, "logout", "web@work")
	ask := func(account string) string {
		c := &rawClient{t: t, url: d.url + "/mcp", token: ann, modern: true, folder: folder[account]}
		return c.post("tools/call", "web__whoami", body(1, "web", ","+modernMeta))
	}
	answer := ask("work")
	assert.Truef(t, strings.Contains(answer, "login web@work") && !strings.Contains(answer, "I am"), "an account that is not signed in: %s", answer)
	check("ann", "home", "web", ask("home"))
	check("ann", "default", "web", ask("default"))
	browse(t, d, "page-accounts.mjs", object{"token": ann}, nil)
}
