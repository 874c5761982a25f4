package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/drawbridge-mcp/drawbridge/backend/clientconf"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func examine(t *testing.T, text string, change func(*Options)) []Finding {
	t.Helper()
	parsed, problems := config.Parse("config.jsonc", []byte(text))
	if parsed == nil {
		parsed = config.Default()
	}
	parsed.Problems = problems
	o := Options{
		Config: parsed, Getenv: func(string) string { return "" }, Daemon: "http://127.0.0.1:7575",
		LookPath:  func(program string) (string, error) { return "/bin/" + program, nil },
		Listening: func(string) bool { return false },
	}
	if change != nil {
		change(&o)
	}
	return Examine(context.Background(), o)
}

func find(t *testing.T, all []Finding, check string, level Level) Finding {
	t.Helper()
	for _, f := range all {
		if f.Check == check && f.Level == level {
			return f
		}
	}
	t.Fatalf("no %s of %s in %+v", level, check, all)
	return Finding{}
}

func TestEveryProblemHasFix(t *testing.T) {
	all := examine(t, `{"mcpServers": {"a": {"command": "npx"}, "b": {"command": 7}, "c": {"container": "x", "command": "y"}}}`, func(o *Options) {
		o.Daemon = ""
		o.Listening = func(address string) bool { return address == "127.0.0.1:7575" }
		o.LookPath = func(string) (string, error) { return "", errors.New("not found") }
		o.Docker = func(context.Context) error { return errors.New("permission denied") }
		o.Getenv = func(name string) string { return map[string]string{"HTTP_PROXY": "http://proxy:3128"}[name] }
		o.Clients = []clientconf.Status{{Key: "cursor", Client: clientconf.Client{ID: "cursor"}, State: clientconf.Vanished, Problem: "gone"}}
	})
	for _, f := range all {
		assert.Falsef(t, f.Level != OK && f.Fix == "", "no fix for %+v", f)
	}
	f := find(t, all, "runtime", Problem)
	assert.Truef(t, strings.Contains(f.Fix, "nodejs.org") && strings.Contains(f.Message, "required by a"), "%+v", f)
	for _, check := range []string{"port", "config", "docker", "client"} {
		find(t, all, check, Problem)
	}
	find(t, all, "proxy", Warning)
}

// A specific hint takes precedence over the log.
func TestServerAdviceIsOfferedAsFix(t *testing.T) {
	found := Options{Servers: []core.ServerStatus{
		{ID: "a", State: core.StateFailed, Reason: "no such file", Hint: "Correct it."}, {ID: "b", State: core.StateFailed, Reason: "boom"},
	}}.servers()
	assert.Truef(t, len(found) == 2 && found[0].Fix == "Correct it." && found[1].Fix == "Run: drawbridge logs b", "%+v", found)
}

// The supervisor's test records each state with its word.
func TestDoctorNamesEachStateThatNeedsAttention(t *testing.T) {
	src, err := os.ReadFile("../../frontend/src/testdata/server-states.json")
	require.NoError(t, err)
	var states []struct {
		Title, Word string
		Status      core.ServerStatus
	}
	err = json.Unmarshal(src, &states)
	require.Truef(t, err == nil && len(states) >= 10, "%v %v", len(states), err)
	fine := map[core.State]bool{core.StateRunning: true, core.StateStarting: true, core.StateStopped: true, core.StateDisabled: true}
	for _, one := range states {
		one.Status.Warnings = nil
		found := Options{Servers: []core.ServerStatus{one.Status}}.servers()
		if fine[one.Status.State] {
			assert.Empty(t, found, one.Title)
			continue
		}
		if len(found) != 1 || !strings.HasPrefix(found[0].Message, one.Word+": ") || !strings.HasSuffix(found[0].Message, one.Status.Reason) && one.Status.State != core.StatePaused || found[0].Fix == "" {
			t.Errorf("%s: %+v", one.Title, found)
		}
	}
	found := Options{Servers: []core.ServerStatus{{ID: "a", State: core.StateRunning}}, Withheld: map[string]int{"a": 13}}.servers()
	if len(found) != 1 || found[0].Message != "13 changed definitions withheld from clients" || found[0].Fix != "Review: drawbridge tools --changes a" {
		t.Errorf("%+v", found)
	}
}

// A restart cannot help a server whose program is missing.
func TestServerWithoutProgramIsReportedOnce(t *testing.T) {
	for _, missing := range []bool{true, false} {
		all := examine(t, `{"mcpServers": {"a": {"command": "npx"}}}`, func(o *Options) {
			o.Servers = []core.ServerStatus{{ID: "a", State: core.StateFailed, Reason: "executable not found: npx"}}
			if missing {
				o.LookPath = func(string) (string, error) { return "", errors.New("not found") }
			}
		})
		about := slices.DeleteFunc(all, func(f Finding) bool { return f.Level != Problem })
		want := "server"
		if missing {
			want = "runtime"
		}
		require.Lenf(t, about, 1, "missing %v", missing)
		require.Equalf(t, want, about[0].Check, "missing %v", missing)
	}
}

func TestUnresponsiveLoginShellIsFound(t *testing.T) {
	all := examine(t, `{}`, func(o *Options) { o.LoginShellError = errors.New("login shell /bin/zsh did not respond within 10s") })
	f := find(t, all, "shell", Warning)
	assert.Truef(t, strings.HasPrefix(f.Message, "login shell /bin/zsh did not respond within 10s") && f.Fix != "", "%+v", f)
}

func TestHealthyMachineHasNoFindings(t *testing.T) {
	for _, f := range examine(t, `{"mcpServers": {"a": {"command": "npx"}}}`, func(o *Options) {
		o.Clients = []clientconf.Status{{Key: "cursor", State: clientconf.Connected}, {Key: "zed", State: clientconf.NotConnected}}
		o.Ping = func(context.Context, string) error { return nil }
	}) {
		assert.Equal(t, OK, f.Level)
	}
}

func TestRefusedTokenIsFound(t *testing.T) {
	all := examine(t, `{}`, func(o *Options) {
		o.Clients = []clientconf.Status{{Key: "cursor", Client: clientconf.Client{ID: "cursor"}, State: clientconf.Connected}}
		o.Ping = func(context.Context, string) error { return errors.New("401") }
	})
	assert.Contains(t, find(t, all, "client", Problem).Fix, "token cursor --rotate")
}

func TestEntryOfRemovedServerIsFound(t *testing.T) {
	for text, level := range map[string]Level{`{}`: Problem, `{"mcpServers": {"gr-e": {"command": "x"}}}`: OK, `{"mcpServers": {"gr-e": 1}}`: OK} {
		all := examine(t, text, func(o *Options) {
			o.Clients = []clientconf.Status{{Key: "cursor", Client: clientconf.Client{ID: "cursor", Name: "Cursor"}, State: clientconf.Connected, Choice: clientconf.Choice{Servers: []clientconf.ServerEntry{{Name: "e", Server: "gr-e"}}}}}
		})
		f := find(t, all, "client", level)
		assert.Falsef(t, level == Problem && f.Fix != "Undo the entry with: drawbridge clients undo cursor e", "%s: %+v", text, f)
	}
}
