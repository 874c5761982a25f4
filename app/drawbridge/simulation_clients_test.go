package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// simClient is a client of the bridge.
type simClient struct {
	w       *world
	name    string
	token   string
	modern  bool
	session string // of the legacy era; "" if it has none
	calls   int    // which number its requests; other clients use the same numbers

	// Guarded by world.mu.
	epoch    int // counts the tokens that it had
	changing int // its token is being changed
	limited  map[string][]time.Time

	stream  *response          // of the messages that belong to no call; nil if it listens to none
	hangUp  context.CancelFunc // of stream
	tools   []string           // that it saw last
	changed int                // list_changed that stream had before tools were read
}

// simRequest is a call of a client.
type simRequest struct {
	token, server, tool string
	id                  string // and its progress token
	client              *simClient
	epoch               int
	began               time.Time
	ran                 []time.Time // guarded by world.mu
	response            *response
	cancel              context.CancelFunc
	gone                bool // the client has disconnected or cancelled; written under world.mu
	checked             bool
	outcome             string
}

// response is the HTTP response to a request.
type response struct {
	w      *world
	of     string // the request, in the trace
	header http.Header
	mu     sync.Mutex
	status int
	body   bytes.Buffer
	ended  bool
	at     time.Time
}

func newResponse() *response { return &response{header: http.Header{}} }

func (r *response) Header() http.Header              { return r.header }
func (r *response) Flush()                           {}
func (r *response) SetWriteDeadline(time.Time) error { return nil }
func (r *response) SetReadDeadline(time.Time) error  { return nil }

func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == 0 {
		r.status = status
	}
}

func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	for range bytes.Count(b, []byte("data: {")) {
		r.w.remember(r.of, "gets a message")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.body.Write(b)
}

func (r *response) done() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended
}

// messages returns the JSON-RPC messages of a response.
func (r *response) messages() (list []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.body.String()
	if strings.HasPrefix(text, "{") {
		return []string{text}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if data, ok := strings.CutPrefix(line, "data: "); ok && strings.HasPrefix(data, "{") {
			list = append(list, data)
		}
	}
	return list
}

func (r *response) count(part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Count(r.body.Bytes(), []byte(part))
}

// send makes a request in a goroutine and returns its response, which fills.
func (c *simClient) send(ctx context.Context, verb, method, name, body string) *response {
	req, err := http.NewRequestWithContext(ctx, verb, "http://127.0.0.1:7575/mcp", io.NopCloser(strings.NewReader(body)))
	c.w.must(err)
	req.ContentLength = int64(len(body))
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.modern {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		if name != "" {
			req.Header.Set("Mcp-Name", name)
		}
	} else if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	r := newResponse()
	_, text, _ := strings.Cut(body, `"text":"`)
	text, _, _ = strings.Cut(text, `"`)
	r.w, r.of = c.w, c.name+" "+verb+" "+method+" "+text
	c.w.remember(r.of, "begins")
	go func() {
		c.w.handler.ServeHTTP(r, req)
		c.w.remember(r.of, "ends", strconv.Itoa(r.status))
		r.mu.Lock()
		r.ended, r.at = true, time.Now()
		r.mu.Unlock()
	}()
	return r
}

// await waits for a response that needs no event of the simulation. It is no event itself.
func (c *simClient) await(r *response) bool {
	for range 2000 {
		c.w.settle()
		if r.done() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.w.violate("%s gets no answer within 20 s: %s", c.name, r.body.String())
	return false
}

func (c *simClient) params(members, token, progress string) string {
	meta := ""
	if c.modern {
		meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"` + c.name + `","version":"1"}`
	}
	if token != "" {
		if meta != "" {
			meta += ","
		}
		meta += `"traceparent":"00-` + traceOf(token) + `-00000000000000ab-01","progressToken":` + progress
	}
	if meta != "" {
		meta = `"_meta":{` + meta + `}`
		if members != "" {
			meta = "," + meta
		}
	}
	return "{" + members + meta + "}"
}

// traceOf returns the trace id of a request, by which it is found in the history.
func traceOf(token string) string { return fmt.Sprintf("%032s", fmt.Sprintf("%x", token)) }

// connect begins a session, in the legacy era.
func (c *simClient) connect() bool {
	if c.modern || c.session != "" {
		return true
	}
	r := c.send(context.Background(), "POST", "initialize", "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"`+c.name+`","version":"1"}}}`)
	if !c.await(r) {
		return false
	}
	if c.session = r.header.Get("Mcp-Session-Id"); r.status != http.StatusOK || c.session == "" {
		c.w.violate("initialize of %s: %d %s", c.name, r.status, r.body.String())
		return false
	}
	return c.await(c.send(context.Background(), "POST", "", "", `{"jsonrpc":"2.0","method":"notifications/initialized"}`))
}

