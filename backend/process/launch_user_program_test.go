//go:build linux || darwin

package process

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLaunchReportsWhetherWindowIsShown(t *testing.T) {
	for _, c := range []struct {
		name, script string
		within       time.Duration
		fails        string // "" means that it succeeds
	}{
		{"it is there", "printf x >&3; exit 5", time.Minute, ""},
		{"a library is missing", "exit 127", time.Minute, "exit status 127"},
		{"it is killed", "kill -9 $$", time.Minute, "signal: killed"},
		{"another one shows it", "exit 1", time.Minute, ""},
		{"it ended well", "exit 0", time.Minute, ""},
		{"it is slow", "exec sleep 0.3", 10 * time.Millisecond, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := LaunchAndWaitReady(c.within, nil, "/bin/sh", "-c", c.script)
			if c.fails == "" && err != nil || c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("%v, want %q", err, c.fails)
			}
		})
	}
	assert.Error(t, LaunchAndWaitReady(time.Minute, nil, "/nonexistent/program"), "a program that is not there was launched")
}
