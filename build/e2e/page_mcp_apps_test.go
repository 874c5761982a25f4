//go:build e2e

package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"
)

// The app of a recorded result, written with the official library, receives the call and calls a
// tool of its server under the rules of a client. A hostile app reaches neither the network, nor
// the API, nor the page around it.
func TestAppOfAResultRunsInASandboxAndCallsItsServer(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var hits []string
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		hits = append(hits, r.Method+" "+r.URL.Path)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	t.Cleanup(probe.Close)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var packets atomic.Int32
	counted := make(chan struct{})
	go func() {
		defer close(counted)
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 100)); err != nil {
				return
			}
			packets.Add(1)
		}
	}()
	d := start(t, object{"mcpServers": object{"other": demo()}})
	d.write("config.jsonc", object{"mcpServers": object{"other": demo(), "apps": object{
		"command": node, "args": []string{abs("clients/mcp-apps-server.mjs")},
		"env":   object{"PROBE": probe.URL, "PROBE_UDP": udp.LocalAddr().String(), "DAEMON": d.url},
		"tools": object{"denied": object{"approval": "deny"}},
	}}})
	d.running("apps", "other")
	var found struct{ Hostile []string }
	browse(t, d, "page-mcp-apps.mjs", nil, &found)
	if len(found.Hostile) > 0 {
		t.Errorf("a hostile app could do this: %q", found.Hostile)
	}
	own, err := net.Dial("udp4", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	if _, err := own.Write([]byte("counted")); err != nil {
		t.Fatal(err)
	}
	eventually.True(t, "a packet is counted", func() bool { return packets.Load() > 0 })
	udp.Close()
	<-counted
	if n := packets.Load() - 1; n > 0 {
		t.Errorf("%d packets left the frame", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(hits) > 0 {
		t.Errorf("requests left the frame: %s", strings.Join(hits, ", "))
	}
}
