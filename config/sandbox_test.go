package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSandboxIsReadFromWordOrObject(t *testing.T) {
	for _, c := range []struct {
		value   string
		want    Sandbox
		problem string
	}{
		{value: `"off"`},
		{value: `"on"`, want: Sandbox{On: true}},
		{value: `{}`, want: Sandbox{On: true}},
		{value: `{"read": ["/srv"], "mode": "off"}`, want: Sandbox{Read: []string{"/srv"}}},
		{value: `{"mode": "maybe"}`, problem: "must be one of off, on"},
		{
			value: `{"read": ["/srv"], "write": ["~/data"], "network": "none", "ports": [443], "bestEffort": true, "unixSockets": "any"}`,
			want:  Sandbox{On: true, UnixSockets: "any", Read: []string{"/srv"}, Write: []string{"~/data"}, NoNetwork: true, Ports: []int{443}, BestEffort: true},
		},
		{value: `{"ports": [443]}`, want: Sandbox{On: true, Ports: []int{443}}, problem: "has no effect"},
		{value: `"onn"`, problem: "must be one of off, on"},
		{value: `true`, problem: `must be "off", "on" or an object`},
		{value: `{"read": ["data"]}`, problem: "must contain absolute paths"},
		{value: `{"ports": ["db:5432"]}`, problem: "must be a number"},
		{value: `{"ports": [0]}`, problem: "from 1 to 65535"},
		{value: `{"network": "some"}`, problem: "must be one of any, none"},
	} {
		got, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"command": "x", "sandbox": `+c.value+`}}}`))
		var texts []string
		for _, p := range problems {
			texts = append(texts, p.Message)
		}
		all := strings.Join(texts, "\n")
		assert.Truef(t, (c.problem == "") == (all == "") && strings.Contains(all, c.problem), "%s: problems %q", c.value, texts)
		if got != nil && len(got.Servers) == 1 {
			assert.Empty(t, cmp.Diff(c.want, got.Servers[0].Sandbox), c.value)
		}
	}
	for entry, want := range map[string]string{
		`"docker": {"image": "x"}, "sandbox": "on"`:                                "",
		`"docker": {"image": "x"}, "sandbox": {"network": "none", "ports": [443]}`: "either allowed or blocked entirely",
		`"container": "x", "command": "y", "sandbox": "on"`:                        "only to stdio servers and containers with an image",
	} {
		_, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"type": "docker", `+entry+`}}}`))
		assert.Truef(t, (want == "") == (len(problems) == 0) && !(want != "" && !strings.Contains(problems[0].Message, want)), "%s: %v", entry, problems)
	}
	_, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"url": "http://127.0.0.1:1/mcp", "sandbox": "on"}}}`))
	require.Len(t, problems, 1, "an http server")
	require.Contains(t, problems[0].Message, "only to stdio servers and containers with an image", "an http server")
}

func TestSandboxObserveMeansOffWithOneWarning(t *testing.T) {
	for _, value := range []string{`"observe"`, `{"mode": "observe", "read": ["/srv"], "network": "none"}`} {
		c, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"command": "x", "sandbox": `+value+`}}}`))
		if len(problems) != 1 || !problems[0].Warning || !strings.Contains(problems[0].Message, "'observe' in server 'a' means off") {
			t.Errorf("%s: %+v", value, problems)
		}
		assert.Truef(t, c != nil && len(c.Servers) == 1 && c.Servers[0].Sandbox.Mode() == "off", "%s is read as %+v", value, c)
	}
}

func TestSandboxThatAllowsMoreIsLooser(t *testing.T) {
	old := Sandbox{On: true, Read: []string{"~/r"}, Write: []string{"~/w"}, NoNetwork: true, Ports: []int{443, 80}}
	for want, change := range map[string]func(*Sandbox){
		"run without a sandbox":                   func(s *Sandbox) { s.On = false },
		"read ~/x":                                func(s *Sandbox) { s.Read = append(s.Read, "~/x") },
		"write to ~/r":                            func(s *Sandbox) { s.Write = append(s.Write, "~/r") },
		"connect to port 22":                      func(s *Sandbox) { s.Ports = append(s.Ports, 22) },
		"connect to Unix sockets":                 func(s *Sandbox) { s.UnixSockets = networkAny },
		"start even if the sandbox is incomplete": func(s *Sandbox) { s.BestEffort = true },
		"connect to any host and port, connect to Unix sockets": func(s *Sandbox) { s.NoNetwork = false },
	} {
		more := old
		more.Read, more.Write, more.Ports = slices.Clone(old.Read), slices.Clone(old.Write), slices.Clone(old.Ports)
		change(&more)
		assert.Equal(t, want, strings.Join(more.AllowsBeyond(&old), ", "))
	}
	less := Sandbox{On: true, Read: []string{"~/w"}, NoNetwork: true, Ports: []int{443}}
	got := less.AllowsBeyond(&old)
	assert.Truef(t, len(got) <= 0, "a stricter one: %q", got)
	got = (&Sandbox{}).AllowsBeyond(&Sandbox{})
	assert.Truef(t, len(got) <= 0, "without one before: %q", got)
}
