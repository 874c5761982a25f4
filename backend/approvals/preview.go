package approvals

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

const (
	previewTimeout = 30 * time.Second
	maxPreview     = 64 << 10         // bytes of a result
	maxPreviewAge  = 10 * time.Minute // an older one is not what the user approves
)

// States of a Preview.
const (
	PreviewOffered = "offered"
	PreviewRunning = "running"
	PreviewDone    = "done"
	PreviewFailed  = "failed"
	PreviewIgnored = "ignored" // the tool has made the change
)

// Preview is a run of the tool of a pending call with an argument with which it changes nothing.
type Preview struct {
	Argument string    `json:"argument" doc:"Boolean argument that is set to true"`
	State    string    `json:"state" enum:"offered,running,done,failed,ignored" doc:"ignored: a run has made the change, so that the tool is not previewed any more"`
	Checked  bool      `json:"checked" doc:"Whether a run is known to change nothing: by a trial, by the user or by the configuration"`
	At       time.Time `json:"at" doc:"When the run ended"`
	CallID   string    `json:"callId,omitempty" doc:"The run in the history"`
	Text     string    `json:"text,omitempty" doc:"What the tool returned"`
	Problem  string    `json:"problem,omitempty" doc:"Why there is no preview, or why it is not shown any more"`
}

// PreviewRunner is what the Inbox needs to run previews. The zero value runs none.
type PreviewRunner struct {
	Call  func(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error)
	Tools func(server string) map[string]json.RawMessage // definitions of its tools, by its own names
	Store interface {                                    // remembers which tools ignore the argument
		Metadata(ctx context.Context, key string) (value []byte, ok bool, err error)
		SaveMetadata(ctx context.Context, key string, value []byte) error
	}
	Auto  func() bool     // whether previews that are known to change nothing run without a request
	Names func() []string // of all servers and tools
}

func previewOf(item *Item) *Preview {
	if item.Held == nil {
		return nil
	}
	return item.Held.Preview
}

func (i *Item) previewKey() string {
	sum := sha256.Sum256(i.Held.Definition)
	return "preview/" + i.Server + "/" + hex.EncodeToString(sum[:16])
}

// Words of the store about the argument of a tool.
const (
	honoured = "honoured"
	ignored  = "ignored"
)

// describe adds to a pending call what is known of its effect.
func (b *Inbox) describe(ctx context.Context, item *Item) {
	h := *item.Held
	item.Held = &h
	h.Warnings = warningsAbout(item, b.Previews.Names)
	h.previewName = previewArgument(h.Definition, h.PreviewSetting)
	h.Files = fileChanges(ctx, &h)
	if name := h.previewName; name != "" && b.Previews.Call != nil {
		if _, set := withArgument([]byte(h.Arguments), name); !set {
			h.Preview = &Preview{Argument: name, State: PreviewOffered, Checked: h.PreviewSetting != ""}
			if word, _, err := b.Previews.Store.Metadata(ctx, item.previewKey()); err == nil && h.PreviewSetting == "" {
				h.Preview.applyWord(string(word))
			}
		}
	}
	h.seal()
}

func (p *Preview) applyWord(word string) {
	switch word {
	case honoured:
		p.Checked = true
	case ignored:
		p.State, p.Problem = PreviewIgnored, "An earlier run with this argument has made the change."
	}
}

// Summary returns the effect of the call in one sentence, or "".
func (h *Held) Summary() string {
	switch {
	case h.Preview != nil && h.Preview.State == PreviewIgnored:
		return "Its preview has made a change: the call may already have been carried out."
	case len(h.Files) > 0 && h.Files[0].Diff != "":
		c := h.Files[0]
		return "It adds " + core.Plural(c.Added, "line") + " and removes " + core.Plural(c.Removed, "line") + " in " + filepath.Base(c.Path) + "."
	case len(h.Files) > 0:
		return h.Files[0].Note
	case h.Preview != nil && h.Preview.State == PreviewDone:
		return "Preview: " + core.OneLine(h.Preview.Text, 160)
	}
	return ""
}

