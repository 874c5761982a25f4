package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/approvals"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
	"github.com/drawbridge-mcp/drawbridge/backend/trust"
)

func (w *world) actCall() {
	c, s := pick(w, w.clients), w.order[w.r.IntN(len(w.order))]
	tool := pick(w, simTools)
	if s.mode != "" {
		tool = "echo"
	}
	token := fmt.Sprintf("%c%d", "abcd"[w.r.IntN(4)], len(w.requests))
	w.note("%s calls %s %s: %s", c.name, s.id, tool, token)
	c.call(s.id, tool, token)
}

// actBurst makes more calls at once than the limit of a tool permits.
func (w *world) actBurst() {
	c, s := pick(w, w.clients), w.scripted()
	for range 2 * simBurst {
		token := fmt.Sprintf("%c%d", "abcd"[w.r.IntN(4)], len(w.requests))
		w.note("%s calls %s limited: %s", c.name, s.id, token)
		c.call(s.id, "limited", token)
	}
}

func (w *world) actAnswer() {
	p := w.process()
	if p == nil {
		return
	}
	if c := p.take(w.r); c != nil {
		w.note("%s answers %s %s", p.server.id, c.token, p.answer(c, w.r))
	}
}

// actApprove answers an approval: in time or late, right or wrong.
func (w *world) actApprove() {
	items := w.d.inbox.List()
	if w.r.IntN(30) == 0 {
		if err := w.d.inbox.Answer("wrong", approvals.Accept, nil); err == nil {
			w.violate("an approval that does not exist was accepted")
		}
	}
	if len(items) == 0 {
		return
	}
	item := pick(w, items)
	if item.Held == nil {
		w.note("the user cancels %s of %s", item.Kind, item.Server)
		_ = w.d.inbox.Answer(item.ID, approvals.Cancel, nil)
		return
	}
	token := strings.TrimSuffix(strings.TrimPrefix(item.Held.Arguments, `{"text":"`), `"}`)
	action := pick(w, []string{approvals.Accept, approvals.Accept, approvals.Accept, approvals.Decline})
	scope := pick(w, []string{approvals.Once, approvals.Once, approvals.Once, approvals.Minutes, approvals.Session})
	w.note("the user answers %s %s: %s", action, scope, token)
	w.mu.Lock()
	q := w.requests[token]
	if q == nil {
		w.faults = append(w.faults, "the user is asked about "+item.Held.Arguments)
		w.mu.Unlock()
		return
	}
	if action == approvals.Accept {
		w.approved[token] = true
		if scope != approvals.Once {
			until := time.Now().Add(10 * time.Minute)
			if scope == approvals.Session {
				until = time.Now().Add(24 * time.Hour)
			}
			w.granted[q.client.name+"/"+q.server+"/"+q.tool] = until
		}
	}
	w.mu.Unlock()
	if err := w.d.inbox.AnswerFor(context.Background(), item.ID, action, scope, item.Held.Seen, nil); err != nil && !(scope == approvals.Session && !item.Held.Session) {
		w.violate("the approval of %s fails: %v", token, err)
	}
}

func (w *world) actPassBriefly() {
	d := time.Duration(w.r.IntN(100)) * time.Millisecond
	w.note("%s pass", d)
	w.pass(d)
}

func (w *world) actPass() {
	d := pick(w, []time.Duration{time.Second, time.Second, 3 * time.Second, 12 * time.Second, 40 * time.Second, 3 * time.Minute})
	w.note("%s pass", d)
	w.pass(d)
}

// change applies a change of the configuration, and returns when it is in use.
func (w *world) change(what string, f func(c *simConfig), apply func() error) {
	w.mu.Lock()
	next := w.conf.clone()
	f(next)
	next.Note++
	w.before, w.conf = w.conf, next
	for key := range w.trusted {
		server, tool, _ := strings.Cut(key, "/")
		// What was withheld of a disabled server stays so: it lists nothing that could be accepted.
		if v := w.servers[server].listed[tool]; next.Accept[server] && !next.Disabled[server] && v != 0 {
			w.trusted[key] = v
		}
	}
	w.mu.Unlock()
	w.note("the configuration changes: %s", what)
	if apply == nil {
		apply = func() error { return w.write(next) }
	}
	if err := apply(); err != nil {
		w.violate("the configuration is refused (%s): %v", what, err)
	}
	w.settle()
	w.mu.Lock()
	w.before = nil
	w.mu.Unlock()
}

