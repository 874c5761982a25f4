// Package cassette reads and writes recorded calls to one MCP server, and serves them over stdio,
// without the server, a daemon or a network.
//
// A cassette is JSON Lines: a Header in the first line, a Call in each further one, and the number
// of calls in the last one. A name in a cassette is never used as a path.
package cassette

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Version is the version of the format.
const Version = 1

// The limits of a cassette.
const (
	maxLine  = 16 << 20
	maxFile  = 256 << 20
	MaxCalls = 100_000             // and definitions of each kind
	maxTook  = 24 * 60 * 60 * 1000 // milliseconds
)

// Header is the first line.
type Header struct {
	Version           int               `json:"cassette"`
	Server            string            `json:"server"`
	ServerInfo        json.RawMessage   `json:"serverInfo,omitempty"`
	Instructions      string            `json:"instructions,omitempty"`
	Tools             []json.RawMessage `json:"tools"`
	Prompts           []json.RawMessage `json:"prompts,omitempty"`
	Resources         []json.RawMessage `json:"resources,omitempty"`
	ResourceTemplates []json.RawMessage `json:"resourceTemplates,omitempty"`
}

// Redact removes secrets from the instructions and definitions. withoutSecrets gets JSON text.
func (h *Header) Redact(withoutSecrets func([]byte) []byte) error {
	text := encode(h)
	safe := withoutSecrets(text)
	if bytes.Equal(safe, text) {
		return nil
	}
	var redacted Header
	if err := json.Unmarshal(safe, &redacted); err != nil {
		return &core.Error{Code: core.CodeValidation, Message: "cannot redact the secrets in the definitions: " + err.Error(),
			Hint: "A pattern in history.redact matches more than the text of a JSON string: change it."}
	}
	*h = redacted
	return nil
}

// Redacted returns how many definitions, and instructions, contain the mark of a removed secret.
func (h *Header) Redacted() (n int) {
	for _, text := range slices.Concat(h.Tools, h.Prompts, h.Resources, h.ResourceTemplates, []json.RawMessage{h.ServerInfo, []byte(h.Instructions)}) {
		if bytes.Contains(text, []byte(redact.Mark)) {
			n++
		}
	}
	return n
}

// Call is one recorded request, in the order of recording. Exactly one of Tool, Prompt and Resource
// is set, and exactly one of Result, Error and Unavailable.
type Call struct {
	Tool     string `json:"tool,omitempty"`
	Prompt   string `json:"prompt,omitempty"`
	Resource string `json:"resource,omitempty"` // a URI
	// Arguments is the JSON text of an object. A resource has none.
	Arguments string `json:"arguments,omitempty"`
	// Result is the JSON text of the result. It is a string so that its bytes are preserved.
	Result string `json:"result,omitempty"`
	// Error is the JSON text of a JSON-RPC error.
	Error string `json:"error,omitempty"`
	// Unavailable is why the response cannot be served, for example because it contains redacted
	// secrets.
	Unavailable string `json:"unavailable,omitempty"`
	TookMs      int64  `json:"tookMs,omitempty"` // duration of the call in milliseconds
	// Progress has the progress notifications, in the order of recording.
	Progress []Progress `json:"progress,omitempty"`
}

// Reasons why a response is unavailable.
const (
	Truncated = "the recorded result is truncated: turn on full recording (drawbridge history record-full) and record the call again"
	Redacted  = "the recorded result contains redacted secrets"
)

// Progress is a progress notification.
type Progress struct {
	AfterMs int64 `json:"afterMs"` // time since the call was sent, in milliseconds
	// Params is the JSON text of the params, without the progress token.
	Params string `json:"params"`
}

// End is the last line, without which the file was truncated.
type End struct {
	Calls       int `json:"calls"`
	Unavailable int `json:"unavailable,omitempty"` // of Calls
	Skipped     int `json:"skipped,omitempty"`     // further calls that were not written
}

// Recording is the content of a cassette.
type Recording struct {
	Header
	Calls []Call
	End   End
}

