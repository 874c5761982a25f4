package api

import (
	"encoding/json"
	"testing"

	"drawbridge/backend/hub"
	"drawbridge/backend/policy"
	"drawbridge/backend/registry"
	"drawbridge/config"
)

func TestAnExplanationSaysWhatACallMeetsAtTheServer(t *testing.T) {
	for _, c := range []struct {
		state               hub.State
		reason, result, say string
	}{
		{hub.StateRunning, "", policy.Pass, "It runs."},
		{hub.StateDegraded, "no prompts.", policy.Pass, "It answers, and something is missing (no prompts)."},
		{hub.StateStopped, "", policy.Wait, "It is stopped: a call starts it."},
		{hub.StateStarting, "", policy.Wait, "It is not ready: a call waits for it a while."},
		{hub.StateWaiting, "Docker does not answer", policy.Wait, "It is not ready: a call waits for it a while (Docker does not answer)."},
		{hub.StateCrashed, "exit status 1", policy.Wait, "It has crashed: a call tries once more to start it (exit status 1)."},
		{hub.StateDisabled, "", policy.Refuse, "It is disabled."},
		{hub.StateNeedsLogin, "", policy.Refuse, "It answers nothing until you sign in."},
		{hub.StateNeedsApproval, "", policy.Refuse, "It does not start until you have approved its command."},
	} {
		got := explainServer(hub.ServerStatus{ID: "files", Label: "Files", State: c.state, Reason: c.reason})
		if got.Name != "server" || got.Result != c.result || got.Detail != c.say {
			t.Errorf("%s: %+v, want %q and %q", c.state, got, c.result, c.say)
		}
		if key := got.Key; (key != "") != (c.state == hub.StateDisabled) {
			t.Errorf("%s: the setting that decides is %q", c.state, key)
		}
	}
	if got := explainServer(hub.ServerStatus{ID: "files", State: hub.StateStopped, ByHand: true}); got.Result != policy.Refuse {
		t.Errorf("a server that only a person starts: %+v", got)
	}
}

func TestAnExplanationKnowsTheClientsProfile(t *testing.T) {
	r := registry.New(registry.Options{})
	r.Arrange("", []registry.Server{{ID: "files"}})
	r.SetProfiles([]config.Profile{{Name: "p", Servers: map[string]config.ProfileServer{"files": {Tools: config.Filter{Include: []string{"read"}}}}}})
	tool := func(name string) hub.Item {
		return hub.Item{Name: name, Raw: json.RawMessage(`{"name":"` + name + `"}`)}
	}
	r.Set("files", "", &hub.Catalog{Tools: []hub.Item{tool("read"), tool("write")}})
	a := &API{Options: Options{Views: r}}
	for tool, want := range map[string]string{"read": policy.Pass, "write": policy.Refuse} {
		if _, v := a.explainProfile("p", "cursor", "files", tool); v.Result != want || v.Key != "clients.cursor.profile" {
			t.Errorf("%s: %+v", tool, v)
		}
	}
	if _, v := a.explainProfile("p", "cursor", "files", "later"); v.Name != "" {
		t.Errorf("a tool that nobody has listed: %+v", v)
	}
	if view, v := a.explainProfile("gone", "cursor", "files", "read"); v.Result != policy.Refuse || len(view.Items(hub.Tools)) != 0 {
		t.Errorf("a profile that is not there: %+v", v)
	}
}
