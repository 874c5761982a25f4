package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
)

// singleUpstream is one server behind the real call path: multiplexer, policy and gateway.
type singleUpstream struct{ conn *upstream.Conn }

func (r singleUpstream) For(context.Context, *core.Call) (gateway.Upstream, error) {
	return r.conn, nil
}
func (singleUpstream) Record(*core.Call, core.Reply) {}

// pipeServer is a go-sdk server at the other end of two pipes.
type pipeServer struct {
	stdin  io.WriteCloser
	stdout io.ReadCloser
	cancel context.CancelFunc
	done   chan struct{}
}

func (p *pipeServer) Stdin() io.WriteCloser { return p.stdin }
func (p *pipeServer) Stdout() io.Reader     { return p.stdout }
func (p *pipeServer) Done() <-chan struct{} { return p.done }
func (p *pipeServer) Stop(context.Context) error {
	p.cancel()
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	<-p.done
	return nil
}

func startPipeServer(s *mcp.Server) *pipeServer {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	p := &pipeServer{stdin: stdin, stdout: stdout, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		_ = s.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
		_ = out.Close()
	}()
	return p
}

// newAskingServer returns a server whose tools request an input from the client; the name of a tool
// is the kind of input. go-sdk sends requests in the legacy era and returns input_required in the
// modern era.
func newAskingServer(cancelled chan<- string) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, nil)
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{"name": {Type: "string"}}, Required: []string{"name"}}
	needs := map[string]mcp.InputRequest{
		"form":     &mcp.ElicitParams{Message: "What is your name?", RequestedSchema: schema},
		"url":      &mcp.ElicitParams{Mode: "url", Message: "Log in", URL: "https://example.com/login", ElicitationID: "e1"},
		"sampling": &mcp.CreateMessageParams{MaxTokens: 10, Messages: []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "hi"}}}},
		"roots":    &mcp.ListRootsParams{},
	}
	for name, need := range needs {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			answer, ok := r.Params.InputResponses["it"]
			if !ok {
				context.AfterFunc(ctx, func() { cancelled <- name })
				return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"it": need}, RequestState: "mine"}, nil
			}
			raw, _ := json.Marshal(answer)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments) + string(raw)}}}, nil
		})
	}
	return s
}

// newEraPairFixture returns a fixture with one shared connection to server behind the real call
// path.
func newEraPairFixture(t *testing.T, server *mcp.Server, era core.Era, options ...func(*Options)) *fixture {
	t.Helper()
	reg := registry.New(registry.Options{})
	reg.Configure(registry.Prefixed, []registry.Server{{ID: "one"}})
	s := &fixture{T: t, registry: reg, lister: &fakeLister{}}
	conn, err := upstream.Connect(t.Context(), upstream.Options{
		Server: "one", Era: era,
		Dial:         func(context.Context) (upstream.Pipe, error) { return startPipeServer(server), nil },
		Capabilities: json.RawMessage(`{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}`),
		OnRequest: func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
			return s.bridge.Ask(ctx, "one", "", method, params)
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	reg.Set("one", "one", conn.Catalog())
	g := gateway.New(gateway.Options{
		Upstreams: singleUpstream{conn}, Recorder: singleUpstream{}, Policy: policy.New(policy.Options{Views: reg}), Bus: new(core.Bus),
	})
	o := Options{Registry: reg, Gateway: g, Lister: s.lister}
	for _, f := range options {
		f(&o)
	}
	s.serve(o)
	return s
}

// allCapabilities returns the options of a client with all capabilities, which answers with who.
func allCapabilities(who string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if r.Params.Mode == "url" {
				return &mcp.ElicitResult{Action: "accept", Meta: mcp.Meta{"who": who}}, nil
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": who}}, nil
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: "assistant", Model: "m", Content: &mcp.TextContent{Text: who}}, nil
		},
	}
}

// connectAllCapabilities connects a client with all capabilities and a root named after it.
func (s *fixture) connectAllCapabilities(path string, era core.Era, who string) *mcp.ClientSession {
	s.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: who, Version: "1"}, allCapabilities(who))
	client.AddRoots(&mcp.Root{URI: "file:///" + who})
	return s.connect(path, era, "", client)
}

func answerOf(t testing.TB, res *mcp.CallToolResult, err error) string {
	t.Helper()
	if err != nil {
		t.Errorf("call: %v", err)
		return ""
	}
	if len(res.Content) == 0 {
		return ""
	}
	text, _ := res.Content[0].(*mcp.TextContent)
	return text.Text
}

