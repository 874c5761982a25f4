package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/web/webtest"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// site serves the operations of the feature.
type site struct {
	feature Feature
	current *config.Config
	set     string // the value that was set last
	*webtest.Site
}

func newSite() *site {
	s := &site{}
	s.feature = Feature{Config: s, Rules: notStarted, Refusals: func(string) ([]Refusal, int) { return nil, 0 }}
	s.Site = webtest.New(&s.feature)
	return s
}

func (s *site) Current() *config.Config { return s.current }

func (s *site) SetSandbox(_ context.Context, id string, value json.RawMessage) error {
	s.set = "sandbox " + id + " " + string(value)
	return nil
}

// notStarted returns the rules of a server that was not started.
func notStarted(string) (Rules, bool) {
	home, _ := os.UserHomeDir()
	return DenyAllRules(home, nil, nil), false
}

func TestRemoteServerHasNoSandbox(t *testing.T) {
	s := newSite()
	s.current, _ = config.Parse("config.jsonc", []byte(`{"mcpServers": {"web": {"url": "http://127.0.0.1:1/mcp"}}}`))
	var st SandboxStatus
	s.Get(t, "/api/v1/servers/web/sandbox", &st)
	assert.Truef(t, !st.Applies && strings.Contains(st.Reason, "not servers of type http"), "%+v", st)
	s.Want(t, http.MethodPost, "/api/v1/servers/web/sandbox", `{"mode": "on"}`, 400, "not servers")
}

func TestRefusedPathIsAllowedInAddition(t *testing.T) {
	s := newSite()
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	s.current, _ = config.Parse("config.jsonc", []byte(`{"mcpServers": {"files": {"command": "files", "sandbox": {"read": ["/etc"], "network": "none", "ports": [443], "bestEffort": true}}}}`))
	s.feature.Refusals = func(string) ([]Refusal, int) {
		return []Refusal{{Path: filepath.Join(dir, "new.txt")}, {Path: dir, Unreadable: true}, {Path: filepath.Join(home, "drawbridge-new")}, {Path: filepath.Join(home, ".config", "drawbridge-new")}}, 7
	}
	var st SandboxStatus
	s.Get(t, "/api/v1/servers/files/sandbox", &st)
	if len(st.Refused) != 4 || st.RefusedMore != 7 || st.Refused[0].Allow != dir || st.Refused[1].Allow != dir || st.Refused[2].Allow != "" || st.Refused[3].Allow != "" {
		t.Fatalf("%+v", st.Refused)
	}
	assert.Nil(t, st.Access, "it was not started, but may access")
	s.feature.Rules = func(string) (Rules, bool) {
		return Rules{Write: []string{"/dev/null", dir, filepath.Join(dir, "x"), filepath.Join(home, "notes")}, Private: []string{dir, filepath.Join(dir, "none"), os.Args[0]}}, true
	}
	access := Access{Write: []string{dir, "~/notes"}, Unreadable: []string{os.Args[0]}}
	if s.Get(t, "/api/v1/servers/files/sandbox", &st); Available() {
		slices.Sort(st.Access.Write)
		assert.Equal(t, access, *st.Access, "it may access")
	}
	s.feature.Rules = notStarted
	where, _ := json.Marshal(dir)
	for mode, want := range map[string]string{
		"read":  `{"read":["/etc",` + string(where) + `],"network":"none","ports":[443],"bestEffort":true}`,
		"write": `{"read":["/etc"],"write":[` + string(where) + `],"network":"none","ports":[443],"bestEffort":true}`,
	} {
		if status, body := s.Ask(http.MethodPost, "/api/v1/servers/files/sandbox", `{"mode": "`+mode+`", "path": `+string(where)+`}`); status != 200 {
			t.Errorf("%s: %d %s", mode, status, body)
		} else if got := s.set; got != "sandbox files "+want {
			t.Errorf("%s: %s, want %s", mode, got, want)
		}
	}
	s.Want(t, http.MethodPost, "/api/v1/servers/files/sandbox", `{"mode": "write", "path": ""}`, 400, "the path is empty")
	// What is private or starts programs needs an edit of the configuration.
	if os.PathSeparator != '/' {
		return // the rest is about paths of Unix
	}
	for _, body := range []string{
		`{"mode": "read", "path": "~/.ssh/config"}`, `{"mode": "read", "path": "~/.ssh"}`, `{"mode": "read", "path": "~/.config"}`, `{"mode": "read", "path": "~"}`,
		`{"mode": "read", "path": "/"}`, `{"mode": "write", "path": "~/.local/bin"}`, `{"mode": "write", "path": "~/.bashrc"}`,
	} {
		s.Want(t, http.MethodPost, "/api/v1/servers/files/sandbox", body, 400, "in the configuration")
	}
	// What was allowed is not offered again while the server waits for its restart or an approval.
	s.current, _ = config.Parse("config.jsonc", []byte(`{"mcpServers": {"files": {"command": "files", "sandbox": {"read": [`+string(where)+`]}}}}`))
	if s.Get(t, "/api/v1/servers/files/sandbox", &st); len(st.Refused) != 3 || st.Refused[0].Path != filepath.Join(dir, "new.txt") {
		t.Errorf("reading is allowed: %+v", st.Refused)
	}
	s.current, _ = config.Parse("config.jsonc", []byte(`{"mcpServers": {"files": {"command": "files", "sandbox": {"write": [`+string(where)+`]}}}}`))
	if s.Get(t, "/api/v1/servers/files/sandbox", &st); len(st.Refused) != 2 {
		t.Errorf("writing is allowed: %+v", st.Refused)
	}
	// Allowing a path does not turn the sandbox on.
	s.current, _ = config.Parse("config.jsonc", []byte(`{"mcpServers": {"files": {"command": "files", "sandbox": {"mode": "off", "unixSockets": "any", "read": ["/etc"]}}}}`))
	if status, body := s.Ask(http.MethodPost, "/api/v1/servers/files/sandbox", `{"mode": "read", "path": "~/notes"}`); status != 200 {
		t.Errorf("%d %s", status, body)
	} else if got, want := s.set, `sandbox files {"mode":"off","read":["/etc","~/notes"],"unixSockets":"any"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
