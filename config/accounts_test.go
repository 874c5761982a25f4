package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var withAccounts = rooted(`{
  "mcpServers": {
    "Hub": {
      "url": "https://hub.test/mcp", "headers": {"Authorization": "Bearer own"}, "oauth": {"clientId": "shared"},
      "accounts": {
        "work": {"headers": {"X-Key": "${secret:work}"}, "folders": ["/src/work/"]},
        "home": {"oauth": {"clientId": "mine"}, "folders": ["/src", "/src/work/private"]}
      }
    },
    "db": {"command": "db", "env": {"TOKEN": "own"}, "accounts": {"work": {"env": {"TOKEN": "t-work"}}}},
    "plain": {"command": "p"}
  },
  "profiles": {
    "office": {"folders": ["/office"], "accounts": {"Hub": "work", "DB": "work"}},
    "any": {}
  },
  "clients": {"cursor": {"accounts": {"hub": "home"}}}
}`)

// rooted puts the absolute paths of a text on drive C: on Windows.
func rooted(text string) string {
	if runtime.GOOS == "windows" {
		return strings.ReplaceAll(text, `"/`, `"C:/`)
	}
	return text
}

// at is the absolute path of folder here.
func at(folder string) string { return filepath.FromSlash(strings.Trim(rooted(`"`+folder+`"`), `"`)) }

func TestAccountIsChosenByClientThenProfileThenFolder(t *testing.T) {
	c, problems := Parse("c.json", []byte(withAccounts))
	require.True(t, c != nil && len(problems) <= 0, problems)
	for _, q := range []struct{ server, client, profile, folder, want string }{
		{"hub", "", "", "", "default"},
		{"hub", "other", "any", "/elsewhere", "default"},
		{"hub", "cursor", "office", "/src/work", "home"},
		{"hub", "other", "office", "/src/x", "work"},
		{"hub", "other", "", "/office/deep", "work"},
		{"hub", "other", "", "/src/workshop", "home"},
		{"hub", "other", "", "/src/work/deep", "work"},
		{"hub", "other", "", "/src/work/private/x", "home"},
		{"db", "cursor", "", "/src/work", "default"},
		{"db", "cursor", "office", "", "work"},
		{"plain", "cursor", "office", "/src/work", ""},
	} {
		s, _ := c.Server(q.server)
		assert.Equal(t, q.want, c.AccountOf(&s, q.client, q.profile, at(q.folder)))
	}
}

func TestAccountInheritsNoCredentialsOfServer(t *testing.T) {
	c := parse(t, withAccounts)
	hub, _ := c.Server("hub")
	work, ok := hub.WithAccount("work")
	if !ok || len(work.Headers) != 1 || work.Headers["X-Key"] == "" || work.OAuth.ClientID != "shared" || work.SignInID() != "Hub@work" {
		t.Errorf("%+v", work)
	}
	if home, ok := hub.WithAccount("home"); !ok || home.Headers != nil || home.OAuth.ClientID != "mine" {
		t.Errorf("%+v", home)
	}
	if own, ok := hub.WithAccount("default"); !ok || own.Headers["Authorization"] == "" || own.SignInID() != "Hub" {
		t.Errorf("%+v", own)
	}
	if _, ok := hub.WithAccount("gone"); ok {
		t.Error("an unknown account exists")
	}
	assert.Equal(t, []string{"Hub"}, ReferencedSecrets(c)["work"], "secrets of accounts are not known as used")
}