// Open opens a regular file. Other files are refused, because opening a named pipe could block, and
// reading a device might never end. A file that is too large is refused before it is read.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is %d MiB; the limit is %d MiB: export a session, a tag or a shorter time range", path, info.Size()>>20, maxFile>>20)
	}
	return os.Open(path)
}

// Read reads a cassette. Errors name the line.
func Read(r io.Reader) (*Recording, error) { return readUpTo(maxFile, r) }

func readUpTo(most int64, r io.Reader) (*Recording, error) {
	limited := &io.LimitedReader{R: r, N: most + 1}
	lines := bufio.NewScanner(limited)
	lines.Buffer(nil, maxLine)
	rec := &Recording{}
	n, ended := 0, false
	for lines.Scan() {
		n++
		var err error
		switch {
		case n == 1:
			err = rec.readHeader(lines.Bytes())
		case ended:
			err = errors.New("there is data after the last line")
		default:
			ended, err = rec.readLine(lines.Bytes())
		}
		if err != nil && limited.N > 0 { // else the line may be incomplete
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("line %d: longer than %d MiB", n+1, maxLine>>20)
	case err != nil:
		return nil, fmt.Errorf("line %d: %w", n+1, err)
	case limited.N == 0:
		return nil, fmt.Errorf("larger than %d MiB", most>>20)
	case n == 0:
		return nil, errors.New("line 1: the file is empty")
	case !ended:
		return nil, fmt.Errorf("line %d: the last line, with the number of calls, is missing: the file is truncated", n+1)
	}
	return rec, nil
}

func (rec *Recording) readHeader(line []byte) error {
	err := decodeStrict(line, &rec.Header, "cassette", "server", "serverInfo", "instructions", "tools", "prompts", "resources", "resourceTemplates")
	if err != nil {
		return err
	}
	if rec.Version != Version {
		return fmt.Errorf("not a version %d cassette; export it again with this version of Drawbridge", Version)
	}
	if rec.Server == "" || rec.Tools == nil {
		return errors.New("server and tools are required")
	}
	if len(rec.ServerInfo) > 0 && !isObject(rec.ServerInfo) {
		return errors.New("serverInfo is not an object")
	}
	for _, list := range []struct {
		name, key string
		items     []json.RawMessage
	}{{"tools", "name", rec.Tools}, {"prompts", "name", rec.Prompts}, {"resources", "uri", rec.Resources}, {"resourceTemplates", "uriTemplate", rec.ResourceTemplates}} {
		if len(list.items) > MaxCalls {
			return fmt.Errorf("%s contains %d items; the limit is %d", list.name, len(list.items), MaxCalls)
		}
		seen := map[string]bool{}
		for i, item := range list.items {
			var members map[string]json.RawMessage
			var id string
			if json.Unmarshal(item, &members) != nil || json.Unmarshal(members[list.key], &id) != nil || id == "" {
				return fmt.Errorf("%s[%d] is not an object with a %s", list.name, i, list.key)
			}
			if seen[id] {
				return fmt.Errorf("%s[%d] has the same %s as another one: %.100q", list.name, i, list.key, id)
			}
			seen[id] = true
			if list.name == "tools" && !isObject(members["inputSchema"]) {
				return fmt.Errorf("tools[%d].inputSchema is missing or is not an object", i)
			}
		}
	}
	return nil
}

// readLine reads a call or the last line.
func (rec *Recording) readLine(line []byte) (last bool, err error) {
	var probe struct {
		Calls *json.RawMessage `json:"calls"`
	}
	if bytes.Contains(line, []byte(`"calls"`)) && json.Unmarshal(line, &probe) == nil && probe.Calls != nil {
		if err := decodeStrict(line, &rec.End, "calls", "unavailable", "skipped"); err != nil {
			return false, err
		}
		if rec.End.Calls != len(rec.Calls) {
			return false, fmt.Errorf("the file contains %d calls, not %d: it was truncated or edited", len(rec.Calls), rec.End.Calls)
		}
		return true, nil
	}
	if len(rec.Calls) == MaxCalls {
		return false, fmt.Errorf("a cassette can contain at most %d calls", MaxCalls)
	}
	var call Call
	if err := decodeStrict(line, &call, "tool", "prompt", "resource", "arguments", "result", "error", "unavailable", "tookMs", "progress"); err != nil {
		return false, err
	}
	rec.Calls = append(rec.Calls, call)
	return false, call.check()
}

// check reports why the call is not valid.
func (c *Call) check() error {
	if countNonEmpty(c.Tool, c.Prompt, c.Resource) != 1 || countNonEmpty(c.Result, c.Error, c.Unavailable) != 1 {
		return errors.New("a call requires exactly one of tool, prompt and resource, and exactly one of result, error and unavailable")
	}
	for _, text := range []string{c.Result, c.Error} {
		if text != "" && !isObject([]byte(text)) {
			return errors.New("result and error must contain a JSON object as text")
		}
	}
	if c.Error != "" {
		var e struct {
			Code    *int64  `json:"code"`
			Message *string `json:"message"`
		}
		if json.Unmarshal([]byte(c.Error), &e) != nil || e.Code == nil || e.Message == nil {
			return errors.New("error requires an integer code and a string message")
		}
	}
	if c.TookMs < 0 || c.TookMs > maxTook {
		return fmt.Errorf("tookMs must be from 0 to %d", maxTook)
	}
	if len(c.Progress) > core.MaxProgressLog {
		return fmt.Errorf("a call can have at most %d progress notifications", core.MaxProgressLog)
	}
	after := int64(0)
	for _, n := range c.Progress {
		if n.AfterMs < after || n.AfterMs > maxTook {
			return fmt.Errorf("afterMs must be from 0 to %d and must not decrease", maxTook)
		}
		after = n.AfterMs
		if !isObject([]byte(n.Params)) {
			return errors.New("params must contain a JSON object as text")
		}
		if _, err := withToken([]byte(n.Params), []byte("0")); err != nil {
			return fmt.Errorf("params of progress: %w", err)
		}
	}
	_, err := canonical([]byte(c.Arguments))
	return err
}

func countNonEmpty(texts ...string) (set int) {
	for _, text := range texts {
		if text != "" {
			set++
		}
	}
	return set
}

// errTooLarge is returned by Add for calls beyond the limits of a cassette.
var errTooLarge = fmt.Errorf("a cassette can contain at most %d calls and %d MiB: choose a session, a tag or a shorter time range", MaxCalls, maxFile>>20)

// Recorder collects calls for a Recording.
type Recorder struct {
	Recording
	size int
}

// Add adds a call. A response that a cassette cannot hold becomes Unavailable.
func (r *Recorder) Add(call Call) error {
	if err := call.check(); err != nil {
		call.Result, call.Error, call.Unavailable = "", "", "the recorded result is not valid: "+err.Error()
		if call.check() != nil {
			r.End.Skipped++
			return nil
		}
	}
	// Characters are escaped twice at most: as JSON text, and again in the line.
	progress := 0
	for _, n := range call.Progress {
		progress += len(n.Params) + 50
	}
	if r.size += 2*(len(call.Arguments)+len(call.Result)+len(call.Error)+progress) + 100; len(r.Calls) == MaxCalls || r.size > maxFile {
		return errTooLarge
	}
	if call.Unavailable != "" {
		r.End.Unavailable++
	}
	r.Calls = append(r.Calls, call)
	r.End.Calls++
	return nil
}

// Write writes a cassette.
func (rec *Recording) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(rec.Header); err != nil {
		return err
	}
	for i := range rec.Calls {
		if err := e.Encode(&rec.Calls[i]); err != nil {
			return err
		}
	}
	return e.Encode(rec.End)
}

