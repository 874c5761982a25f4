package upstream

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/cassette"
	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func replayServer(set func(*config.Replay)) *config.Server {
	s := server("old", func(s *config.Server) { s.Type, s.Command = core.Replay, "" })
	set(&s.Replay)
	return &s
}

func sendTool(t *testing.T, c Connection, tool string) (string, error) {
	t.Helper()
	params := `{"name":"` + tool + `","arguments":{}}`
	reply, err := c.Send(t.Context(), &core.Call{Era: core.Legacy, Method: "tools/call", Name: tool, Params: []byte(params)}, nil)
	return string(reply.Result) + string(reply.Error), err
}

func TestReplayServersServeTheirRecording(t *testing.T) {
	d := newDialer(t)
	path := filepath.Join(t.TempDir(), "calls.jsonl")
	text := `{"cassette":1,"server":"files","serverInfo":{"name":"fs"},"tools":[{"name":"read","inputSchema":{"type":"object"}}],"prompts":[{"name":"greet"}]}
{"tool":"read","result":"{\"content\":[],\"n\":1.0}"}
{"tool":"slow","result":"{}","tookMs":3600000}
{"calls":2}
`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	t.Setenv("CASSETTES", filepath.Dir(path))
	session, err := d.Connect(t.Context(), Request{Server: replayServer(func(r *config.Replay) { r.File = "${CASSETTES}/calls.jsonl" }), Changed: func(core.Kind) {}})
	require.NoError(t, err)
	if c := session.Catalog(); len(c.Tools) != 1 || len(c.Prompts) != 1 || string(c.Info) != `{"name":"fs"}` || filepath.Clean(session.Process.Command) != path || session.Process.PID != 0 {
		t.Errorf("%+v %+v", c, session.Process)
	}
	got, err := sendTool(t, session, "read")
	assert.Truef(t, err == nil && got == `{"content":[],"n":1.0}`, "%v %v", got, err)
	got, err = sendTool(t, session, "write")
	assert.Truef(t, err == nil && strings.Contains(got, "contains no call to"), "%v %v", got, err)
	assert.NoError(t, session.Close(t.Context()))
}

func TestStoppingAReplayServerEndsResponsesThatWait(t *testing.T) {
	d := newDialer(t)
	d.Recording = func(context.Context, config.Replay) (*cassette.Recording, error) {
		return &cassette.Recording{Header: cassette.Header{Server: "files"}, Calls: []cassette.Call{{Tool: "slow", Result: "{}", TookMs: time.Hour.Milliseconds()}}}, nil
	}
	asked := make(chan string, 1)
	d.LiveCall = func(ctx context.Context, server, method, name string, _ json.RawMessage) (core.Reply, error) {
		asked <- server + " " + method + " " + name
		<-ctx.Done()
		return core.Reply{}, ctx.Err()
	}
	session, err := d.Connect(t.Context(), Request{
		Server:  replayServer(func(r *config.Replay) { r.Server, r.Realtime, r.Misses = "files", true, config.MissesPassthrough }),
		Changed: func(core.Kind) {},
	})
	require.NoError(t, err)
	ended := make(chan error, 2)
	for _, tool := range []string{"slow", "unknown"} {
		go func() {
			_, err := sendTool(t, session, tool)
			ended <- err
		}()
	}
	got := <-asked
	assert.Equal(t, "files tools/call unknown", got)
	assert.NoError(t, session.Close(t.Context()))
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a response came after the stop")
		}
	}
}

func TestReplayServersReportWhyTheyCannotStart(t *testing.T) {
	d := newDialer(t)
	folder := t.TempDir()
	for _, c := range []struct {
		set  func(*config.Replay)
		want string
	}{
		{func(r *config.Replay) { r.File = "calls.jsonl" }, "not an absolute path"},
		{func(r *config.Replay) { r.File = filepath.Join(folder, "missing") }, "cannot open the cassette"},
		{func(r *config.Replay) { r.File = folder }, "is not a regular file"},
		{func(r *config.Replay) { r.File = "${UNSET_VARIABLE}" }, "from.file"},
		{func(r *config.Replay) { r.Server = "files" }, "only a running instance of Drawbridge"},
	} {
		_, err := d.Connect(t.Context(), Request{Server: replayServer(c.set), Changed: func(core.Kind) {}})
		assert.Truef(t, err != nil && core.CodeOf(err) == core.CodeValidation && strings.Contains(err.Error(), c.want), "%v, want %s", err, c.want)
	}
}
