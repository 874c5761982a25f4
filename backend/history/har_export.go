package history

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/store"
)

// HAR writes calls from newest to oldest as an HTTP Archive 1.2, which browser tools show as a
// timeline. Fields that have no meaning for a call are empty; the URL consists of server, method
// and name. q.Limit is the maximum number of calls; 0 means all.
func HAR(ctx context.Context, w io.Writer, calls Calls, q store.Query) error {
	if _, err := io.WriteString(w, `{"log":{"version":"1.2","creator":{"name":"Drawbridge","version":""},"entries":[`); err != nil {
		return err
	}
	between := "\n"
	err := forEachCall(ctx, calls, q, func(r *store.Record) error {
		entry, err := json.Marshal(newHAREntry(r))
		if err != nil {
			return err
		}
		_, err = w.Write(append([]byte(between), entry...))
		between = ",\n"
		return err
	})
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n]}}\n")
	return err
}

type harEntry struct {
	Started  time.Time   `json:"startedDateTime"`
	Time     float64     `json:"time"` // milliseconds, like all durations in HAR
	Request  harRequest  `json:"request"`
	Response harResponse `json:"response"`
	Cache    struct{}    `json:"cache"`
	Timings  harTimings  `json:"timings"`
	Call     harCall     `json:"_call"`
}

type harMessage struct {
	HTTPVersion string     `json:"httpVersion"`
	Headers     []struct{} `json:"headers"`
	Cookies     []struct{} `json:"cookies"`
	HeadersSize int        `json:"headersSize"` // -1: unknown
	BodySize    int        `json:"bodySize"`
}

type harRequest struct {
	Method string     `json:"method"`
	URL    string     `json:"url"`
	Query  []struct{} `json:"queryString"`
	Post   *harBody   `json:"postData,omitempty"`
	harMessage
}

type harResponse struct {
	Status     int     `json:"status"`
	StatusText string  `json:"statusText"`
	Redirect   string  `json:"redirectURL"`
	Content    harBody `json:"content"`
	harMessage
}

type harBody struct {
	Size int    `json:"size"`
	Type string `json:"mimeType"`
	Text string `json:"text"`
}

type harTimings struct {
	Blocked float64 `json:"blocked"`
	Send    float64 `json:"send"`
	Wait    float64 `json:"wait"`
	Receive float64 `json:"receive"`
}

// harCall contains the attributes of a call that have no equivalent in HTTP.
type harCall struct {
	ID        string `json:"id"`
	Client    string `json:"client"`
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	Account   string `json:"account,omitempty"`
	Outcome   string `json:"outcome"`
	Code      string `json:"code"`
	Reason    string `json:"reason"`
}

// harStatus returns the HTTP status that represents an outcome; tools choose the color of a line
// by it.
func harStatus(o core.Outcome) int {
	switch o {
	case core.OutcomeOK:
		return 200
	case core.OutcomeRejected:
		return 403
	case core.OutcomeTimeout:
		return 504
	case core.OutcomeCancelled:
		return 0
	}
	return 500
}

func newHAREntry(r *store.Record) harEntry {
	millis := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	queued := min(r.Queued, r.Took)
	message := func(size int) harMessage {
		return harMessage{HTTPVersion: "MCP", Headers: []struct{}{}, Cookies: []struct{}{}, HeadersSize: -1, BodySize: size}
	}
	row := newRow(r)
	e := harEntry{
		Started: row.At, Time: millis(r.Took), Timings: harTimings{Blocked: millis(queued), Wait: millis(r.Took - queued)},
		Request: harRequest{
			Method: "POST", URL: (&url.URL{Scheme: "mcp", Host: row.Server, Path: "/" + row.Method + "/" + row.Tool}).String(),
			Query: []struct{}{}, harMessage: message(row.BytesIn),
		},
		Response: harResponse{
			Status: harStatus(r.Outcome), StatusText: row.Outcome, harMessage: message(row.BytesOut),
			Content: harBody{row.BytesOut, "application/json", row.Result + row.Error},
		},
		Call: harCall{row.ID, row.Client, row.Session, row.Workspace, row.Account, row.Outcome, row.Code, row.Reason},
	}
	if row.Arguments != "" {
		e.Request.Post = &harBody{len(row.Arguments), "application/json", row.Arguments}
	}
	return e
}

