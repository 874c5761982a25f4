//go:build e2e

package e2e

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/eventually"

	"github.com/stretchr/testify/assert"
)

// A session with real servers is recorded, and served again while the servers are not installed:
// by replay servers of the configuration, and from a cassette without a daemon.
func TestRecordedSessionIsServedWithoutItsServers(t *testing.T) {
	t.Parallel()
	config, files := realServers(t)
	d := start(t, config)
	d.running("files", "every", "memory")
	hello := filepath.Join(files, "hello.txt")
	asked := []toolCall{
		{"files__read_text_file", object{"path": hello}},
		{"memory__create_entities", object{"entities": []object{{"name": "Ann", "entityType": "person", "observations": []string{"likes tea"}}}}},
		{"memory__read_graph", object{}},
		{"memory__delete_entities", object{"entityNames": []string{"Ann"}}},
		{"memory__read_graph", object{}},
		{"files__read_text_file", object{"path": filepath.Join(files, "missing.txt")}},
		{"every__trigger-long-running-operation", object{"duration": 0.5, "steps": 3, "wantProgress": true}},
		{"every__get-sum", object{"a": 2, "b": 3}},
	}
	token := d.token("recorder")
	first := drive(t, "legacy", d.url+"/mcp", token, "recorder", asked...)
	if len(first.Results) != len(asked) || first.Results[0].Content[0].Text != "hello from a real file\n" || !first.Results[5].IsError || len(first.Results[6].Progress) != 3 {
		t.Fatalf("%+v", first.Results)
	}
	cassette := filepath.Join(t.TempDir(), "memory.jsonl")
	t.Log(d.cli(0, "replay", "export", "memory", cassette))
	results := func(server string) (list []string) {
		for _, c := range slices.Backward(d.calls()) {
			if c.Server == server && c.Method == "tools/call" {
				d.get("/api/v1/calls/"+c.ID, &c)
				list = append(list, c.Result)
			}
		}
		return list
	}

	since := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	d.write("config.jsonc", object{"mcpServers": object{
		"old-files":  object{"type": "replay", "namespace": "files", "from": object{"server": "files"}},
		"old-memory": object{"namespace": "memory", "from": object{"file": cassette}},
		"old-every":  object{"namespace": "every", "from": object{"server": "every", "since": since}, "misses": "nearest", "realtime": true},
		"broken":     object{"from": object{"file": hello}},
		"nothing":    object{"from": object{"server": "nothing-at-all"}},
	}})
	d.running("old-files", "old-memory", "old-every")
	eventually.Complete(t, limit(10*time.Second), func() string {
		var list struct{ Items []server }
		d.get("/api/v1/servers", &list)
		for _, s := range list.Items {
			if s.ID == "broken" && strings.Contains(s.Reason, "cannot read the cassette "+hello+": line 1: not a valid JSON object") ||
				s.ID == "nothing" && strings.Contains(s.Reason, "no tools are known for this server") {
				continue
			}
			if s.State != "running" {
				return s.ID + ": " + s.State + ": " + s.Reason
			}
		}
		return ""
	})
	again := drive(t, "legacy", d.url+"/mcp", token, "recorder", append(slices.Clone(asked), toolCall{"every__get-sum", object{"a": 2, "b": 9}}, toolCall{"memory__open_nodes", object{"names": []string{"Ann"}}})...)
	if n := len(asked); len(again.Results) != n+2 || !reflect.DeepEqual(first.Results, again.Results[:n]) ||
		!reflect.DeepEqual(again.Results[n].Content, first.Results[n-1].Content) || !strings.Contains(again.Results[n+1].Thrown, "contains no call to") {
		t.Errorf("recorded %+v\nserved   %+v", first.Results, again.Results)
	}
	for _, name := range []string{"files", "memory"} {
		recorded, served := results(name), results("old-"+name)
		assert.Truef(t, len(served) >= len(recorded) && slices.Equal(recorded, served[:len(recorded)]), "%s: recorded %q, served %q", name, recorded, served)
	}
	lists := func(tools []string) (list []string) {
		for _, name := range tools {
			if !strings.HasPrefix(name, "thinking") {
				list = append(list, name)
			}
		}
		slices.Sort(list)
		return list
	}
	was, now := lists(first.Tools), lists(again.Tools)
	assert.Equal(t, now, was)

	elsewhere := command(t, []string{"HOME=" + t.TempDir()}, binary, "replay", cassette)
	elsewhere.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_graph","arguments":{}}}` + "\n")
	assert.Equal(t, `{"jsonrpc":"2.0","id":1,"result":`+results("memory")[1]+"}\n", run(t, elsewhere, 0))
	here := command(t, d.env(), binary, "replay", "files", "--data", d.data)
	here.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"` + hello + `"}}}` + "\n")
	assert.Contains(t, run(t, here, 0), `"result":`+results("files")[0])
}