// write replaces the file as an editor does, and waits until it is in use.
func (w *world) write(c *simConfig) error {
	_, _, etag, err := w.d.files.Text()
	if err != nil {
		return err
	}
	return w.d.files.Replace(context.Background(), []byte(c.text(w.order)), etag)
}

func (w *world) actEdit() {
	s, c := w.scripted(), pick(w, w.clients)
	switch w.r.IntN(8) {
	case 0:
		off := !w.conf.Disabled[s.id]
		w.change(fmt.Sprint(s.id, " disabled ", off), func(n *simConfig) { n.Disabled[s.id] = off }, nil)
	case 1:
		ask := pick(w, []string{"ask", "ask", "never", "deny"})
		w.change(fmt.Sprint(s.id, " approval ", ask), func(n *simConfig) { n.Ask[s.id] = ask }, nil)
	case 2:
		w.change(fmt.Sprint(s.id, " switched ", w.conf.Off[s.id]), func(n *simConfig) { n.Off[s.id] = !n.Off[s.id] }, nil)
	case 3:
		w.change("deny", func(n *simConfig) { n.Deny = !n.Deny }, nil)
	case 4:
		w.change(fmt.Sprint(c.name, " and ", s.id), func(n *simConfig) {
			if n.Hidden[c.name] != "" {
				delete(n.Hidden, c.name)
			} else {
				n.Hidden[c.name] = s.id
			}
		}, nil)
	case 5:
		w.change(fmt.Sprint(s.id, " accepts changes"), func(n *simConfig) { n.Accept[s.id] = !n.Accept[s.id] }, nil)
	case 6:
		w.change(fmt.Sprint(s.id, " few at once"), func(n *simConfig) { n.Few[s.id] = !n.Few[s.id] }, nil)
	case 7:
		w.change("m1 is removed or back", func(n *simConfig) { n.Gone = map[string]string{"": "m1"}[n.Gone] }, nil)
	}
}

// actEditTwice makes two edits at the same time. Both must be in the file.
func (w *world) actEditTwice() {
	a, b := w.order[0], w.order[1]
	w.change("two edits at once", func(n *simConfig) { n.Off[a.id], n.Off[b.id] = !n.Off[a.id], !n.Off[b.id] }, func() error {
		done := make(chan error, 2)
		for _, s := range []*simServer{a, b} {
			go func() {
				done <- w.d.files.Set(context.Background(), !w.conf.Off[s.id], "mcpServers", s.id, "tools", "switched", "enabled")
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				return err
			}
		}
		_, text, _, err := w.d.files.Text()
		for _, s := range []*simServer{a, b} {
			var file struct {
				MCPServers map[string]struct {
					Tools map[string]struct{ Enabled *bool }
				}
			}
			_, src, _ := strings.Cut(string(text), "\n") // after the comment
			if err := errors.Join(err, json.Unmarshal([]byte(src), &file)); err != nil {
				return err
			}
			if on := file.MCPServers[s.id].Tools["switched"].Enabled; on == nil || *on == w.conf.Off[s.id] {
				w.violate("an edit of %s is lost", s.id)
			}
		}
		return nil
	})
}

// actListAndCall calls a tool at the moment when it is listed: it must exist.
func (w *world) actListAndCall() {
	c := pick(w, w.clients)
	tools := c.list()
	var own []string
	for _, t := range tools {
		if strings.HasPrefix(t, "s") {
			own = append(own, t)
		}
	}
	if len(own) == 0 {
		return
	}
	server, tool, _ := strings.Cut(pick(w, own), "__")
	token := fmt.Sprintf("%c%d", "abcd"[w.r.IntN(4)], len(w.requests))
	w.note("%s lists %d tools and calls %s %s: %s", c.name, len(tools), server, tool, token)
	q := c.call(server, tool, token)
	w.settle()
	if q == nil || !q.response.done() {
		return
	}
	for _, m := range q.response.messages() {
		if strings.Contains(m, "there is no tool") || strings.Contains(m, "unknown tool") {
			w.violate("%s__%s is listed for %s, and a call of it fails: %s", server, tool, c.name, m)
		}
	}
}

