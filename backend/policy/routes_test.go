package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
	"github.com/drawbridge-mcp/drawbridge/backend/registry"
	"github.com/drawbridge-mcp/drawbridge/config"

	"github.com/stretchr/testify/assert"
)

func TestExplanationCoversServerState(t *testing.T) {
	for _, c := range []struct {
		state               core.State
		reason, result, say string
	}{
		{core.StateRunning, "", Pass, "It is running."},
		{core.StateDegraded, "no prompts.", Pass, "It responds, but some of its lists are unavailable (no prompts)."},
		{core.StateStopped, "", Wait, "It is stopped; the next call starts it."},
		{core.StateStarting, "", Wait, "It is not ready; a call waits for it."},
		{core.StateWaiting, "Docker does not answer", Wait, "It is not ready; a call waits for it (Docker does not answer)."},
		{core.StateFailed, "exit status 1", Wait, "It has failed; the next call tries to restart it (exit status 1)."},
		{core.StateDisabled, "", Refuse, "It is disabled."},
		{core.StateNeedsSignIn, "", Refuse, "You must sign in to it first."},
		{core.StateNeedsApproval, "", Refuse, "It does not start until you approve its command."},
	} {
		got := explainServer(core.ServerStatus{ID: "files", Label: "Files", State: c.state, Reason: c.reason})
		assert.Truef(t, got.Name == "server" && got.Result == c.result && got.Detail == c.say, "%s: %+v, want %q and %q", c.state, got, c.result, c.say)
		assert.Equal(t, c.state == core.StateDisabled, got.Key != "")
	}
	assert.Equal(t, Refuse, explainServer(core.ServerStatus{ID: "files", State: core.StateStopped, ManualOnly: true}).Result)
}

func TestExplanationAppliesClientProfile(t *testing.T) {
	r := registry.New(registry.Options{})
	r.Configure("", []registry.Server{{ID: "files"}})
	r.SetProfiles([]config.Profile{{Name: "p", Servers: map[string]config.ProfileServer{"files": {Tools: config.Filter{Include: []string{"read"}}}}}})
	tool := func(name string) core.Item {
		return core.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"}`)}
	}
	r.Set("files", "", &core.Catalog{Tools: []core.Item{tool("read"), tool("write")}})
	a := &Feature{Views: r}
	for tool, want := range map[string]string{"read": Pass, "write": Refuse} {
		_, v := a.explainProfile("p", "clients.cursor.profile", "files", tool)
		assert.Truef(t, v.Result == want && v.Key == "clients.cursor.profile", "%s: %+v", tool, v)
	}
	_, v := a.explainProfile("p", "clients.cursor.profile", "files", "later")
	assert.Empty(t, v.Name, "a tool that nobody has listed")
	view, v := a.explainProfile("gone", "k", "files", "read")
	assert.Truef(t, v.Result == Refuse && len(view.Items(core.Tools)) == 0, "a profile that is not there: %+v", v)
	folders := []config.Profile{{Name: "p", Folders: []string{"/a", "/b", "/c", "/d"}}, {Name: "gone"}}
	if v := a.explainFolders(folders, "files", "write"); len(v) != 1 || v[0].Result != Pass || !strings.Contains(v[0].Detail, "/a, /b, /c and 1 more") {
		t.Errorf("in its folders: %+v", v)
	}
	assert.Nil(t, a.explainFolders(folders, "files", "read"), "in its folders")
}
