package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/redact"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// RecordLevel is how much of a call is recorded.
type RecordLevel string

const (
	KeepFull    RecordLevel = "full"
	KeepMeta    RecordLevel = "meta" // everything except arguments, reply, error message and stack trace
	KeepNothing RecordLevel = "off"
)

// RecordingSettings is the user's settings for recording.
type RecordingSettings struct {
	Paused bool   `json:"paused"`
	Rules  []Rule `json:"rules,omitempty"`
	// Full lists what is recorded in full for a while.
	Full []FullRecording `json:"full,omitempty" doc:"What is recorded with payloads of up to 8 MiB for a while"`
}

// Rule sets the record level of the calls of a server, or of one of its tools. A rule for a tool
// has precedence over a rule for its server.
type Rule struct {
	Server string      `json:"server"`
	Tool   string      `json:"tool,omitempty"` // "": all tools
	Keep   RecordLevel `json:"record"`
}

// maxRecordingRules is the maximum length of Recording.Rules.
const maxRecordingRules = 1000

func updateRules(at *atomic.Pointer[rules], f func(*rules)) {
	for {
		old := at.Load()
		next := *old
		f(&next)
		if at.CompareAndSwap(old, &next) {
			return
		}
	}
}

// SetEnabled turns recording on or off. It is the setting of the configuration, independent of the
// user's Recording.
func (r *Recorder) SetEnabled(on bool) { updateRules(&r.rules, func(n *rules) { n.off = !on }) }

// SetMaxField sets the maximum number of bytes recorded of the arguments, and of the reply, of a
// call.
func (r *Recorder) SetMaxField(bytes int) {
	updateRules(&r.rules, func(n *rules) { n.maxField = max(bytes, 0) })
}

// Tool identifies a tool by the name that its server uses.
type Tool struct{ Server, Name string }

// SetCeiling sets the maximum record levels of the configuration, by server and by tool. A level
// for a tool has precedence over the level for its server. The Recorder keeps the maps, which must
// not be modified afterwards.
func (r *Recorder) SetCeiling(byServer map[string]RecordLevel, byTool map[Tool]RecordLevel) {
	updateRules(&r.rules, func(n *rules) {
		n.ceiling, n.toolCeiling = byServer, byTool
		for name := range n.renamed {
			if _, again := byServer[name]; again { // the name belongs to another server now
				n.renamed = maps.Clone(n.renamed)
				delete(n.renamed, name)
			}
		}
	})
}

// SetSecrets sets the secret values and patterns that are removed from recorded calls. Values are
// also found in their encoded spellings (JSON, URL, base64). Values of less than 6 bytes are
// ignored. It returns the number of other values that are not searched for, because there are too
// many.
func (r *Recorder) SetSecrets(values []string, patterns []*regexp.Regexp) (missed int) {
	known := redact.NewValues(values)
	updateRules(&r.rules, func(n *rules) { n.secrets = redact.Redactor{Values: known, Patterns: patterns} })
	return known.Missed()
}

// Redact returns text without the secrets that are removed from recorded calls.
func (r *Recorder) Redact(text string) string { return r.rules.Load().secrets.Text(text) }

// RedactJSON returns JSON text without the secrets that are removed from recorded calls.
func (s *database) RedactJSON(text []byte) []byte {
	return s.recorder.rules.Load().secrets.AppendJSON(nil, text)
}

// Recording returns the user's settings for recording.
func (s *database) Recording() RecordingSettings {
	return s.recorder.rules.Load().RecordingSettings.withoutEnded(s.opts.Now())
}

// SaveRecording validates, applies and stores the user's settings for recording. If the database
// cannot be written, they apply until the program ends.
func (s *database) SaveRecording(ctx context.Context, want RecordingSettings) error {
	if len(want.Rules) > maxRecordingRules {
		return invalid("rules", fmt.Sprintf("must contain at most %d rules", maxRecordingRules))
	}
	for i, r := range want.Rules {
		switch {
		case r.Server == "":
			return invalid(fmt.Sprintf("rules[%d].server", i), "is required")
		case r.Keep != KeepFull && r.Keep != KeepMeta && r.Keep != KeepNothing:
			return invalid(fmt.Sprintf("rules[%d].record", i), "must be full, meta or off")
		}
	}
	if err := checkFull(want.Full, s.opts.Now()); err != nil {
		return err
	}
	want = want.withoutEnded(s.opts.Now())
	before := s.Recording()
	updateRules(&s.recorder.rules, func(n *rules) { n.RecordingSettings = want }) // before they are stored, so that pausing works while the disk is full
	document, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if err := s.SaveMetadata(ctx, recordingKey, document); err != nil {
		if core.CodeOf(err) == core.CodeUnavailable {
			return nil // nothing can be recorded either
		}
		updateRules(&s.recorder.rules, func(n *rules) { n.RecordingSettings = before })
		return err
	}
	return nil
}

