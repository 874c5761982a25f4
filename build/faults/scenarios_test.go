//go:build e2e && linux && amd64

package faults

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite"
)

// scenario is something that the program does while one of its calls fails.
type scenario struct {
	name string
	// whole scenarios start the program for each failure: they fail the start or the stop itself.
	whole   bool
	prepare func(dir string) // fills the folders of a program
	// act does the thing and returns what the program has promised by success. A refusal is fine.
	act func(p *program) promise
}

// promise is what was acknowledged during a failure. check runs without failures, perhaps against the next
// run of the program, and returns what was not kept.
type promise struct {
	calls []string // ids of recorded calls
	check func(p *program) error
	errs  []error // refusals, which must have a reason
}

const cursorFile = "{\n\t\"mcpServers\": { \"own\": {\"command\":\"true\", \"args\":[ ] } } , \"n\": 9007199254740993\n}"

func configuration(second string) string {
	return fmt.Sprintf(`{
  "mcpServers": {
    "demo": {"command": %q, "args": ["demo-server"], "env": {"API_TOKEN": %q}},
    %q: {"command": "true", "disabled": true}
  }
}
`, binary, secret, second)
}

func put(path, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
}

func prepareEmpty(dir string) { put(filepath.Join(dir, "home/.cursor/mcp.json"), cursorFile) }

func prepareServer(dir string) {
	prepareEmpty(dir)
	put(filepath.Join(dir, "data/config.jsonc"), configuration("edit-0"))
}