func isObject(text []byte) bool {
	return json.Valid(text) && bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("{"))
}

// decodeStrict decodes an object. It rejects duplicate and unknown keys, because other readers of
// the file could understand them differently.
func decodeStrict(line []byte, to any, known ...string) error {
	if !utf8.Valid(line) { // a decoder would replace the invalid bytes
		return errors.New("not valid UTF-8; the file may have been converted or damaged")
	}
	err := wire.Members(line, func(m wire.Member) error {
		if !slices.Contains(known, string(m.Name)) {
			return fmt.Errorf("the key %.50q is unknown", m.Name)
		}
		return nil
	})
	if invalid, ok := errors.AsType[*wire.Error](err); ok {
		switch {
		case bytes.HasPrefix(line, []byte("\ufeff")):
			return errors.New("not a valid JSON object: it begins with a byte order mark; save the file as UTF-8 without one")
		case strings.Contains(invalid.Error(), "unterminated"):
			return fmt.Errorf("not a valid JSON object: %w; the file may be truncated", invalid)
		}
		return fmt.Errorf("not a valid JSON object: %w", invalid)
	}
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields() // in inner objects
	err = d.Decode(to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the value of %q has the wrong type: %.50s", wrong.Field, wrong.Value)
	}
	return err
}

// index finds the recorded calls to a request. It is not safe for concurrent use.
type index struct {
	// exact has the calls by target and canonical arguments; the first is served next. Calls
	// without a response are only in it if all calls of the key have none.
	exact    map[string][]*Call
	byTarget map[string][]*Call // by target, in the order of recording
}

