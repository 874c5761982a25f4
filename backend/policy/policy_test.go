package policy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func views() *registry.Registry {
	r := registry.New(registry.Options{})
	r.Configure("", []registry.Server{{ID: "files"}, {ID: "new"}})
	r.Set("files", "", &core.Catalog{
		Tools:   []core.Item{{Name: "read", Raw: json.RawMessage(`{"name":"read"}`)}},
		Prompts: []core.Item{{Name: "ask", Raw: json.RawMessage(`{"name":"ask"}`)}},
	})
	return r
}

// volume is "", or on Windows the volume with which an absolute path begins.
var volume = filepath.VolumeName(os.TempDir())

func TestAdmit(t *testing.T) {
	p := New(Options{Views: views()})
	deep := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	for _, c := range []struct {
		name     string
		call     core.Call
		code     core.Code
		unlisted bool
	}{
		{"a listed tool", core.Call{Server: "files", Method: "tools/call", Name: "read"}, "", false},
		{"a tool that is not listed", core.Call{Server: "files", Method: "tools/call", Name: "write"}, core.CodeNotFound, false},
		{"a prompt is not a tool", core.Call{Server: "files", Method: "tools/call", Name: "ask"}, core.CodeNotFound, false},
		{"a listed prompt", core.Call{Server: "files", Method: "prompts/get", Name: "ask"}, "", false},
		{"any resource", core.Call{Server: "files", Method: "resources/read", Name: "file:///x"}, "", false},
		{"a name that did not resolve", core.Call{Method: "tools/call", PublicName: "x__y"}, core.CodeNotFound, false},
		{"an unknown server", core.Call{Server: "gone", Method: "resources/read"}, core.CodeNotFound, false},
		{"a server that was never listed", core.Call{Server: "new", Method: "tools/call", Name: "read"}, "", true},
		{"arguments at the limit", core.Call{Server: "files", Method: "tools/call", Name: "read", Params: make([]byte, MaxArguments+100), Arguments: core.Span{Start: 50, End: 50 + MaxArguments}}, "", false},
		{"arguments above it", core.Call{Server: "files", Method: "tools/call", Name: "read", Params: make([]byte, MaxArguments+100), Arguments: core.Span{Start: 50, End: 51 + MaxArguments}}, core.CodeValidation, false},
		{"depth at the limit", core.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(deep(MaxDepth))}, "", false},
		{"depth above it", core.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(deep(MaxDepth + 1))}, core.CodeValidation, false},
		{"brackets in strings", core.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(`{"a":"\"` + strings.Repeat("[", 2000) + `"}`)}, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := p.Admit(context.Background(), &c.call, nil)
			require.Equal(t, c.code, core.CodeOf(err))
			require.Equal(t, c.unlisted, plan.Unlisted)
		})
	}
}

// An error names what the request could have meant.
func TestUnknownTargetIsNamedByItsKind(t *testing.T) {
	p := New(Options{Views: views()})
	for method, want := range map[string]string{"tools/call": "no tool named", "prompts/get": "no prompt named", "resources/read": "no resource named", "completion/complete": "no prompt or resource named"} {
		_, err := p.Admit(t.Context(), &core.Call{Method: method, PublicName: "x", Similar: "y"}, nil)
		assert.ErrorContains(t, err, want+` "x"; did you mean "y"?`, method)
	}
}

func TestServerTimeoutWinsWithinCeiling(t *testing.T) {
	p := New(Options{Views: views()})
	p.Apply(&config.Config{Servers: []config.Server{
		{ID: "slow", RequestTimeout: time.Minute}, {ID: "odd", RequestTimeout: time.Hour}, {ID: "both", RequestTimeout: time.Hour, MaxRequest: 2 * time.Hour},
	}})
	for server, want := range map[string]time.Duration{"files": DefaultTimeout, "slow": time.Minute, "odd": DefaultCeiling, "both": time.Hour} {
		assert.Equal(t, want, p.rules.Load().server(server).toolDefaults.timeout, server)
	}
}

func TestAdmittingAllocatesNothing(t *testing.T) {
	p := New(Options{Views: views()})
	call := &core.Call{Server: "files", Method: "tools/call", Name: "read", Params: []byte(`{"name":"read","arguments":{}}`)}
	if n := testing.AllocsPerRun(100, func() { _, _ = p.Admit(context.Background(), call, nil) }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}
