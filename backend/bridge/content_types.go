package bridge

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// contentTypes has the first revision whose schema has each type of content. Clients that check
// results against the schema of their revision refuse a whole result because of one unknown type,
// after the tool has run.
var contentTypes = map[string]string{
	"text": "2024-11-05", "image": "2024-11-05", "resource": "2024-11-05",
	"audio": "2025-03-26", "resource_link": "2025-06-18",
	"tool_use": "2025-11-25", "tool_result": "2025-11-25", // of sampling
}

// firstWithContentLists is the first revision in which the content of a sampling message may be a list.
const firstWithContentLists = "2025-11-25"

const newestContentType = "2025-11-25"

var typeKey = []byte(`"type"`)

// readableContent returns the result of a method, or the params of a request to the client, in which
// content that the client's revision does not know is replaced by text. Most results are not parsed:
// their types are known.
func readableContent(method, revision string, raw []byte) []byte {
	list := ""
	switch method {
	case "tools/call", "tasks/result":
		list = "content"
	case "prompts/get", "sampling/createMessage":
		list = "messages"
	}
	lists := method == "sampling/createMessage" && revision < firstWithContentLists
	if list == "" || revision == "" || revision >= newestContentType || !lists && !mentionsUnknownType(revision, raw) {
		return raw
	}
	found, err := wire.Pick(raw, list)
	if err != nil || found[0].Empty() {
		return raw
	}
	return wire.Splice(nil, raw, contentEdits(revision, raw, found[0], list == "messages")...)
}

// mentionsUnknownType reports whether raw may contain content of a type that the revision does not
// know. It looks at every member "type", wherever it is.
func mentionsUnknownType(revision string, raw []byte) bool {
	for {
		at := bytes.Index(raw, typeKey)
		if at < 0 {
			return false
		}
		raw = bytes.TrimLeft(raw[at+len(typeKey):], " \t\r\n:")
		if end := bytes.IndexByte(raw[min(1, len(raw)):], '"'); end >= 0 && raw[0] == '"' && (!knowsType(revision, raw[1:1+end]) || bytes.IndexByte(raw[:1+end], '\\') >= 0) {
			return true
		}
	}
}

// knowsType reports whether the revision has a type of content. Types that no revision has are left
// to the client: they may belong to an extension.
func knowsType(revision string, name []byte) bool { return contentTypes[string(name)] <= revision }

// contentEdits returns the edits of src that replace content of unknown types in the list at a span:
// of blocks, or of messages, whose content is a block or, in sampling, a list of blocks. A message
// with a list becomes a message for each block if the revision knows no lists.
func contentEdits(revision string, src []byte, list core.Span, messages bool) (edits []wire.Edit) {
	_ = wire.Elements(wire.Bytes(src, list), func(at core.Span) error {
		block, message := offset(at, list), core.Span{}
		if messages {
			message = block
			found, err := wire.Pick(wire.Bytes(src, message), "content")
			if err != nil || found[0].Empty() {
				return nil
			}
			block = offset(found[0], message)
		}
		if src[block.Start] != '[' || !messages {
			if text := textInsteadOf(revision, wire.Bytes(src, block)); text != nil {
				edits = append(edits, wire.Edit{Span: block, With: text})
			}
			return nil
		}
		if revision >= firstWithContentLists {
			edits = append(edits, contentEdits(revision, src, block, false)...)
			return nil
		}
		var split []byte
		_ = wire.Elements(wire.Bytes(src, block), func(at core.Span) error {
			part := wire.Bytes(src, offset(at, block))
			if text := textInsteadOf(revision, part); text != nil {
				part = text
			}
			split = append(append(append(append(split, ','), src[message.Start:block.Start]...), part...), src[block.End:message.End]...)
			return nil
		})
		if len(split) > 0 {
			edits = append(edits, wire.Edit{Span: message, With: split[1:]})
		}
		return nil
	})
	return edits
}

// offset returns a span of the text that is at outer as a span of the whole text.
func offset(inner, outer core.Span) core.Span {
	return core.Span{Start: outer.Start + inner.Start, End: outer.Start + inner.End}
}

// textInsteadOf returns a text block that says what a block of content is and where to find it, or
// nil if the revision knows its type.
func textInsteadOf(revision string, block []byte) []byte {
	found, err := wire.Pick(block, "type", "title", "name", "uri", "url", "mimeType", "description", "annotations")
	if err != nil {
		return nil
	}
	member := func(i int) string {
		text, _ := wire.Unquote(wire.Bytes(block, found[i]))
		return text
	}
	kind := member(0)
	if kind == "" || knowsType(revision, []byte(kind)) {
		return nil
	}
	text := "[" + core.ShortenBytes(kind, maxShownType) + " not supported by this client's protocol revision"
	separator := ": "
	for _, detail := range []string{cmp.Or(member(1), member(2)), cmp.Or(member(3), member(4)), member(5), member(6)} {
		if detail != "" {
			text, separator = text+separator+detail, ", "
		}
	}
	out := append(wire.AppendString([]byte(`{"type":"text","text":`), text+"]"), '}')
	if annotations := wire.Bytes(block, found[7]); len(annotations) > 0 && annotations[0] == '{' {
		out = append(append(append(out[:len(out)-1], `,"annotations":`...), annotations...), '}')
	}
	return out
}

// maxShownType limits the name of an unknown type, in bytes.
const maxShownType = 64

// The user is asked to open an address in three ways. In 2025-11-25, a server sends a request with
// an elicitationId, or refuses a call with an error that names the addresses. In 2026-07-28, it asks
// in its result, without an elicitationId.

// codeNeedsURLs is the code of the error that names addresses. The modern era does not have it.
const codeNeedsURLs = -32042

