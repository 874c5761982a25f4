package api

import (
	"testing"

	"drawbridge/backend/hub"
	"drawbridge/backend/policy"
)

func TestAnExplanationSaysWhatACallMeetsAtTheServer(t *testing.T) {
	for _, c := range []struct {
		state               hub.State
		reason, result, say string
	}{
		{hub.StateRunning, "", policy.Pass, "It runs."},
		{hub.StateDegraded, "no prompts.", policy.Pass, "It answers, and something is missing (no prompts)."},
		{hub.StateStopped, "", policy.Wait, "It is stopped: a call starts it, unless only a person may."},
		{hub.StateStarting, "", policy.Wait, "It is not ready: a call waits for it a while."},
		{hub.StateWaiting, "Docker does not answer", policy.Wait, "It is not ready: a call waits for it a while (Docker does not answer)."},
		{hub.StateCrashed, "exit status 1", policy.Wait, "It has crashed: a call tries to start it again (exit status 1)."},
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
}