// AnswerKey identifies what the user answers: the item, as it was shown.
func (i *Item) AnswerKey() string {
	if i.Held == nil || i.Held.Seen == "" {
		return i.ID
	}
	return i.ID + "@" + i.Held.Seen
}

// AnswerKey is Answer for a call that was shown as the key says.
func (b *Inbox) AnswerKey(ctx context.Context, key, action string) error {
	id, seen, _ := strings.Cut(key, "@")
	return b.AnswerFor(ctx, id, action, Once, seen, nil)
}

// seal identifies what the user sees of the call: an answer applies to exactly this.
func (h *Held) seal() {
	seen := struct{ Bound, Files, Text, State, At string }{Bound: h.Bound, Files: basesOf(h.Files)}
	for _, c := range h.Files {
		seen.Files += c.Diff + c.Note
	}
	if p := h.Preview; p != nil && (p.State == PreviewDone || p.State == PreviewFailed || p.State == PreviewIgnored) {
		seen.Text, seen.State, seen.At = p.Text, p.State, p.At.String()
	}
	raw, _ := json.Marshal(seen)
	sum := sha256.Sum256(raw)
	h.Seen = hex.EncodeToString(sum[:16])
}

// change changes what a pending call shows, and publishes it. It reports whether the call was still pending.
func (b *Inbox) change(id string, f func(*Held)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	w := b.find(id)
	if w == nil || w.item.Held == nil {
		return false
	}
	h := *w.item.Held // published copies share it
	if h.Preview != nil {
		p := *h.Preview
		h.Preview = &p
	}
	f(&h)
	h.seal()
	w.item.Held = &h
	b.opts.Bus.Publish(core.ApprovalEvent, w.item)
	return true
}

// RequestPreview starts the preview of a pending call, whose result changes the item.
func (b *Inbox) RequestPreview(id string) error {
	started := false
	b.change(id, func(h *Held) {
		if p := h.Preview; p != nil && p.State != PreviewRunning && p.State != PreviewIgnored {
			h.Preview = &Preview{Argument: p.Argument, State: PreviewRunning, Checked: p.Checked}
			started = true
		}
	})
	b.mu.Lock()
	defer b.mu.Unlock()
	switch w := b.find(id); {
	case w == nil:
		return core.Errorf(core.CodeNotFound, "this approval is no longer pending")
	case !started:
		return core.Errorf(core.CodeConflict, "this call has no preview that can be run now")
	default:
		select {
		case w.preview <- struct{}{}: // buffered
		default:
		}
		return nil
	}
}

// SetPreviewWord stores the word of the user whether previews of the tool of a pending call change nothing.
func (b *Inbox) SetPreviewWord(ctx context.Context, id string, changesNothing bool) error {
	item, ok := b.Item(id)
	if !ok || item.Held == nil || item.Held.Preview == nil {
		return core.Errorf(core.CodeNotFound, "there is no pending call with a preview and this id")
	}
	if item.Held.Preview.State == PreviewRunning {
		return core.Errorf(core.CodeConflict, "the preview is running. Try again when it has ended")
	}
	word := ignored
	if changesNothing {
		word = honoured
	}
	if err := b.Previews.Store.SaveMetadata(ctx, item.previewKey(), []byte(word)); err != nil {
		return err
	}
	b.change(id, func(h *Held) {
		if changesNothing && h.Preview.State == PreviewIgnored {
			h.Preview.State, h.Preview.Problem = PreviewOffered, ""
		}
		h.Preview.applyWord(word)
	})
	return nil
}

