package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fakeResultStore is a history.
type fakeResultStore struct {
	mu      sync.Mutex
	calls   map[int64]*core.Call
	results map[int64]json.RawMessage
	refuses bool // it does not record results unchanged
}

// record does what gateway and recorder do.
func (k *fakeResultStore) record(call *core.Call, result json.RawMessage) core.Reply {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls == nil {
		k.calls, k.results = map[int64]*core.Call{}, map[int64]json.RawMessage{}
	}
	call.ID, call.Outcome = int64(1000+len(k.calls)), core.OutcomeOK
	k.calls[call.ID], k.results[call.ID] = call, result
	if call.RecordedUnchangedAs != nil && !k.refuses {
		*call.RecordedUnchangedAs = call.ID
	}
	return core.Reply{Result: result}
}

func (k *fakeResultStore) read(_ context.Context, id int64) (*core.Call, json.RawMessage, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.calls[id] == nil {
		return nil, nil, core.Errorf(core.CodeNotFound, "there is no call")
	}
	return k.calls[id], k.results[id], nil
}

// newLimitFixture is a fixture whose server files returns result. The results of the clients small
// and other are limited to 500 tokens.
func newLimitFixture(t *testing.T, result *string) (*fixture, *fakeResultStore) {
	kept := &fakeResultStore{}
	s := newFixture(t, func(ctx context.Context, c *core.Call, _ core.ServerMessageHandler) (core.Reply, error) {
		if c.Local != nil {
			return c.Local(ctx), nil
		}
		return kept.record(c, json.RawMessage(*result)), nil
	}, func(o *Options) { o.StoredResult = kept.read })
	catalog := filesCatalog()
	catalog.Tools = append(catalog.Tools,
		core.Item{Name: "list", Raw: json.RawMessage(`{"name":"list","outputSchema":{"type":"object","required":["a"]},"inputSchema":{"type":"object"}}`)},
		core.Item{Name: "show", Raw: json.RawMessage(`{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://files/show"}}}`)})
	s.registry.Set("files", "files", catalog)
	s.limitResults()
	return s, kept
}

func (s *fixture) limitResults() {
	s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{
		"small": {MaxResultTokens: 500}, "other": {MaxResultTokens: 500},
		"search": {MaxResultTokens: 500, ToolMode: ToolsSearch}, "deferred": {MaxResultTokens: 500, ToolMode: ToolsDeferred}}})
}

// blocksOf returns the texts of a tool result.
func blocksOf(t testing.TB, answer string) (texts []string) {
	t.Helper()
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	err := json.Unmarshal([]byte(answer), &m)
	require.Truef(t, err == nil && len(m.Result.Content) != 0, "no result: %s", answer)
	for _, c := range m.Result.Content {
		texts = append(texts, c.Text)
	}
	return texts
}

var continuation = regexp.MustCompile(`offset"?:? ?(\d+)[}. ]`)

// readAll reads a truncated result to its end, and returns its text.
func (s *fixture) readAll(era core.Era, token, first string) string {
	s.Helper()
	id := regexp.MustCompile(`drawbridge/truncated":\{"result":"(\d+)"`).FindStringSubmatch(first)
	if id == nil {
		s.Fatalf("not truncated: %s", first)
	}
	texts := blocksOf(s, first)
	text := ""
	for range 100 {
		text += strings.Join(texts[:len(texts)-1], "")
		next := continuation.FindStringSubmatch(texts[len(texts)-1])
		if next == nil {
			return text
		}
		texts = blocksOf(s, s.callTool(era, token, readResult, `{"result":"`+id[1]+`","offset":`+next[1]+`}`))
	}
	s.Fatal("the result has no end")
	return ""
}

