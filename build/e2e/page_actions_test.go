//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The test performs the actions of the page on a real configuration, history, client file, keyring
// and container.
func TestEveryPageActionWorks(t *testing.T) {
	t.Parallel()
	box, service := container(t), runComposeContainer(t)
	ring := startKeyring(t)
	config, _ := realServers(t)
	servers := config["mcpServers"].(object)
	servers["demo"], servers["asking"] = demo(), testServer(t, "ask")
	d := start(t, config, "DBUS_SESSION_BUS_ADDRESS="+ring.address)
	cursor := filepath.Join(d.home, ".cursor/mcp.json")
	put(t, cursor, "{\n  \"mcpServers\": {\n    \"weather\": {\"command\": \""+binary+"\", \"args\": [\"demo-server\"], \"env\": {\"WEATHER_TOKEN\": \"cnry-in-cursor\"}}\n  }\n}\n")
	put(t, filepath.Join(d.home, ".config/Claude/claude_desktop_config.json"), "{}\n")
	d.running("demo", "asking", "files", "every", "memory", "thinking")
	env := []string{"DBUS_SESSION_BUS_ADDRESS=" + ring.address}
	does := map[string]func(url.Values) string{
		"/lock": func(url.Values) string {
			d.stop()
			ring.stop()
			ring.launch("")
			d.launch(env...)
			return ""
		},
		"/unlock": func(url.Values) string {
			ring.stop()
			ring.launch("the user's password")
			return ""
		},
		"/link": func(q url.Values) string {
			code, said := d.do("POST", "/api/v1/open-code", strings.NewReader(`{"to":`+quoted(q.Get("to"))+`}`))
			var link struct{ URL string }
			err := json.Unmarshal([]byte(said), &link)
			assert.Truef(t, err == nil && code == http.StatusOK, "%d %s (%v)", code, said, err)
			return link.URL
		},
	}
	browse(t, d, "page-actions.mjs", object{"token": d.token("life"), "cursor": cursor, "control": control(t, d, env, does), "binary": binary, "container": box, "composed": service}, nil)
}

// runComposeContainer runs a container as a compose file would create it: with a shell, and a
// program that calls itself an MCP server.
func runComposeContainer(t testing.TB) (name string) {
	t.Helper()
	shell, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("no static busybox to make an image of: install busybox-static")
	}
	programs := map[string][]byte{"usr/local/bin/notes-mcp": []byte("#!/bin/sh\nexec /drawbridge demo-server\n")}
	for name, path := range map[string]string{"bin/sh": shell, "drawbridge": binary} {
		if programs[name], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	name = fmt.Sprintf("drawbridge-composed-%d", os.Getpid())
	importImage(t, name, programs)
	run(t, exec.Command("docker", "run", "--detach", "--network", "none", "--name", name, "--env", "PATH=/usr/local/bin:/bin",
		"--label", "com.docker.compose.project="+name, "--label", "com.docker.compose.service=notes", name, "/bin/sh", "-c", "while :; do sleep 100; done"), 0)
	t.Cleanup(func() { exec.Command("docker", "rm", "-f", name).Run() })
	return name
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// keyring is a real keyring on its own bus, as in a desktop session.
type keyring struct {
	t       testing.TB
	address string
	home    string
	cmd     *exec.Cmd
}

func startKeyring(t testing.TB) *keyring {
	t.Helper()
	for _, need := range []string{"dbus-daemon", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skipf("no keyring: %v", err)
		}
	}
	k := &keyring{t: t, home: t.TempDir()}
	// A bus that activates no service: a second keyring could respond instead of ours.
	config := filepath.Join(t.TempDir(), "bus.conf")
	put(t, config, `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>session</type><listen>unix:tmpdir=/tmp</listen><policy context="default"><allow send_destination="*"/><allow own="*"/><allow receive_sender="*"/></policy></busconfig>`)
	bus := exec.Command("dbus-daemon", "--config-file="+config, "--nofork", "--print-address=1")
	printed, err := bus.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, bus.Start())
	t.Cleanup(func() { bus.Process.Kill(); bus.Wait() })
	line, err := bufio.NewReader(printed).ReadString('\n')
	require.NoError(t, err)
	k.address = strings.TrimSpace(line)
	t.Cleanup(k.stop)
	k.launch("the user's password")
	return k
}

// launch starts the keyring, unlocked with a password and locked without.
func (k *keyring) launch(password string) {
	args := []string{"--foreground", "--components=secrets"}
	if password != "" {
		args = append(args, "--unlock")
	}
	k.cmd = command(k.t, []string{"HOME=" + k.home, "XDG_RUNTIME_DIR=" + k.home, "DBUS_SESSION_BUS_ADDRESS=" + k.address}, "gnome-keyring-daemon", args...)
	k.cmd.Stdin = strings.NewReader(password)
	if err := k.cmd.Start(); err != nil {
		k.t.Error(err)
		return
	}
	conn, err := dbus.Connect(k.address)
	if err != nil {
		k.t.Error(err)
		return
	}
	defer conn.Close()
	const name, path = "org.freedesktop.secrets", "/org/freedesktop/secrets/collection/login"
	for deadline := time.Now().Add(limit(10 * time.Second)); time.Now().Before(deadline); <-time.After(50 * time.Millisecond) {
		locked, err := conn.Object(name, path).GetProperty("org.freedesktop.Secret.Collection.Locked")
		if err == nil && locked.Value() == (password == "") {
			return
		}
	}
	k.t.Errorf("the keyring is not as wanted (password %q)", password)
}

func (k *keyring) stop() {
	k.cmd.Process.Kill()
	k.cmd.Wait()
}
