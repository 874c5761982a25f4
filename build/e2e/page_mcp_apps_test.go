//go:build e2e

package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
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
	free, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	udp := free.LocalAddr().(*net.UDPAddr)
	_ = free.Close()
	d := start(t, object{"mcpServers": object{"other": demo()}})
	d.write("config.jsonc", object{"mcpServers": object{"other": demo(), "apps": object{
		"command": node, "args": []string{abs("clients/mcp-apps-server.mjs")},
		"env":   object{"PROBE": probe.URL, "PROBE_UDP": udp.String(), "DAEMON": d.url},
		"tools": object{"denied": object{"approval": "deny"}},
	}}})
	d.running("apps", "other")
	var found struct {
		Hostile []string
		Packets int
	}
	browse(t, d, "page-mcp-apps.mjs", 7, object{"udp": udp.Port}, &found)
	if len(found.Hostile) > 0 {
		t.Errorf("a hostile app could do this: %q", found.Hostile)
	}
	if found.Packets > 0 {
		t.Errorf("%d packets left the frame", found.Packets)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(hits) > 0 {
		t.Errorf("requests left the frame: %s", strings.Join(hits, ", "))
	}
}
