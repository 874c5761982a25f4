//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/require"
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

// New calls are refused with 503 while calls in flight are waited for, and a second signal ends the wait,
// with all processes.
func TestStoppingDaemonRefusesCallsAndSecondSignalEndsIt(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	d := start(t, object{"mcpServers": object{"hold": object{"command": os.Args[0], "env": object{"DRAWBRIDGE_E2E_ROLE": "hold", "HOLD": folder}}}})
	d.running("hold")
	client := &rawClient{t: t, url: d.url + "/mcp", token: d.token("x"), modern: true}
	message := func(mark string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold__hold","arguments":{"mark":"` + mark + `"},` + modernMeta + `}}`
	}
	held := make(chan struct{})
	go func() {
		defer close(held)
		if resp, err := http.DefaultClient.Do(client.request(context.Background(), "POST", "tools/call", "hold__hold", message("first"))); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	eventually.TrueWithin(t, limit(10*time.Second), "the call has not reached the server", func() bool { return exists(filepath.Join(folder, "first")) })
	d.cmd.Process.Signal(syscall.SIGTERM)
	eventually.TrueWithin(t, limit(5*time.Second), "it does not stop", func() bool { return !exists(filepath.Join(d.data, "runtime.json")) })
	resp, err := http.DefaultClient.Do(client.request(context.Background(), "POST", "tools/call", "hold__hold", message("second")))
	require.NoError(t, err)
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(body), `"id":1`) || !strings.Contains(string(body), "stopping") || exists(filepath.Join(folder, "second")) {
		t.Errorf("a new call gets %d: %s", resp.StatusCode, body)
	}
	began := time.Now()
	eventually.TrueWithin(t, limit(2*time.Second), "still there after further signals", func() bool {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.done:
			return true
		default:
			return false
		}
	})
	t.Logf("ended %v after the second signal", time.Since(began))
	<-held
}
