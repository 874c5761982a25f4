package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// simServer is a server of the configuration. What it does next is drawn by the seed.
type simServer struct {
	id      string
	mode    string         // of package mcptest; "" for one whose every answer is an event of the simulation
	modern  bool           // speaks only the modern era
	version map[string]int // of the definition of each tool, as the server would list it now
	starts  int
	fate    fate // of the next process

	live   []*simProcess
	listed map[string]int // versions as they were listed last
	since  time.Time      // when live became empty or not empty
}

// fate is how a process behaves at its start.
type fate int

const (
	healthy fate = iota
	exits
	silent
	missing // the program cannot be started
	slow
	fates
)

// simProcess is one process of a server. It answers the handshake itself; calls wait for the simulation.
type simProcess struct {
	w      *world
	server *simServer
	number int
	fate   fate
	// primary is the process whose lists count. Others serve one era, client or session; the program does not
	// compare what they list with what is trusted.
	primary bool
	out     *stream
	done    chan struct{}
	end     func()

	mu     sync.Mutex // guards what follows
	rest   []byte     // of an incomplete line
	queue  []*simCall // calls that have arrived and are not answered
	stuck  bool       // it reads, and does not answer
	ready  time.Time  // when it listed its tools first; zero if it has not
	tokens []string
}

// simCall is a call that has arrived at a process.
type simCall struct {
	id, token, tool, progress string
	modern                    bool
}

// stream is the output of a process.
type stream struct {
	mu     sync.Mutex
	data   []byte
	closed bool
	wake   chan struct{}
}

func (s *stream) Read(p []byte) (int, error) {
	for {
		s.mu.Lock()
		n := copy(p, s.data)
		s.data = s.data[n:]
		closed := s.closed
		s.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		if closed {
			return 0, io.EOF
		}
		<-s.wake
	}
}

func (s *stream) change(f func()) {
	s.mu.Lock()
	f()
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// start is Dialer.Start.
func (w *world) start(c *config.Server) (upstream.Pipe, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.servers[c.ID]
	if s == nil {
		return nil, fmt.Errorf("the simulation has no server %q", c.ID)
	}
	s.starts++
	w.saw(s.id, "starts")
	if s.mode != "" {
		return &checkedPipe{Memory: mcptest.StartInMemory(s.mode), w: w, server: s}, nil
	}
	if s.fate == missing {
		return nil, errors.New("the program is missing")
	}
	p := &simProcess{w: w, server: s, number: s.starts, fate: s.fate, out: &stream{wake: make(chan struct{}, 1)}, done: make(chan struct{})}
	p.end = sync.OnceFunc(func() {
		w.mu.Lock()
		w.saw(s.id, "ends")
		s.live = slices.DeleteFunc(s.live, func(q *simProcess) bool { return q == p })
		s.since = time.Now()
		w.mu.Unlock()
		p.out.change(func() { p.out.closed = true })
		close(p.done)
	})
	p.primary = !slices.ContainsFunc(s.live, func(q *simProcess) bool { return q.primary })
	s.live = append(s.live, p)
	s.since = time.Now()
	return p, nil
}

func (p *simProcess) Stdin() io.WriteCloser      { return simInput{p} }
func (p *simProcess) Stdout() io.Reader          { return p.out }
func (p *simProcess) Done() <-chan struct{}      { return p.done }
func (p *simProcess) Stop(context.Context) error { p.end(); return nil }

type simInput struct{ p *simProcess }

func (i simInput) Close() error { i.p.end(); return nil } // it exits at the end of its input

func (i simInput) Write(b []byte) (int, error) {
	p := i.p
	select {
	case <-p.done:
		return 0, io.ErrClosedPipe
	default:
	}
	p.mu.Lock()
	p.rest = append(p.rest, b...)
	var lines [][]byte
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte("\n"))
		if !ok {
			break
		}
		lines, p.rest = append(lines, bytes.Clone(line)), rest
	}
	p.mu.Unlock()
	for _, line := range lines {
		p.receive(line)
	}
	return len(b), nil
}