func (w *world) actChangeTools() {
	s := w.scripted()
	tool := pick(w, []string{"shape", "plain"})
	w.mu.Lock()
	if w.versions++; w.r.IntN(6) == 0 && tool == "shape" {
		s.version[tool] = 0 // it is gone
	} else {
		s.version[tool] = w.versions + 1
	}
	live := slices.Clone(s.live)
	w.mu.Unlock()
	tells := w.r.IntN(5) > 0
	w.note("%s changes %s to version %d, and says so: %v", s.id, tool, s.version[tool], tells)
	for _, p := range live {
		if tells {
			p.notifyChanged()
		}
	}
}

// actDecide accepts a changed tool.
func (w *world) actDecide() {
	waiting := w.d.baseline.Waiting()
	if len(waiting) == 0 {
		return
	}
	one := pick(w, waiting)
	w.note("the user accepts the change of %s %s", one.Server, one.Name)
	w.mu.Lock()
	if s := w.servers[one.Server]; s.listed[one.Name] != 0 {
		w.trusted[one.Server+"/"+one.Name] = s.listed[one.Name]
	}
	w.mu.Unlock()
	_ = w.d.baseline.Decide(context.Background(), trust.Decision{Server: one.Server, Kind: one.Kind, Name: one.Name, Action: trust.DecideAccept})
}

func (w *world) actCrash() {
	if p := w.process(); p != nil {
		w.note("process %d of %s exits", p.number, p.server.id)
		p.end()
	}
}

func (w *world) actStick() {
	if p := w.process(); p != nil {
		p.mu.Lock()
		p.stuck = !p.stuck
		p.mu.Unlock()
		w.note("process %d of %s stuck: %v", p.number, p.server.id, p.stuck)
	}
}

func (w *world) actFate() {
	s, next := w.scripted(), healthy
	if w.r.IntN(3) == 0 {
		next = fate(w.r.IntN(int(fates)))
	}
	w.note("the next processes of %s: %d", s.id, next)
	w.mu.Lock()
	s.fate = next
	w.mu.Unlock()
}

func (w *world) actDisconnect() {
	for _, q := range w.open() {
		if w.r.IntN(3) == 0 {
			q.leave()
			if c := q.client; !c.modern && w.r.IntN(2) == 0 {
				w.note("the client of %s cancels it", q.token)
				c.await(c.send(context.Background(), "POST", "", "", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+q.id+`}}`))
				return
			}
			w.note("the client of %s disconnects", q.token)
			q.cancel()
			return
		}
	}
}

// open returns the requests that have no answer, in the order in which they were made.
func (w *world) open() []*simRequest {
	w.pending = slices.DeleteFunc(w.pending, func(q *simRequest) bool { return q.checked })
	return w.pending
}

func (w *world) actListen() {
	c := pick(w, w.clients)
	w.note("%s listens", c.name)
	c.listen()
}

func (w *world) actEndSession() {
	c := pick(w, w.clients)
	if c.session == "" {
		return
	}
	w.note("%s ends its session", c.name)
	for _, q := range w.open() {
		if q.client == c {
			q.leave()
		}
	}
	c.await(c.send(context.Background(), "DELETE", "", "", ""))
	c.session, c.tools = "", nil
}

// actSteal uses the session of another client.
func (w *world) actSteal() {
	thief, victim := w.clients[0], w.clients[2]
	if victim.session == "" || !thief.connect() {
		return
	}
	w.note("%s uses the session of %s", thief.name, victim.name)
	own := thief.session
	thief.session = victim.session
	r := thief.send(context.Background(), "POST", "tools/list", "", `{"jsonrpc":"2.0","id":"stolen","method":"tools/list"}`)
	thief.session = own
	if thief.await(r) && r.status == http.StatusOK {
		w.violate("%s uses the session of %s: %s", thief.name, victim.name, r.body.String())
	}
}

