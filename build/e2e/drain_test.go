//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

func init() { roles["hold"] = holdCalls }

// holdCalls is a server that responds to calls once the file HOLD/release exists. Before that, each
// call creates a file named after its arguments.
func holdCalls() {
	folder := os.Getenv("HOLD")
	var mu sync.Mutex
	out := json.NewEncoder(os.Stdout)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ Mark string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := object{}
		switch m.Method {
		case "initialize":
			result = object{"protocolVersion": "2025-11-25", "capabilities": object{"tools": object{}}, "serverInfo": object{"name": "hold", "version": "1"}}
		case "tools/list":
			result = object{"tools": []object{{"name": "hold", "inputSchema": object{"type": "object"}}}}
		case "tools/call":
			result = object{"content": []object{{"type": "text", "text": "released"}}}
		}
		go func() {
			if m.Method == "tools/call" {
				_ = os.WriteFile(filepath.Join(folder, m.Params.Arguments.Mark), nil, 0o600)
				for !exists(filepath.Join(folder, "release")) {
					time.Sleep(5 * time.Millisecond)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			_ = out.Encode(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
		}()
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// SIGTERM lets calls in flight of both eras finish while the daemon stops.
func TestSIGTERMLetsInFlightCallsFinish(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := start(t, object{"mcpServers": object{"hold": object{"command": os.Args[0], "env": object{"DRAWBRIDGE_E2E_ROLE": "hold", "HOLD": folder}}}})
	d.running("hold")
	var calls sync.WaitGroup
	for _, modern := range []bool{false, true} {
		mark, meta := "legacy", ""
		if modern {
			mark, meta = "modern", ","+modernMeta
		}
		c := &rawClient{t: t, url: d.url + "/mcp", token: d.token(mark), modern: modern}
		if !modern {
			c.initialize()
		}
		calls.Go(func() {
			reply := c.post("tools/call", "hold__hold", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold__hold","arguments":{"mark":"`+mark+`"}`+meta+`}}`)
			if !strings.Contains(reply, "released") {
				t.Errorf("%s: answered %s", mark, reply)
			}
		})
		eventually.Complete(t, limit(10*time.Second), func() string {
			if !exists(filepath.Join(folder, mark)) {
				return mark + ": the call has not reached the server"
			}
			return ""
		})
	}
	d.cmd.Process.Signal(syscall.SIGTERM)
	eventually.TrueWithin(t, limit(5*time.Second), "it does not stop", func() bool { return !exists(filepath.Join(d.data, "runtime.json")) })
	if err := os.WriteFile(filepath.Join(folder, "release"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	calls.Wait()
	eventually.Receive(t, limit(6*time.Second), "still there after SIGTERM", d.done)
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("SIGTERM: exit %d", code)
	}
}
