package cassette

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
)

// harFile is what ReadHAR reads of an HTTP Archive that Drawbridge has exported.
type harFile struct {
	Log struct {
		Creator struct{ Name string }
		Entries []harEntry
	}
}

type harEntry struct {
	Started time.Time `json:"startedDateTime"`
	Request struct {
		URL      string
		PostData struct{ Text string }
	}
	Response struct{ Content struct{ Text string } }
	Timings  struct{ Wait float64 }
	Call     struct {
		Outcome core.Outcome
		Account string
	} `json:"_call"`
}

// ReadHAR reads the calls of one server from an HTTP Archive that Drawbridge has exported. server
// can be empty if the file has only one, and account if its calls used only one. An archive has no
// definitions: each tool accepts any object.
func ReadHAR(r io.Reader, server, account string) (*Recording, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxFile {
		return nil, fmt.Errorf("larger than %d MiB", maxFile>>20)
	}
	var file harFile
	if err := json.Unmarshal(text, &file); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, fmt.Errorf("not valid JSON at byte %d: %w; the file may be truncated", syntax.Offset, err)
		}
		return nil, fmt.Errorf("not an HTTP Archive: %w", err)
	}
	if file.Log.Creator.Name != "Drawbridge" {
		return nil, errors.New(`not an HTTP Archive written by Drawbridge; create one with "drawbridge history export --har"`)
	}
	slices.SortStableFunc(file.Log.Entries, func(a, b harEntry) int { return a.Started.Compare(b.Started) })
	servers, accounts := map[string]bool{}, map[string]bool{}
	var calls []Call
	skipped := 0
	for i := range file.Log.Entries {
		of, call, ok := file.Log.Entries[i].call()
		if of == "" {
			continue // not a request that a cassette can hold
		}
		servers[of] = true
		if server != "" && of != server {
			continue
		}
		used := cmp.Or(file.Log.Entries[i].Call.Account, core.DefaultAccount)
		accounts[used] = true
		switch {
		case account != "" && used != account:
		case ok:
			calls = append(calls, call)
		default:
			skipped++
		}
	}
	listed := func(names map[string]bool) string {
		all := slices.Sorted(maps.Keys(names))
		return strings.Join(all[:min(len(all), 20)], ", ")
	}
	known := slices.Sorted(maps.Keys(servers))
	switch list := listed(servers); {
	case len(known) == 0:
		return nil, errors.New("the file contains no calls to tools, prompts or resources")
	case server == "" && len(known) > 1:
		return nil, fmt.Errorf("the file contains calls to several servers: choose one of %.500s with --server", list)
	case server != "" && !servers[server]:
		return nil, fmt.Errorf("the file contains no calls to server %.100q, only to %.500s", server, list)
	case account == "" && len(accounts) > 1:
		return nil, fmt.Errorf("the calls used several accounts of the server: choose one of %.500s with --account", listed(accounts))
	case account != "" && !accounts[account]:
		return nil, fmt.Errorf("no call used account %.100q of the server; the accounts used are %.500s", account, listed(accounts))
	}
	rec := &Recorder{}
	rec.End.Skipped = skipped
	rec.Header = Header{Version: Version, Server: cmp.Or(server, known[0]), Tools: []json.RawMessage{}}
	for _, c := range calls {
		if err := rec.Add(c); err != nil {
			return nil, err
		}
	}
	rec.defineTargets()
	return &rec.Recording, nil
}

// call returns the server and the call of an entry. server is "" for another request, and ok is
// false for a call that cannot be served.
func (e *harEntry) call() (server string, c Call, ok bool) {
	address, err := url.Parse(e.Request.URL)
	if err != nil || address.Scheme != "mcp" {
		return "", c, false
	}
	c = Call{TookMs: int64(min(max(e.Timings.Wait, 0), maxTook)), Arguments: e.Request.PostData.Text}
	for prefix, to := range map[string]*string{"/tools/call/": &c.Tool, "/prompts/get/": &c.Prompt, "/resources/read/": &c.Resource} {
		if name, found := strings.CutPrefix(address.Path, prefix); found && name != "" {
			*to, server = name, address.Host
		}
	}
	if c.Resource != "" {
		c.Arguments = ""
	}
	said := e.Response.Content.Text
	switch {
	case server == "", said == "", strings.Contains(c.Arguments, redact.Mark), strings.Contains(c.Arguments, redact.CutMark), strings.Contains(address.Path, redact.Mark):
		return server, c, false
	case strings.Contains(said, redact.Mark):
		c.Unavailable = Redacted
	case !isObject([]byte(said)), strings.Contains(said, redact.CutMark): // the export does not mark what was truncated
		c.Unavailable = Truncated
	case e.Call.Outcome == core.OutcomeOK || e.Call.Outcome == core.OutcomeToolError:
		c.Result = said
	default:
		c.Error = said
	}
	return server, c, true
}

// defineTargets adds a definition without details for everything that was called.
func (rec *Recording) defineTargets() {
	seen := map[string]bool{}
	for i := range rec.Calls {
		c := &rec.Calls[i]
		if seen[c.target()] {
			continue
		}
		seen[c.target()] = true
		switch {
		case c.Tool != "":
			rec.Tools = append(rec.Tools, encode(map[string]any{"name": c.Tool, "inputSchema": map[string]string{"type": "object"}}))
		case c.Prompt != "":
			rec.Prompts = append(rec.Prompts, encode(map[string]any{"name": c.Prompt}))
		default:
			rec.Resources = append(rec.Resources, encode(map[string]any{"uri": c.Resource, "name": c.Resource}))
		}
	}
}
