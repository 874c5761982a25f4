package doctor

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/backend/osutil"
)

// Listening reports whether a program listens on address. It waits at most one second.
func Listening(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// CheckDocker returns an error unless the Docker daemon answers within five seconds. It runs
// the docker command, which supports contexts and rootless sockets.
func CheckDocker(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	name := "docker"
	if runtime.GOOS == "windows" {
		name = "docker.exe"
	}
	out, err := osutil.HideConsole(exec.CommandContext(ctx, name, "version", "--format", "{{.Server.Version}}")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("Docker is not responding: %w: %s", err, strings.Join(strings.Fields(string(out)), " "))
	}
	return nil
}

// PingBridge pings the bridge at url with a client's own token, for at most five seconds. It
// returns an error if the bridge cannot be reached or rejects the token.
func PingBridge(ctx context.Context, url, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/mcp", bytes.NewReader([]byte(ping)))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := (&http.Client{Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16))
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		return fmt.Errorf("the bridge responded with %s", resp.Status)
	}
	return nil
}
