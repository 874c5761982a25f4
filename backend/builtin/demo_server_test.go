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
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	require.NoError(t, err)
	defer cs.Close()
	list, err := cs.ListTools(ctx, nil)
	require.NoError(t, err)
	require.Len(t, list.Tools, 6)
	call := func(name string, arguments any) *mcp.CallToolResult {
		params := &mcp.CallToolParams{Name: name, Arguments: arguments}
		params.SetProgressToken("p")
		result, err := cs.CallTool(ctx, params)
		require.NoError(t, err, name)
		return result
	}
	assert.Equal(t, "hi", call("echo", map[string]any{"text": "hi"}).Content[0].(*mcp.TextContent).Text)
	got := call("add", map[string]any{"a": 2, "b": 3}).StructuredContent.(map[string]any)["sum"]
	assert.Truef(t, got == 5.0, "2 + 3 = %v", got)
	assert.True(t, call("fail", nil).IsError, "fail does not fail")
	got = call("json_response", nil).StructuredContent.(map[string]any)["city"]
	assert.Truef(t, got == "Bruges", "city is %v", got)
	if got := call("image", nil).Content[0].(*mcp.ImageContent); got.MIMEType != "image/png" || http.DetectContentType(got.Data) != "image/png" {
		t.Errorf("image is %s", got.MIMEType)
	}
	call("slow", nil)
	// The SDK may deliver progress after the result.
	eventually.True(t, "every step was reported", func() bool { return progress.Load() == slowSteps })
	prompt, err := cs.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet", Arguments: map[string]string{"name": "Ada"}})
	assert.Truef(t, err == nil && strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "Ada"), "%v, %v", prompt, err)
	resource, err := cs.ReadResource(ctx, &mcp.ReadResourceParams{URI: readmeURI})
	assert.Truef(t, err == nil && strings.Contains(resource.Contents[0].Text, "demo server"), "%v, %v", resource, err)
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
			err := <-ended
			assert.NoError(t, err)
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
			require.NoError(t, err)
			resp.Body.Close()
			assert.Equal(t, http.StatusForbidden, resp.StatusCode, header)
			continue
		}
		req.Header.Set(header, value)
		w := httptest.NewRecorder()
		DemoHandler().ServeHTTP(w, req)
		assert.Equal(t, http.StatusForbidden, w.Code, header)
	}
}
