//go:build linux

package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client is an MCP client of either era. It must be used from one goroutine.
type client struct {
	run    *run
	name   string
	token  string
	modern bool
	// server is the server whose own endpoint the client uses; nil means the endpoint for all
	// servers.
	server  *Server
	http    *http.Client
	session string
	id      int
	count   ClientCounts
	turn    int // number of reconnects
}

func newClient(r *run, i int, token string) *client {
	c := &client{run: r, name: fmt.Sprintf("soak-%02d", i), token: token, modern: i%2 == 1, count: ClientCounts{Codes: map[string]int{}}}
	if i%4 >= 2 && i < 4 {
		c.server = &r.Servers[0]
	}
	c.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2, DisableCompression: true}, Timeout: 2 * time.Minute}
	return c
}

// callUntilOver makes calls until the run is over.
func (c *client) callUntilOver(ctx context.Context) {
	if err := c.connect(ctx); err != nil {
		c.run.fail("%s cannot connect: %v", c.name, err)
		return
	}
	for ctx.Err() == nil && !c.run.over() {
		c.run.pace.wait(ctx)
		if c.run.claimAction(&c.run.connects, c.run.Reconnects) {
			if err := c.reconnect(ctx); err != nil && ctx.Err() == nil {
				c.run.fail("%s cannot connect again: %v", c.name, err)
				return
			}
		}
		s := c.server
		if s == nil {
			s = c.run.pick()
		}
		c.call(ctx, s)
	}
}

// connect initializes a session, if the era has sessions.
func (c *client) connect(ctx context.Context) error {
	c.session = ""
	if c.modern {
		return nil
	}
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + c.name + `","version":"1"}}}`
	resp, err := c.post(ctx, c.path(), "initialize", "", []byte(body))
	if err != nil {
		return err
	}
	if _, err := read(resp); err != nil {
		return err
	}
	if c.session = resp.Header.Get("Mcp-Session-Id"); c.session == "" {
		return fmt.Errorf("initialize is answered %s without a session", resp.Status)
	}
	resp, err = c.post(ctx, c.path(), "notifications/initialized", "", []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	if err != nil {
		return err
	}
	_, err = read(resp)
	return err
}

// reconnect closes the session, or every second time abandons it, and opens another.
func (c *client) reconnect(ctx context.Context) error {
	if c.turn++; c.turn%2 == 0 {
		c.deleteSession(ctx)
	}
	c.http.CloseIdleConnections()
	return c.connect(ctx)
}

// deleteSession deletes the session, as a client does when it is closed.
func (c *client) deleteSession(ctx context.Context) {
	if c.session != "" {
		req, err := http.NewRequestWithContext(ctx, http.MethodDelete, c.run.URL+c.path(), nil)
		if err == nil {
			c.setHeaders(req, "", "")
			if resp, err := c.http.Do(req); err == nil {
				_, _ = read(resp)
			}
		}
		c.session = ""
	}
	c.http.CloseIdleConnections()
}

func (c *client) path() string {
	if c.server != nil {
		return "/s/" + c.server.ID + "/mcp"
	}
	return "/mcp"
}

func (c *client) setHeaders(req *http.Request, method, name string) {
	h := req.Header
	h.Set("Authorization", "Bearer "+c.token)
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		h.Set("Mcp-Session-Id", c.session)
		h.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	if c.modern {
		h.Set("Mcp-Protocol-Version", "2026-07-28")
		h.Set("Mcp-Method", method)
		if name != "" {
			h.Set("Mcp-Name", name)
		}
	}
}

func (c *client) post(ctx context.Context, path, method, name string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.run.URL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	c.setHeaders(req, method, name)
	return c.http.Do(req)
}

func read(resp *http.Response) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	return io.ReadAll(resp.Body)
}

