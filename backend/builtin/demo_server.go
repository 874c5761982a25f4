package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// slowSteps times slowStep is the duration of the tool slow.
const slowSteps = 10

// slowStep is a variable so that tests can shorten it.
var slowStep = 500 * time.Millisecond

// RunDemo serves the demo server, in both eras, on in and out until in ends or ctx is cancelled.
// It returns nil in both cases.
func RunDemo(ctx context.Context, in io.Reader, out io.Writer) error {
	transport := &mcp.IOTransport{Reader: io.NopCloser(in), Writer: nopWriteCloser{out}}
	err := newDemoServer().Run(ctx, transport)
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }

type textInput struct {
	Text string `json:"text" jsonschema:"text to return"`
}

type addInput struct {
	A float64 `json:"a" jsonschema:"first number"`
	B float64 `json:"b" jsonschema:"second number"`
}

type addOutput struct {
	Sum float64 `json:"sum"`
}

type weather struct {
	City        string   `json:"city"`
	Temperature float64  `json:"temperature" jsonschema:"in degrees Celsius"`
	Conditions  []string `json:"conditions"`
}

// newDemoServer returns the demo server, which can serve several sessions.
func newDemoServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "drawbridge-demo", Title: "Drawbridge demo", Version: "1.0.0"},
		&mcp.ServerOptions{Instructions: "Tools for trying out Drawbridge. They do not access your files or the network."})

	quiet := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Returns its input.", Annotations: quiet},
		func(_ context.Context, _ *mcp.CallToolRequest, in textInput) (*mcp.CallToolResult, any, error) {
			return textResult(in.Text), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers.", Annotations: quiet},
		func(_ context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, addOutput, error) {
			sum := in.A + in.B
			return textResult(fmt.Sprint(sum)), addOutput{Sum: sum}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Always fails, to demonstrate an error.", Annotations: quiet},
		func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			result := textResult("this tool always fails")
			result.IsError = true
			result.StructuredContent = map[string]any{"message": "this tool always fails", "code": "E_DEMO", "retriable": false}
			return result, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "Takes five seconds and reports progress.", Annotations: quiet}, slowTool)
	mcp.AddTool(s, &mcp.Tool{Name: "json_response", Description: "Returns structured data.", Annotations: quiet},
		func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, weather, error) {
			return nil, weather{City: "Bruges", Temperature: 11.5, Conditions: []string{"cloudy", "windy"}}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "image", Description: "Returns a small image.", Annotations: quiet},
		func(_ context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.ImageContent{Data: demoImage(), MIMEType: "image/png"}}}, nil, nil
		})

	s.AddPrompt(&mcp.Prompt{
		Name: "greet", Description: "Writes a greeting.",
		Arguments: []*mcp.PromptArgument{{Name: "name", Description: "whom to greet", Required: true}},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		text := "Write a short and friendly greeting for " + req.Params.Arguments["name"] + "."
		return &mcp.GetPromptResult{
			Description: "A greeting",
			Messages:    []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}},
		}, nil
	})
	s.AddResource(&mcp.Resource{URI: readmeURI, Name: "readme", Description: "Description of the demo server.", MIMEType: "text/plain"},
		func(_ context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: readmeURI, MIMEType: "text/plain", Text: "This is Drawbridge's demo server. Its tools have no side effects.",
			}}}, nil
		})
	return s
}

const readmeURI = "demo://readme"

func slowTool(ctx context.Context, req *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
	ticker := time.NewTicker(slowStep)
	defer ticker.Stop()
	token := req.Params.GetProgressToken()
	for step := 1; step <= slowSteps; step++ {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-ticker.C:
		}
		if token == nil {
			continue
		}
		// A client that has disconnected is not a reason to stop; ctx is.
		_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(step), Total: slowSteps,
			Message: fmt.Sprintf("step %d of %d", step, slowSteps),
		})
	}
	return textResult("done, slowly"), nil, nil
}

func textResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// demoImage draws a bridge in a PNG of 32 by 32 pixels.
func demoImage() []byte {
	img := image.NewRGBA(image.Rect(0, 0, 32, 32))
	sky, water, stone := color.RGBA{0xBF, 0xE0, 0xF5, 0xFF}, color.RGBA{0x3B, 0x6E, 0xA8, 0xFF}, color.RGBA{0x6B, 0x4F, 0x3A, 0xFF}
	for y := range 32 {
		for x := range 32 {
			dx, dy := x-16, y-24
			switch {
			case y >= 24:
				img.Set(x, y, water)
			case y >= 10 && y < 14, y >= 14 && dx*dx+dy*dy > 100:
				img.Set(x, y, stone)
			default:
				img.Set(x, y, sky)
			}
		}
	}
	var buf bytes.Buffer
	_ = png.Encode(&buf, img) // encoding a small in-memory image cannot fail
	return buf.Bytes()
}

// maxBody is the maximum size of a request body in bytes.
const maxBody = 4 << 20

// DemoHandler serves the demo server over streamable HTTP, in both protocol eras, at any path. It
// serves this machine only: requests with a foreign Host or Origin header are rejected.
func DemoHandler() http.Handler {
	server := newDemoServer()
	pick := func(*http.Request) *mcp.Server { return server }
	// An SDK handler serves one era only.
	modern := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	legacy := mcp.NewStreamableHTTPHandler(pick, &mcp.StreamableHTTPOptions{SessionTimeout: 30 * time.Minute})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if origin := r.Header.Get("Origin"); origin != "" && origin != "http://"+r.Host {
			http.Error(w, "foreign origin", http.StatusForbidden)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
			http.Error(w, "the request is larger than "+core.FormatLimit(maxBody), http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			http.Error(w, "cannot read the request", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if isModern(r.Header.Get("Mcp-Protocol-Version"), body) {
			modern.ServeHTTP(w, r)
		} else {
			legacy.ServeHTTP(w, r)
		}
	})
}

// isModern reports whether a request is of the modern era. Protocol revisions are dates, so they
// can be compared as strings.
func isModern(version string, body []byte) bool {
	if version >= core.ModernVersion {
		return true
	}
	var request struct {
		Params struct {
			Meta map[string]json.RawMessage `json:"_meta"`
		} `json:"params"`
	}
	_ = json.Unmarshal(body, &request) // the SDK rejects invalid JSON
	_, ok := request.Params.Meta["io.modelcontextprotocol/protocolVersion"]
	return ok
}
