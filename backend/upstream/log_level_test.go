package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// scriptedServer is an in-memory server that declares capabilities, answers every request with an
// empty object, and reports the requests.
type scriptedServer struct {
	stdin        *io.PipeWriter
	stdout       *io.PipeReader
	done         chan struct{}
	capabilities string
	asked        chan string
}

func newScripted(capabilities string) *scriptedServer {
	s := &scriptedServer{done: make(chan struct{}), capabilities: capabilities, asked: make(chan string, 64)}
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	s.stdin, s.stdout = stdin, stdout
	go func() {
		defer close(s.done)
		defer out.Close()
		for messages := json.NewDecoder(in); ; {
			var m struct {
				ID     json.RawMessage
				Method string
				Params json.RawMessage
			}
			if messages.Decode(&m) != nil {
				return
			}
			s.asked <- m.Method + string(m.Params)
			result := `{}`
			if m.Method == "initialize" {
				result = `{"protocolVersion":"` + core.LegacyVersion + `","capabilities":` + s.capabilities + `,"serverInfo":{"name":"s","version":"1"}}`
			}
			if m.ID != nil && m.Method != "logging/setLevel" { // which it never answers
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
			}
		}
	}()
	return s
}

func (s *scriptedServer) Stdin() io.WriteCloser { return s.stdin }
func (s *scriptedServer) Stdout() io.Reader     { return s.stdout }
func (s *scriptedServer) Done() <-chan struct{} { return s.done }
func (s *scriptedServer) Stop(context.Context) error {
	s.stdin.Close()
	s.stdout.Close()
	<-s.done
	return nil
}

func TestLogLevelRequestDoesNotDelayStart(t *testing.T) {
	t.Parallel()
	for capabilities, wanted := range map[string]bool{`{"logging":{}}`: true, `{"tools":{}}`: false, `{"logging":null}`: false} {
		server := newScripted(capabilities)
		connect(t, Options{Dial: func(context.Context) (Pipe, error) { return server, nil }})
		level := false
		enough := 200 * time.Millisecond // long enough to see that nothing is requested
		if wanted {
			enough = 30 * time.Second
		}
		quiet := time.After(enough)
		for more := true; more && !level; {
			select {
			case asked := <-server.asked:
				level = asked == `logging/setLevel{"level":"debug"}`
			case <-quiet:
				more = false
			}
		}
		if level != wanted {
			t.Errorf("%s: asked for a level: %v", capabilities, level)
		}
	}
}