const recordingKey = "recording"

func (s *database) loadRecording(ctx context.Context) error {
	document, ok, err := s.Metadata(ctx, recordingKey)
	if err != nil || !ok {
		return err
	}
	var want RecordingSettings
	if err := json.Unmarshal(document, &want); err != nil {
		return err
	}
	updateRules(&s.recorder.rules, func(n *rules) { n.RecordingSettings = want })
	return nil
}

// MaxFullField is the maximum number of bytes of arguments, result or error that are recorded while
// a FullRecording applies, unless SetMaxField permits more.
const MaxFullField = 8 << 20

const (
	maxFullRecordings = 20
	maxFullDuration   = 24 * time.Hour
)

// FullRecording records payloads up to MaxFullField, for the calls of one session, client or
// server, until a time. It does not change which calls are recorded, nor what is redacted.
type FullRecording struct {
	Session string    `json:"session,omitempty" maxLength:"200"`
	Client  string    `json:"client,omitempty" maxLength:"1000" doc:"Name of the application, or of its access token"`
	Server  string    `json:"server,omitempty" maxLength:"256"`
	Until   time.Time `json:"until" doc:"At most 24 hours from now"`
}

func (f *FullRecording) matches(call *core.Call, server string) bool {
	switch {
	case f.Session != "":
		return f.Session == call.Session
	case f.Client != "":
		return f.Client == call.Client.Name || f.Client == call.Client.Token
	}
	return f.Server == server
}

// SetFullSession sets the session of the configuration whose payloads are recorded in full, or "".
func (r *Recorder) SetFullSession(session string) {
	updateRules(&r.rules, func(n *rules) { n.fullSession = session })
}

func checkFull(list []FullRecording, now time.Time) error {
	if len(list) > maxFullRecordings {
		return invalid("full", fmt.Sprintf("must contain at most %d entries", maxFullRecordings))
	}
	for i, f := range list {
		set := 0
		for _, name := range []string{f.Session, f.Client, f.Server} {
			if name != "" {
				set++
			}
		}
		if set != 1 {
			return invalid(fmt.Sprintf("full[%d]", i), "must have exactly one of session, client or server")
		}
		if f.Until.After(now.Add(maxFullDuration)) {
			return invalid(fmt.Sprintf("full[%d].until", i), "must be at most 24 hours from now")
		}
	}
	return nil
}

// withoutEnded returns the settings without the full recordings that have ended.
func (r RecordingSettings) withoutEnded(now time.Time) RecordingSettings {
	if slices.ContainsFunc(r.Full, func(f FullRecording) bool { return !now.Before(f.Until) }) {
		r.Full = slices.DeleteFunc(slices.Clone(r.Full), func(f FullRecording) bool { return !now.Before(f.Until) })
	}
	return r
}

// minBinary is the length from which the base64 text of binary data is replaced.
const minBinary = 1 << 10

// maxDataPrefix limits what precedes the base64 text in a data URI.
const maxDataPrefix = 256

var (
	dataScheme   = []byte("data:")
	base64Marker = []byte(";base64,")
)

// shortenBinary returns JSON text in which long base64 strings are replaced by their length and
// SHA-256: the members "data" and "blob", in which MCP sends pictures, sounds and files, and data
// URIs. Nobody reads them, and they would displace the text around them. It returns src if there
// are none.
func shortenBinary(src []byte) []byte {
	var edits []wire.Edit
	var key []byte // of the member whose value comes next
	for i := 0; i < len(src); i++ {
		if src[i] != '"' {
			if src[i] == ',' || src[i] == '{' {
				key = nil
			}
			continue
		}
		from := i + 1
		end := stringEnd(src, from)
		if end < 0 {
			break
		}
		text := src[from:end]
		i = end
		if next := nextToken(src, end+1); next < len(src) && src[next] == ':' {
			key = text
			continue
		}
		if len(text) < minBinary {
			continue
		}
		prefix := 0
		if bytes.HasPrefix(text, dataScheme) {
			if at := bytes.Index(text[:maxDataPrefix], base64Marker); at > 0 {
				prefix = at + len(base64Marker)
			}
		}
		if (prefix > 0 || string(key) == "data" || string(key) == "blob") && isBase64(text[prefix:]) {
			edits = append(edits, wire.Edit{Span: core.Span{Start: from + prefix, End: end}, With: describeCut(text[prefix:])})
		}
	}
	if edits == nil {
		return src
	}
	return wire.Splice(nil, src, edits...)
}

