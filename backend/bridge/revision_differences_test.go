package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// openRevision opens a session of a client that speaks an older revision.
func (s *fixture) openRevision(path, revision, capabilities string) []string {
	s.Helper()
	resp := s.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+revision+`","capabilities":`+capabilities+`,"clientInfo":{"name":"probe","version":"9"}}}`)
	if got := strings.Join(messages(s, resp), ""); !strings.Contains(got, `"protocolVersion":"`+revision+`"`) {
		s.Fatal(got)
	}
	h := []string{sessionHeader, resp.Header.Get(sessionHeader), versionHeader, revision}
	if resp := s.post(path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, h...); resp.StatusCode != http.StatusAccepted {
		s.Fatalf("initialized: %s", resp.Status)
	}
	return h
}

var allRevisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

const (
	audioBlock = `{"type":"audio","data":"UklGRg==","mimeType":"audio/wav"}`
	linkBlock  = `{"type":"resource_l\u0069nk","uri":"file:///ünï","name":"u","title":"Report","mimeType":"text/plain","description":"of May","annotations":{"priority":0.0}}`
	videoBlock = `{ "type" : "vid\u0065o" , "url":"https://example.com/v"}`
	plainBlock = `{"type":"text","text":"{\"type\":\"video\"}"}`
	audioText  = `{"type":"text","text":"[audio not supported by this client's protocol revision: audio/wav]"}`
	linkText   = `{"type":"text","text":"[resource_link not supported by this client's protocol revision: Report, %s, text/plain, of May]","annotations":{"priority":0.0}}`
)

// A client that checks results against the schema of its revision would refuse the whole result
// after the tool has run.
func TestContentNewerThanClientBecomesText(t *testing.T) {
	result := `{"content":[%s, %s,%s,%s],"structuredContent":{"type":"video","n":9007199254740993},"isError":false}`
	prompt := `{"messages":[{"role":"user","content":%s},{"role":"assistant","content":%s},{"role":"user","content":%s},{"role":"user","content":%s}]}`
	s := newFixture(t, func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		form := map[string]string{"tools/call": result, "prompts/get": prompt}[call.Method]
		return core.Reply{Result: fmt.Appendf(nil, form, plainBlock, audioBlock, linkBlock, videoBlock)}, nil
	})
	for _, revision := range allRevisions {
		for _, path := range []string{"/s/files/mcp", "/mcp"} {
			audio, link := audioBlock, linkBlock
			uri, name, ask := "file:///ünï", "read", "ask"
			if path == "/mcp" {
				name, ask = "files__read", "files__ask"
			}
			if revision < "2025-03-26" {
				audio = audioText
			}
			if revision < "2025-06-18" {
				link = fmt.Sprintf(linkText, uri)
			}
			for method, form := range map[string]string{"tools/call": result, "prompts/get": prompt} {
				asked := map[string]string{"tools/call": name, "prompts/get": ask}[method]
				var got string
				if revision == core.ModernVersion {
					got = onlyMessage(t, s.modern(path, method, asked, `"name":"`+asked+`"`))
				} else {
					got = onlyMessage(t, s.post(path, `{"jsonrpc":"2.0","id":"m-1","method":"`+method+`","params":{"name":"`+asked+`"}}`, s.openRevision(path, revision, `{}`)...))
				}
				want := fmt.Sprintf(form, plainBlock, audio, link, videoBlock)
				want = strings.TrimSuffix(`{"jsonrpc":"2.0","id":"m-1","result":`+want, "}")
				assert.Truef(t, strings.HasPrefix(got, want), "%s %s %s\n got %s\nwant %s", revision, path, method, got, want)
			}
		}
	}
}

func TestResultsOfKnownTypesAreNotChanged(t *testing.T) {
	for _, raw := range []string{
		`{"content":[` + plainBlock + `,{"type":"image"},{"type":"resource","resource":{}}]}`,
		`{"content":[{"no":"type"},{"type":5},null,7]}`, `{"content":{}}`, `{"content":null}`, `{}`, `[]`, `null`, `{"content":[`,
		`{"type":"video"}`, `{"structuredContent":{"type":"array"}}`, `{"type"`, `{"type":`, `{"type":"`,
		`{"content":[{"type":"video","type":"text"}]}`,
	} {
		for _, revision := range append(allRevisions, "") {
			assert.Equal(t, raw, string(readableContent("tools/call", revision, []byte(raw))), revision)
		}
	}
	assert.Contains(t, string(readableContent("resources/read", "2024-11-05", []byte(`{"content":[{"type":"audio"}]}`))), "audio")
}