func (w *world) actRotate() {
	c := pick(w, w.clients)
	w.note("%s gets another token", c.name)
	w.mu.Lock()
	c.epoch++
	c.changing++
	w.mu.Unlock()
	token, err := w.d.tokens.Rotate(c.name)
	w.must(err)
	c.token, c.session, c.tools = token.Token, "", nil
	w.pass(20 * time.Millisecond) // a token is looked up again after 10 ms
	w.settle()
	w.mu.Lock()
	c.changing--
	w.mu.Unlock()
}

func (w *world) actPause() {
	w.mu.Lock()
	on := !w.paused
	w.paused, w.pausing = on, true
	w.mu.Unlock()
	w.note("paused: %v", on)
	if err := w.d.settings.SetPaused(context.Background(), on); err != nil {
		w.violate("cannot pause: %v", err)
	}
	w.settle()
	w.mu.Lock()
	w.pausing = false
	w.mu.Unlock()
}

func (w *world) actNetwork() {
	w.note("the network changes")
	w.d.servers.NetworkChanged()
}

// actClock sets the wall clock.
func (w *world) actClock() {
	by := pick(w, []time.Duration{-2 * time.Hour, -time.Second, time.Second, 2 * time.Hour})
	w.note("the clock is set by %s", by)
	w.offset.Add(int64(by))
}

// actStallDisk keeps the record from writing for a time, as a disk does that does not answer.
func (w *world) actStallDisk() {
	d := pick(w, []time.Duration{50 * time.Millisecond, time.Second, 4 * time.Second, 15 * time.Second})
	w.note("the disk stalls for %s", d)
	w.stalls.Go(func() {
		db, err := sql.Open("sqlite", filepath.Join(w.dir, "history.db"))
		w.must(err)
		defer db.Close()
		ctx := context.Background()
		conn, err := db.Conn(ctx)
		w.must(err)
		defer conn.Close()
		if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err == nil { // else it is stalled already
			time.Sleep(d)
			_, err = conn.ExecContext(ctx, "ROLLBACK")
			w.must(err)
		}
	})
}

// actSleep lets the machine sleep: the monotonic clock stands still, and the network is another one afterwards.
func (w *world) actSleep() {
	d := pick(w, []time.Duration{5 * time.Minute, 9 * time.Hour})
	w.note("the machine sleeps for %s", d)
	w.offset.Add(int64(d))
	w.d.servers.NetworkChanged()
}

func (w *world) actOperate() {
	s := w.scripted()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	switch w.r.IntN(3) {
	case 0:
		w.note("the user stops %s", s.id)
		_ = w.d.servers.Stop(ctx, s.id)
	case 1:
		w.note("the user restarts %s", s.id)
		_ = w.d.servers.Restart(ctx, s.id)
	default:
		w.note("the user starts %s", s.id)
		_ = w.d.servers.Start(ctx, s.id)
	}
}

// actQuiet waits until everything has settled and compares what is shown with what is true.
func (w *world) actQuiet() {
	w.note("quiet")
	w.pass(1500 * time.Millisecond)
	w.settle()
	w.checkCalls()
	w.checkStates()
	for _, c := range w.clients {
		w.checkList(c)
	}
}

// history reads the recorded calls, by trace id.
func (w *world) history() map[string][]*core.Call {
	found := map[string][]*core.Call{}
	q := store.Query{Limit: 500}
	for {
		list, next, err := w.d.history.Calls(context.Background(), q)
		w.must(err)
		for i := range list {
			if list[i].Code == core.CodeInternal {
				w.violate("%s of %s is recorded as an internal error", list[i].Method, list[i].Server)
			}
			if list[i].FromServer { // it asked, during a call
				continue
			}
			found[list[i].TraceID] = append(found[list[i].TraceID], &list[i])
		}
		if next == 0 {
			return found
		}
		q.Before = next
	}
}