// stringEnd returns the index of the quote that ends the string that starts at i, or -1.
func stringEnd(src []byte, i int) int {
	for {
		n := bytes.IndexByte(src[i:], '"')
		if n < 0 {
			return -1
		}
		end := i + n
		slashes := end
		for slashes > i && src[slashes-1] == '\\' {
			slashes--
		}
		if (end-slashes)%2 == 0 {
			return end
		}
		i = end + 1
	}
}

func nextToken(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\t' || src[i] == '\r') {
		i++
	}
	return i
}

// base64Chars marks the characters of both alphabets of base64, of its padding, and the backslash
// with which some encoders escape "/".
var base64Chars = func() (chars [256]bool) {
	for _, c := range []byte(`ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=\`) {
		chars[c] = true
	}
	return chars
}()

func isBase64(text []byte) bool {
	for i, c := range text {
		if !base64Chars[c] || c == '\\' && (i+1 == len(text) || text[i+1] != '/') {
			return false
		}
	}
	return true
}

// describeCut describes a base64 string that is not recorded. The web UI recognizes the description.
func describeCut(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`\/`), []byte(`/`))
	hash := sha256.Sum256(text)
	out := append(strconv.AppendInt([]byte("["), int64(len(text)), 10), redact.CutMark...)
	return append(hex.AppendEncode(out, hash[:]), ']')
}

// resultSize is the size of results, and the parts of it that tell a model nothing new.
type resultSize struct {
	bytes    int64
	repeated int64 // text that repeats structuredContent
	blank    int64 // white space between tokens of JSON, and in text after other white space
}

func (s *resultSize) add(o resultSize, n int64) {
	s.bytes, s.repeated, s.blank = max(s.bytes+n*o.bytes, 0), max(s.repeated+n*o.repeated, 0), max(s.blank+n*o.blank, 0)
}

// sizeOf measures a recorded reply to a call with a result of n bytes. The recorded part may be
// truncated; a truncated result repeats nothing.
func sizeOf(reply []byte, n int) resultSize {
	return resultSize{int64(n), min(repeatedBytes(reply), int64(n)), min(blankBytes(reply), int64(n))}
}

// blankBytes counts white space outside of strings, and in strings each white-space character that
// follows another one, in the bytes that it takes. It reads strings in steps of eight bytes, because
// it runs for every result.
func blankBytes(text []byte) (n int64) {
	inString, after := false, false
	for i := 0; i < len(text); i++ {
		if inString && i+8 <= len(text) {
			word := binary.LittleEndian.Uint64(text[i:])
			plain := bits.TrailingZeros64(equalBytes(word, '"')|equalBytes(word, '\\')) &^ 7 // bits before the first of them
			blanks := equalBytes(word, ' ') & (1<<plain - 1)
			previous := blanks << 8
			if after {
				previous |= 0x80
			}
			n += int64(bits.OnesCount64(blanks & previous))
			if plain > 0 {
				after = blanks>>(plain-1) == 1
				i += plain/8 - 1
				continue
			}
		}
		c, size := text[i], int64(1)
		switch {
		case !inString:
			if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
				n++
			}
			inString, after = c == '"', false
			continue
		case c == '"':
			inString = false
			continue
		case c == '\\' && i+1 < len(text):
			i++
			c, size = text[i], 2
			if c == 'n' || c == 't' || c == 'r' {
				c = ' '
			} else {
				c = 'x'
			}
		}
		blank := c == ' '
		if blank && after {
			n += size
		}
		after = blank
	}
	return n
}

func equalBytes(word uint64, c byte) uint64 {
	const low, low7 = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	x := word ^ low*uint64(c)
	return ^((x&low7 + low7) | x | low7)
}

// repeatedBytes returns the size of the text blocks of a tool result that equal its
// structuredContent, apart from white space between tokens.
func repeatedBytes(result []byte) (n int64) {
	if !bytes.Contains(result, []byte(`"structuredContent"`)) {
		return 0
	}
	var structured, content []byte
	err := wire.Members(result, func(m wire.Member) error {
		switch string(m.Name) {
		case "structuredContent":
			structured = wire.Bytes(result, m.Value)
		case "content":
			content = wire.Bytes(result, m.Value)
		}
		return nil
	})
	if err != nil || len(structured) == 0 || len(content) == 0 || content[0] != '[' {
		return 0
	}
	_ = wire.Elements(content, func(at core.Span) error {
		block := wire.Bytes(content, at)
		if block[0] != '{' {
			return nil
		}
		return wire.Members(block, func(m wire.Member) error {
			if raw := wire.Bytes(block, m.Value); string(m.Name) == "text" && raw[0] == '"' {
				if text, ok := wire.Unquote(raw); ok && wire.EqualJSON(text, structured) {
					n += int64(len(raw))
				}
			}
			return nil
		})
	})
	return n
}