// ask posts a call and returns the params of the server's request and the reply.
func (s *fixture) askedBy(call, answer string, h ...string) (params, reply string) {
	s.Helper()
	resp := s.post("/mcp", call, h...)
	if resp.Header.Get("Content-Type") == "application/json" {
		return "", onlyMessage(s, resp)
	}
	for m := range events(resp.Body) {
		reply = m
		var ask struct {
			ID, Method string
			Params     json.RawMessage
		}
		if json.Unmarshal([]byte(m), &ask); ask.Method != "" {
			params = string(ask.Params)
			s.post("/mcp", `{"jsonrpc":"2.0","id":"`+ask.ID+`","result":`+answer+`}`, h...)
		}
	}
	return params, reply
}

const addCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"math__add"}}`

func TestSamplingContentNewerThanClientBecomesText(t *testing.T) {
	const (
		use     = `{"type":"tool_use","id":"1","name":"add","input":{}}`
		useText = `{"type":"text","text":"[tool_use not supported by this client's protocol revision: add]"}`
		head    = `{"messages":[{"role":"user","content":`
	)
	sent := head + audioBlock + `},{"role":"assistant","content":[` + plainBlock + `,` + use + `]}],"maxTokens":1.0}`
	s := newFixture(t, func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		return sink.Ask(ctx, "sampling/createMessage", json.RawMessage(sent))
	})
	split := func(audio string) string {
		return head + audio + `},{"role":"assistant","content":` + plainBlock + `},{"role":"assistant","content":` + useText + `}],"maxTokens":1.0}`
	}
	for revision, want := range map[string]string{"2024-11-05": split(audioText), "2025-03-26": split(audioBlock), "2025-06-18": split(audioBlock), "2025-11-25": sent} {
		got, _ := s.askedBy(addCall, `{}`, s.openRevision("/mcp", revision, `{"sampling":{}}`)...)
		checkEqual(t, revision, got, want)
	}
}

// A form that the revision of the client does not have is shown to the user by Drawbridge instead.
func TestFormsWithListsAreNotSentToOlderClients(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		reply, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"?","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}}}}`))
		return core.Reply{Result: json.RawMessage(`{"content":[],"said":` + string(reply.Result) + string(reply.Error) + `}`)}, err
	})
	for revision, want := range map[string]string{"2025-06-18": "does not support forms with lists", "2025-11-25": `"said":{"action":"accept"}`} {
		_, got := s.askedBy(addCall, `{"action":"accept"}`, s.openRevision("/mcp", revision, `{"elicitation":{}}`)...)
		assert.Contains(t, got, want, revision)
	}
}

// 2025-11-25 requires an elicitationId, which 2026-07-28 does not have.
func TestURLElicitationOfModernServerGetsAnID(t *testing.T) {
	s := newFixture(t, func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		if strings.Contains(string(call.Params), `"inputResponses":{"it":{"action":"accept"}}`) {
			return core.Reply{Result: textReply("visited")}, nil
		}
		id := ""
		if call.Name == "add" {
			id = `,"elicitationId":"own"`
		}
		return core.Reply{Result: json.RawMessage(`{"resultType":"input_required","inputRequests":{"it":{"method":"elicitation/create","params":{"mode":"url","message":"Go","url":"https://example.com"` + id + `}}}}`)}, nil
	})
	h := s.openSession("/mcp", `{"elicitation":{"url":{}}}`)
	seen := map[string]bool{}
	for range 2 {
		params, reply := s.askedBy(strings.Replace(addCall, "math__add", "files__read", 1), `{"action":"accept"}`, h...)
		var p struct{ Mode, Message, URL, ElicitationID string }
		if err := json.Unmarshal([]byte(params), &p); err != nil || p.Mode != "url" || p.Message != "Go" || p.URL != "https://example.com" || len(p.ElicitationID) < 20 || seen[p.ElicitationID] {
			t.Errorf("%s", params)
		}
		seen[p.ElicitationID] = true
		assert.Contains(t, reply, "visited")
	}
	params, _ := s.askedBy(addCall, `{"action":"accept"}`, h...)
	assert.Truef(t, strings.HasSuffix(params, `"elicitationId":"own"}`), "%s", params)
}

