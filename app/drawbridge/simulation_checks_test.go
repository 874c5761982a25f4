package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// patienceOfCalls is more than a call can take: approval, queue, start and maxRequestMs.
const patienceOfCalls = 6 * time.Minute

func (w *world) checkCalls() {
	for _, q := range w.open() {
		switch {
		case q.response.done():
			w.steps++
			q.check()
		case time.Since(q.began) > patienceOfCalls:
			w.violate("call %s to %s %s has no answer after %s", q.token, q.server, q.tool, time.Since(q.began))
			q.checked = true
		}
	}
}

// checkStates compares the states of the servers with their processes.
func (w *world) checkStates() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.order[:3] {
		status, ok := w.d.servers.Status(s.id)
		if !ok {
			w.faults = append(w.faults, s.id+" has no state")
			continue
		}
		runs := status.State == core.StateRunning || status.State == core.StateDegraded
		switch {
		case w.conf.Session[s.id] != "shared":
		case len(s.live) == 0 && time.Since(s.since) > time.Second && runs:
			w.faults = append(w.faults, s.id+" has no process and is "+string(status.State))
		case (w.paused || w.conf.Disabled[s.id]) && len(s.live) > 0 && time.Since(s.since) > 10*time.Second:
			w.faults = append(w.faults, s.id+" has a process and is "+string(status.State))
		case w.paused && status.State != core.StatePaused && status.State != core.StateDisabled && time.Since(s.since) > 10*time.Second:
			w.faults = append(w.faults, s.id+" is "+string(status.State)+" while all are paused")
		}
	}
}

// checkList compares the list of a client with what the servers list, and the notifications with its changes.
func (w *world) checkList(c *simClient) {
	before, heard := c.tools, c.changed
	stream := c.stream
	told := 0
	if stream != nil {
		told = stream.count("notifications/tools/list_changed")
	}
	got := c.list()
	if got == nil {
		return
	}
	if before != nil && stream != nil && !stream.done() && !slices.Equal(before, got) && told == heard {
		w.violate("the list of %s changed and it was not told:\n%v\n%v", c.name, before, got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range got {
		if w.conf.Gone != "" && strings.HasPrefix(name, w.conf.Gone+"__") {
			w.faults = append(w.faults, "the list of "+c.name+" has "+name+" of a removed server")
		}
	}
	for _, s := range w.order[:3] {
		if w.conf.Session[s.id] != "shared" {
			continue
		}
		for _, tool := range simTools {
			name := s.id + "__" + tool
			v := s.listed[tool]
			want := v != 0 && v == w.trusted[s.id+"/"+tool] && !w.conf.Disabled[s.id] && w.conf.Hidden[c.name] != s.id && !(tool == "switched" && w.conf.Off[s.id])
			if tool == "careful" && w.conf.Ask[s.id] == "deny" {
				continue // it may be listed, or not
			}
			if has := slices.Contains(got, name); has && !want || want && !has {
				w.faults = append(w.faults, fmt.Sprintf("the list of %s has %s: %v; listed is version %d, trusted %d", c.name, name, has, v, w.trusted[s.id+"/"+tool]))
			}
		}
	}
}

// finish stops the program and verifies the history.
func (w *world) finish() {
	for _, q := range w.open() {
		q.leave()
		q.cancel()
	}
	w.pass(patienceOfCalls) // in the legacy era, a call goes on without its client
	w.stalls.Wait()
	w.settle()
	for _, q := range w.requests {
		q.cancel()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	w.d.history.Recorder().Flush(ctx)
	cancel()
	if len(w.faults) == 0 {
		w.checkHistory()
	}
	for _, c := range w.clients {
		if c.hangUp != nil {
			c.hangUp()
		}
	}
	if n := len(w.d.calls.Running()); n > 0 {
		w.violate("%d calls are in flight after all clients have left", n)
	}
	w.stop()
	w.reports.Close()
	w.settle()
	w.note("the end")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.order {
		for _, p := range s.live {
			w.faults = append(w.faults, "a process of "+s.id+" is left")
			go p.end()
		}
	}
}

// stop stops the program during calls, which are answered.
func (w *world) stop() {
	for i, c := range w.clients {
		c.call("s0", "plain", fmt.Sprint("last", i))
	}
	w.settle()
	stopped := make(chan error, 1)
	go func() { stopped <- w.d.life.stop() }()
	w.settle()
	answered := map[string]bool{}
	for _, p := range slices.Clone(w.servers["s0"].live) {
		for c := p.take(w.r); c != nil; c = p.take(w.r) {
			p.say("%s", c.result(""))
			answered[c.token] = true
		}
	}
	for _, q := range w.open() {
		if !answered[q.token] {
			q.leave() // the program gives it up
		}
	}
	if err := <-stopped; err != nil {
		w.violate("the program does not stop: %v", err)
	}
	for _, q := range w.open() {
		if q.response.done() {
			q.check()
		}
		if answered[q.token] && q.outcome != "ok" {
			w.violate("call %s was answered while the program stopped, and ended with %q", q.token, q.outcome)
		}
	}
}

// checkHistory verifies that each call is recorded once and truly.
func (w *world) checkHistory() {
	recorded := w.history()
	for _, q := range w.requests {
		list := recorded[traceOf(q.token)]
		switch {
		case len(list) > 1:
			w.violate("call %s is recorded %d times: as %d %s and %d %s", q.token, len(list), list[0].ID, list[0].Outcome, list[1].ID, list[1].Outcome)
			continue
		case len(list) == 0:
			if len(q.ran) > 0 {
				w.violate("call %s ran and is not recorded", q.token)
			}
			continue
		}
		one := list[0]
		w.remember("recorded:", q.token, string(one.Outcome))
		if len(q.ran) > 0 && (one.Server != q.server || one.Name != q.tool) || one.Client.Token != q.client.name {
			w.violate("call %s to %s %s by %s is recorded as %s %s by %s", q.token, q.server, q.tool, q.client.name, one.Server, one.Name, one.Client.Token)
		}
		if q.gone {
			continue
		}
		ok := map[core.Outcome]string{core.OutcomeOK: "ok", core.OutcomeToolError: "tool_error"}[one.Outcome]
		if ok == "" {
			ok = "error"
		}
		if q.outcome != ok && !(q.outcome == "tool_error" && ok == "error") {
			w.violate("call %s ended with %s and is recorded as %s %s", q.token, q.outcome, one.Outcome, one.Reason)
		}
	}
}