func TestLongResultIsTruncatedAndReadInParts(t *testing.T) {
	long := strings.Repeat("zeile mit ünïcode 🙂 \"quoted\"\n", 400)
	result := fmt.Sprintf(`{"structuredContent":{"a":1},"content":[{"type":"text","text":%s}],"_meta":{"x":1}}`, jsonText(long))
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		s, _ := newLimitFixture(t, &result)
		first := s.callTool(era, "small", "files__list", `{}`)
		head := blocksOf(t, first)
		if len(head) != 2 || len(head[0]) > 2000 || len(head[0]) < 1500 || !strings.HasPrefix(long, head[0]) || strings.Contains(first, "structuredContent") || !strings.Contains(first, `"x":1`) {
			t.Errorf("the head is %s", first)
		}
		got := s.readAll(era, "small", first)
		assert.Falsef(t, got != long+"\n"+`{"a":1}` && got != long+`{"a":1}`, "all parts are %d bytes, want %d", len(got), len(long))
		c := s.gateway.last()
		assert.Truef(t, c.Server == "drawbridge" && c.Name == readResult, "recorded as %+v", c)
		// Without a limit, and at the endpoint of the server, nothing changes.
		got = s.callTool(era, "free", "files__list", `{}`)
		assert.Truef(t, strings.Contains(got, strings.TrimSuffix(result, "}")[:60]) && !strings.Contains(got, metaTruncated), "another client gets %s", got)
		own := s.openSession("/s/files/mcp", `{}`, ClientHeader, "small")
		assert.Contains(t, onlyMessage(t, s.post("/s/files/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list"}}`, own...)), result)
		got = onlyMessage(t, s.post("/s/files/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, own...))
		assert.Truef(t, !strings.Contains(got, readResult) && strings.Contains(got, "outputSchema"), "listed at its own endpoint: %s", got)
	}
}

func jsonText(text string) string {
	raw, _ := json.Marshal(text)
	return string(raw)
}

// A part of structuredContent does not match an outputSchema, so these clients see none.
func TestClientWithLimitSeesNoOutputSchema(t *testing.T) {
	result := `{"content":[]}`
	s, _ := newLimitFixture(t, &result)
	lists := map[string]string{}
	for _, token := range []string{"free", "small", "search", "deferred"} {
		lists[token] = onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, token))
		var m struct {
			Result struct{ Tools []struct{ Name string } }
		}
		require.NoError(t, json.Unmarshal([]byte(lists[token]), &m))
		require.Equal(t, token != "free", strings.Contains(lists[token], readResult))
		require.Equal(t, token == "free", strings.Contains(lists[token], "outputSchema"))
	}
	assert.Contains(t, lists["small"], `{"name":"files__list","inputSchema":{"type":"object"}}`)
	got := s.callTool(core.Modern, "free", readResult, `{"result":"1000","offset":0}`)
	assert.Falsef(t, strings.Contains(got, `"content"`) && !strings.Contains(got, "isError"), "a client without a limit reads %s", got)
}

// Every kind of content: the head and the rest are the whole text, and nothing else is cut.
func TestTruncatedResultKeepsEverythingButText(t *testing.T) {
	a, b := strings.Repeat("a", 300), strings.Repeat("b", 300)
	blob := strings.Repeat("QUJD", 500)
	for _, q := range []struct{ name, result, want string }{
		{"short", `{"content":[{"type":"text","text":"` + a + `"}]}`, ""},
		{"no tool result", `{"x":"` + a + b + `"}`, ""},
		{"an image is never cut", `{"content":[{"type":"image","data":"` + blob + `","mimeType":"image/png"}]}`, ""},
		{"twice the same key", `{"content":[],"content":[{"type":"text","text":"` + a + b + `"}]}`, ""},
		{"text", `{"isError":true,"content":[{"type":"text","annotations":{"priority":1},"text":"` + a + b + `"}]}`,
			`{"isError":true,"content":[{"type":"text","annotations":{"priority":1},"text":"` + (a + b)[:400] + `"},NOTE 400],MARK 600 400}`},
		{"images and links stay", `{"content":[{"type":"text","text":"` + a + b + `"},{"type":"image","data":"` + blob + `"},{"type":"text","text":"c"},{"type":"resource","resource":{"uri":"x:y","blob":"` + blob + `"}},{"type":"resource_link","uri":"x:z","name":"z"}]}`,
			`{"content":[{"type":"text","text":"` + (a + b)[:400] + `"},{"type":"image","data":"` + blob + `"},{"type":"resource","resource":{"uri":"x:y","blob":"` + blob + `"}},{"type":"resource_link","uri":"x:z","name":"z"},NOTE 400],MARK 602 400}`},
		{"a resource is whole or missing", `{"content":[{"type":"text","text":"` + a + `"},{"type":"resource","resource":{"uri":"x:y","text":"` + b + `"}},{"type":"text","text":"c"}]}`,
			`{"content":[{"type":"text","text":"` + a + `"},NOTE 301],MARK 603 301}`},
		{"structured content without text", `{"content":[],"structuredContent":{"v":"` + a + b + `"}}`,
			`{"content":[{"type":"text","text":` + jsonText((`{"v":"` + a + b)[:400]) + `},NOTE 400],MARK 608 400}`},
		{"structured content that the text repeats", `{"_meta":{},"structuredContent":{"v":"` + a + b + `"},"content":[{"type":"text","text":` + jsonText(`{ "v": "`+a+b+`"}`) + `}]}`,
			`{"_meta":{MARKED 610 400},"content":[{"type":"text","text":` + jsonText((`{ "v": "` + a + b)[:400]) + `},NOTE 400]}`},
		{"not within a character", `{"content":[{"type":"text","text":"` + strings.Repeat("é", 150) + "x" + strings.Repeat("é", 150) + `"}]}`,
			`{"content":[{"type":"text","text":"` + strings.Repeat("é", 150) + "x" + strings.Repeat("é", 49) + `"},NOTE 399],MARK 601 399}`},
		{"at the end of a line", `{"content":[{"type":"text","text":"` + a + `bbbbbb\n` + b + `"}]}`,
			`{"content":[{"type":"text","text":"` + a + `bbbbbb\u000a"},NOTE 307],MARK 607 307}`},
	} {
		got := string(truncateResult([]byte(q.result), 400, 77))
		got = regexp.MustCompile(`\{"type":"text","text":"\[Drawbridge: this result contains \d+ bytes of text; the first \d+ are above. Call drawbridge__read_result with \{\\"result\\":\\"77\\",\\"offset\\":(\d+)\} to continue reading.\]"\}`).ReplaceAllString(got, "NOTE $1")
		got = regexp.MustCompile(`"drawbridge/truncated":\{"result":"77","bytes":(\d+),"next":(\d+)\}`).ReplaceAllString(got, "MARKED $1 $2")
		got = strings.ReplaceAll(got, `"_meta":{MARKED`, "MARK")
		got = strings.Replace(got, "}}", "}", 1)
		want := strings.ReplaceAll(q.want, `"_meta":{MARKED`, "MARK")
		assert.Equal(t, strings.ReplaceAll(want, "}", ""), strings.ReplaceAll(got, "}", ""), q.name)
		full := truncateResult([]byte(q.result), 400, 77)
		assert.Falsef(t, full != nil && !json.Valid(full), "%s: invalid JSON %s", q.name, full)
	}
}

func TestResultIsTruncatedOnlyIfHistoryHoldsIt(t *testing.T) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 9000) + `"}]}`
	s, kept := newLimitFixture(t, &result)
	kept.refuses = true
	for _, era := range []core.Era{core.Legacy, core.Modern} {
		if got := s.callTool(era, "small", "files__read", `{}`); strings.Contains(got, metaTruncated) || !strings.Contains(got, strings.Repeat("x", 9000)) {
			t.Errorf("%s: %s", era, got[:200])
		}
	}
}

// An app needs the complete results of its tool.
func TestResultOfAppToolIsNotTruncated(t *testing.T) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 9000) + `"}]}`
	s, _ := newLimitFixture(t, &result)
	session := s.openSession("/mcp", `{"extensions":{"io.modelcontextprotocol/ui":{}}}`, ClientHeader, "small")
	for tool, want := range map[string]bool{"files__show": false, "files__read": true} {
		got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+tool+`"}}`, session...))
		assert.Equal(t, want, strings.Contains(got, metaTruncated), tool)
	}
}