// 2025-11-25 refuses a call with an error; in 2026-07-28, the server asks in its result.
func TestURLErrorOfLegacyServerAsksModernClient(t *testing.T) {
	demand := `{"code":-32042,"message":"Sign in first","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://example.com/a?b=1&c=\"","message":"Sign in"},{"mode":"url","elicitationId":"e2","url":"https://example.com/2"}]}}`
	done := false
	s := newFixture(t, func(_ context.Context, call *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		if done {
			return core.Reply{Result: textReply("signed in")}, nil
		}
		return core.Reply{Error: json.RawMessage(demand)}, nil
	})
	const can, params = `{"elicitation":{"url":{}}}`, `"name":"math__add","arguments":{"a":1.0}`
	for _, capabilities := range []string{can, `{"elicitation":{"url":{}},"sampling":{}}`} {
		got := onlyMessage(t, s.modernAs(capabilities, "/mcp", "tools/call", "math__add", params))
		want := `"result":{"resultType":"input_required","inputRequests":{` +
			`"url-1":{"method":"elicitation/create","params":{"mode":"url","url":"https://example.com/a?b=1&c=\"","message":"Sign in"}},` +
			`"url-2":{"method":"elicitation/create","params":{"mode":"url","url":"https://example.com/2","message":"Sign in first"}}},"requestState":"drawbridge:urls"`
		assert.Contains(t, got, want)
	}
	retry := func(action string) string {
		return onlyMessage(t, s.modernAs(can, "/mcp", "tools/call", "math__add", params+`,"inputResponses":{"url-1":{"action":"accept"},"url-2":{"action":"`+action+`"}},"requestState":"drawbridge:urls"`))
	}
	if got := retry("accept"); !strings.Contains(got, `"url-2"`) { // the user is not done
		t.Errorf("%s", got)
	}
	done = true
	calls := len(s.gateway.seen)
	got := retry("decline")
	assert.Truef(t, strings.Contains(got, "did not open the address") && len(s.gateway.seen) == calls, "%s", got)
	assert.Contains(t, retry("accept"), "signed in")
	call := s.gateway.last()
	if got := string(call.Params); !strings.HasPrefix(got, `{"name":"add","arguments":{"a":1.0},"_meta":`) || strings.Contains(got, "inputResponses") || strings.Contains(got, "requestState") ||
		string(call.Params[call.Arguments.Start:call.Arguments.End]) != `{"a":1.0}` || call.Continues {
		t.Errorf("the retry is no new call: %s", got)
	}
	done = false
	for _, capabilities := range []string{`{}`, `{"elicitation":{}}`} {
		resp := s.modernAs(capabilities, "/mcp", "tools/call", "math__add", params)
		got := onlyMessage(t, resp)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, `"code":-32021`) || !strings.Contains(got, "does not support elicitation by URL: Sign in first") || !strings.Contains(got, `"requiredCapabilities":{"elicitation":{"url":{}}}`) {
			t.Errorf("%s: %s %s", capabilities, resp.Status, got)
		}
	}
	got = onlyMessage(t, s.post("/mcp", addCall, s.openSession("/mcp", can)...))
	assert.Truef(t, strings.HasSuffix(got, `"error":`+demand+`}`), "a legacy client gets the error itself: %s", got)
	demand = `{"code":-32042,"message":"Sign in first","data":7}`
	assert.Contains(t, onlyMessage(t, s.modernAs(can, "/mcp", "tools/call", "math__add", params)), demand)
}

// The session that was asked to open an address is told when the user is done there, and no other.
func TestCompletedElicitationReachesSessionThatWasAsked(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		if call.Name == "add" {
			return core.Reply{Error: json.RawMessage(`{"code":-32042,"message":"Sign in","data":{"elicitations":[{"mode":"url","elicitationId":"e1","url":"https://example.com","message":"m"}]}}`)}, nil
		}
		_, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"mode":"url","elicitationId":"e2","url":"https://example.com","message":"m"}`))
		return core.Reply{Result: textReply("done")}, err
	})
	open := func() (h []string, next func() string) {
		h = s.openSession("/mcp", `{"elicitation":{"url":{}}}`)
		resp := s.request(http.MethodGet, "/mcp", "", append(h, "Accept", "text/event-stream")...)
		eventually.True(t, "the stream is open", func() bool {
			l := s.bridge.listeners.ofSession(h[1])
			if l == nil {
				return false
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.stream != nil
		})
		return h, func() (message string) {
			for message = range events(resp.Body) {
				break
			}
			return message
		}
	}
	asked, next := open()
	other, nextOfOther := open()
	onlyMessage(t, s.post("/mcp", addCall, asked...))
	s.askedBy(strings.Replace(addCall, "math__add", "files__read", 1), `{"action":"accept"}`, asked...)
	onlyMessage(t, s.post("/mcp", addCall, other...))
	for _, done := range []struct{ server, id string }{{"math", "e2"}, {"files", "e1"}, {"math", "unknown"}, {"files", "e2"}, {"math", "e1"}} {
		s.bridge.ElicitationCompleted(done.server, fmt.Appendf(nil, `{"elicitationId":%q,"x":1.0}`, done.id))
	}
	s.bridge.ElicitationCompleted("math", []byte(`7`))
	checkEqual(t, "asked", next(), `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e2","x":1.0}}`)
	checkEqual(t, "other", nextOfOther(), `{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"e1","x":1.0}}`)
	for n := range 2 * maxElicitations {
		s.bridge.calls.elicitations.add("math", fmt.Sprint(n), "s")
	}
	assert.Equal(t, maxElicitations, len(s.bridge.calls.elicitations.sessions))
}

