package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"drawbridge/backend/hub"
	"drawbridge/backend/registry"
	"drawbridge/config"
)

func views() *registry.Registry {
	r := registry.New(registry.Options{})
	r.Arrange("", []registry.Server{{ID: "files"}, {ID: "new"}})
	r.Set("files", "", &hub.Catalog{
		Tools:   []hub.Item{{Name: "read", Raw: json.RawMessage(`{"name":"read"}`)}},
		Prompts: []hub.Item{{Name: "ask", Raw: json.RawMessage(`{"name":"ask"}`)}},
	})
	return r
}

func TestAdmit(t *testing.T) {
	p := New(Options{Views: views()})
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, c := range []struct {
		name     string
		call     hub.Call
		code     hub.Code
		unlisted bool
	}{
		{"a listed tool", hub.Call{Server: "files", Method: "tools/call", Name: "read"}, "", false},
		{"a tool that is not listed", hub.Call{Server: "files", Method: "tools/call", Name: "write"}, hub.CodeNotFound, false},
		{"a prompt is no tool", hub.Call{Server: "files", Method: "tools/call", Name: "ask"}, hub.CodeNotFound, false},
		{"a listed prompt", hub.Call{Server: "files", Method: "prompts/get", Name: "ask"}, "", false},
		{"any resource", hub.Call{Server: "files", Method: "resources/read", Name: "file:///x"}, "", false},
		{"a name that did not resolve", hub.Call{Method: "tools/call", PublicName: "x__y"}, hub.CodeNotFound, false},
		{"an unknown server", hub.Call{Server: "gone", Method: "resources/read"}, hub.CodeNotFound, false},
		{"a server that was never listed", hub.Call{Server: "new", Method: "tools/call", Name: "read"}, "", true},
		{"arguments at the limit", hub.Call{Server: "files", Method: "tools/call", Name: "read", Params: make([]byte, MaxArguments+100), Arguments: hub.Span{Start: 50, End: 50 + MaxArguments}}, "", false},
		{"arguments above it", hub.Call{Server: "files", Method: "tools/call", Name: "read", Params: make([]byte, MaxArguments+100), Arguments: hub.Span{Start: 50, End: 51 + MaxArguments}}, hub.CodeValidation, false},
		{"depth at the limit", hub.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(deep(MaxDepth))}, "", false},
		{"depth above it", hub.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(deep(MaxDepth + 1))}, hub.CodeValidation, false},
		{"brackets in strings", hub.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(`{"a":"\"` + strings.Repeat("[", 2000) + `"}`)}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := p.Admit(context.Background(), &c.call, nil)
			if hub.CodeOf(err) != c.code || plan.Unlisted != c.unlisted {
				t.Fatalf("got %q (%v), unlisted %v", hub.CodeOf(err), err, plan.Unlisted)
			}
		})
	}
}

func TestTimeoutsOfTheServerWinAndTheCeilingBounds(t *testing.T) {
	p := New(Options{Views: views()})
	p.Apply(&config.Config{Servers: []config.Server{
		{ID: "slow", RequestTimeout: time.Minute}, {ID: "odd", RequestTimeout: time.Hour}, {ID: "both", RequestTimeout: time.Hour, MaxRequest: 2 * time.Hour},
	}})
	for server, want := range map[string]time.Duration{"files": DefaultTimeout, "slow": time.Minute, "odd": DefaultCeiling, "both": time.Hour} {
		if got := p.rules.Load().server(server).base.timeout; got != want {
			t.Errorf("%s: %s, want %s", server, got, want)
		}
	}
}

func TestAdmittingAllocatesNothing(t *testing.T) {
	p := New(Options{Views: views()})
	call := &hub.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(`{"name":"read","arguments":{}}`)}
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Admit(context.Background(), call, nil) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