func TestServersReceiveInputInAllEraPairs(t *testing.T) {
	for _, server := range []core.Era{core.Legacy, core.Modern} {
		for _, client := range []core.Era{core.Legacy, core.Modern} {
			t.Run(fmt.Sprintf("%s client, %s server", client, server), func(t *testing.T) {
				s := newEraPairFixture(t, newAskingServer(make(chan string, 100)), server)
				cs := s.connectAllCapabilities("/mcp", client, "ann")
				for _, tool := range []string{"form", "url", "sampling", "roots"} {
					res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "one__" + tool, Arguments: map[string]any{"n": 1}})
					if got := answerOf(t, res, err); !strings.HasPrefix(got, `{"n":1}`) || !strings.Contains(got, "ann") && !strings.Contains(got, `"accept"`) {
						t.Errorf("%s: %q", tool, got)
					}
				}
			})
		}
	}
}

// Many clients of both eras share one connection. A request of the server reaches the client whose
// call caused it, or none.
func TestResponseFromWrongClientIsRefused(t *testing.T) {
	for _, server := range []core.Era{core.Legacy, core.Modern} {
		t.Run(string(server), func(t *testing.T) {
			s := newEraPairFixture(t, newAskingServer(make(chan string, 1000)), server)
			var wg sync.WaitGroup
			for i := range 6 {
				era, who := core.Legacy, fmt.Sprintf("client%d", i)
				if i%2 == 1 {
					era = core.Modern
				}
				cs := s.connectAllCapabilities("/mcp", era, who)
				wg.Go(func() {
					for range 10 {
						res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "one__form"})
						if err != nil {
							continue // refused, because it could not be attributed to a call
						}
						if got := answerOf(t, res, err); strings.Contains(got, `"client`) && !strings.Contains(got, `"`+who+`"`) {
							t.Errorf("%s got %s", who, got)
						} else if server == core.Modern && !strings.Contains(got, who) {
							t.Errorf("%s got %s", who, got)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestElicitationFallsBackToUserPrompt(t *testing.T) {
	for _, server := range []core.Era{core.Legacy, core.Modern} {
		for _, client := range []core.Era{core.Legacy, core.Modern} {
			t.Run(fmt.Sprintf("%s client, %s server", client, server), func(t *testing.T) {
				box := approvals.New(approvals.Options{Bus: new(core.Bus)})
				s := newEraPairFixture(t, newAskingServer(make(chan string, 10)), server, func(o *Options) { o.Approvals = box })
				cs := s.connectSDK("/mcp", client, nil)
				got := make(chan string, 1)
				go func() {
					res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "one__form"})
					got <- answerOf(t, res, err)
				}()
				eventually.True(t, "the question is in the inbox", func() bool { return len(box.List()) == 1 })
				item := box.List()[0]
				if item.Server != "one" || item.Client.Name != "sdk" || item.Tool != "one__form" || item.Message != "What is your name?" {
					t.Errorf("%+v", item)
				}
				require.NoError(t, box.Answer(item.ID, approvals.Accept, json.RawMessage(`{"name":"the user"}`)))
				answer := <-got
				assert.Contains(t, answer, "the user")
			})
		}
	}
}

// In every pair of eras, an unanswered request is declined when its deadline passes.
func TestUnansweredUserPromptIsDeclined(t *testing.T) {
	for _, server := range []core.Era{core.Legacy, core.Modern} {
		for _, client := range []core.Era{core.Legacy, core.Modern} {
			t.Run(fmt.Sprintf("%s client, %s server", client, server), func(t *testing.T) {
				box := approvals.New(approvals.Options{Bus: new(core.Bus), AnswerTimeout: 20 * time.Millisecond})
				s := newEraPairFixture(t, newAskingServer(make(chan string, 10)), server, func(o *Options) { o.Approvals = box })
				res, err := s.connectSDK("/mcp", client, nil).CallTool(t.Context(), &mcp.CallToolParams{Name: "one__form"})
				assert.Contains(t, answerOf(t, res, err), `"action":"decline"`)
				assert.Empty(t, box.List(), "it still waits")
			})
		}
	}
}

func TestSuspendedCallIsCancelledWithoutClientRetry(t *testing.T) {
	cancelled := make(chan string, 10)
	s := newEraPairFixture(t, newAskingServer(cancelled), core.Legacy, func(o *Options) { o.AskTimeout = 50 * time.Millisecond })
	got := onlyMessage(t, s.modernAs(`{"elicitation":{}}`, "/mcp", "tools/call", "one__form", `"name":"one__form"`))
	require.Contains(t, got, "input_required")
	name := eventually.Receive(t, time.Minute, "the server was not told", cancelled)
	checkEqual(t, "cancelled", name, "form")
	eventually.True(t, "it is forgotten", func() bool {
		s.bridge.calls.suspended.mu.Lock()
		defer s.bridge.calls.suspended.mu.Unlock()
		return len(s.bridge.calls.suspended.byState) == 0
	})
}