// list returns the public names of the tools, or nil if the client has no session any more.
func (c *simClient) list() []string {
	if !c.connect() {
		return nil
	}
	changed := 0
	if c.stream != nil {
		changed = c.stream.count("notifications/tools/list_changed")
	}
	r := c.send(context.Background(), "POST", "tools/list", "", `{"jsonrpc":"2.0","id":"l","method":"tools/list","params":`+c.params("", "", "")+`}`)
	if !c.await(r) {
		return nil
	}
	if r.status == http.StatusNotFound || r.status == http.StatusUnauthorized {
		c.session = ""
		return nil
	}
	var got struct {
		Result struct{ Tools []struct{ Name string } }
	}
	all := r.messages()
	if len(all) != 1 || json.Unmarshal([]byte(all[0]), &got) != nil {
		c.w.violate("tools/list of %s: %d %q", c.name, r.status, all)
		return nil
	}
	c.tools, c.changed = []string{}, changed
	for _, t := range got.Result.Tools {
		c.tools = append(c.tools, t.Name)
	}
	slices.Sort(c.tools)
	return c.tools
}

// listen opens the stream of messages that belong to no call.
func (c *simClient) listen() {
	if c.stream != nil && !c.stream.done() || !c.connect() {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.hangUp, c.tools = cancel, nil
	if c.modern {
		c.stream = c.send(ctx, "POST", "subscriptions/listen", "", `{"jsonrpc":"2.0","id":"listen","method":"subscriptions/listen","params":`+c.params(`"notifications":{"toolsListChanged":true}`, "", "")+`}`)
		return
	}
	c.stream = c.send(ctx, "GET", "", "", "")
}

// call begins a call.
func (c *simClient) call(server, tool, token string) *simRequest {
	if !c.connect() {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.calls++
	q := &simRequest{token: token, id: strconv.Itoa(c.calls), server: server, tool: tool, client: c, began: time.Now(), cancel: cancel}
	if c.calls%2 == 0 {
		q.id = `"` + q.id + `"`
	}
	c.w.mu.Lock()
	q.epoch = c.epoch
	c.w.requests[token] = q
	c.w.pending = append(c.w.pending, q)
	c.w.mu.Unlock()
	public := server + "__" + tool
	q.response = c.send(ctx, "POST", "tools/call", public, `{"jsonrpc":"2.0","id":`+q.id+`,"method":"tools/call","params":`+c.params(`"name":"`+public+`","arguments":{"text":"`+token+`"}`, token, q.id)+`}`)
	return q
}

// leave marks a call that its client has given up.
func (q *simRequest) leave() {
	q.client.w.mu.Lock()
	defer q.client.w.mu.Unlock()
	q.gone = true
}

// check verifies the answer to a call that has ended.
func (q *simRequest) check() {
	w := q.client.w
	q.checked = true
	defer q.cancel()
	var answers []string
	for _, m := range q.response.messages() {
		var got struct {
			ID            json.RawMessage
			Method        string
			Result, Error json.RawMessage
			Params        struct{ ProgressToken json.RawMessage }
		}
		if err := json.Unmarshal([]byte(m), &got); err != nil {
			w.violate("call %s got %q: %v", q.token, m, err)
			return
		}
		if got.Method != "" {
			if got.Method == "notifications/progress" && string(got.Params.ProgressToken) != q.id {
				w.violate("call %s got the progress of another one: %s", q.token, m)
			}
			continue
		}
		if q.response.status/100 != 2 && string(got.ID) == "" {
			q.outcome = "refused"
			continue
		}
		answers = append(answers, m)
		switch {
		case string(got.ID) != q.id && !(string(got.ID) == "null" && got.Error != nil):
			w.violate("call %s got the answer %s", q.token, m)
		case got.Error != nil:
			q.outcome = "error"
		case bytes.Contains(got.Result, []byte(`"isError":true`)):
			q.outcome = "tool_error"
		default:
			q.outcome = "ok"
		}
		if s := w.servers[q.server]; s != nil && s.mode == "" && strings.Contains(m, `"of `) && !strings.Contains(m, `"of `+q.token+`"`) || strings.Contains(m, "a second answer") || strings.Contains(m, "nobody asked") {
			w.violate("call %s got the answer to another one: %s", q.token, m)
		}
		if q.outcome == "ok" && len(q.ran) == 0 {
			w.violate("call %s succeeded and never ran: %s", q.token, m)
		}
	}
	if len(answers) != 1 && !q.gone && q.outcome != "refused" {
		w.violate("call %s got %d answers: %d %q", q.token, len(answers), q.response.status, q.response.messages())
	}
	if status := q.response.status; status == http.StatusNotFound || status == http.StatusUnauthorized {
		q.client.session = ""
	}
}