// Only the client that got a result reads it, in the same session or folder, and only while it sees
// the tool.
func TestOnlyItsClientReadsResult(t *testing.T) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("secret of small ", 900) + `"}]}`
	s, kept := newLimitFixture(t, &result)
	session := s.openSession("/mcp", `{}`, ClientHeader, "small", WorkspaceHeader, absolute("/work"))
	got := onlyMessage(t, s.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read"}}`, session...))
	require.Contains(t, got, `"result":"1000"`)
	read := func(arguments string, headers ...string) string {
		t.Helper()
		return onlyMessage(t, s.modern("/mcp", "tools/call", readResult, `"name":"`+readResult+`","arguments":`+arguments, headers...))
	}
	const first = `{"result":"1000","offset":2000}`
	assert.Contains(t, read(first, ClientHeader, "small", WorkspaceHeader, absolute("/work")), "secret of small", "its client in its folder")
	refused := func(what, got string) {
		t.Helper()
		assert.NotContains(t, got, "secret", what)
		assert.Contains(t, got, `"isError":true`, what)
	}
	refused("another client", read(first, ClientHeader, "other", WorkspaceHeader, absolute("/work")))
	refused("another folder", read(first, ClientHeader, "small", WorkspaceHeader, absolute("/home")))
	refused("no folder", read(first, ClientHeader, "small"))
	for _, wrong := range []string{`{}`, `{"result":"1000","offset":-1}`, `{"result":"1000","offset":1e99}`, `{"result":"1000","offset":"2"}`, `{"result":"999","offset":0}`, `{"result":"1000","offset":99999999}`,
		`{"result":"../1000","offset":0}`, `{"result":{"a":1},"offset":0}`, `{"result":"` + strings.Repeat("1", 5000) + `","offset":0}`, `[]`, `"x"`} {
		refused(wrong, read(wrong, ClientHeader, "small", WorkspaceHeader, absolute("/work")))
	}
	for _, right := range []string{`{"result":1000,"offset":2000}`, `{"result":"1000","offset":0}`} {
		assert.Contains(t, read(right, ClientHeader, "small", WorkspaceHeader, absolute("/work")), "secret of small", right)
	}
	kept.mu.Lock()
	kept.calls[1000].Outcome = core.OutcomeRejected // nothing but a result is read
	kept.mu.Unlock()
	refused("no result", read(first, ClientHeader, "small", WorkspaceHeader, absolute("/work")))
	kept.mu.Lock()
	kept.calls[1000].Outcome = core.OutcomeOK
	kept.mu.Unlock()

	s.registry.SetProfiles([]config.Profile{{Name: "p", Servers: map[string]config.ProfileServer{"math": {}}}})
	s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"small": {MaxResultTokens: 500, Profile: "p"}}})
	refused("a client that no longer sees the tool", read(first, ClientHeader, "small", WorkspaceHeader, absolute("/work")))
	s.limitResults()
	kept.mu.Lock()
	delete(kept.calls, 1000)
	kept.mu.Unlock()
	refused("a deleted call", read(first, ClientHeader, "small", WorkspaceHeader, absolute("/work")))
}

