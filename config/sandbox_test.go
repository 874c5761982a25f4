package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
		if all := strings.Join(texts, "\n"); (c.problem == "") != (all == "") || !strings.Contains(all, c.problem) {
			t.Errorf("%s: problems %q", c.value, texts)
		}
		if got != nil && len(got.Servers) == 1 {
			if diff := cmp.Diff(c.want, got.Servers[0].Sandbox); diff != "" {
				t.Errorf("%s: %s", c.value, diff)
			}
		}
	}
	for entry, want := range map[string]string{
		`"docker": {"image": "x"}, "sandbox": "on"`:                                "",
		`"docker": {"image": "x"}, "sandbox": {"network": "none", "ports": [443]}`: "either allowed or blocked entirely",
		`"container": "x", "command": "y", "sandbox": "on"`:                        "only to stdio servers and containers with an image",
	} {
		_, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"type": "docker", `+entry+`}}}`))
		if (want == "") != (len(problems) == 0) || want != "" && !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v", entry, problems)
		}
	}
	_, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"url": "http://127.0.0.1:1/mcp", "sandbox": "on"}}}`))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "only to stdio servers and containers with an image") {
		t.Errorf("an http server: %v", problems)
	}
}

func TestSandboxObserveMeansOffWithOneWarning(t *testing.T) {
	for _, value := range []string{`"observe"`, `{"mode": "observe", "read": ["/srv"], "network": "none"}`} {
		c, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {"command": "x", "sandbox": `+value+`}}}`))
		if len(problems) != 1 || !problems[0].Warning || !strings.Contains(problems[0].Message, "'observe' in server 'a' means off") {
			t.Errorf("%s: %+v", value, problems)
		}
		if c == nil || len(c.Servers) != 1 || c.Servers[0].Sandbox.Mode() != "off" {
			t.Errorf("%s is read as %+v", value, c)
		}
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
		if got := strings.Join(more.AllowsBeyond(&old), ", "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	less := Sandbox{On: true, Read: []string{"~/w"}, NoNetwork: true, Ports: []int{443}}
	if got := less.AllowsBeyond(&old); len(got) > 0 {
		t.Errorf("a stricter one: %q", got)
	}
	if got := (&Sandbox{}).AllowsBeyond(&Sandbox{}); len(got) > 0 {
		t.Errorf("without one before: %q", got)
	}
}
