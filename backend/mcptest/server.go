package mcptest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/drawbridge-mcp/drawbridge/backend/wire"
)

// Texts that tests compare byte for byte.
const (
	// QuirkyResult is the result of every tools/call to the quirky server.
	QuirkyResult = `{"zeta":1,"structuredContent":{"n":9007199254740993,"f":1.0,"e":1e3,"esc":"\u00e9\/","dup":1,"dup":2},` +
		`"content":[{"type":"hologram","beam":[null,{}]},null,{"type":"text","text":"","annotations":{"priority":0}}],"isError":false,"_meta":{"big":18446744073709551616}}`
	// QuirkyTool is the first tool of the quirky server.
	QuirkyTool = `{"vendorField":[1,2],"name":"odd","inputSchema":{"type":"object"},"annotations":{"vendorHint":true},"execution":{"x":1.50},"title":"O\u00fdd"}`
	// QuirkyInfo is the serverInfo of the quirky server.
	QuirkyInfo = `{"version":"1.0","name":"quirky","vendor":{"n":9007199254740993}}`
)

// server is an MCP server on a pair of streams. Modes modify its fields before it runs.
type server struct {
	in     *bufio.Reader
	stderr io.Writer
	exit   func(int)
	// stopped is closed to stop a server in the process of the test. It is nil in a separate
	// process.
	stopped <-chan struct{}

	mu  sync.Mutex // guards out
	out *bufio.Writer

	legacy, modern bool // supported eras
	framed         bool // use Content-Length framing
	info           string
	capabilities   string
	tools          string // elements of the tools array, separated by commas
	// first is called before the first message is read. on replaces the handlers of methods.
	first func(s *server)
	on    map[string]func(s *server, id, params []byte)
	// unknown handles requests for unknown methods. If it is nil they fail with -32601.
	unknown func(s *server, id []byte, method string)
	// atEOF is called when the input ends.
	atEOF func()
	// quit ends serve.
	quit bool

	// Of the tasks server: the tasks that its client listens to, and the raw id of that request.
	listening []string
	listenID  string

	replies sync.Map // raw id of a request to the client, to the chan []byte for its response
}

func newServer(in io.Reader, out, stderr io.Writer) *server {
	return &server{
		in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriterSize(out, 64<<10), stderr: stderr,
		legacy: true, info: `{"name":"mcptest","version":"1.0.0"}`, capabilities: `{"tools":{"listChanged":true}}`,
		tools: `{"name":"echo","description":"Returns its arguments.","inputSchema":{"type":"object"}}`,
		on:    map[string]func(*server, []byte, []byte){},
	}
}

func (s *server) serve() int {
	if s.first != nil {
		s.first(s)
	}
	for !s.quit {
		line, err := s.read()
		if err != nil {
			if s.atEOF != nil {
				s.atEOF()
			}
			return 0
		}
		env, err := wire.Scan(line)
		if err != nil {
			fmt.Fprintln(s.stderr, "cannot read a message:", err)
			continue
		}
		id, params := bytes.Clone(wire.Bytes(line, env.ID)), wire.Bytes(line, env.Params)
		switch env.Kind {
		case wire.Request, wire.Notification:
			s.dispatch(env.Method, id, params)
		case wire.Response:
			if waiting, ok := s.replies.LoadAndDelete(string(id)); ok {
				waiting.(chan []byte) <- bytes.Clone(line)
			}
		}
		if s.in.Buffered() == 0 {
			s.flush()
		}
	}
	s.flush()
	return 0
}

func (s *server) read() ([]byte, error) {
	if !s.framed {
		line, err := s.in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		line = bytes.Clone(line)
		rest, err := s.in.ReadBytes('\n')
		return append(line, rest...), err
	}
	size := 0
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line == "\r\n" {
			break
		}
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &size)
	}
	body := make([]byte, size)
	_, err := io.ReadFull(s.in, body)
	return body, err
}

func (s *server) dispatch(method string, id, params []byte) {
	if f := s.on[method]; f != nil {
		f(s, id, params)
		return
	}
	if id == nil {
		return
	}
	p, _ := wire.ScanParams(params)
	isModern := !p.ProtocolVersion.Empty()
	switch {
	case method == "initialize" && s.legacy && !isModern:
		version := `"2025-11-25"`
		if !p.InitVersion.Empty() {
			version = string(wire.Bytes(params, p.InitVersion))
		}
		s.result(id, `{"protocolVersion":`+version+`,"capabilities":`+s.capabilities+`,"serverInfo":`+s.info+`,"instructions":"Be kind."}`)
	case method == "server/discover" && s.modern:
		s.result(id, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":`+s.capabilities+
			`,"instructions":"Be kind.","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":`+s.info+`}}`)
	case !s.legacy && !isModern, !s.modern && isModern && !s.legacy:
		s.error(id, -32022, "unsupported protocol version")
	case method == "ping":
		s.result(id, `{}`)
	case method == "tools/list":
		s.result(id, `{`+s.era(isModern)+`"tools":[`+s.tools+`]}`)
	case method == "tools/call":
		arguments := wire.Bytes(params, p.Arguments)
		if arguments == nil {
			arguments = []byte("{}")
		}
		s.write(func(dst []byte) []byte {
			dst = append(append(dst, `{"jsonrpc":"2.0","id":`...), id...)
			dst = append(append(append(dst, `,"result":{`...), s.era(isModern)...), `"content":[],"structuredContent":`...)
			return append(append(dst, arguments...), `}}`...)
		})
	case s.unknown != nil:
		s.unknown(s, id, method)
	default:
		s.error(id, -32601, "method not found")
	}
}

func (s *server) era(modern bool) string {
	if modern {
		return `"resultType":"complete",`
	}
	return ""
}

func (s *server) result(id []byte, result string) {
	s.write(func(dst []byte) []byte { return wire.AppendResult(dst, id, []byte(result)) })
}

func (s *server) error(id []byte, code int, message string) {
	s.write(func(dst []byte) []byte { return wire.AppendError(dst, id, code, message, nil) })
}

func (s *server) notify(method, params string) {
	s.write(func(dst []byte) []byte { return wire.AppendNotification(dst, method, []byte(params)) })
}

// ask sends a request with a raw id and calls then with the raw response in a separate goroutine.
func (s *server) ask(id, method, params string, then func(response []byte)) {
	waiting := make(chan []byte, 1)
	s.replies.Store(id, waiting)
	go func() {
		select {
		case response := <-waiting:
			then(response)
			s.flush()
		case <-s.stopped:
		}
	}()
	s.raw(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}` + "\n")
}

func (s *server) write(build func([]byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.framed {
		body := build(nil)
		fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n", len(body))
		_, _ = s.out.Write(body)
		return
	}
	_, _ = s.out.Write(append(build(s.out.AvailableBuffer()), '\n'))
}

// raw writes text without framing.
func (s *server) raw(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.WriteString(text)
}

func (s *server) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Flush()
}

func token(params []byte) string {
	p, _ := wire.ScanParams(params)
	return string(wire.Bytes(params, p.ProgressToken))
}

// number returns an integer argument of a call, or def.
func number(params []byte, name string, def int) int {
	p, _ := wire.ScanParams(params)
	arguments := wire.Bytes(params, p.Arguments)
	if arguments == nil {
		return def
	}
	_ = wire.Members(arguments, func(m wire.Member) error {
		if string(m.Name) == name {
			if n, err := strconv.Atoi(string(wire.Bytes(arguments, m.Value))); err == nil {
				def = n
			}
		}
		return nil
	})
	return def
}
