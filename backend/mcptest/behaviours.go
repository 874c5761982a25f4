package mcptest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

func quirky(s *server) {
	s.info = QuirkyInfo
	s.capabilities = `{"tasks":{"list":{}},"tools":{}}`
	s.tools = QuirkyTool + "," + tools("second")
	s.on["tools/call"] = func(s *server, id, _ []byte) { s.result(id, QuirkyResult) }
}

// page responds with the requested one of pages pages of size tools each.
func (s *server) page(id, params []byte, pages, size int) {
	p, _ := wire.ScanParams(params)
	text, _ := wire.Unquote(wire.Bytes(params, p.Cursor))
	page, _ := strconv.Atoi(text)
	var names []string
	for i := range size {
		names = append(names, fmt.Sprintf("t%d", page*size+i))
	}
	next := ""
	if page+1 < pages {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, page+1)
	}
	s.result(id, `{"tools":[`+tools(names...)+`]`+next+`}`)
}

func earlyChange(s *server) {
	const method = "notifications/tools/list_changed"
	s.first = func(s *server) { s.notify(method, "{}") }
	s.on["notifications/initialized"] = func(s *server, _, _ []byte) { s.notify(method, "{}") }
	calls := 0
	s.on["tools/list"] = func(s *server, id, _ []byte) {
		calls++
		names := []string{"echo"}
		for i := range calls - 1 {
			names = append(names, "late"+strconv.Itoa(i))
		}
		s.result(id, `{"tools":[`+tools(names...)+`]}`)
	}
}

func modernChange(s *server) {
	s.legacy, s.modern = false, true
	listening := ""
	s.on["subscriptions/listen"] = func(s *server, id, params []byte) {
		meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":` + string(id) + `}`
		if strings.Contains(string(params), `"toolsListChanged":true`) {
			listening = meta
		}
		s.notify("notifications/subscriptions/acknowledged", `{"notifications":{},`+meta+`}`)
		if strings.Contains(string(params), `"resourceSubscriptions":["test://a"]`) {
			s.notify("notifications/resources/updated", `{"uri":"test://a",`+meta+`}`)
		}
	}
	s.on["tools/call"] = func(s *server, id, _ []byte) {
		s.tools += "," + tools("added")
		if listening != "" {
			s.notify("notifications/tools/list_changed", `{`+listening+`}`)
		}
		s.result(id, `{"resultType":"complete","content":[]}`)
	}
}

func giant(s *server, id, params []byte) {
	size := number(params, "size", 50_000_000)
	if number(params, "last", 0) == 1 {
		s.raw(`{"result":{"content":[],"text":"`)
	} else {
		s.raw(`{"jsonrpc":"2.0","id":` + string(id) + `,"result":{"content":[],"text":"`)
	}
	for chunk := strings.Repeat("g", 1<<16); size > 0; size -= len(chunk) {
		s.raw(chunk[:min(size, len(chunk))])
	}
	if number(params, "last", 0) == 1 {
		s.raw(`"},"jsonrpc":"2.0","id":` + string(id) + "}\n")
	} else {
		s.raw("\"}}\n")
	}
}

// flood sends many unsolicited messages before the result.
func flood(s *server, id, params []byte) {
	t := token(params)
	for i := range number(params, "n", 100_000) {
		switch number(params, "kind", 2) {
		case 0:
			s.notify("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d}`, t, i))
		case 1:
			s.notify("notifications/message", `{"level":"info","data":"flood"}`)
		case 2:
			s.notify("notifications/vendor", `{}`)
		default:
			s.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":"f%d","method":"roots/list"}`+"\n", i))
		}
	}
	s.result(id, done)
}

func askCancel(s *server) {
	var answers atomic.Int64
	s.on["tools/call"] = func(s *server, id, _ []byte) {
		s.ask(`"q"`, "elicitation/create", `{"message":"Sure?"}`, func([]byte) { answers.Add(1) })
		s.notify("notifications/cancelled", `{"requestId":"q"}`)
		s.result(id, done)
	}
	s.unknown = func(s *server, id []byte, _ string) {
		s.result(id, `{"answers":`+strconv.FormatInt(answers.Load(), 10)+`}`)
	}
}

// drain discards the input until it ends.
func (s *server) drain() {
	_, _ = io.Copy(io.Discard, s.in)
	s.quit = true
}

// hang blocks without reading until the server is stopped; a process must be killed.
func (s *server) hang() {
	select {
	case <-s.stopped:
	case <-time.After(24 * time.Hour):
	}
	s.quit = true
}

func (s *server) leave(code int) {
	s.flush()
	s.exit(code)
	s.quit = true
}

func (s *server) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Flush() != nil
}

// EnvLists is the environment variable with the lists of the mode "lists": an object with the items
// of "tools", "prompts", "resources" and "resourceTemplates" as arrays, and optionally the "result"
// of every tool. With "modern": true, the server has only the modern era.
const EnvLists = "DRAWBRIDGE_MCPTEST_LISTS"

func lists(s *server) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(os.Getenv(EnvLists)), &all); err != nil {
		fmt.Fprintln(s.stderr, err)
	}
	s.legacy, s.modern = all["modern"] == nil, all["modern"] != nil
	s.capabilities = `{"tools":{},"prompts":{},"resources":{}}`
	for method, name := range map[string]string{
		"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	} {
		s.on[method] = func(s *server, id, _ []byte) {
			s.result(id, `{`+s.era(s.modern)+`"`+name+`":`+cmp.Or(string(all[name]), "[]")+"}")
		}
	}
	if all["result"] != nil {
		onCall(func(s *server, id, _ []byte) { s.result(id, string(all["result"])) })(s)
	}
}
