package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// appSite has the call 5000000 of the tool board, whose app is ui://a/x, and the call 6000000 of a
// tool without an app.
func appSite(t *testing.T, answer func(*core.Call) (core.Reply, error)) *site {
	s := newSite(t)
	tools := []core.Item{
		{Name: "board", Raw: []byte(`{"name":"board","_meta":{"ui":{"resourceUri":"ui://a/x"}}}`)},
		{Name: "plain", Raw: []byte(`{"name":"plain"}`)},
		{Name: "models", Raw: []byte(`{"name":"models","_meta":{"ui":{"visibility":["model"]}}}`)},
	}
	s.views.Set("a", "a", &core.Catalog{Tools: tools})
	for i, tool := range []string{"board", "plain"} {
		id := int64(5_000_000 + i*1_000_000)
		s.recorder.Record(&core.Call{ID: id, At: time.UnixMicro(id), Server: "a", Account: "work", Method: "tools/call", Name: tool, Outcome: core.OutcomeOK},
			core.Reply{Result: []byte(`{"content":[]}`)})
	}
	s.recorder.Flush(t.Context())
	s.fakes.call = func(_ context.Context, c *core.Call) (core.Reply, error) { return answer(c) }
	return s
}

func TestAppIsReadFromItsServerOrSaysWhyNot(t *testing.T) {
	for _, test := range []struct{ result, want string }{
		{`{"contents":[{"mimeType":"text/html;profile=mcp-app","text":"<p>hi</p>"}]}`, `"html":"<p>hi</p>"`},
		{`{"contents":[{"mimeType":"text/html","blob":"PGI+"}]}`, `"html":"<b>"`},
		{`{"contents":[{"mimeType":"text/plain","text":"x"}]}`, "is not HTML: its type is text/plain"},
		{`{"contents":[{"text":"x"}]}`, "its type is unknown type"},
		{`{"contents":[]}`, "returned no content"},
		{`{"contents":[{"mimeType":"text/html","text":" "}]}`, "is empty"},
		{`{"contents":[{"mimeType":"text/html","blob":"?"}]}`, "is not valid base64"},
		{`{"contents":[{"mimeType":"text/html","blob":"/w=="}]}`, "is not valid UTF-8"},
		{fmt.Sprintf(`{"contents":[{"mimeType":"text/html","text":"%s"}]}`, strings.Repeat("x", maxAppHTML+1)), "the limit is"},
	} {
		s := appSite(t, func(c *core.Call) (core.Reply, error) {
			if c.Method != "resources/read" || string(c.Params) != `{"uri":"ui://a/x"}` || c.Server != "a" || c.Account != "work" {
				t.Errorf("%s %s with account %q", c.Method, c.Params, c.Account)
			}
			return core.Reply{Result: []byte(test.result)}, nil
		})
		if _, body, _ := s.ask(t, "POST", "/api/v1/calls/5000000/app", ""); !strings.Contains(body, test.want) {
			t.Errorf("got %.300s, want %s", body, test.want)
		}
		s.want(t, "POST", "/api/v1/calls/6000000/app", "", 404)
	}
}

func TestAppCallsToolsOfItsServerUnderTheRulesOfAClient(t *testing.T) {
	var made []core.Call
	s := appSite(t, func(c *core.Call) (core.Reply, error) {
		made = append(made, *c)
		if c.Name == "board" {
			return core.Reply{}, core.Errorf(core.CodeRejected, "not allowed")
		}
		return core.Reply{Result: json.RawMessage(`{"n":9007199254740993}`)}, nil
	})
	const path = "/api/v1/calls/5000000/app/call"
	for body, want := range map[string]string{
		`{"tool":"plain","arguments":{"a":1}}`:                       `"result":{"n":9007199254740993}`,
		`{"tool":"board"}`:                                           `"message":"not allowed"`,
		`{"tool":"models"}`:                                          "visible to models only",
		`{"tool":"plain","arguments":[]}`:                            "must be a JSON object",
		`{"tool":"plain","arguments":{},"server":"b"}`:               "unexpected property",
		`{"tool":"plain\",\"x\":\"","arguments":{"server":"other"}}`: `"result"`,
	} {
		if _, got, _ := s.ask(t, "POST", path, body); !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	for _, c := range made {
		if c.ByUser || c.Server != "a" || c.Account != "work" || c.Client.Name != "drawbridge-app" {
			t.Errorf("the call of an app is %+v", c)
		}
	}
	if len(made) != 3 {
		t.Errorf("%d calls were made", len(made))
	}
}

func TestFrameOfAppsHasNoOriginAndNoNetwork(t *testing.T) {
	s := newSite(t)
	status, body, h := s.plain(t, "GET", "/app-frame.html", "")
	policy := h.Get("Content-Security-Policy")
	if status != 200 || !strings.Contains(body, "RTCPeerConnection") || h.Get("X-Frame-Options") != "SAMEORIGIN" {
		t.Fatalf("%d %s %v", status, body, h)
	}
	for _, want := range []string{"sandbox allow-scripts;", "default-src 'none'", "frame-ancestors 'self'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s", want)
		}
	}
	for _, never := range []string{"allow-same-origin", "http", "'self';", "connect-src", "*"} {
		if strings.Contains(policy, never) {
			t.Errorf("the policy has %s", never)
		}
	}
}
