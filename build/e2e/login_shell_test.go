//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The page shows the notices of the status.
func TestUnresponsiveLoginShellIsShownOnPage(t *testing.T) {
	t.Parallel()
	shell := filepath.Join(t.TempDir(), "zsh")
	if err := os.WriteFile(shell, []byte("#!/bin/sh\nexec sleep 600\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d := start(t, object{"globalSettings": object{"loginShellTimeoutMs": 1000}}, "SHELL="+shell)
	eventually(t, limit(5*time.Second), func() string {
		var status struct {
			Notices []struct{ Subject, Message string }
		}
		d.get("/api/v1/status", &status)
		for _, n := range status.Notices {
			if n.Subject == "login-shell" && strings.Contains(n.Message, "did not answer within 1s") && strings.Contains(n.Message, "loginShellTimeoutMs") {
				return ""
			}
		}
		return "no notice of the login shell"
	})
}