func TestAccountErrorsAreReported(t *testing.T) {
	for src, want := range map[string]string{
		`{"mcpServers": {"a": {"command": "x", "accounts": {"default": {}}}}}`:                                                  "is reserved for the account that uses the server's own",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"a b": {}}}}}`:                                                      "not a valid account name",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {"envs": {}}}}}}`:                                              "unknown key 'envs'",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {"headers": {"A": "b"}}}}}}`:                                   "has no effect for stdio",
		`{"mcpServers": {"a": {"command": "x", "env": {"TOKEN": "t"}, "accounts": {"w": {"env": {"TOKN": "t"}}}}}}`:             "does not set TOKEN",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {"env": {"A=B": "t"}}}}}}`:                                     "invalid variable name",
		`{"mcpServers": {"a": {"url": "http://x.test", "command": "x", "accounts": {"w": {}}}}}`:                                "cannot be combined",
		`{"mcpServers": {"a": {"url": "http://x.test", "accounts": {"w": {"headers": {"a b": "c"}}}}}}`:                         "invalid header name",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {"folders": ["rel"]}}}}}`:                                      "absolute paths",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {"folders": ["/f"]}, "v": {"folders": ["/f/"]}}}}}`:            "have the same folder",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {"env": {"D": "${workspaceFolder}"}}}, "session": "shared"}}}`: "cannot be shared",
		`{"mcpServers": {"a": {"command": "x", "accounts": {"w": {}}}}, "profiles": {"p": {"accounts": {"a": "v"}}}}`:           "sets account 'v' for server 'a', but that server has no such account",
		`{"mcpServers": {"a": {"command": "x"}}, "clients": {"c": {"accounts": {"a": "w"}}}}`:                                   "but that server has no such account",
		`{"clients": {"c": {"accounts": {"a": "w"}}}}`:                                                                          "but that server is not configured",
	} {
		_, problems := Parse("c.json", []byte(rooted(src)))
		require.Len(t, problems, 1, src)
		require.Contains(t, problems[0].Message, want, src)
	}
}

func TestChoiceOfMissingAccountRefusesFile(t *testing.T) {
	c, problems := Parse("c.json", []byte(`{"mcpServers": {"a": {"command": "x"}}, "profiles": {"p": {"accounts": {"a": "w"}}}}`))
	require.Nil(t, c, problems)
	assert.Contains(t, problems[0].Suggestion, "choose one of: default")
}

func TestAccountChangeIsConfigChange(t *testing.T) {
	a, _ := Parse("c.json", []byte(withAccounts))
	for _, change := range [][2]string{{`"t-work"`, `"t-2"`}, {`"Hub": "work"`, `"Hub": "home"`}, {`"hub": "home"`, `"hub": "work"`}, {`"/src/work/private"`, `"/src/p"`}} {
		b, problems := Parse("c.json", []byte(strings.Replace(withAccounts, rooted(change[0]), rooted(change[1]), 1)))
		assert.Truef(t, b != nil && !Same(a, b), "%v counts as the same: %v", change, problems)
	}
}

// A choice by a name that is no server's must not lead to the default account.
func TestAccountIsChosenByNameOfServer(t *testing.T) {
	const servers = `{"mcpServers": {"My Files": {"command": "f", "accounts": {"work": {"env": {"A": "1"}}}}, "a.b": {"command": "f"}}, `
	for _, name := range []string{"My Files", "My-Files", "my-files", "my files"} {
		c, problems := Parse("c.json", []byte(servers+`"profiles": {"p": {"servers": {"`+name+`": {}}}}, "clients": {"w": {"accounts": {"`+name+`": "work"}}}}`))
		require.Truef(t, c != nil && len(problems) <= 0, "%v %v", name, problems)
		s, _ := c.Server("My-Files")
		assert.Equalf(t, "work", c.AccountOf(&s, "w", "", ""), "%q", name)
		assert.Containsf(t, c.Profiles[0].Servers, "My-Files", "%q", name)
	}
	for _, choices := range []string{`{"My File": "work"}`, `{"MyFilse": "work"}`, `{"My Files": "work", "My-Files": "default"}`} {
		if _, problems := Parse("c.json", []byte(servers+`"clients": {"w": {"accounts": `+choices+`}}}`)); !HasErrors(problems) || !strings.Contains(problems[0].Suggestion, "did you mean 'My") && !strings.Contains(problems[0].Message, "two accounts") {
			t.Errorf("%s: %v", choices, problems)
		}
	}
	_, problems := Parse("c.json", []byte(servers+`"clients": {"w": {"accounts": {"unrelated": "work"}}}}`))
	assert.True(t, !HasErrors(problems) && len(problems) == 1, problems)
}

// A folder is the same through a link, and a link belongs to where it leads.
func TestFoldersAreComparedWithLinksResolved(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{"work/sub", "other"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for link, target := range map[string]string{"link": "work", "work/out": "other", "other/in": "work"} {
		mcptest.LinkFolder(t, filepath.Join(root, target), filepath.Join(root, link))
	}
	for _, folder := range []string{"work", "link"} {
		raw := filepath.ToSlash(filepath.Join(root, folder))
		c, problems := Parse("c.json", []byte(`{"mcpServers": {"s": {"command": "s", "accounts": {"w": {"env": {"A": "1"}, "folders": ["`+raw+`"]}}}}, "profiles": {"p": {"folders": ["`+raw+`"]}}}`))
		require.NotNil(t, c, problems)
		s, _ := c.Server("s")
		for path, want := range map[string]bool{"work": true, "link": true, "link/sub": true, "link/none/deep": true, "other/in/sub": true, "work/out": false, "link/out/x": false, "other": false, "workx": false, "": false} {
			place := filepath.Join(root, path)
			assert.Equalf(t, want, c.AccountOf(&s, "", "none", place) == "w", "folders %s: %s", folder, path)
			assert.Equalf(t, want, c.ProfileOf(place) == "p", "folders %s: %s", folder, path)
		}
	}
}
