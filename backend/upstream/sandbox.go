package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
	"github.com/drawbridge-mcp/drawbridge/backend/process"
	"github.com/drawbridge-mcp/drawbridge/backend/sandbox"
	"github.com/drawbridge-mcp/drawbridge/backend/serverlog"
	"github.com/drawbridge-mcp/drawbridge/config"
)

// confine makes spec start in the sandbox of c, if it has one. What the system cannot enforce
// becomes a warning, or an error if the server must not run without it. The rules are computed
// while the process starts and waits for them; confined, which must be called once, waits until
// they have been passed to it.
func (d *Dialer) confine(c *config.Server, spec *process.Spec, s *startedProcess) (confined func() error, err error) {
	confined = func() error { return nil }
	if !c.Sandbox.On {
		return confined, nil
	}
	if name := strings.TrimSuffix(filepath.Base(spec.Path), ".exe"); name == "docker" || name == "podman" {
		return nil, &core.Error{Code: core.CodeValidation, Message: "a sandbox cannot confine a container, only the command " + name + " that starts it",
			Hint: "Remove 'sandbox' from the server's entry, and restrict the container with args (--read-only, --network, --volume).", Remedy: core.EditConfig("sandbox")}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("cannot set up a sandbox without a home directory: %w", err)
	}
	program := sandbox.Program{
		Home: home, Dir: spec.Dir, Path: spec.Path, Args: spec.Args,
		Read: c.Sandbox.Read, Write: c.Sandbox.Write, NoNetwork: c.Sandbox.NoNetwork, Ports: c.Sandbox.Ports,
		NoUnixSockets: c.Sandbox.NoUnixSockets(), Unwritable: ownProgram(),
	}
	computeRules := func() sandbox.Rules {
		program.Private = d.private()
		rules := sandbox.RulesFor(program)
		d.sandboxes.setRules(c.ID, rules)
		return rules
	}
	missing, enough := sandbox.Unsupported(sandbox.Rules{NoNetwork: program.NoNetwork, Ports: program.Ports, NoUnixSockets: program.NoUnixSockets})
	if !enough && !c.Sandbox.BestEffort {
		computeRules()
		return nil, &core.Error{Code: core.CodeValidation, Message: "cannot enforce the sandbox of the server: this system cannot " + strings.Join(missing, ", nor "),
			Hint: "To start it with the restrictions that this system supports, set sandbox.bestEffort to true. To start it without a sandbox, set sandbox to \"off\".", Remedy: core.EditConfig("sandbox")}
	}
	if len(missing) > 0 {
		s.addWarning("its sandbox is incomplete: this system cannot " + strings.Join(missing, ", nor "))
	}
	addIgnored := func(rules sandbox.Rules) {
		for _, text := range rules.Ignored {
			s.addWarning(text)
		}
	}
	if !sandbox.Available() {
		addIgnored(computeRules())
		return confined, nil
	}
	wrapped, err := sandbox.Wrap(spec.Path, spec.Args, spec.Env)
	if err != nil {
		return nil, err
	}
	spec.Path, spec.Args, spec.Env, spec.Inherit = wrapped.Path, wrapped.Args, wrapped.Env, wrapped.Inherit
	detector := &refusalDetector{userMayWrite: sandbox.UserMayWrite}
	spec.Stderr = io.MultiWriter(spec.Stderr, detector)
	passed := make(chan error, 1)
	go func() {
		rules := computeRules()
		addIgnored(rules)
		detector.start(rules, func(one sandbox.Refusal) {
			if d.sandboxes.addRefusal(c.ID, one) {
				d.Logs.Append(c.ID, serverlog.Warn, refusalText(one.WithAllow(rules, home)))
			}
		})
		passed <- wrapped.Confine(rules)
	}()
	s.setRefusals(detector)
	d.Logs.Append(c.ID, serverlog.Info, "starts in a sandbox")
	return func() error { return <-passed }, nil
}

func refusalText(one sandbox.Refusal) string {
	key := "sandbox.write"
	if one.Unreadable {
		key = "sandbox.read or sandbox.write"
	}
	if one.Remark != "" {
		return fmt.Sprintf("The sandbox denied access to %s, which %s. If you trust the server with this path, list the exact path that it needs in the server's %s; otherwise, leave access denied.", one.Path, one.Remark, key)
	}
	what := "it"
	if one.Allow != one.Path {
		what = one.Allow // entries must exist
	}
	return fmt.Sprintf("The sandbox denied access to %s. To allow it, add %s to this server's %s.", one.Path, what, key)
}

func (d *Dialer) private() []string {
	if d.PrivatePaths == nil {
		return nil
	}
	return d.PrivatePaths()
}

// ownProgram returns our own executable, which no confined server may replace.
func ownProgram() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path}
}

// sandboxState holds the rules of the sandbox with which each server was last started, and
// what was refused since. The zero value is ready to use.
type sandboxState struct {
	mu       sync.Mutex // guards the rest
	byServer map[string]sandbox.Rules
	refused  map[string]*refusals
}

// Limits on the refusals of one server, in addition to those of private paths.
const (
	maxRefusals = 20   // kept
	maxRefused  = 1000 // counted
)

// refusals are what a sandbox refused since the newest start of a server.
type refusals struct {
	list  []sandbox.Refusal
	known map[string]bool // private paths of which one is in list
	seen  map[uint64]bool // hashes of all paths
	kept  int             // how many other paths are in list
	more  int             // how many are not
}

var pathHash = maphash.MakeSeed()

func (a *sandboxState) setRules(server string, r sandbox.Rules) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.byServer == nil {
		a.byServer, a.refused = map[string]sandbox.Rules{}, map[string]*refusals{}
	}
	a.byServer[server], a.refused[server] = r, &refusals{known: map[string]bool{}, seen: map[uint64]bool{}}
}

// addRefusal reports whether a refusal is new and was kept. Of each private path, one is always
// kept, so that a server cannot hide it behind others.
func (a *sandboxState) addRefusal(server string, one sandbox.Refusal) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.refused[server]
	private := a.byServer[server].PrivatePath(one.Path)
	hash := maphash.String(pathHash, one.Path)
	switch {
	case private != "" && !r.known[private]:
		r.known[private] = true
	case r.seen[hash] || len(r.seen) >= maxRefused:
		return false
	case r.kept == maxRefusals:
		r.seen[hash] = true
		r.more++
		return false
	default:
		r.kept++
	}
	r.seen[hash] = true
	r.list = append(r.list, one)
	return true
}

// SandboxRefusals returns what the sandbox of a server refused since its newest start, as far as
// the server reported it, and how many other paths are not in the list, which ends at a limit.
func (d *Dialer) SandboxRefusals(server string) (list []sandbox.Refusal, more int) {
	d.sandboxes.mu.Lock()
	defer d.sandboxes.mu.Unlock()
	r := d.sandboxes.refused[server]
	if r == nil {
		return nil, 0
	}
	return slices.Clone(r.list), r.more
}

// SandboxRules returns the rules of the sandbox of a server, of its newest start. ok is false if it
// was not started with sandbox "on" since Drawbridge started; the rules then only say what
// is private and what starts programs.
func (d *Dialer) SandboxRules(server string) (r sandbox.Rules, ok bool) {
	d.sandboxes.mu.Lock()
	r, ok = d.sandboxes.byServer[server]
	d.sandboxes.mu.Unlock()
	if !ok {
		home, _ := os.UserHomeDir() // without one, no server is started in a sandbox
		r = sandbox.DenyAllRules(home, d.private(), ownProgram())
	}
	return r, ok
}

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
