//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func init() { roles["signin"] = signInRole }

// signInRole is the client of one sign-in scenario of the official suite: a daemon with the suite's
// server, and a user who signs in whenever the daemon requests it.
func signInRole() {
	address := os.Args[len(os.Args)-1]
	if err := signIn(address); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// signInUser is a daemon with the server "x" and a user of its API.
type signInUser struct {
	url, admin string
	cmd        *exec.Cmd
}

func signIn(address string) error {
	data, err := os.MkdirTemp("", "drawbridge-signin-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(data)
	var given struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	how := object{"clientMetadataUrl": "https://conformance-test.local/client-metadata.json"}
	if given.ID != "" {
		how["clientId"], how["clientSecret"] = given.ID, given.Secret
	}
	config, err := json.Marshal(object{"mcpServers": object{"x": object{"url": address, "oauth": how, "restart": object{"maxAttempts": 1}}}})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(data, "config.jsonc"), config, 0o600); err != nil {
		return err
	}
	p := &signInUser{cmd: exec.Command(binary, "serve", "--data", data, "--listen", "127.0.0.1:0")}
	p.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + data, "XDG_RUNTIME_DIR=" + data, "DRAWBRIDGE_KEYRING=off"}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		return err
	}
	defer func() {
		p.cmd.Process.Signal(syscall.SIGTERM)
		p.cmd.Wait()
	}()
	for begun := time.Now(); p.url == ""; time.Sleep(20 * time.Millisecond) {
		var runtime struct{ URL string }
		src, _ := os.ReadFile(filepath.Join(data, "runtime.json"))
		token, _ := os.ReadFile(filepath.Join(data, "admin.token"))
		if json.Unmarshal(src, &runtime) == nil {
			p.url, p.admin = runtime.URL, strings.TrimSpace(string(token))
		}
		if time.Since(begun) > limit(20*time.Second) {
			return errors.New("the daemon does not start")
		}
	}
	return p.use()
}

// use calls the server's tool, and signs in as often as the daemon requests it.
func (p *signInUser) use() error {
	for range 5 {
		state, login, err := p.settled()
		if err != nil {
			return err
		}
		if state == "needs-login" || login == "more" {
			if err := p.click(); err != nil {
				return err
			}
			if _, _, err = p.settled(); err != nil {
				return err
			}
		}
		code, body, err := p.do("POST", "/api/v1/call", `{"server":"x","tool":"test-tool","arguments":{}}`)
		if err != nil {
			return err
		}
		if code == 200 && strings.Contains(body, `"success":true`) {
			return nil
		}
		// The event with the state follows the response to the call.
		login = ""
		for begun := time.Now(); login != "more" && login != "needed"; time.Sleep(30 * time.Millisecond) {
			if _, login, err = p.settled(); err != nil || time.Since(begun) > limit(3*time.Second) {
				return fmt.Errorf("the call fails with %d %s, sign-in is %q (%v)", code, body, login, err)
			}
		}
	}
	return errors.New("the server is never content")
}

// settled waits until the server has a stable state.
func (p *signInUser) settled() (state, login string, err error) {
	for begun := time.Now(); time.Since(begun) < limit(15*time.Second); time.Sleep(30 * time.Millisecond) {
		code, body, err := p.do("GET", "/api/v1/servers/x", "")
		if err != nil || code != 200 {
			return "", "", fmt.Errorf("%d %s (%v)", code, body, err)
		}
		var st struct{ State, Login, Reason string }
		if err := json.Unmarshal([]byte(body), &st); err != nil {
			return "", "", err
		}
		switch st.State {
		case "running", "degraded", "needs-login":
			return st.State, st.Login, nil
		case "crashed":
			return "", "", errors.New("the server is given up: " + st.Reason)
		}
	}
	return "", "", errors.New("the server does not settle")
}

// click signs in by opening the address of the daemon, as a browser does.
func (p *signInUser) click() error {
	code, body, err := p.do("POST", "/api/v1/servers/x/login", "")
	if err != nil || code != 200 {
		return fmt.Errorf("no sign-in begins: %d %s (%v)", code, body, err)
	}
	var pending struct{ URL string }
	if err := json.Unmarshal([]byte(body), &pending); err != nil {
		return err
	}
	resp, err := http.Get(pending.URL) // the suite's server approves immediately and redirects back
	if err != nil {
		return err
	}
	resp.Body.Close()
	_, body, err = p.do("GET", "/api/v1/servers/x/login", "")
	if err != nil {
		return err
	}
	var st struct{ State, Failed string }
	if err := json.Unmarshal([]byte(body), &st); err != nil || st.Failed != "" {
		return fmt.Errorf("the sign-in failed: %s (%v)", st.Failed, err)
	}
	for begun := time.Now(); time.Since(begun) < limit(15*time.Second); time.Sleep(30 * time.Millisecond) {
		if state, login, err := p.settled(); err != nil || state != "needs-login" || login != "done" {
			return err
		}
	}
	return nil
}

func (p *signInUser) do(method, path, body string) (int, string, error) {
	at, err := url.JoinPath(p.url, path)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequest(method, at, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+p.admin)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(text), err
}
