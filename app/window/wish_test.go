package window

import (
	"testing"
	"time"
)

func TestAPageThatFinishesLoadingSoonAfterALinkIsLedThere(t *testing.T) {
	var w wish
	now := time.Now()
	if to := w.place(now); to != "" {
		t.Errorf("led to %q without a link", to)
	}
	w.set("/servers/x", now)
	for after, want := range map[time.Duration]string{
		0: "/servers/x", time.Second: "/servers/x", wishFor: "/servers/x",
		wishFor + 1: "", -time.Minute: "",
	} {
		if to := w.place(now.Add(after)); to != want {
			t.Errorf("a page that is ready %s after the link is led to %q, want %q", after, to, want)
		}
	}
}
