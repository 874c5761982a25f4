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
func (b *Bridge) recordElicitations(rq *request, server string, object []byte) {
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
		b.elicitations.add(server, entry.ElicitationID, rq.session.id)
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
	l, _ := b.taskStream(server, task{session: b.elicitations.sessionOf(server, id)})
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stream != nil {
		l.enqueue(b, "elicitation "+server+" "+id, "notifications/elicitation/complete", params)
	}
}

// withElicitationID returns a request to open an address with the elicitationId that a legacy client
// requires, which it adds if the server is modern.
func (c *callMessageHandler) withElicitationID(params []byte) []byte {
	found, err := wire.Pick(params, "mode", "elicitationId")
	if err != nil || string(wire.Bytes(params, found[0])) != `"url"` {
		return params
	}
	if id, ok := wire.Unquote(wire.Bytes(params, found[1])); ok {
		c.bridge.elicitations.add(c.server, id, c.rq.session.id)
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
