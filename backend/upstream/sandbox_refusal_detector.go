package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
)

// Limits on what a refusalDetector reads.
const (
	maxRefusalLine  = 4 << 10
	maxQuotesOpened = 16 // of one line
	maxRefusalReply = 64 << 10
)

// refusalDetector reads the stderr and the replies of a confined process and reports the paths that
// the sandbox refused, each time, once start has been called. Until then, the process is not
// confined.
type refusalDetector struct {
	// userMayWrite reports whether our own user may write to a path.
	userMayWrite func(path string) bool

	mu     sync.Mutex // guards the rest
	rules  sandbox.Rules
	report func(sandbox.Refusal) // nil before start
	line   []byte
}

func (r *refusalDetector) start(rules sandbox.Rules, report func(sandbox.Refusal)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules, r.report = rules, report
}

func (r *refusalDetector) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rest := p; len(rest) > 0; {
		head, tail, complete := bytes.Cut(rest, []byte("\n"))
		r.line = append(r.line, head[:min(len(head), maxRefusalLine-min(len(r.line), maxRefusalLine))]...)
		if complete {
			r.read(r.line)
			r.line = r.line[:0]
		}
		rest = tail
	}
	return len(p), nil
}

// read reports the refused paths in one line of text or JSON. The caller holds mu.
func (r *refusalDetector) read(line []byte) {
	if r.report == nil {
		return
	}
	for _, path := range refusedPaths(line) {
		unreadable := !r.rules.MayRead(path)
		if r.rules.MayWrite(path) || !unreadable && !r.userMayWrite(path) {
			continue // the permissions of the file refused it
		}
		r.report(sandbox.Refusal{Path: path, Unreadable: unreadable})
	}
}

// readReply reports the refused paths in the reply to a call, if the call failed: other results may
// quote the messages of anyone.
func (r *refusalDetector) readReply(reply core.Reply) {
	text := reply.Error
	if text == nil {
		text = reply.Result
	}
	if len(text) > maxRefusalReply || !containsDenial(text) {
		return
	}
	var result struct {
		IsError bool `json:"isError"`
	}
	if reply.Error == nil && (json.Unmarshal(text, &result) != nil || !result.IsError) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read(text)
}

// confinedConn is a connection to a confined server.
type confinedConn struct {
	*Conn
	refusals *refusalDetector
}

func (c *confinedConn) Send(ctx context.Context, call *core.Call, sink core.ServerMessageHandler) (core.Reply, error) {
	reply, err := c.Conn.Send(ctx, call, sink)
	if err == nil {
		c.refusals.readReply(reply)
	}
	return reply, err
}

func containsDenial(text []byte) bool {
	return bytes.Contains(text, []byte("EACCES")) || bytes.Contains(text, []byte("EPERM")) || bytes.Contains(text, []byte("ermission denied"))
}

// refusedPaths returns the paths in line to which the system refused access.
func refusedPaths(line []byte) (paths []string) {
	if !containsDenial(line) {
		return nil
	}
	texts := []string{string(line)}
	if i := bytes.IndexByte(line, '{'); i >= 0 && json.Valid(line[i:]) {
		texts = stringsOf(line[i:])
	}
	for _, text := range texts {
		for one := range strings.SplitSeq(text, "\n") {
			paths = append(paths, refusedPathsOf(one[:min(len(one), maxRefusalLine)])...)
		}
	}
	return paths
}

// stringsOf returns the strings in a JSON text, in their order.
func stringsOf(text []byte) (list []string) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		token, err := d.Token()
		if err != nil {
			return list
		}
		if s, ok := token.(string); ok {
			list = append(list, s)
		}
	}
}

var (
	denial = osutil.LazyRegexp(`EACCES|EPERM|[Pp]ermission denied`)
	// pathLast and secondLast match what precedes a denial: "open /a b", and "rename /a /b", of
	// whose paths the second one is taken.
	pathLast   = osutil.LazyRegexp(`(?:^|[\s'"=(])(/.*)$`)
	secondLast = osutil.LazyRegexp(`\b(?:rename|link|symlink) /.*\s(/.*)$`)
	// pathNext matches a path without quotes after a denial.
	pathNext = osutil.LazyRegexp(`:\s*(/[^'":\s]+)`)
)

// refusedPathsOf returns the paths in the message of a program: before the denial, as cat and Go
// write them, or after it, as Node.js and Python do.
func refusedPathsOf(text string) []string {
	all := denial().FindAllStringIndex(text, -1)
	if all == nil {
		return nil
	}
	last := all[len(all)-1]
	if before, ok := strings.CutSuffix(text[:last[0]], ": "); ok {
		last, _ := utf8.DecodeLastRuneInString(before)
		if quoted := quotedPaths(before); len(quoted) > 0 && strings.ContainsRune("'\"`’", last) {
			return quoted[len(quoted)-1:]
		}
		operand := before[strings.LastIndex(before, ": ")+1:]
		for _, form := range []func() *regexp.Regexp{secondLast, pathLast} {
			if m := form().FindStringSubmatch(operand); m != nil {
				return []string{strings.TrimRight(m[1], `'"`)}
			}
		}
	}
	if quoted := quotedPaths(text[all[0][1]:]); len(quoted) > 0 {
		return quoted
	}
	if m := pathNext().FindStringSubmatch(text[last[1]:]); m != nil {
		return m[1:]
	}
	return nil
}

// closings are the quotes that programs put around paths.
var closings = map[string]string{"'": "'", `"`: `"`, "`": "`", "‘": "’"}

// unescaped undoes the escapes of Python's repr.
var unescaped = strings.NewReplacer(`\\`, `\`, `\'`, `'`, `\"`, `"`)

// quotedPaths returns the absolute paths in quotes.
func quotedPaths(text string) (paths []string) {
	for at, opened := 0, 0; opened < maxQuotesOpened; opened++ {
		opening, start := "", len(text)
		for quote := range closings {
			if i := strings.Index(text[at:], quote+"/"); i >= 0 && at+i < start {
				opening, start = quote, at+i
			}
		}
		if opening == "" {
			return paths
		}
		at = start + len(opening)
		if start > 0 && isWord(text[start-1]) {
			continue
		}
		if n := quotedLength(text[at:], closings[opening]); n > 0 {
			paths = append(paths, unescaped.Replace(text[at:at+n]))
			at += n + len(closings[opening])
		}
	}
	return paths
}

// quotedLength returns the length of what precedes the closing quote; 0 if there is none. Node.js
// does not escape quotes in paths, so the closing one is the first that no letter follows and that
// leaves an even number of quotes for what comes after it.
func quotedLength(text, quote string) (length int) {
	left := strings.Count(text, quote)
	for at := 0; left > 0; {
		i := at + strings.Index(text[at:], quote)
		left--
		at = i + len(quote)
		if text[i-1] == '\\' || at < len(text) && (isWord(text[at]) || text[at] == '/') {
			continue
		}
		if left%2 == 0 {
			return i
		}
		if length == 0 {
			length = i
		}
	}
	return length
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