var needsURLsMark = []byte("-32042")

// elicitationSessions has the legacy session that each elicitationId of a server was sent to. The zero
// value is ready to use.
type elicitationSessions struct {
	mu       sync.Mutex
	sessions map[string]string // by server and id
	order    []string          // the keys, oldest first
}

// maxElicitations is the number of elicitationIds that are kept.
const maxElicitations = 256

func (e *elicitationSessions) add(server, id, session string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	key := server + "\x00" + id
	if _, known := e.sessions[key]; !known {
		e.order = append(e.order, key)
	}
	if e.sessions == nil {
		e.sessions = map[string]string{}
	}
	e.sessions[key] = session
	if len(e.order) > maxElicitations {
		delete(e.sessions, e.order[0])
		e.order = e.order[1:]
	}
}

func (e *elicitationSessions) sessionOf(server, id string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sessions[server+"\x00"+id]
}

// recordElicitations records the session that gets the elicitationIds of an error.
func (cs *calls) recordElicitations(rq *request, server string, object []byte) {
	if rq.session == nil || !bytes.Contains(object, needsURLsMark) {
		return
	}
	var e struct {
		Data struct {
			Elicitations []struct{ ElicitationID string }
		}
	}
	if json.Unmarshal(object, &e) != nil {
		return
	}
	for _, entry := range e.Data.Elicitations[:min(len(e.Data.Elicitations), maxURLs)] {
		cs.elicitations.add(server, entry.ElicitationID, rq.session.id)
	}
}

// ElicitationCompleted forwards notifications/elicitation/complete of a server to the legacy session
// that was asked to open the address. It does not block.
func (b *Bridge) ElicitationCompleted(server string, params json.RawMessage) {
	found, err := wire.Pick(params, "elicitationId")
	if err != nil {
		return
	}
	id, _ := wire.Unquote(wire.Bytes(params, found[0]))
	l, _ := b.listeners.reach(server, b.calls.elicitations.sessionOf(server, id))
	if l == nil {
		return
	}
	l.notify("elicitation "+server+" "+id, "notifications/elicitation/complete", params)
}

// withElicitationID returns a request to open an address with the elicitationId that a legacy client
// requires, which it adds if the server is modern.
func (c *callMessageHandler) withElicitationID(params []byte) []byte {
	found, err := wire.Pick(params, "mode", "elicitationId")
	if err != nil || string(wire.Bytes(params, found[0])) != `"url"` {
		return params
	}
	if id, ok := wire.Unquote(wire.Bytes(params, found[1])); ok {
		c.calls.elicitations.add(c.server, id, c.rq.session.id)
		return params
	}
	at := core.Span{Start: found[0].End, End: found[0].End}
	return wire.Splice(nil, params, wire.Edit{Span: at, With: []byte(`,"elicitationId":"` + rand.Text() + `"`)})
}

// urlsState is the requestState of a result that asks for what a legacy server has demanded by an
// error. No call waits for the answer: the repeated request is a new call.
const urlsState = statePrefix + "urls"

// maxURLs is the number of addresses of one error that the client is asked to open.
const maxURLs = 32

// inputForURLs returns the result that asks a modern client to open the addresses that an error of a
// legacy server names, or the error for a client that cannot. Both are nil for other errors.
func inputForURLs(rq *request, object []byte) (result []byte, refusal *rpcError) {
	if rq.era != core.Modern || !inputMethods[rq.method] || !bytes.Contains(object, needsURLsMark) {
		return nil, nil
	}
	var e struct {
		Code    int
		Message string
		Data    struct {
			Elicitations []struct{ URL, Message string }
		}
	}
	if json.Unmarshal(object, &e) != nil || e.Code != codeNeedsURLs || len(e.Data.Elicitations) == 0 {
		return nil, nil
	}
	if !parseClientCapabilities(rq.capabilities).url {
		message := "the server requires the user to open " + e.Data.Elicitations[0].URL + ", and this client does not support elicitation by URL: " + e.Message
		return nil, &rpcError{code: codeNeedsCapability, object: wire.ErrorObject(codeNeedsCapability, message, []byte(`{"requiredCapabilities":{"elicitation":{"url":{}}}}`))}
	}
	out := []byte(`{"resultType":"input_required","inputRequests":{`)
	for i, entry := range e.Data.Elicitations[:min(len(e.Data.Elicitations), maxURLs)] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendInt(append(out, `"url-`...), int64(i+1), 10), `":{"method":"elicitation/create","params":{"mode":"url","url":`...)
		out = append(wire.AppendString(out, entry.URL), `,"message":`...)
		out = append(wire.AppendString(out, cmp.Or(entry.Message, e.Message)), `}}`...)
	}
	return append(out, `},"requestState":"`+urlsState+`"}`...), nil
}

// afterURLs returns the call that repeats a request after its user was asked to open addresses,
// without the answers, which the server did not ask for. It is an error if the user has declined.
func afterURLs(rq *request) (*request, error) {
	answers, err := inputResponses(wire.Bytes(rq.params, rq.spans.InputResponses))
	if err != nil {
		return nil, err
	}
	for _, answer := range answers {
		if found, err := wire.Pick(answer, "action"); err != nil || string(wire.Bytes(answer, found[0])) != `"accept"` {
			return nil, core.Errorf(core.CodeRejected, "the user did not open the address that the server requires")
		}
	}
	again := *rq
	for _, name := range []string{"inputResponses", "requestState"} {
		if again.params, err = wire.WithoutMember(again.params, name); err != nil {
			return nil, core.Errorf(core.CodeValidation, "the params are malformed")
		}
	}
	spans, err := wire.ScanParams(again.params)
	again.spans = &spans
	return &again, err
}
