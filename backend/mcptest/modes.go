package mcptest

import (
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// mode is a behaviour of the server. set modifies a well-behaved server.
type mode struct {
	about string
	set   func(s *server)
}

func tools(names ...string) string {
	var list []string
	for _, name := range names {
		list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
	}
	return strings.Join(list, ",")
}

// onCall returns a set function that replaces the handler of tools/call.
func onCall(f func(s *server, id, params []byte)) func(*server) {
	return func(s *server) { s.on["tools/call"] = f }
}

const done = `{"content":[{"type":"text","text":"done"}]}`

var modes = map[string]mode{
	"echo":   {about: "both eras; tools/call returns its arguments; fast", set: func(s *server) { s.modern = true }},
	"legacy": {about: "the legacy era only; -32601 on server/discover", set: func(*server) {}},
	"modern": {about: "the modern era only; an error on initialize", set: func(s *server) { s.legacy, s.modern = false, true }},
	"modern-exit": {about: "the modern era only; exits on initialize", set: func(s *server) {
		s.legacy, s.modern = false, true
		s.on["initialize"] = func(s *server, _, _ []byte) { s.quit = true }
	}},
	"legacy-exit": {about: "exits on any request it does not know", set: func(s *server) {
		s.unknown = func(s *server, _ []byte, _ string) { s.quit = true }
	}},
	"tasks":  {about: "tools that return tasks, in both eras", set: taskServer},
	"quirky": {about: "odd but legal bytes, in list and result", set: quirky},
	"lsp":    {about: "Content-Length framing", set: func(s *server) { s.framed = true }},
	"pages": {about: "2,000 tools on 40 pages", set: func(s *server) {
		s.on["tools/list"] = func(s *server, id, params []byte) { s.page(id, params, 40, 50) }
	}},
	"cursor-loop": {about: "returns the same nextCursor forever", set: func(s *server) {
		s.on["tools/list"] = func(s *server, id, _ []byte) {
			s.result(id, `{"tools":[`+tools("a")+`],"nextCursor":"again"}`)
		}
	}},
	"malformed-tools": {about: "8 of 9 tools are good", set: func(s *server) {
		s.tools = tools("a", "b", "c", "d") + `,{"name":7,"inputSchema":{}},` + tools("e", "f", "g", "h")
	}},
	"lists":        {about: "returns the lists in the environment variable " + EnvLists, set: lists},
	"early-change": {about: "list_changed before and right after initialize; one more tool each time", set: earlyChange},

	"modern-change": {about: "modern era only; tools/call adds a tool and notifies the subscribers; a resource subscription receives one update", set: modernChange},

	"silent":      {about: "reads and never responds", set: func(s *server) { s.first = func(s *server) { s.drain() } }},
	"silent-call": {about: "never responds to tools/call", set: onCall(func(*server, []byte, []byte) {})},
	"exit":        {about: "exits at once with code 3", set: func(s *server) { s.first = func(s *server) { s.leave(3) } }},
	"exit-call":   {about: "exits with code 3 on tools/call", set: onCall(func(s *server, _, _ []byte) { s.leave(3) })},
	"banner": {about: "text and JSON that is not a message before the first response, with a BOM", set: func(s *server) {
		s.first = func(s *server) { s.raw("\xef\xbb\xbfMy server v1\r\n" + junk + "2026-01-01 ready\n\n") }
	}},
	"junk": {about: "junk lines around every result; two messages on one line", set: onCall(func(s *server, id, _ []byte) {
		s.raw("console.log\n" + junk + `{"jsonrpc":"2.0","method":"notifications/x"} {"jsonrpc":"2.0","id":` + string(id) + `,"result":` + done + "}\r\n" + junk)
	})},
	"giant": {about: "a result of arguments.size bytes (default 50 MB); id first, or last with arguments.last 1", set: onCall(giant)},
	"endless": {about: "a line that does not end, on tools/call", set: onCall(func(s *server, _, _ []byte) {
		for chunk := strings.Repeat("x", 1<<16); ; {
			s.raw(chunk)
			if s.failed() {
				s.quit = true
				return
			}
		}
	})},
	"deep": {about: "a result nested arguments.depth levels (default 9,000)", set: onCall(func(s *server, id, params []byte) {
		n := number(params, "depth", 9000)
		s.result(id, `{"content":[],"x":`+strings.Repeat("[", n)+strings.Repeat("]", n)+`}`)
	})},
	"bad-text": {about: "invalid UTF-8, NUL and a lone surrogate in a result", set: onCall(func(s *server, id, _ []byte) {
		s.result(id, "{\"content\":[{\"type\":\"text\",\"text\":\"a\xffb\\u0000\\ud800\\u001b\"}]}")
	})},
	"stops-reading": {about: "stops reading after tools/list; blocks forever", set: func(s *server) {
		s.on["tools/list"] = func(s *server, id, _ []byte) {
			s.result(id, `{"tools":[`+s.tools+`]}`)
			s.flush()
			s.hang()
		}
	}},
	"stubborn": {about: "ignores the end of input and TERM", set: func(s *server) {
		s.first = func(*server) { signal.Ignore(syscall.SIGTERM, os.Interrupt) }
		s.atEOF = s.hang
	}},
	"flood": {about: "arguments.n messages (default 100,000), then the result; arguments.kind: 0 progress, 1 log or 2 unknown notifications (default), 3 requests", set: onCall(flood)},
	"progress": {about: "arguments.n (20) progress notifications back to back, then the result", set: onCall(func(s *server, id, params []byte) {
		for i, t := 0, token(params); i < number(params, "n", 20); i++ {
			s.notify("notifications/progress", fmt.Sprintf(`{"progress":%d,"progressToken":%s,"vendor":1.0}`, i+1, t))
		}
		s.result(id, done)
	})},
	"unending": {about: "one tool, work, that reports progress three times and never finishes", set: func(s *server) {
		s.tools = tools("work")
		onCall(func(s *server, _, params []byte) {
			for i, t := 0, token(params); i < 3; i++ {
				s.notify("notifications/progress", fmt.Sprintf(`{"progress":%d,"progressToken":%s}`, i+1, t))
			}
		})(s)
	}},
	"ask": {about: "tools/call sends elicitation/create and returns the response", set: onCall(func(s *server, id, _ []byte) {
		s.ask(`"q-`+strings.Trim(string(id), `"`)+`"`, "elicitation/create", `{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}`, func(response []byte) {
			s.result(id, `{"content":[],"structuredContent":`+strings.TrimSpace(string(response))+`}`)
		})
	})},
	"ask-form": {about: "tools/call requests a name and a number with elicitation/create and returns the response", set: onCall(func(s *server, id, _ []byte) {
		s.ask(`"q-`+strings.Trim(string(id), `"`)+`"`, "elicitation/create", `{"message":"Who, and how many?","requestedSchema":{"type":"object","properties":{"who":{"type":"string"},"many":{"type":"integer","minimum":1}},"required":["who"]}}`, func(response []byte) {
			s.result(id, `{"content":[],"structuredContent":`+strings.TrimSpace(string(response))+`}`)
		})
	})},
	"ask-url": {about: "tools/call requests that the user open a URL (elicitation/create) and returns the response", set: onCall(func(s *server, id, _ []byte) {
		s.ask(`"q-`+strings.Trim(string(id), `"`)+`"`, "elicitation/create", `{"mode":"url","elicitationId":"e-1","message":"Agree there first.","url":"https://example.com/agree"}`, func(response []byte) {
			s.result(id, `{"content":[],"structuredContent":`+strings.TrimSpace(string(response))+`}`)
		})
	})},
	"ask-cancel": {about: "tools/call sends a request, cancels it and responds; other methods return the number of responses received", set: askCancel},
	"late": {about: "responds to tools/call twice, and once with an unknown id", set: onCall(func(s *server, id, _ []byte) {
		s.result([]byte("987654321"), `{"content":[],"stranger":true}`)
		s.result([]byte("null"), `{}`)
		s.result(id, done)
		s.result(id, `{"content":[],"second":true}`)
	})},
	"neither": {about: "responds with neither result nor error", set: onCall(func(s *server, id, _ []byte) {
		s.raw(`{"jsonrpc":"2.0","id":` + string(id) + "}\n")
	})},
	"stderr-flood": {about: "100 MB on stderr while it responds", set: onCall(func(s *server, id, _ []byte) {
		for range 100 << 4 {
			fmt.Fprintln(s.stderr, strings.Repeat("e", 1<<16))
		}
		s.result(id, done)
	})},
}

const junk = "{\"level\":\"info\",\"id\":1}\n[\"x\"]\n\"x\"\nnull\n[]\n7\n"
