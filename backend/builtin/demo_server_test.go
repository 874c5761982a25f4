package builtin

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func quicken(t *testing.T) {
	before := slowStep
	slowStep = time.Millisecond
	t.Cleanup(func() { slowStep = before })
}

// use calls every tool, prompt and resource of the demo server.
func use(t *testing.T, transport mcp.Transport, version string) {
	t.Helper()
	ctx := t.Context()
	var progress atomic.Int64
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress.Add(1) },
	})
	cs, err := client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	defer cs.Close()
	list, err := cs.ListTools(ctx, nil)
	if err != nil || len(list.Tools) != 6 {
		t.Fatalf("%v, %v", list, err)
	}
	call := func(name string, arguments any) *mcp.CallToolResult {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		params.SetProgressToken("p")
		result, err := cs.CallTool(ctx, params)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return result
	}
	if got := call("echo", map[string]any{"text": "hi"}).Content[0].(*mcp.TextContent).Text; got != "hi" {
		t.Errorf("echo says %q", got)
	}
	if got := call("add", map[string]any{"a": 2, "b": 3}).StructuredContent.(map[string]any)["sum"]; got != 5.0 {
		t.Errorf("2 + 3 = %v", got)
	}
	if !call("fail", nil).IsError {
		t.Error("fail does not fail")
	}
	if got := call("json_response", nil).StructuredContent.(map[string]any)["city"]; got != "Bruges" {
		t.Errorf("city is %v", got)
	}
	if got := call("image", nil).Content[0].(*mcp.ImageContent); got.MIMEType != "image/png" || http.DetectContentType(got.Data) != "image/png" {
		t.Errorf("image is %s", got.MIMEType)
	}
	call("slow", nil)
	// The SDK may deliver progress after the result.
	eventually.True(t, "every step was reported", func() bool { return progress.Load() == slowSteps })
	prompt, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
	if err != nil || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "Ada") {
		t.Errorf("%v, %v", prompt, err)
	}
	resource, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: readmeURI})
	if err != nil || !strings.Contains(resource.Contents[0].Text, "demo server") {
		t.Errorf("%v, %v", resource, err)
	}
}

func TestDemoServesBothErasOnPipes(t *testing.T) {
	quicken(t)
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- RunDemo(context.Background(), inR, outW) }()
			use(t, &mcp.IOTransport{Reader: outR, Writer: inW}, version)
			inW.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDemoServesBothErasOverHTTP(t *testing.T) {
	quicken(t)
	server := httptest.NewServer(DemoHandler())
	defer server.Close()
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			use(t, &mcp.StreamableClientTransport{Endpoint: server.URL}, version)
		})
	}
}

func TestDemoRefusesForeignPages(t *testing.T) {
	for header, value := range map[string]string{"Origin": "https://evil.example", "Host": "evil.example"} {
		req := httptest.NewRequest("POST", "http://127.0.0.1:8888/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if header == "Host" {
			server := httptest.NewServer(DemoHandler())
			defer server.Close()
			var err error
			if req, err = http.NewRequest("POST", server.URL, strings.NewReader(`{}`)); err != nil {
				t.Fatal(err)
			}
			req.Host = value
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s: status %d", header, resp.StatusCode)
			}
			continue
		}
		req.Header.Set(header, value)
		w := httptest.NewRecorder()
		DemoHandler().ServeHTTP(w, req)
		if w.Code != http.StatusForbidden {
			t.Errorf("%s: status %d", header, w.Code)
		}
	}
}