// A call that waited for input of its modern client ends in a request of its own.
func TestResultOfResumedCallIsTruncated(t *testing.T) {
	kept := &fakeResultStore{}
	s := newFixture(t, func(ctx context.Context, c *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
		if _, err := sink.Ask(ctx, "elicitation/create", json.RawMessage(`{"message":"Name?","requestedSchema":{"x":1.0}}`)); err != nil {
			return core.Reply{}, err
		}
		return kept.record(c, json.RawMessage(`{"content":[{"type":"text","text":"`+strings.Repeat("x", 9000)+`"}]}`)), nil
	}, func(o *Options) { o.StoredResult = kept.read })
	s.limitResults()
	first := s.callWithInput("/mcp", `"arguments":{}`, ClientHeader, "small")
	second := s.callWithInput("/mcp", `"arguments":{},`+answers+`,"requestState":"`+s.requestState(first[0])+`"`, ClientHeader, "small")
	assert.Truef(t, len(second) == 1 && strings.Contains(second[0], metaTruncated) && !strings.Contains(second[0], strings.Repeat("x", 2001)), "%s", second)
}

// The results of tasks are truncated where the client fetches them: by tasks/result, and by
// tasks/get, whose state contains the result.
func TestResultOfTaskIsTruncated(t *testing.T) {
	long := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 9000) + `"}]}`
	id := int64(7)
	for _, q := range []struct{ method, result string }{
		{"tasks/result", long},
		{"tasks/get", `{"taskId":"t","status":"completed","result":` + long + `}`},
	} {
		rq := &request{method: q.method, storedCallID: &id, endpoint: endpoint{maxResult: 2000}}
		got := string(limitResult(rq, core.Reply{Result: json.RawMessage(q.result)}).Result)
		if !json.Valid([]byte(got)) || !strings.Contains(got, metaTruncated) || strings.Contains(got, strings.Repeat("x", 2001)) || strings.HasPrefix(q.result, `{"taskId"`) != strings.HasPrefix(got, `{"taskId":"t","status":"completed","result":{"content"`) {
			t.Errorf("%s: %s", q.method, got)
		}
	}
	working := `{"taskId":"t","status":"working","statusMessage":"` + strings.Repeat("x", 9000) + `"}`
	rq := &request{method: "tasks/get", storedCallID: &id, endpoint: endpoint{maxResult: 2000}}
	assert.Equal(t, working, string(limitResult(rq, core.Reply{Result: json.RawMessage(working)}).Result), "a task that works")
}

