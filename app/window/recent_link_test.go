package window

import (
	"testing"
	"time"
)

func TestLinkDuringLoadIsFollowed(t *testing.T) {
	var l recentLink
	now := time.Now()
	if to := l.route(now); to != "" {
		t.Errorf("led to %q without a link", to)
	}
	l.set("/servers/x", now)
	for after, want := range map[time.Duration]string{
		0: "/servers/x", time.Second: "/servers/x", linkLifetime: "/servers/x",
		linkLifetime + 1: "", -time.Minute: "",
	} {
		if to := l.route(now.Add(after)); to != want {
			t.Errorf("a page that is ready %s after the link is led to %q, want %q", after, to, want)
		}
	}
}