type simMessage struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments struct{ Text string }
		RequestID json.RawMessage
		Meta      struct {
			Progress json.RawMessage `json:"progressToken"`
			Version  string          `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
}

func (p *simProcess) receive(line []byte) {
	var m simMessage
	if err := json.Unmarshal(line, &m); err != nil {
		p.w.violate("a server received %q: %v", line, err)
		return
	}
	p.w.remember(p.server.id, "gets", m.Method, m.Params.Arguments.Text)
	modern := m.Params.Meta.Version != ""
	switch {
	case p.fate == silent, p.isStuck() && m.Method != "tools/call":
		return
	case p.fate == exits:
		p.end()
	case m.Method == "initialize" && p.server.modern, m.Method == "server/discover" && !p.server.modern:
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	case m.Method == "initialize":
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"sim","version":"1"}}}`, m.ID)
	case m.Method == "server/discover":
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"sim","version":"1"}}}}`, m.ID)
	case m.Method == "subscriptions/listen":
		p.say(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, m.ID)
		p.mu.Lock()
		p.tokens = append(p.tokens, string(m.ID))
		p.mu.Unlock()
	case m.Method == "ping":
		p.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case m.Method == "tools/list":
		p.list(m.ID, modern)
	case m.Method == "tools/call":
		call := &simCall{id: string(m.ID), token: m.Params.Arguments.Text, tool: m.Params.Name, progress: string(m.Params.Meta.Progress), modern: modern}
		p.w.ran(p.server, call.tool, call.token)
		p.mu.Lock()
		p.queue = append(p.queue, call)
		p.mu.Unlock()
	case m.Method == "notifications/cancelled":
		p.mu.Lock()
		i := slices.IndexFunc(p.queue, func(c *simCall) bool { return c.id == string(m.Params.RequestID) })
		token := ""
		if i >= 0 {
			token = p.queue[i].token
			p.queue = slices.Delete(p.queue, i, i+1)
		}
		p.mu.Unlock()
		p.w.cancelled(token)
	case len(m.ID) > 0 && m.Method != "":
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	}
}

func (p *simProcess) isStuck() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stuck
}

func (p *simProcess) list(id json.RawMessage, modern bool) {
	var tools []string
	p.w.mu.Lock()
	for _, name := range simTools {
		v := p.server.version[name]
		if v == 0 {
			continue // removed for now
		}
		tools = append(tools, fmt.Sprintf(`{"name":%q,"description":"version %d","inputSchema":{"type":"object"}}`, name, v))
	}
	if p.primary && p.w.conf.Session[p.server.id] == "shared" {
		p.server.listed = map[string]int{}
		for name, v := range p.server.version {
			if v != 0 {
				p.server.listed[name] = v
				p.w.trustListed(p.server, name, v)
			}
		}
	}
	p.w.mu.Unlock()
	p.mu.Lock()
	if p.ready.IsZero() {
		p.ready = time.Now()
	}
	p.mu.Unlock()
	era := ""
	if modern {
		era = `"resultType":"complete",`
	}
	p.say(`{"jsonrpc":"2.0","id":%s,"result":{%s"tools":[%s]}}`, id, era, strings.Join(tools, ","))
}

func (p *simProcess) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...) + "\n"
	members := strings.SplitN(line, ",", 3)                        // after the version and the id
	what, _, _ := strings.Cut(members[len(members)-1], `Token":"`) // which nobody can foresee
	p.w.remember(p.server.id, "says", what[:min(len(what), 60)])
	p.out.change(func() { p.out.data = append(p.out.data, line...) })
}

// take removes a call that waits at the process.
func (p *simProcess) take(r *rand.Rand) *simCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 || p.stuck {
		return nil
	}
	i := r.IntN(len(p.queue))
	c := p.queue[i]
	p.queue = slices.Delete(p.queue, i, i+1)
	return c
}

func (c *simCall) result(more string) string {
	if c.modern {
		more += `"resultType":"complete",`
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{%s"content":[{"type":"text","text":"of %s"}]}}`, c.id, more, c.token)
}

// answer answers a call in the way that the seed draws.
func (p *simProcess) answer(c *simCall, r *rand.Rand) string {
	result := c.result("")
	switch r.IntN(20) {
	case 0:
		p.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"of %s"}}`, c.id, c.token)
		return "error"
	case 1:
		p.say("%s", c.result(`"isError":true,`))
		return "tool error"
	case 2:
		p.say("%s", result)
		p.say("%s", strings.Replace(result, "of "+c.token, "a second answer", 1))
		return "twice"
	case 3:
		p.say(`{"jsonrpc":"2.0","id":99999999,"result":{"content":[{"type":"text","text":"nobody asked"}]}}`)
		p.say("%s", result)
		return "beside one to an unknown id"
	case 4:
		p.say("console.log\n[]\nnull")
		p.say("%s", result)
		return "with junk"
	case 5:
		if c.progress != "" {
			p.say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`, c.progress)
		}
		p.say("%s", result)
		return "with progress"
	case 6:
		p.end()
		return "by exiting"
	case 7:
		return "never"
	}
	p.say("%s", result)
	return "ok"
}

// notifyChanged announces that the tools have changed.
func (p *simProcess) notifyChanged() {
	if !p.server.modern {
		p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		return
	}
	p.mu.Lock()
	tokens := slices.Clone(p.tokens)
	p.mu.Unlock()
	for _, id := range tokens {
		p.say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, id)
	}
}

// checkedPipe is a server of package mcptest. Its calls are checked as they arrive.
type checkedPipe struct {
	*mcptest.Memory
	w      *world
	server *simServer
}

func (p *checkedPipe) Stdin() io.WriteCloser { return &checkedInput{p.Memory.Stdin(), p} }
func (p *checkedPipe) Stdout() io.Reader     { return &checkedOutput{p.Memory.Stdout(), p} }

type checkedOutput struct {
	io.Reader
	p *checkedPipe
}

func (o *checkedOutput) Read(b []byte) (int, error) {
	n, err := o.Reader.Read(b)
	for range bytes.Count(b[:n], []byte("\n")) {
		o.p.w.remember(o.p.server.id, "says a line")
	}
	return n, err
}

type checkedInput struct {
	io.WriteCloser
	p *checkedPipe
}

func (i *checkedInput) Write(b []byte) (int, error) {
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		var m simMessage
		if len(line) == 0 || json.Unmarshal(line, &m) != nil {
			continue
		}
		i.p.w.remember(i.p.server.id, "gets", m.Method, m.Params.Arguments.Text)
		if m.Method == "tools/call" {
			i.p.w.ran(i.p.server, m.Params.Name, m.Params.Arguments.Text)
		}
	}
	return i.WriteCloser.Write(b)
}
