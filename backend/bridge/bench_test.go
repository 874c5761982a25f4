package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
)

// discardWriter is an http.ResponseWriter that only counts the bytes.
type discardWriter struct {
	header http.Header
	n      int
}

func (gatewayFunc) RecordNotification(*core.Call) {}

func (gatewayFunc) Ask(context.Context, *core.Call, string, json.RawMessage, core.ServerMessageHandler) (core.Reply, error) {
	panic("nobody asks")
}

func (p *discardWriter) Header() http.Header         { return p.header }
func (p *discardWriter) WriteHeader(int)             {}
func (p *discardWriter) Write(b []byte) (int, error) { p.n += len(b); return len(b), nil }

// BenchmarkHotPath measures what the bridge adds to a call, without the gateway.
func BenchmarkHotPath(b *testing.B) {
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		for name, size := range map[string]int{"60B": 60, "10KB": 10 << 10, "1MB": 1 << 20} {
			result := json.RawMessage(`{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}`)
			reg := registry.New(registry.Options{})
			reg.Set("math", "math", mathCatalog())
			br := New(Options{Registry: reg, Lister: &fakeLister{}, Gateway: gatewayFunc(func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
				return core.Reply{Result: result}, nil
			}), MaxBody: 8 << 20})
			params := `"name":"math__add","arguments":{"text":"` + strings.Repeat("y", size) + `"}`
			body := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `}}`)
			header := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}}
			if era == core.Modern {
				body = []byte(modernBody("tools/call", params))
				header[versionHeader], header[methodHeader], header[nameHeader] = []string{core.ModernVersion}, []string{"tools/call"}, []string{"math__add"}
			} else {
				w := httptest.NewRecorder()
				r := httptest.NewRequest("POST", "/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`))
				r.Header = header.Clone()
				br.ServeHTTP(w, r)
				header[sessionHeader] = []string{w.Header().Get(sessionHeader)}
			}
			b.Run(string(era)+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := httptest.NewRequest("POST", "/mcp", nil)
					r.Header = header.Clone()
					r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
					w := &discardWriter{header: http.Header{}}
					br.ServeHTTP(w, r)
					if w.n < size {
						b.Fatal("no answer")
					}
				}
			})
			br.close()
		}
	}
}

type gatewayFunc func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error)

func (f gatewayFunc) Call(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	return f(ctx, call, sink)
}