func newIndex(calls []Call) *index {
	x := &index{exact: map[string][]*Call{}, byTarget: map[string][]*Call{}}
	for i := range calls {
		c := &calls[i]
		arguments, err := canonical([]byte(c.Arguments))
		if err != nil {
			continue // Read and Recorder have checked it
		}
		key := c.target() + string(arguments)
		x.exact[key] = append(x.exact[key], c)
		x.byTarget[c.target()] = append(x.byTarget[c.target()], c)
	}
	for key, calls := range x.exact {
		if complete := slices.DeleteFunc(slices.Clone(calls), func(c *Call) bool { return c.Unavailable != "" }); len(complete) > 0 {
			x.exact[key] = complete
		}
	}
	return x
}

func (c *Call) target() string {
	switch {
	case c.Prompt != "":
		return "prompt\x00" + c.Prompt + "\x00"
	case c.Resource != "":
		return "resource\x00" + c.Resource + "\x00"
	}
	return "tool\x00" + c.Tool + "\x00"
}

// next returns the next recorded call, the last one repeatedly, or nil if there is none.
func (x *index) next(target string, arguments []byte) *Call {
	key := target + string(arguments)
	calls := x.exact[key]
	if len(calls) == 0 {
		return nil
	}
	if len(calls) > 1 {
		x.exact[key] = calls[1:]
	}
	return calls[0]
}

// nearest returns the recorded call of the same target whose arguments resemble arguments most, or
// nil if none has a result: most equal members, then fewest others, then the longest common
// beginning, then the order of recording.
func (x *index) nearest(target string, arguments []byte) (best *Call) {
	wanted := members(arguments)
	var score [3]int
	for _, c := range x.byTarget[target] {
		if c.Result == "" {
			continue
		}
		recorded, err := canonical([]byte(c.Arguments))
		if err != nil {
			continue
		}
		has, equal := members(recorded), 0
		for name, value := range wanted {
			if other, ok := has[name]; ok && bytes.Equal(value, other) {
				equal++
			}
		}
		s := [3]int{equal, -(len(wanted) + len(has) - 2*equal), commonPrefix(arguments, recorded)}
		if best == nil || s[0] > score[0] || s[0] == score[0] && (s[1] > score[1] || s[1] == score[1] && s[2] > score[2]) {
			best, score = c, s
		}
	}
	return best
}

func members(object []byte) (m map[string]json.RawMessage) {
	_ = json.Unmarshal(object, &m) // canonical has validated it
	return m
}

func commonPrefix(a, b []byte) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// canonical returns equal texts for equal arguments in any spelling; none are {}. Numbers keep
// their spelling, because large ones would lose digits.
func canonical(arguments []byte) ([]byte, error) {
	if text := bytes.TrimSpace(arguments); len(text) == 0 || string(text) == "null" {
		return []byte("{}"), nil
	}
	if !isObject(arguments) {
		return nil, errors.New("arguments must be a JSON object")
	}
	var v any
	if err := core.DecodeJSON(arguments, &v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}