// prepareHistory fills the folders with those of a program that has been used.
func prepareHistory(dir string) {
	prepareServer(dir)
	p := startUntraced(dir)
	must(p.ready())
	var ids []string
	for i := range 20 {
		id, err := p.call(fmt.Sprint("earlier ", i))
		must(err)
		ids = append(ids, id)
	}
	must(p.recorded(ids))
	put(filepath.Join(dir, "calls"), strings.Join(ids, " "))
	must(p.api("POST", "/api/v1/connections/cursor/connect", "{}", nil))
	if code, err := p.stop(); code != 0 || err != nil {
		panic(fmt.Sprint(code, err))
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

var scenarios = []scenario{
	{name: "first start", whole: true, prepare: prepareEmpty, act: func(p *program) promise {
		_ = p.ready()
		return promise{}
	}},
	{name: "start with a history", whole: true, prepare: prepareHistory, act: func(p *program) promise {
		if p.ready() == nil {
			_ = p.works()
		}
		src, err := os.ReadFile(filepath.Join(p.dir, "calls"))
		must(err)
		return promise{calls: strings.Fields(string(src)), check: (*program).undone}
	}},
	{name: "ten calls", prepare: prepareServer, act: func(p *program) (kept promise) {
		for i := range 10 {
			id, err := p.call(fmt.Sprint("call ", i))
			if id != "" {
				kept.calls = append(kept.calls, id)
			}
			kept.errs = append(kept.errs, err)
		}
		time.Sleep(100 * time.Millisecond) // what is promised: older calls are not lost
		return kept
	}},
	{name: "configuration edit", prepare: prepareServer, act: editConfiguration},
	{name: "connect and undo", prepare: prepareServer, act: func(p *program) (kept promise) {
		kept.errs = append(kept.errs, p.api("POST", "/api/v1/connections/cursor/connect", "{}", nil))
		kept.errs = append(kept.errs, p.api("POST", "/api/v1/connections/cursor/undo", "{}", nil))
		kept.check = (*program).undone
		return kept
	}},
	{name: "prune and backup", prepare: prepareServer, act: pruneAndBackup},
	{name: "crash and restart of a server", prepare: prepareServer, act: func(p *program) (kept promise) {
		var list struct{ Items []struct{ PID int } }
		if err := p.api("GET", "/api/v1/servers", "", &list); err == nil && len(list.Items) == 1 && list.Items[0].PID > 1 {
			if server, err := os.FindProcess(list.Items[0].PID); err == nil {
				_ = server.Kill()
			}
		}
		for i := range 3 {
			id, err := p.call(fmt.Sprint("after ", i))
			if id != "" {
				kept.calls = append(kept.calls, id)
			}
			kept.errs = append(kept.errs, err)
		}
		time.Sleep(100 * time.Millisecond) // as in ten calls
		kept.check = func(p *program) error { return p.api("POST", "/api/v1/servers/demo/restart", "", nil) }
		return kept
	}},
	{name: "stop", whole: true, prepare: prepareServer},
}

func init() {
	scenarios[len(scenarios)-1].act = func(p *program) (kept promise) { // refers to stop, as the runner does
		p.signal(syscall.SIGTERM)
		_ = until(func() error {
			if _, over := p.over(); !over {
				return errors.New("it does not stop")
			}
			return nil
		})
		return kept
	}
}

// editConfiguration adds a server to the file, as the page does.
func editConfiguration(p *program) (kept promise) {
	file := filepath.Join(p.data(), "config.jsonc")
	old, err := os.ReadFile(file)
	must(err)
	name := fmt.Sprint("edit-", time.Now().UnixNano())
	text := configuration(name)
	var now struct{ Etag string }
	err = p.api("GET", "/api/v1/config", "", &now)
	if err == nil {
		body, encoding := json.Marshal(map[string]string{"text": text})
		must(encoding)
		err = p.api("PUT", "/api/v1/config", string(body), nil, "If-Match", now.Etag)
	}
	kept.errs = append(kept.errs, err)
	kept.check = func(p *program) error {
		src, failure := os.ReadFile(file)
		if failure != nil {
			return failure
		}
		if s := string(src); s != text && (err == nil || s != string(old)) {
			return fmt.Errorf("after %v the configuration is %q", err, s)
		}
		return until(func() error { // what is in the file is in use
			var servers struct{ Items []struct{ Label string } }
			if err := p.api("GET", "/api/v1/servers", "", &servers); err != nil {
				return err
			}
			for _, one := range servers.Items {
				if one.Label != "demo" && strings.Contains(string(src), one.Label) {
					return nil
				}
			}
			return fmt.Errorf("in use are %v", servers.Items)
		})
	}
	return kept
}

func pruneAndBackup(p *program) (kept promise) {
	copied := filepath.Join(p.dir, fmt.Sprintf("backup-%d.db", time.Now().UnixNano()))
	kept.errs = append(kept.errs, p.api("POST", "/api/v1/history/prune", `{"maxCalls":40}`, nil))
	err := p.api("POST", "/api/v1/history/backup", fmt.Sprintf(`{"path":%q}`, copied), nil)
	kept.errs = append(kept.errs, err)
	kept.check = func(*program) error {
		defer os.Remove(copied)
		if _, missing := os.Stat(copied); missing != nil {
			if err == nil {
				return errors.New("the backup is not there")
			}
			return nil
		}
		db, err := sql.Open("sqlite", "file:"+copied+"?mode=ro&immutable=1")
		if err != nil {
			return err
		}
		defer db.Close()
		var said string
		if err := db.QueryRow("PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
			return fmt.Errorf("the backup is torn: %v %s", err, said)
		}
		return nil
	}
	return kept
}

// undone undoes a connection of Cursor and reports whether its file is as it was.
func (p *program) undone() error {
	file := filepath.Join(p.home(), ".cursor/mcp.json")
	if src, err := os.ReadFile(file); err != nil || string(src) != cursorFile {
		if err := p.api("POST", "/api/v1/connections/cursor/undo", "{}", nil); err != nil {
			return fmt.Errorf("cannot undo: %w", err)
		}
	}
	if src, err := os.ReadFile(file); err != nil || string(src) != cursorFile {
		return fmt.Errorf("after undo the file of the client is %q (%v)", src, err)
	}
	left, err := filepath.Glob(filepath.Join(p.home(), ".cursor/*"))
	if err != nil || len(left) != 1 {
		return fmt.Errorf("files beside the client's: %q", left)
	}
	return nil
}