// runPreview runs the preview of a pending call. ctx ends with the call's wait.
func (b *Inbox) runPreview(ctx context.Context, id string) {
	item, ok := b.Item(id)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, previewTimeout)
	defer cancel()
	h := *item.Held
	p := *h.Preview
	h.Files = fileChanges(ctx, &h)
	var probe *core.Call
	if !p.Checked && !expectsChange(h.Files) { // otherwise the files show whether the tool obeys
		probe = b.readOnlyProbe(&h)
	}
	stable, before := b.probe(ctx, &h, probe)
	arguments, _ := withArgument([]byte(h.Arguments), p.Argument)
	call := h.previewCall(h.Tool, arguments)
	reply, err := b.Previews.Call(ctx, call, previewSink{&h})
	p.At, p.CallID = b.opts.Now().UTC(), strconv.FormatInt(call.ID, 10)
	p.State, p.Text, p.Problem = previewResult(reply, err)
	_, after := b.probe(ctx, &h, probe)
	files := fileChanges(ctx, &h)
	word := ""
	switch {
	case basesOf(files) != basesOf(h.Files) || stable && before != after:
		word = ignored
		p.State, p.Problem = PreviewIgnored, "The tool has ignored "+strconv.Quote(p.Argument)+" and made a change: the call may already have been carried out."
	case p.State == PreviewDone && !p.Checked && (expectsChange(h.Files) || stable && saysPreview.MatchString(p.Text)):
		word, p.Checked = honoured, true
	}
	if word != "" && b.Previews.Store.SaveMetadata(context.WithoutCancel(ctx), item.previewKey(), []byte(word)) != nil {
		p.Checked = false
	}
	b.change(id, func(h *Held) { h.Preview, h.Files = &p, files })
}

// saysPreview matches the result of a run that changed nothing, as tools describe it.
var saysPreview = regexp.MustCompile(`(?i)dry[- _]?run|preview|would|simulat|validat|no changes|not (been )?(applied|saved|executed|changed|written)`)

func expectsChange(files []FileChange) bool {
	return slices.ContainsFunc(files, func(c FileChange) bool { return c.Diff != "" })
}

// previewCall returns a call of the same client to a tool of the same server.
func (h *Held) previewCall(tool string, arguments []byte) *core.Call {
	call := h.Caller
	call.Method, call.Name, call.Preview, call.Capabilities = "tools/call", tool, true, json.RawMessage(`{}`)
	if tool != h.Tool { // otherwise the tool must still have the definition that the user sees
		call.Admission.Definition = ""
	}
	params := append(wire.AppendString([]byte(`{"name":`), tool), `,"arguments":`...)
	call.Arguments = core.Span{Start: len(params), End: len(params) + len(arguments)}
	call.Params = append(append(params, arguments...), '}')
	return &call
}

// previewSink refuses what a server asks during a preview. The client must still be admitted.
type previewSink struct{ h *Held }

// StillAdmitted is about the pending call, also for a call to another tool, which only the user sees.
func (s previewSink) StillAdmitted(*core.Call) error {
	if s.h.Client == nil {
		return nil
	}
	return s.h.Client.StillAdmitted(s.h.previewCall(s.h.Tool, []byte("{}")))
}

func (previewSink) Notify(string, json.RawMessage) {}

func (previewSink) Ask(context.Context, string, json.RawMessage) (core.Reply, error) {
	return core.Reply{Error: json.RawMessage(`{"code":-32601,"message":"a preview cannot answer requests"}`)}, nil
}

func previewResult(reply core.Reply, err error) (state, text, problem string) {
	if err != nil {
		message, _ := core.Describe(err)
		return PreviewFailed, "", message
	}
	text, failed := resultText(reply)
	switch {
	case reply.Task != nil:
		return PreviewFailed, "", "The server has answered with a task."
	case len(text) > maxPreview:
		return PreviewDone, core.CutBytes(text, maxPreview), "The result has " + strconv.Itoa(len(text)) + " bytes: this is its beginning. The page of the call shows more."
	case failed:
		return PreviewFailed, text, "The tool reports an error."
	case text == "":
		return PreviewFailed, "", "The result contains no text."
	}
	return PreviewDone, text, ""
}

