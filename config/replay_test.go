package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

func TestReplayServersNameOneSource(t *testing.T) {
	day := time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		entry   string
		want    Replay
		problem string
	}{
		{entry: `"from": {"file": "/tmp/calls.jsonl"}`, want: Replay{File: "/tmp/calls.jsonl"}},
		{
			entry: `"type": "replay", "misses": "passthrough", "realtime": true, "from": {"server": "My files", "session": "s", "account": "work", "tag": "t", "since": "2026-01-31T00:00:00Z", "until": "2026-02-01T01:00:00+01:00"}`,
			want:  Replay{Server: "My-files", Session: "s", Account: "work", Tag: "t", Since: day, Until: day.AddDate(0, 0, 1), Misses: MissesPassthrough, Realtime: true},
		},
		{entry: `"type": "replay"`, problem: "missing 'from'"},
		{entry: `"from": {}`, problem: "missing 'from'"},
		{entry: `"from": "files"`, problem: "must be an object"},
		{entry: `"from": {"file": "/x", "server": "b"}`, problem: "both 'file' and 'server'"},
		{entry: `"from": {"file": "/x", "session": "s"}`, problem: "apply only to the history of a server"},
		{entry: `"from": {"file": "/x", "account": "work"}`, problem: "apply only to the history of a server"},
		{entry: `"from": {"server": "A"}`, problem: "cannot replay itself"},
		{entry: `"from": {"server": "b", "since": "yesterday"}`, problem: "must be a time such as"},
		{entry: `"from": {"server": "b", "since": 5}`, problem: "must be a time such as"},
		{entry: `"from": {"server": "b", "since": "2026-01-31T00:00:00Z", "until": "2026-01-30T00:00:00Z"}`, problem: "must be after 'since'"},
		{entry: `"from": {"file": "/x"}, "misses": "passthrough"`, problem: "only with from.server"},
		{entry: `"from": {"server": "b"}, "misses": "live"`, problem: "must be one of strict, nearest, passthrough"},
		{entry: `"from": {"server": "b"}, "sandbox": "on"`, problem: "only to stdio servers and containers with an image"},
		{entry: `"from": {"server": "b"}, "command": "x"`, want: Replay{Server: "b"}, problem: "'command' has no effect for replay server"},
		{entry: `"type": "stdio", "command": "x", "misses": "nearest"`, problem: "'misses' has no effect for stdio server"},
	} {
		got, problems := Parse("config.jsonc", []byte(`{"mcpServers": {"a": {`+c.entry+`}}}`))
		var texts []string
		for _, p := range problems {
			texts = append(texts, p.Message)
		}
		all := strings.Join(texts, "\n")
		assert.Truef(t, (c.problem == "") == (all == "") && strings.Contains(all, c.problem), "%s: problems %q", c.entry, texts)
		if c.want == (Replay{}) {
			continue
		}
		if len(got.Servers) != 1 || got.Servers[0].Type != core.Replay || got.Servers[0].Command != "" {
			t.Errorf("%s: %+v", c.entry, got.Servers)
		} else if diff := cmp.Diff(c.want, got.Servers[0].Replay); diff != "" {
			t.Errorf("%s: %s", c.entry, diff)
		}
	}
}