// Change is one difference between two JSON texts.
type Change struct {
	Path   string `json:"path" doc:"JSON Pointer, \"\" for the whole"`
	Kind   string `json:"kind" enum:"added,removed,changed"`
	Before string `json:"before,omitempty" doc:"JSON text"`
	After  string `json:"after,omitempty" doc:"JSON text"`
}

// maxChanges is the maximum number of differences that Compare returns.
const maxChanges = 1000

// Compare returns the differences between two JSON texts, ordered by path. If one of the texts is
// not valid JSON, for example because it was truncated, they are compared as a whole. more means
// that there are more than maxChanges differences.
func Compare(a, b []byte) (changes []Change, more bool) {
	x, okX := decode(a)
	y, okY := decode(b)
	if !okX || !okY {
		if bytes.Equal(a, b) {
			return nil, false
		}
		return []Change{wholeChange(a, b)}, false
	}
	d := differ{}
	d.compare("", x, y)
	return d.changes, d.more
}

func wholeChange(a, b []byte) Change {
	quote := func(text []byte) string {
		if len(text) == 0 {
			return ""
		}
		if json.Valid(text) {
			return string(text)
		}
		return encode(string(text))
	}
	c := Change{Kind: "changed", Before: quote(a), After: quote(b)}
	if len(a) == 0 {
		c.Kind = "added"
	}
	if len(b) == 0 {
		c.Kind = "removed"
	}
	return c
}

// decode parses JSON. Numbers keep their spelling.
func decode(text []byte) (any, bool) {
	var v any
	err := core.DecodeJSON(text, &v)
	return v, err == nil
}

func encode(v any) string {
	text, _ := core.EncodeJSON(v)
	return string(text)
}

// differ collects the differences between two values. The first may be a description: see
// stableValue.
type differ struct {
	insideText bool // compare the JSON in strings by its parts
	changes    []Change
	more       bool
}

func (d *differ) add(c Change) {
	if len(d.changes) == maxChanges {
		d.more = true
		return
	}
	d.changes = append(d.changes, c)
}

func (d *differ) compare(path string, known, value any) {
	switch k := known.(type) {
	case unstable:
		return
	case textTemplate:
		if text, ok := value.(string); ok && k.matches(text) {
			return
		}
	case jsonText:
		if text, ok := value.(string); ok {
			if v, ok := decodeContainer(text); ok {
				d.compare(path, k.inner, v)
				return
			}
		}
	case string:
		if text, ok := value.(string); ok && text != k && d.insideText && d.compareInside(path, k, text) {
			return
		}
	case map[string]any:
		if v, ok := value.(map[string]any); ok {
			d.objects(path, k, v)
			return
		}
	case []any:
		if v, ok := value.([]any); ok {
			d.lists(path, k, v)
			return
		}
	}
	if before, after := encode(original(known)), encode(value); before != after {
		d.add(Change{path, "changed", before, after})
	}
}

// compareInside compares two different strings that contain JSON. It reports false if that finds no
// difference.
func (d *differ) compareInside(path, known, text string) bool {
	before, ok := decodeContainer(known)
	after, isJSON := decodeContainer(text)
	if !ok || !isJSON || d.more {
		return false
	}
	n := len(d.changes)
	d.compare(path, before, after)
	return len(d.changes) > n || d.more
}

func (d *differ) objects(path string, known, value map[string]any) {
	keys := maps.Clone(known)
	maps.Copy(keys, value)
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		k, before := known[key]
		v, after := value[key]
		at := path + "/" + escapePointer(key)
		u, masked := k.(unstable)
		switch {
		case before && after:
			d.compare(at, k, v)
		case after:
			d.add(Change{Path: at, Kind: "added", After: encode(v)})
		case !masked || !u.optional:
			d.add(Change{Path: at, Kind: "removed", Before: encode(original(k))})
		}
	}
}

func (d *differ) lists(path string, known, value []any) {
	for i := range max(len(known), len(value)) {
		at := path + "/" + strconv.Itoa(i)
		switch {
		case i >= len(known):
			d.add(Change{Path: at, Kind: "added", After: encode(value[i])})
		case i >= len(value):
			d.add(Change{Path: at, Kind: "removed", Before: encode(original(known[i]))})
		default:
			d.compare(at, known[i], value[i])
		}
	}
}

// escapePointer returns a key as a part of a JSON Pointer.
func escapePointer(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