// A client with this setting gets one copy of a result that is in it twice, and no outputSchema that
// such a result would not match. All other bytes, and the results of other clients, stay unchanged.
func TestResultLosesItsSecondCopyIfTheClientWantsOne(t *testing.T) {
	const twice = `{"content":[{"type":"text","text":"{ \"a\": 1.0 }"},{"type":"image","data":"","mimeType":"x"}],"structuredContent":{"a":1.0},"x":[1.0]}`
	result := twice
	s, _ := newLimitFixture(t, &result)
	s.bridge.SetVisibility(Visibility{Clients: map[string]ClientVisibility{"one": {SingleCopy: true}, "both": {SingleCopy: true, MaxResultTokens: 500}}})
	for _, q := range []struct{ token, tool, result, want string }{
		{"one", "files__list", twice, `{"content":[{"type":"text","text":"{ \"a\": 1.0 }"},{"type":"image","data":"","mimeType":"x"}],"x":[1.0]}`},
		{"both", "files__list", twice, `{"content":[{"type":"text","text":"{ \"a\": 1.0 }"},{"type":"image","data":"","mimeType":"x"}],"x":[1.0]}`},
		{"free", "files__list", twice, twice},
		{"one", "files__list", `{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`, `{"content":[{"type":"text","text":"one"}],"structuredContent":{"a":1}}`},
		{"one", "files__list", `{"content":5,"structuredContent":{"a":1}}`, `{"content":5,"structuredContent":{"a":1}}`},
	} {
		result = q.result
		assert.Contains(t, s.callTool(core.Legacy, q.token, q.tool, `{}`), `"result":`+q.want, q.token)
	}
	for token, want := range map[string]bool{"one": false, "both": false, "free": true} {
		list := onlyMessage(t, s.modern("/mcp", "tools/list", "", "", ClientHeader, token))
		assert.Equal(t, want, strings.Contains(list, "outputSchema"))
		assert.Equal(t, token == "both", strings.Contains(list, readResult))
	}
}

func FuzzTruncatedResult(f *testing.F) {
	f.Add("zeile\nä🙂", "b", 3)
	f.Fuzz(func(t *testing.T, a, b string, limit int) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || limit < 4 || limit > 1<<20 {
			return
		}
		result := []byte(`{"content":[{"type":"text","text":` + jsonText(a) + `},{"type":"text","text":` + jsonText(b) + `}]}`)
		short := truncateResult(result, limit, 1)
		require.Equal(t, len(a)+len(b) < limit || len(a)+len(b)+min(len(a), 1) <= limit, short == nil)
		if short == nil {
			return
		}
		r, _ := parseToolResult(result)
		text, at := "", 0
		for at < len(r.text) {
			end := textEnd(r.text, at, limit)
			require.Truef(t, end > at && end-at <= limit && utf8.ValidString(r.text[at:end]), "%d to %d of %q", at, end, r.text)
			text, at = text+r.text[at:end], end
		}
		require.Truef(t, text == r.text && json.Valid(short), "%q %s", text, short)
	})
}
