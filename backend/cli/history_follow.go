package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/api"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const (
	// askEvery is the interval of asking the history which of the finished calls match the search
	// text.
	askEvery       = 300 * time.Millisecond
	maxQueuedCalls = 2000 // maximum number of queued calls
)

// endedCall is a finished call of the event stream.
type endedCall struct {
	callRow
	raw []byte
}

// follow prints calls as they finish. The stream cannot filter by search text, so the history is
// asked which of the latest calls match.
func (p *program) follow(ctx context.Context, query url.Values) error {
	d, err := p.daemon()
	if err != nil {
		return err
	}
	if server := query.Get("server"); server != "" {
		query.Set("server", d.serverID(ctx, server))
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	resp, err := d.send(ctx, http.MethodGet, "events", nil, nil) //nolint:bodyclose // closed below
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	calls := make(chan endedCall, maxQueuedCalls)
	go func() { // ends with the stream
		defer close(calls)
		readCalls(ctx, resp.Body, calls)
	}()
	var waiting []endedCall
	ask := time.NewTimer(0)
	<-ask.C
	for {
		open := true
		var c endedCall
		select {
		case c, open = <-calls:
			if open && matchesFilters(c.callRow, query) {
				if waiting = append(waiting, c); len(waiting) == 1 {
					ask.Reset(askEvery)
				}
			}
			if open && query.Has("q") && len(waiting) < maxQueuedCalls {
				continue
			}
		case <-ask.C:
		}
		if ctx.Err() != nil {
			return nil // interrupted: the normal end
		}
		if err := p.printMatching(ctx, d, query, waiting); err != nil || !open {
			return cmp.Or(err, errStreamEnded)
		}
		waiting = waiting[:0]
	}
}

// printMatching prints the calls that match the search text.
func (p *program) printMatching(ctx context.Context, d *daemon, query url.Values, calls []endedCall) error {
	var found map[string]bool
	if query.Has("q") && len(calls) > 0 {
		var err error
		if found, err = d.filterCalls(ctx, query, calls); err != nil {
			return err
		}
	}
	for _, c := range calls {
		if query.Has("q") && !found[c.ID] {
			continue
		}
		if err := p.printFollowed(c); err != nil {
			return err
		}
	}
	return nil
}

// readCalls forwards finished calls of the stream. It ignores the initial snapshot.
func readCalls(ctx context.Context, stream io.Reader, calls chan<- endedCall) {
	events := wire.NewEventReader(stream, maxDocument)
	for {
		event, err := events.Next()
		if err != nil {
			return
		}
		c := endedCall{raw: event.Data}
		if event.Name != "call" || json.Unmarshal(event.Data, &c.callRow) != nil || c.Outcome == core.OutcomeRunning {
			continue
		}
		select {
		case calls <- c:
		case <-ctx.Done():
			return
		}
	}
}

// matchesFilters reports whether a call passes the filters except the search text.
func matchesFilters(c callRow, query url.Values) bool {
	for key, value := range map[string]string{"server": c.Server, "tool": c.Tool, "outcome": c.filterOutcome(), "session": c.Session, "workspace": c.Workspace, "account": c.Account} {
		if want := query.Get(key); want != "" && want != value {
			return false
		}
	}
	if want := query.Get("client"); want != "" && want != c.Client && want != c.Token {
		return false
	}
	if least, err := strconv.ParseInt(query.Get("minTookNs"), 10, 64); err == nil && c.TookNs < least {
		return false
	}
	if most, err := strconv.ParseInt(query.Get("maxTookNs"), 10, 64); err == nil && c.TookNs > most {
		return false
	}
	if from, err := time.Parse(time.RFC3339Nano, query.Get("from")); err == nil && c.At.Before(from) {
		return false
	}
	to, err := time.Parse(time.RFC3339Nano, query.Get("to"))
	return err != nil || c.At.Before(to)
}

// filterCalls returns which of the given calls pass the filters, according to the history.
func (d *daemon) filterCalls(ctx context.Context, query url.Values, calls []endedCall) (map[string]bool, error) {
	first, last := calls[0].At, calls[0].At
	for _, c := range calls {
		if c.At.Before(first) {
			first = c.At
		}
		if c.At.After(last) {
			last = c.At
		}
	}
	query = maps.Clone(query)
	query.Set("from", first.UTC().Format(time.RFC3339Nano))
	query.Set("to", last.Add(time.Microsecond).UTC().Format(time.RFC3339Nano))
	query.Set("limit", strconv.Itoa(maxCalls))
	found := make(map[string]bool)
	for {
		page, err := get[api.List[callRow]](ctx, d, "calls", query)
		if err != nil {
			return nil, err
		}
		for _, c := range page.Items {
			found[c.ID] = true
		}
		if page.Next == "" {
			return found, nil
		}
		query.Set("before", page.Next)
	}
}

func (p *program) printFollowed(c endedCall) error {
	if p.json {
		_, err := fmt.Fprintf(p.Stdout, "%s\n", c.raw)
		return err
	}
	_, err := fmt.Fprintln(p.Stdout, escapeLine(strings.Join(c.cells(), "  ")))
	return err
}