// request returns a tool call and the public name of the tool.
func (c *client) request(s *Server, id int, text string) (name string, body []byte) {
	name = s.ID + "__" + s.Tool
	if c.server != nil {
		name = s.Tool
	}
	body = fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}`, id, name, text)
	if c.modern {
		body = fmt.Appendf(body, `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"}}`, c.name)
	}
	return name, append(body, `}}`...)
}

var errExpired = errors.New("the session is unknown")

// call makes one call and counts the result. It must be answered exactly once, either with the
// response to this call or with an error that contains its code.
func (c *client) call(ctx context.Context, s *Server) {
	for tries := 1; ; tries++ {
		c.id++
		text := c.name + "-" + strconv.Itoa(c.id)
		began := time.Now()
		code, err := c.callOnce(ctx, s, text)
		if errors.Is(err, errExpired) && tries < 5 {
			c.run.expired.Add(1)
			if err = c.connect(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			c.run.fail("%s, call %d of %s: %v", c.name, c.id, s.ID, err)
			c.run.calls.Add(1) // counts anyway, or the run would not end
			return
		}
		c.run.took.add(time.Since(began))
		c.run.calls.Add(1)
		c.count.Calls++
		if code == "" {
			c.count.OK++
		} else {
			c.count.Codes[code]++
		}
		return
	}
}

func (c *client) callOnce(ctx context.Context, s *Server, text string) (code string, err error) {
	name, body := c.request(s, c.id, text)
	// A call in progress is completed when the run ends, because it must be answered, too.
	resp, err := c.post(context.WithoutCancel(ctx), c.path(), "tools/call", name, body)
	if err != nil {
		return "", fmt.Errorf("not answered: %w", err)
	}
	answer, err := read(resp)
	if err != nil {
		return "", fmt.Errorf("the answer breaks off: %w", err)
	}
	if resp.StatusCode == http.StatusNotFound && c.session != "" {
		return "", errExpired
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		answer = events(answer)
	}
	return c.checkResponse(s, text, answer, resp.Status)
}

// events returns the data of a stream, one message per line.
func events(stream []byte) (lines []byte) {
	for line := range bytes.Lines(stream) {
		if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			lines = append(lines, data...)
		}
	}
	return lines
}

// checkResponse checks the response to a call.
func (c *client) checkResponse(s *Server, text string, answer []byte, status string) (code string, err error) {
	type message struct {
		ID     json.RawMessage
		Result *struct {
			IsError bool
			Meta    map[string]struct{ Code string } `json:"_meta"`
		}
		Error *struct {
			Code    int
			Message string
			Data    struct{ Code string }
		}
	}
	says := s.Says
	if says == "" {
		says = text
	}
	var ours []message
	for lines := json.NewDecoder(bytes.NewReader(answer)); ; {
		var raw json.RawMessage
		if err := lines.Decode(&raw); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return "", fmt.Errorf("%s with what cannot be read: %.300s", status, answer)
		}
		var m message
		_ = json.Unmarshal(raw, &m) // a _meta of the server may have any type
		if string(m.ID) == strconv.Itoa(c.id) && (m.Result != nil || m.Error != nil) {
			ours = append(ours, m)
		}
	}
	if len(ours) != 1 {
		return "", fmt.Errorf("answered %d times: %s %.300s", len(ours), status, answer)
	}
	switch m := ours[0]; {
	case m.Error != nil && m.Error.Data.Code != "":
		return m.Error.Data.Code, nil
	case m.Error != nil:
		return "", fmt.Errorf("an error that names no code: %.300s", answer)
	case m.Result.IsError && m.Result.Meta["drawbridge/error"].Code != "":
		return m.Result.Meta["drawbridge/error"].Code, nil
	case m.Result.IsError:
		return "", fmt.Errorf("a failure that names no code: %.300s", answer)
	case !bytes.Contains(answer, []byte(says)):
		return "", fmt.Errorf("the answer to another call, without %q: %.300s", says, answer)
	}
	return "", nil
}
