package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/gateway"
	"github.com/drawbridge-mcp/drawbridge/backend/mcptest"
	"github.com/drawbridge-mcp/drawbridge/backend/policy"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/backend/upstream"

	"github.com/stretchr/testify/require"
)

// taskFixture is a bridge with the servers one and two, which have tasks in both eras, behind the
// real call path.
type taskFixture struct {
	*fixture

	mu       sync.Mutex
	conns    map[string]*upstream.Conn // by server and era
	recorded []core.Call
	replies  []string
	answer   func() core.Reply // set instead of conns
}

// fixedReply is an upstream that runs a function.
type fixedReply func() core.Reply

func (r fixedReply) Send(context.Context, *core.Call, core.ServerMessageHandler) (core.Reply, error) {
	return r(), nil
}

func newTaskFixture(t *testing.T) *taskFixture {
	t.Helper()
	reg := registry.New(registry.Options{})
	reg.Configure(registry.Prefixed, []registry.Server{{ID: "one"}, {ID: "two"}, {ID: "plain"}})
	f := &taskFixture{fixture: &fixture{T: t, registry: reg, lister: &fakeLister{}}, conns: map[string]*upstream.Conn{}}
	for _, server := range []string{"one", "two"} {
		f.connect(server, core.Modern)
		reg.Set(server, server, f.connect(server, core.Legacy).Catalog())
	}
	reg.Set("plain", "", &core.Catalog{Tools: []core.Item{{Name: "x", Raw: json.RawMessage(`{"name":"x","inputSchema":{"type":"object"}}`)}}, Capabilities: json.RawMessage(`{"tools":{}}`)})
	g := gateway.New(gateway.Options{Upstreams: f, Recorder: f, Policy: policy.New(policy.Options{Views: reg}), Bus: new(core.Bus)})
	f.serve(Options{Registry: reg, Gateway: g, Lister: f.lister})
	return f
}

// connect opens a connection to a server, which keeps its tasks.
func (f *taskFixture) connect(server string, era core.Era) *upstream.Conn {
	f.Helper()
	conn, err := upstream.Connect(f.Context(), upstream.Options{
		Server: server, Era: era,
		Dial:         func(context.Context) (upstream.Pipe, error) { return mcptest.Start("tasks") },
		Capabilities: json.RawMessage(`{"elicitation":{"form":{}}}`),
		OnRequest: func(ctx context.Context, method string, params json.RawMessage) (core.Reply, error) {
			return f.bridge.Ask(ctx, server, "", method, params)
		},
		OnNotification: func(method string, params json.RawMessage) {
			switch method {
			case "notifications/tasks/status":
				f.bridge.LegacyTaskStatusChanged(server, "", params)
			case "notifications/tasks":
				f.bridge.ModernTaskUpdated(server, "", params)
			}
		},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = conn.Close(context.Background()) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.conns[server+string(era)] = conn
	return conn
}

// For implements gateway.Upstreams.
func (f *taskFixture) For(_ context.Context, call *core.Call) (gateway.Upstream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answer != nil {
		return fixedReply(f.answer), nil
	}
	if conn := f.conns[call.Server+string(call.Era)]; conn != nil {
		return conn, nil
	}
	return nil, core.Errorf(core.CodeUnavailable, "server %q is not available (failed)", call.Server)
}

// Record implements gateway.Recorder.
func (f *taskFixture) Record(call *core.Call, reply core.Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := *call
	c.Params = nil
	f.recorded, f.replies = append(f.recorded, c), append(f.replies, string(reply.Result))
}

// history returns the recorded calls as "method name outcome", and forgets them. Requests about a
// task begin with a dash if they belong to the first call. Notifications come at any time, and are
// left out.
func (f *taskFixture) history() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, c := range f.recorded {
		if strings.HasPrefix(c.Method, "notifications/") {
			continue
		}
		line := fmt.Sprintf("%s %s %s", c.Method, c.Name, c.Outcome)
		if c.IsTaskRequest() && c.Task.Call == f.recorded[0].ID {
			line = "- " + line
		}
		all = append(all, line)
	}
	f.recorded, f.replies = nil, nil
	return strings.Join(all, "\n")
}

// withTasks sends a modern request of a client that declares the tasks extension.
func (f *taskFixture) withTasks(path, method, name, params string, headers ...string) string {
	f.Helper()
	return onlyMessage(f, f.modernAs(`{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, path, method, name, params, headers...))
}

func (f *taskFixture) get(path, id string, headers ...string) string {
	f.Helper()
	return f.withTasks(path, "tasks/get", id, `"taskId":"`+id+`"`, headers...)
}

// taskIDIn returns the id of the task in a message.
func taskIDIn(t testing.TB, message string) string {
	t.Helper()
	var m struct {
		Result struct {
			TaskID string
			Task   struct{ TaskID string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(message), &m), "no task")
	require.NotEmpty(t, m.Result.TaskID+m.Result.Task.TaskID, "no task")
	return m.Result.TaskID + m.Result.Task.TaskID
}

func taskStatusIn(message string) string {
	var m struct{ Result struct{ Status string } }
	_ = json.Unmarshal([]byte(message), &m)
	return m.Result.Status
}