// A client that does not declare tools for sampling would answer as if there were none.
func TestSamplingWithToolsNeedsItsCapability(t *testing.T) {
	s := newFixture(t, func(ctx context.Context, _ *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		reply, err := sink.Ask(ctx, "sampling/createMessage", json.RawMessage(`{"messages":[],"maxTokens":1,"tools":[]}`))
		return core.Reply{Result: json.RawMessage(`{"content":[],"said":` + string(reply.Result) + string(reply.Error) + `}`)}, err
	})
	for capabilities, want := range map[string]string{`{"sampling":{}}`: "does not support sampling with tools", `{"sampling":{"tools":{}}}`: `"said":{"model":"m"}`} {
		_, got := s.askedBy(addCall, `{"model":"m"}`, s.openSession("/mcp", capabilities)...)
		assert.Contains(t, got, want, capabilities)
	}
}

// Members that newer revisions have added are optional: older clients and servers ignore them.
func TestMembersOfNewerRevisionsPassUnchanged(t *testing.T) {
	const (
		prompt   = `{"name":"ask","title":"Ask","icons":[{"src":"https://example.com/i.png"}],"_meta":{"x":1.0},"arguments":[{"name":"a","title":"A"}]}`
		resource = `{"uri":"file:///r","name":"r","title":"R","icons":[],"size":9007199254740993,"_meta":{}}`
		template = `{"uriTemplate":"file:///t/{id}","name":"t","title":"T","annotations":{"lastModified":"2025-01-12T15:00:58Z"}}`
		tool     = `{"name":"read","title":"Read","icons":[{"src":"data:,","sizes":["48x48"]}],"annotations":{"title":"R","readOnlyHint":true},"execution":{"taskSupport":"optional"},"outputSchema":{"type":"object"},"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"},"_meta":{"v":1}}`
		progress = `{"progressToken":1,"progress":1.0,"message":"half"}`
		result   = `{"content":[{"type":"text","text":"","annotations":{"lastModified":"x"},"_meta":{}}],"structuredContent":{"n":1.0},"_meta":{"a":1}}`
	)
	s := newFixture(t, func(_ context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		sink.Notify("notifications/progress", json.RawMessage(progress))
		return core.Reply{Result: json.RawMessage(result)}, nil
	})
	s.registry.Set("files", "files", &core.Catalog{
		Tools:     []core.Item{{Name: "read", Raw: json.RawMessage(tool)}},
		Prompts:   []core.Item{{Name: "ask", Raw: json.RawMessage(prompt)}},
		Resources: []core.Item{{Name: "file:///r", Raw: json.RawMessage(resource)}},
		Templates: []core.Item{{Name: "file:///t/{id}", Raw: json.RawMessage(template)}},
	})
	for _, revision := range allRevisions[:4] {
		h := s.openRevision("/s/files/mcp", revision, `{}`)
		if revision < "2025-06-18" {
			h = h[:2] // the header for the revision came with 2025-06-18
		}
		for method, want := range map[string]string{"tools/list": tool, "prompts/list": prompt, "resources/list": resource, "resources/templates/list": template} {
			assert.Contains(t, onlyMessage(t, s.post("/s/files/mcp", `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, h...)), "["+want+"]")
		}
		got := strings.Join(messages(t, s.post("/s/files/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","_meta":{"progressToken":1}}}`, h...)), "\n")
		checkEqual(t, revision, got, `{"jsonrpc":"2.0","method":"notifications/progress","params":`+progress+`}`+"\n"+`{"jsonrpc":"2.0","id":1,"result":`+result+`}`)
		complete := `{"ref":{"type":"ref/prompt","name":"ask"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"c":"d"}}}`
		messages(t, s.post("/s/files/mcp", `{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":`+complete+`}`, h...))
		checkEqual(t, "completion", string(s.gateway.last().Params), complete)
	}
}