// resultText returns the text of a result, or of an error.
func resultText(reply core.Reply) (text string, failed bool) {
	if len(reply.Error) > 0 {
		var e struct{ Message string }
		_ = json.Unmarshal(reply.Error, &e)
		return e.Message, true
	}
	var result struct {
		Content []struct {
			Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	_ = json.Unmarshal(reply.Result, &result)
	var parts []string
	for _, c := range result.Content {
		if c.Text != "" {
			parts = append(parts, c.Text)
		}
	}
	if text = strings.Join(parts, "\n"); text == "" {
		text = string(result.StructuredContent)
	}
	return text, result.IsError
}

// readOnlyProbe returns a call to a tool of the server that is marked read-only and needs some of the arguments of the
// pending call and no others, or nil: a run that changes its result has not been a preview.
func (b *Inbox) readOnlyProbe(h *Held) *core.Call {
	var arguments map[string]json.RawMessage
	if b.Previews.Tools == nil || json.Unmarshal([]byte(h.Arguments), &arguments) != nil {
		return nil
	}
	var best *core.Call
	most := 0
	tools := b.Previews.Tools(h.Caller.Server)
	for _, name := range slices.Sorted(maps.Keys(tools)) {
		var tool struct {
			Annotations struct{ ReadOnlyHint bool }
			InputSchema struct{ Required []string }
		}
		if json.Unmarshal(tools[name], &tool) != nil || !tool.Annotations.ReadOnlyHint || len(tool.InputSchema.Required) <= most {
			continue
		}
		shared := map[string]json.RawMessage{}
		for _, argument := range tool.InputSchema.Required {
			if value, has := arguments[argument]; has {
				shared[argument] = value
			}
		}
		if len(shared) == len(tool.InputSchema.Required) {
			raw, _ := json.Marshal(shared)
			best, most = h.previewCall(name, raw), len(shared)
		}
	}
	return best
}

// probe makes the call twice. The result is stable if both have the same result.
func (b *Inbox) probe(ctx context.Context, h *Held, call *core.Call) (stable bool, result string) {
	if call == nil {
		return false, ""
	}
	var results [2][]byte
	for i := range results {
		again := *call
		reply, err := b.Previews.Call(ctx, &again, previewSink{h})
		if err != nil || len(reply.Result) == 0 {
			return false, ""
		}
		results[i] = bytes.Clone(reply.Result)
	}
	return bytes.Equal(results[0], results[1]), string(results[0])
}

// checkSeen returns an error unless a pending call is still what the user saw, and changes what it shows.
func (b *Inbox) checkSeen(ctx context.Context, id, seen string) error {
	item, ok := b.Item(id)
	if !ok || item.Held == nil || seen == "" {
		return nil
	}
	h := item.Held
	if h.Seen != seen {
		return seenError()
	}
	if p := h.Preview; p != nil && p.State == PreviewDone && b.opts.Now().Sub(p.At) > maxPreviewAge {
		b.change(id, func(h *Held) {
			h.Preview = &Preview{Argument: p.Argument, State: PreviewOffered, Checked: p.Checked, Problem: "The last preview was older than ten minutes."}
		})
		return core.Errorf(core.CodeConflict, "the preview is older than ten minutes. Run it again")
	}
	if len(h.Files) == 0 {
		return nil
	}
	if now := fileChanges(ctx, h); basesOf(now) != basesOf(h.Files) {
		b.change(id, func(h *Held) { h.Files = now; h.outdatePreview() })
		return filesChangedError(h.Files)
	}
	return nil
}

func seenError() error {
	return core.Errorf(core.CodeConflict, "this approval now shows something else than what was answered. Look at it again")
}

// outdatePreview withdraws a preview of files that have changed.
func (h *Held) outdatePreview() {
	if p := h.Preview; p != nil && p.State == PreviewDone {
		h.Preview = &Preview{Argument: p.Argument, State: PreviewOffered, Checked: p.Checked, Problem: "The file has changed since the last preview."}
	}
}

func filesChangedError(files []FileChange) error {
	e := core.Errorf(core.CodeConflict, "%q has changed since the effect of the call was shown", core.Shorten(files[0].Path, 300))
	e.Hint, e.Retriable = "Look at the new effect, then answer again.", true
	return e
}

// unchanged returns the check that the files are as the user saw them, for the moment in which the call is sent.
func (h *Held) unchanged() func() error {
	if len(h.Files) == 0 {
		return nil
	}
	return func() error {
		if basesOf(fileChanges(context.Background(), h)) == basesOf(h.Files) {
			return nil
		}
		e := core.Errorf(core.CodeRejected, "%q has changed since the user approved the call", core.Shorten(h.Files[0].Path, 300))
		e.Hint, e.Retriable = "Make the call again.", true
		return e
	}
}
